//! Frames of all call stacks as a tree, and the modules that their addresses lie in. Entries are added without locks and never removed.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::{MOST_FRAMES, MOST_FUNCTIONS, MOST_MODULES, Site};
use crate::memory::{Bytes, Record, Table};
use crate::spool::journal;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use trace_format::meta::{FrameDef, FunctionDef, ModuleDef, SitesDef, StreamSite};

/// Number of lists of frames, by their hash.
const LISTS: usize = 1 << 11;
/// Number of lists of functions, by their hash. Static memory counts against RLIMIT_DATA in every process.
const FUNCTION_LISTS: usize = 1 << 8;
/// Maximum length of a module's build id that is kept, in bytes: SHA-1, which linkers use, has 20.
pub(super) const BUILD_ID_BYTES: usize = 32;

struct Frame {
    def: FrameDef,
    /// Index plus one of the next frame in the same list.
    next: u32,
}

/// Function of a script.
struct Function {
    module: u32,
    name: &'static [u8],
    /// Index plus one of the next function in the same list.
    next: u32,
}

struct Module {
    path: &'static [u8],
    build_id: ([u8; BUILD_ID_BYTES], usize),
}

// SAFETY: a record is found only once it is complete.
unsafe impl Record for Frame {}
// SAFETY: as above.
unsafe impl Record for Module {}
// SAFETY: as above.
unsafe impl Record for Function {}

static FRAMES: Table<Frame> = Table::new();
static HEADS: [AtomicU32; LISTS] = [const { AtomicU32::new(0) }; LISTS];
static MODULES: Table<Module> = Table::new();
static FUNCTIONS: Table<Function> = Table::new();
static FUNCTION_HEADS: [AtomicU32; FUNCTION_LISTS] = [const { AtomicU32::new(0) }; FUNCTION_LISTS];
/// Paths of modules, and names of functions.
static TEXTS: Bytes = Bytes::new();

pub(super) fn prepare(scale: usize) {
    FRAMES.prepare(MOST_FRAMES / scale);
    MODULES.prepare(MOST_MODULES / scale);
    FUNCTIONS.prepare(MOST_FUNCTIONS / scale);
    TEXTS.prepare((MOST_MODULES * 128 + MOST_FUNCTIONS * 32) / scale);
}

fn list(mixed: u64) -> usize {
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - LISTS.ilog2())) as usize
}

/// True once there is no room for further frames, or functions of scripts: new call sites are not recorded then.
static ARE_FULL: AtomicBool = AtomicBool::new(false);

/// True once there is no room for further frames, or functions of scripts.
pub(super) fn are_full() -> bool {
    ARE_FULL.load(Ordering::Relaxed)
}

/// Ends the recording of new call sites, since there is no room.
pub(super) fn no_room() {
    ARE_FULL.store(true, Ordering::Relaxed);
}

/// Returns the index plus one of the module, which is added if it is new; 0 if there is no room.
pub(super) fn module(path: &[u8], build_id: &[u8]) -> u32 {
    let build_id = build_id.get(..build_id.len().min(BUILD_ID_BYTES)).unwrap_or_default();
    let is = |module: &Module| module.path == path && module.build_id.0.get(..module.build_id.1) == Some(build_id);
    if let Some((index, _)) = MODULES.numbered().find(|(_, module)| is(module)) {
        return index as u32 + 1;
    }
    let mut kept = ([0; BUILD_ID_BYTES], build_id.len());
    kept.0[..build_id.len()].copy_from_slice(build_id);
    let Some(path) = TEXTS.keep(path) else { return 0 };
    let Some((index, module)) = MODULES.push(Module { path, build_id: kept }) else { return 0 };
    note_module(index as u32, module);
    index as u32 + 1
}

