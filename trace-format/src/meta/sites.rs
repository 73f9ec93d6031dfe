//! Call sites: the call stacks from which calls were made, as addresses in modules. Readers find functions and lines with the modules' debug
//! information.

use super::{DataSetAccess, DataSetDef, StreamDef};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Module: executable or shared library that was loaded in the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleDef {
    /// Absolute path of the module's file; empty if unknown.
    pub path: Vec<u8>,
    /// Build id of the module (ELF note `NT_GNU_BUILD_ID`); empty if the module has none.
    pub build_id: Vec<u8>,
}

/// Frame of a call stack. Frames form trees: equal callers are stored once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameDef {
    /// Index of the caller's frame plus one; 0 if the stack ends here. Always below the frame's own index plus one.
    pub caller: u32,
    /// Index of the module plus one; 0 if the address lies in no module.
    pub module: u32,
    /// Return address, in bytes from the module's load address (the address that the module's file assigns to it); an absolute address
    /// without a module. The call instruction ends just before it. In a script: function and line ([`script_place`]).
    pub address: u64,
}

/// Function of a script: of a source file that an interpreter runs. Modules that functions refer to are scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionDef {
    /// Index of the script's module plus one.
    pub module: u32,
    /// Name of the function, qualified by those of its class and of the functions around it.
    pub name: Vec<u8>,
}

/// Returns the address of a frame in a script. `function`: index of the function; `line`: from 1, 0 if unknown.
#[must_use]
pub const fn script_address(function: u32, line: u32) -> u64 {
    (function as u64) << u32::BITS | line as u64
}

/// Returns the index of the function and the line, from 1 (0 if unknown), of a frame in a script.
#[must_use]
pub const fn script_place(address: u64) -> (u32, u32) {
    ((address >> u32::BITS) as u32, address as u32)
}

/// Call site of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSite {
    /// Id of the stream.
    pub stream: u32,
    /// Index of the frame that made the stream's calls, in the process's frame table.
    pub frame: u32,
}

/// Call sites of a process: modules, frames, and the frame of each stream whose call site is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SitesDef {
    /// Modules that the frames refer to.
    pub modules: Vec<ModuleDef>,
    /// Frames of all call stacks; callers come before their callees.
    pub frames: Vec<FrameDef>,
    /// Call sites by stream. Streams that differ in their call site only are one operation on one file.
    pub streams: Vec<StreamSite>,
    /// Functions of scripts; a section of its own in a trace.
    #[serde(skip)]
    pub functions: Vec<FunctionDef>,
}

