//! Call sites: places in the program from which calls were made, as call stacks of addresses in modules. Equal stacks of all processes are one.

use rustc_hash::FxHashMap;
use std::sync::Arc;
use trace_format::meta::{SitesDef, script_place};

/// Executable, shared library or script that call stacks lead through.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// Path of the module's file on the node; empty if unknown.
    pub path: String,
    /// Build id (ELF note) of the module's file; empty if it has none.
    pub build_id: Vec<u8>,
}

/// Frame of a call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Frame of the caller; `None` if the stack ends here.
    pub caller: Option<u32>,
    /// Module of the address: index into [`Sites::modules`]; `None` if no module contains it.
    pub module: Option<u32>,
    /// Return address as the module's file has it: the call ends just before it. In a script: line, from 1 (0 if unknown).
    pub address: u64,
    /// Function of a script: index into [`Sites::functions`]; `None` if the module is no script.
    pub function: Option<u32>,
}

/// Call stacks of a job, as a tree of frames.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    /// Modules that frames refer to.
    pub modules: Vec<Module>,
    /// Frames; callers come before the frames that they called.
    pub frames: Vec<Frame>,
    /// Names of functions of scripts.
    pub functions: Vec<String>,
}

/// Call site of a stream as recorded: all its calls come from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Stream id, which each segment carries.
    pub stream: u32,
    /// Frame of the call: index into [`Sites::frames`].
    pub frame: u32,
}

impl Sites {
    /// Returns the frames of a call stack, from `frame` to its outermost caller.
    pub fn stack(&self, frame: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(frame), |at| self.frames.get(*at as usize)?.caller)
            .take_while(|at| (*at as usize) < self.frames.len())
    }

    /// Returns the path of a frame's module; empty if no module contains its address.
    #[must_use]
    pub fn module(&self, frame: u32) -> &str {
        let module = self.frames.get(frame as usize).and_then(|frame| self.modules.get(frame.module? as usize));
        module.map_or("", |module| module.path.as_str())
    }

    /// True if the frame is one of a script.
    #[must_use]
    pub fn is_script(&self, frame: u32) -> bool {
        self.frames.get(frame as usize).is_some_and(|frame| frame.function.is_some())
    }
}

/// Merges the call stacks of all processes.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    sites: Sites,
    module_of: FxHashMap<Arc<Module>, u32>,
    frame_of: FxHashMap<Frame, u32>,
    function_of: FxHashMap<String, u32>,
}

impl Merged {
    /// Adds the call stacks of a process, and returns the call sites of its streams, sorted by stream id.
    pub(crate) fn add(&mut self, def: &SitesDef) -> Vec<Site> {
        let modules: Vec<u32> = def
            .modules
            .iter()
            .map(|module| {
                let path = String::from_utf8_lossy(&module.path).into_owned();
                let module = Arc::new(Module { path, build_id: module.build_id.clone() });
                let (sites, next) = (&mut self.sites, self.module_of.len() as u32);
                *self.module_of.entry(module).or_insert_with_key(|module| {
                    sites.modules.push(Module::clone(module));
                    next
                })
            })
            .collect();
        let mut frames: Vec<u32> = Vec::with_capacity(def.frames.len());
        for frame in &def.frames {
            // A caller that does not come before its callee is damaged, and left out.
            let caller = frame.caller.checked_sub(1).and_then(|caller| frames.get(caller as usize)).copied();
            let module = frame.module.checked_sub(1).and_then(|module| modules.get(module as usize)).copied();
            let function = def.function(frame).map(|function| {
                let name = String::from_utf8_lossy(&function.name).into_owned();
                let (sites, next) = (&mut self.sites, self.function_of.len() as u32);
                *self.function_of.entry(name).or_insert_with_key(|name| {
                    sites.functions.push(name.clone());
                    next
                })
            });
            let address = function.map_or(frame.address, |_| script_place(frame.address).1.into());
            let frame = Frame { caller, module, address, function };
            let (sites, next) = (&mut self.sites, self.frame_of.len() as u32);
            frames.push(*self.frame_of.entry(frame).or_insert_with(|| {
                sites.frames.push(frame);
                next
            }));
        }
        let site = |of: &trace_format::meta::StreamSite| {
            Some(Site { stream: of.stream, frame: *frames.get(of.frame as usize)? })
        };
        let mut sites: Vec<Site> = def.streams.iter().filter_map(site).collect();
        sites.sort_by_key(|site| site.stream);
        sites.dedup_by_key(|site| site.stream);
        sites
    }

    pub(crate) fn take(self) -> Sites {
        self.sites
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::meta::{FrameDef, FunctionDef, ModuleDef, StreamSite};

    #[test]
    fn equal_stacks_of_two_processes_are_one() {
        let def = |first: &[u8], streams: Vec<StreamSite>| SitesDef {
            modules: vec![
                ModuleDef { path: first.to_vec(), build_id: vec![7] },
                ModuleDef { path: b"/bin/a".to_vec(), build_id: vec![1] },
            ],
            frames: vec![
                FrameDef { caller: 0, module: 2, address: 10 },
                FrameDef { caller: 1, module: 2, address: 20 },
                FrameDef { caller: 9, module: 9, address: 30 },
                FrameDef { caller: 2, module: 1, address: 213 },
            ],
            streams,
            functions: vec![FunctionDef { module: 1, name: b"save".to_vec() }],
        };
        let mut all = Merged::default();
        let site = |stream, frame| StreamSite { stream, frame };
        let one = all.add(&def(b"/lib/x", vec![site(5, 1), site(2, 2), site(5, 0), site(9, 99)]));
        let two = all.add(&def(b"/lib/y", vec![site(0, 1)]));
        assert_eq!(one.iter().map(|site| (site.stream, site.frame)).collect::<Vec<_>>(), [(2, 2), (5, 1)]);
        assert_eq!(two, [Site { stream: 0, frame: 1 }]);
        let sites = all.take();
        assert_eq!((sites.modules.len(), sites.frames.len(), sites.functions.len()), (3, 5, 1));
        assert_eq!(sites.frames[2], Frame { caller: None, module: None, address: 30, function: None });
        assert_eq!(sites.frames[3], Frame { caller: Some(1), module: Some(0), address: 213, function: Some(0) });
        assert_eq!((sites.module(4), sites.is_script(4), sites.is_script(1)), ("/lib/y", true, false));
        assert_eq!(sites.stack(1).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(sites.stack(77).count(), 0);
    }
}