/// Returns a hash of `bytes` and of what `seed` is the hash of.
pub(super) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mix = |hash: u64, word: &[u8; 8]| {
        (hash.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    mix(words.iter().fold(seed ^ bytes.len() as u64, mix), &last)
}

/// Returns the module (index plus one) and the index of a function of the script at `path`, which are added if they are new; `None` if there is
/// no room.
pub(super) fn function(path: &[u8], name: &[u8]) -> Option<(u32, u32)> {
    let head = &FUNCTION_HEADS[list(hash(hash(0, name), path)) % FUNCTION_LISTS];
    let is_at = |module: u32| MODULES.get(module as usize - 1).is_some_and(|module| module.path == path);
    let mut new: Option<(u32, &'static [u8])> = None;
    loop {
        let first = head.load(Ordering::Acquire);
        let mut at = first;
        while let Some((index, function)) = at.checked_sub(1).and_then(|at| Some((at, FUNCTIONS.get(at as usize)?))) {
            if function.name == name && is_at(function.module) {
                return Some((function.module, index));
            }
            at = function.next;
        }
        let (module, name) = match new {
            Some(new) => new,
            None => (Some(module(path, b"")).filter(|module| *module != 0)?, TEXTS.keep(name)?),
        };
        new = Some((module, name));
        let (index, _) = FUNCTIONS.push(Function { module, name, next: first })?;
        // Unused if another thread was faster, as in `frame`.
        note_function(index as u32, module, name);
        if head.compare_exchange(first, index as u32 + 1, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some((module, index as u32));
        }
    }
}

/// Returns the call site of a frame, which is added if it is new; `None` if there is no room.
pub(super) fn frame(def: FrameDef) -> Option<Site> {
    let head =
        &HEADS[list(def.address ^ u64::from(def.caller).rotate_left(32) ^ u64::from(def.module).rotate_left(52))];
    loop {
        let first = head.load(Ordering::Acquire);
        let mut at = first;
        while let Some(frame) = at.checked_sub(1).and_then(|index| FRAMES.get(index as usize)) {
            if frame.def == def {
                return Some(at);
            }
            at = frame.next;
        }
        let (index, _) = FRAMES.push(Frame { def, next: first })?;
        let site = index as u32 + 1;
        // Written to the journal before any thread can find it; a thread that loses the exchange leaves an unused frame behind.
        note_frame(index as u32, def);
        if head.compare_exchange(first, site, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some(site);
        }
    }
}

fn note_module(index: u32, module: &Module) {
    if journal::is_kept() {
        journal::module(index, module.build_id.0.get(..module.build_id.1).unwrap_or_default(), module.path);
    }
}

fn note_function(index: u32, module: u32, name: &[u8]) {
    if journal::is_kept() {
        journal::function(index, module, name);
    }
}

fn note_frame(index: u32, def: FrameDef) {
    if journal::is_kept() {
        journal::frame(index, def);
    }
}

/// Writes all modules, functions and frames known so far to the journal of the spool (the file that survives a kill), which has just been created.
pub(crate) fn note_all() {
    MODULES.numbered().for_each(|(index, module)| note_module(index as u32, module));
    let functions = FUNCTIONS.numbered();
    functions.for_each(|(index, function)| note_function(index as u32, function.module, function.name));
    FRAMES.numbered().for_each(|(index, frame)| note_frame(index as u32, frame.def));
}

/// Returns the call sites of `streams` (stream IDs and call sites) for a trace, with the frames and modules that they need.
pub(crate) fn definitions(streams: impl Iterator<Item = (u32, Site)>) -> SitesDef {
    let site = |(stream, site): (u32, Site)| Some(StreamSite { stream, frame: site.checked_sub(1)? });
    let streams: Vec<StreamSite> = streams.filter_map(site).collect();
    if streams.is_empty() {
        return SitesDef::default();
    }
    let of = |module: &Module| ModuleDef {
        path: module.path.to_vec(),
        build_id: module.build_id.0.get(..module.build_id.1).unwrap_or_default().to_vec(),
    };
    // Entries that another thread is just adding have a place, but are not found.
    let modules = (0..MODULES.len()).map(|index| MODULES.get(index).map(of).unwrap_or_default()).collect();
    let frames = (0..FRAMES.len()).map(|index| FRAMES.get(index).map_or(FrameDef::default(), |frame| frame.def));
    let of = |function: &Function| FunctionDef { module: function.module, name: function.name.to_vec() };
    let functions = (0..FUNCTIONS.len()).map(|index| FUNCTIONS.get(index).map(of).unwrap_or_default()).collect();
    let mut sites = SitesDef { modules, frames: frames.collect(), streams, functions };
    sites.retain(|_| true);
    sites
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_one_whoever_comes_first() {
        prepare(16);
        let module = module(b"/bin/a", b"0123");
        let stack = |leaf: u64| {
            let root = frame(FrameDef { caller: 0, module, address: 1 })?;
            frame(FrameDef { caller: root, module, address: leaf })
        };
        let all: Vec<Site> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(move || (0..50).map(|leaf| stack(leaf).unwrap()).collect::<Vec<_>>()))
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        for (call, site) in all.iter().enumerate() {
            assert_eq!(*site, all[call % 50]);
        }
        let sites = definitions([(7, all[3]), (8, all[4]), (9, 0)].into_iter());
        assert_eq!((sites.frames.len(), sites.streams.len()), (3, 2));
        let functions = [(b"/a.py", b"f"), (b"/a.py", b"g"), (b"/b.py", b"f"), (b"/a.py", b"f")];
        let functions = functions.map(|(path, name)| function(path, name).unwrap());
        assert_eq!(functions.map(|(_, index)| index), [0, 1, 2, 0]);
        assert_eq!((functions[0].0, functions[3].0), (functions[1].0, functions[0].0));
        assert!(sites.modules.iter().any(|module| module.path == b"/bin/a" && module.build_id == b"0123"));
        assert_eq!(sites.stack(sites.streams[1].frame).map(|frame| frame.address).collect::<Vec<_>>(), [4, 1]);
    }
}