impl SitesDef {
    /// True if no call site is on record.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.streams.is_empty()
    }

    /// Returns the memory held by the tables, in bytes.
    #[must_use]
    pub(super) fn held_bytes(&self) -> usize {
        let modules: usize = self.modules.iter().map(|module| module.path.len() + module.build_id.len()).sum();
        let names: usize = self.functions.iter().map(|function| function.name.len()).sum();
        modules
            + names
            + size_of_val(self.functions.as_slice())
            + size_of_val(self.modules.as_slice())
            + size_of_val(self.frames.as_slice())
            + size_of_val(self.streams.as_slice())
    }

    /// Returns the function of a frame in a script; `None` for other frames.
    #[must_use]
    pub fn function(&self, frame: &FrameDef) -> Option<&FunctionDef> {
        let function = self.functions.get(script_place(frame.address).0 as usize);
        function.filter(|function| function.module == frame.module && frame.module != 0)
    }

    /// Keeps what the streams in `kept` (their ids) need, and renumbers frames, modules and functions.
    pub fn retain(&mut self, kept: impl Fn(u32) -> bool) {
        self.streams.retain(|site| kept(site.stream));
        let mut used = vec![false; self.frames.len()];
        for site in &self.streams {
            if let Some(used) = used.get_mut(site.frame as usize) {
                *used = true;
            }
        }
        // Callers come first, so one pass from the end marks them all.
        for index in (0..self.frames.len()).rev() {
            let caller = self.frames[index].caller as usize;
            if used[index] && (1..=index).contains(&caller) {
                used[caller - 1] = true;
            }
        }
        let (mut frames, mut number) = (Vec::new(), vec![0_u32; self.frames.len()]);
        let mut modules: BTreeMap<u32, u32> = BTreeMap::new();
        let (mut functions, mut function_of) = (Vec::new(), BTreeMap::new());
        for (index, frame) in self.frames.iter().enumerate().filter(|(index, _)| used[*index]) {
            let caller = (frame.caller as usize).checked_sub(1).filter(|caller| *caller < index);
            let caller = caller.map_or(0, |caller| number[caller]);
            let next = modules.len() as u32 + 1;
            let module = if frame.module == 0 { 0 } else { *modules.entry(frame.module).or_insert(next) };
            let mut address = frame.address;
            if let Some(function) = self.function(frame) {
                let (old, line) = script_place(address);
                let new = *function_of.entry(old).or_insert_with(|| {
                    functions.push(FunctionDef { module, name: function.name.clone() });
                    functions.len() as u32 - 1
                });
                address = script_address(new, line);
            }
            frames.push(FrameDef { caller, module, address });
            number[index] = frames.len() as u32;
        }
        self.streams.retain_mut(|site| {
            let number = number.get(site.frame as usize).copied().unwrap_or_default();
            site.frame = number.saturating_sub(1);
            number > 0
        });
        let mut kept: Vec<(u32, ModuleDef)> = Vec::new();
        for (old, new) in modules {
            let module = self.modules.get_mut(old as usize - 1).map(std::mem::take).unwrap_or_default();
            kept.push((new, module));
        }
        kept.sort_by_key(|(new, _)| *new);
        (self.frames, self.modules) = (frames, kept.into_iter().map(|(_, module)| module).collect());
        self.functions = functions;
    }

    /// Returns the frames of a call stack, from the frame with index `frame` to its outermost caller.
    pub fn stack(&self, frame: u32) -> impl Iterator<Item = FrameDef> + '_ {
        let mut next = Some(frame as usize);
        std::iter::from_fn(move || {
            let index = next?;
            let frame = *self.frames.get(index)?;
            next = (frame.caller as usize).checked_sub(1).filter(|caller| *caller < index);
            Some(frame)
        })
    }

    /// Returns, for each stream that differs from a stream with a lower id in its call site only, its id and that lower id, in ascending
    /// order of ids. Streams of HDF5 data sets also differ in their data sets and selections.
    #[must_use]
    pub fn same_operation(&self, streams: &[StreamDef], data_sets: &[DataSetDef]) -> Vec<(u32, u32)> {
        if self.is_none() {
            return Vec::new();
        }
        let mut selected: BTreeMap<u32, (usize, Option<usize>)> = BTreeMap::new();
        for (set, def) in data_sets.iter().enumerate() {
            let selection = |access: &DataSetAccess| access.selections.iter().position(|calls| *calls > 0);
            selected.extend(def.accesses.iter().map(|access| (access.stream, (set, selection(access)))));
        }
        let mut sorted: Vec<&StreamDef> = streams.iter().collect();
        let key = |stream: &StreamDef| {
            (stream.file, stream.op, stream.flags, stream.errno, selected.get(&stream.id).copied())
        };
        sorted.sort_by_key(|stream| (key(stream), stream.id));
        let mut same: Vec<(u32, u32)> = Vec::new();
        for like in sorted.chunk_by(|one, other| key(one) == key(other)) {
            let Some((first, others)) = like.split_first() else { continue };
            same.extend(others.iter().filter(|stream| stream.id != first.id).map(|stream| (stream.id, first.id)));
        }
        same.sort_unstable();
        same.dedup_by_key(|(id, _)| *id);
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(caller: u32, module: u32, address: u64) -> FrameDef {
        FrameDef { caller, module, address }
    }

    fn sites() -> SitesDef {
        let module = |name: &[u8]| ModuleDef { path: name.to_vec(), build_id: vec![1] };
        SitesDef {
            modules: vec![module(b"/a"), module(b"/b"), module(b"/c")],
            frames: vec![frame(0, 1, 10), frame(1, 2, 20), frame(0, 2, 30), frame(2, 3, 40)],
            streams: vec![StreamSite { stream: 5, frame: 1 }, StreamSite { stream: 6, frame: 3 }],
            functions: Vec::new(),
        }
    }

    #[test]
    fn functions_of_scripts_are_kept_with_their_frames() {
        let function = |module, name: &[u8]| FunctionDef { module, name: name.to_vec() };
        let mut some = sites();
        some.functions = vec![function(3, b"unused"), function(3, b"save")];
        some.frames[3].address = script_address(1, 213);
        some.retain(|stream| stream == 6);
        assert_eq!(some.functions, [function(3, b"save")]);
        let leaf = some.frames[2];
        assert_eq!((script_place(leaf.address), some.function(&leaf)), ((0, 213), some.functions.first()));
        assert_eq!(some.function(&some.frames[0]), None);
    }

    #[test]
    fn only_what_the_streams_need_is_kept() {
        let mut some = sites();
        some.retain(|stream| stream == 5);
        assert_eq!(some.frames, [frame(0, 1, 10), frame(1, 2, 20)]);
        assert_eq!((some.modules.len(), some.streams[0].frame), (2, 1));
        let mut all = sites();
        all.retain(|_| true);
        assert_eq!(all.frames, [frame(0, 1, 10), frame(1, 2, 20), frame(2, 3, 40)]);
        let addresses: Vec<u64> = all.stack(all.streams[1].frame).map(|frame| frame.address).collect();
        assert_eq!(addresses, [40, 20, 10]);
        let mut none = sites();
        none.retain(|_| false);
        assert_eq!(none, SitesDef::default());
    }

    /// Frames that refer to later frames, to themselves or to nothing come from a damaged or hostile trace.
    #[test]
    fn stacks_end_whatever_the_frames_say() {
        let mut bad = sites();
        bad.frames = vec![frame(1, 9, 1), frame(4, 0, 2), frame(u32::MAX, u32::MAX, 3), frame(3, 1, 4)];
        bad.streams = vec![StreamSite { stream: 1, frame: 3 }, StreamSite { stream: 2, frame: 77 }];
        assert_eq!(
            (bad.stack(0).count(), bad.stack(1).count(), bad.stack(3).count(), bad.stack(77).count()),
            (1, 1, 2, 0)
        );
        bad.retain(|_| true);
        assert_eq!((bad.frames.len(), bad.streams.len()), (2, 1));
    }

    #[test]
    fn streams_that_differ_in_their_site_only_are_one() {
        let stream = |id, file, op| StreamDef { id, file, op, flags: 0, errno: 0 };
        let streams = [stream(3, 0, 1), stream(1, 0, 1), stream(2, 0, 2), stream(7, 0, 1), stream(8, 1, 1)];
        assert_eq!(sites().same_operation(&streams, &[]), [(3, 1), (7, 1)]);
        assert_eq!(SitesDef::default().same_operation(&streams, &[]), []);
        let access = |stream| DataSetAccess { stream, selections: [0, 1, 0, 0, 0, 0], elements: 5 };
        let set = |accesses| DataSetDef { accesses, ..DataSetDef::default() };
        let sets = [set(vec![access(1), access(7)]), set(vec![access(3)])];
        assert_eq!(sites().same_operation(&streams, &sets), [(7, 1)]);
    }
}
