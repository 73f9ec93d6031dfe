//! Functions and lines of call sites, from the symbols and the debug information (DWARF) of the modules' files.
//!
//! A file is used only if it has the build id that the trace has, so that a trace of another machine, or of a program that was built anew since,
//! gets no wrong names. Debug information may also lie apart from the module: under `/usr/lib/debug`, or in the directories that the user names.

use crate::limits::{FUNCTION_NAME_BYTES, FUNCTION_NAME_DEPTH, INLINED_FUNCTIONS, OBJECT_BYTES, OBJECTS_BYTES};
use crate::model::Run;
use crate::model::sites::Module;
use addr2line::Context;
use cpp_demangle::{BorrowedSymbol, DemangleOptions};
use gimli::{DwarfSections, EndianSlice, LittleEndian};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, ReadCache, SymbolKind};
use rayon::prelude::*;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write;
use std::io::{Read as _, Seek as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Options that say where debug information lies.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DebugDirs {
    /// Directory with debug information or copies of the program: files by name, or by build id (.build-id/ab/cdef.debug, abcdef/debuginfo)
    #[arg(long = "debug-dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
}

/// Place in a program: function and line.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// Name of the function; without a name, the module and the address in it.
    pub function: String,
    /// Path of the source file, as the compiler saw it; `None` without debug information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in the source file, from 1; `None` without debug information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Place {
    /// True if the function has no name: the place is a module and an address.
    pub(crate) fn is_address(&self) -> bool {
        self.function.contains("+0x")
    }

    /// Returns the place in words: `write_all (io.c:213)`, or the function alone.
    #[must_use]
    pub fn shown(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{} ({}:{line})", self.function, name_of(file)),
            _ => self.function.clone(),
        }
    }
}

/// Returns the last part of a path.
pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Places of all frames of a run.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// By frame: places, an inlined function before the one that it was inlined into; never empty.
    places: Vec<Vec<Place>>,
}

impl Symbols {
    /// Finds functions and lines of all frames of a run. `dirs`: directories with further debug information.
    #[must_use]
    pub fn of(run: &Run, dirs: &[PathBuf]) -> Self {
        let sites = &run.sites;
        let files = Files { dirs, before_unix_ns: run.start_unix_ns, left: AtomicU64::new(OBJECTS_BYTES) };
        let mut by_module: Vec<Vec<u64>> = vec![Vec::new(); sites.modules.len()];
        for frame in sites.frames.iter().filter(|frame| frame.function.is_none()) {
            let of = frame.module.and_then(|module| by_module.get_mut(module as usize));
            of.into_iter().for_each(|of| of.push(frame.address));
        }
        let found: Vec<Vec<(u64, Vec<Place>)>> = by_module
            .into_par_iter()
            .zip(&sites.modules)
            .map(|(mut addresses, module)| {
                addresses.sort_unstable();
                addresses.dedup();
                places(module, &addresses, &files)
            })
            .collect();
        let place = |frame: &crate::model::sites::Frame| {
            let Some(module) = frame.module else { return vec![unnamed("?", frame.address)] };
            if let Some(function) = frame.function {
                let name = sites.functions.get(function as usize);
                let path = sites.modules.get(module as usize).map(|module| module.path.clone());
                let line = u32::try_from(frame.address).ok().filter(|line| *line > 0);
                return vec![Place { function: name.cloned().unwrap_or_default(), file: path, line }];
            }
            let of = found.get(module as usize).map(Vec::as_slice).unwrap_or_default();
            let known = of.binary_search_by_key(&frame.address, |(address, _)| *address).ok().and_then(|at| of.get(at));
            known.map(|(_, places)| places.clone()).unwrap_or_default()
        };
        Self { places: sites.frames.iter().map(place).collect() }
    }

    /// Returns the places of a frame, innermost first; empty for a frame that does not exist, or if nothing was looked up.
    #[must_use]
    pub fn places(&self, frame: u32) -> &[Place] {
        self.places.get(frame as usize).map(Vec::as_slice).unwrap_or_default()
    }
}

fn unnamed(module: &str, address: u64) -> Place {
    Place { function: format!("{}+0x{address:x}", name_of(module)), ..Place::default() }
}

/// Returns the places of each of `addresses`, which are sorted.
fn places(module: &Module, addresses: &[u64], files: &Files<'_>) -> Vec<(u64, Vec<Place>)> {
    if addresses.is_empty() {
        return Vec::new();
    }
    let contents = files.of(module);
    let objects: Vec<object::File<'_>> =
        contents.iter().filter_map(|bytes| object::File::parse(bytes.as_slice()).ok()).collect();
    let symbols: Vec<Vec<(u64, u64, &str)>> = objects.iter().map(functions).collect();
    let sections: Vec<DwarfSections<Cow<'_, [u8]>>> = objects.iter().filter_map(dwarf).collect();
    let contexts: Vec<Context<EndianSlice<'_, LittleEndian>>> = sections
        .iter()
        .filter_map(|sections| Context::from_dwarf(sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian))).ok())
        .collect();
    let of = |&address: &u64| {
        // The call ends before its return address.
        let call = address.saturating_sub(1);
        let lines = contexts.iter().map(|context| lines(context, call)).find(|lines| !lines.is_empty());
        let mut lines = lines.unwrap_or_default();
        let named = || symbols.iter().find_map(|symbols| function(symbols, call));
        match lines.last_mut() {
            // The outermost function may have no name in the debug information of an assembler.
            Some(last) if last.function.is_empty() => {
                last.function = named().unwrap_or_else(|| unnamed(&module.path, address).function);
            }
            Some(_) => {}
            None => lines.push(
                named()
                    .map_or_else(|| unnamed(&module.path, address), |function| Place { function, ..Place::default() }),
            ),
        }
        (address, lines)
    };
    addresses.iter().map(of).collect()
}

/// Returns the places of an address by debug information, innermost first; empty without any.
fn lines(context: &Context<EndianSlice<'_, LittleEndian>>, address: u64) -> Vec<Place> {
    let mut out = Vec::new();
    let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return out };
    // A damaged file could nest functions without end.
    while let (Ok(Some(frame)), true) = (frames.next(), out.len() < INLINED_FUNCTIONS) {
        let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
        let function = name.map(|name| demangled(&name)).unwrap_or_default();
        let file = frame.location.as_ref().and_then(|location| location.file).map(str::to_owned);
        let line = frame.location.as_ref().and_then(|location| location.line).filter(|line| *line > 0);
        out.push(Place { function, file, line });
    }
    out
}

/// Text that takes a limited number of bytes: names may unfold to any length.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > FUNCTION_NAME_BYTES {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Returns a function's name as its source has it, without arguments; names that are not those of C++ or Rust stay as they are.
fn demangled(name: &str) -> String {
    let mut out = Bounded(String::new());
    let written = if let Ok(rust) = rustc_demangle::try_demangle(name) {
        write!(out, "{rust:#}").ok()
    } else if name.starts_with("_Z") {
        let options = DemangleOptions::new().no_params().no_return_type().recursion_limit(FUNCTION_NAME_DEPTH);
        let symbol = BorrowedSymbol::new(name.as_bytes()).ok();
        symbol.and_then(|symbol| symbol.structured_demangle(&mut out, &options).ok())
    } else {
        None
    };
    if written.is_some() && !out.0.is_empty() { out.0 } else { name.chars().take(FUNCTION_NAME_BYTES).collect() }
}

/// Returns the functions of an object (start, end, name), sorted by address: all of them, or those for other modules.
fn functions<'a>(object: &object::File<'a>) -> Vec<(u64, u64, &'a str)> {
    let is = |symbol: &object::Symbol<'a, '_>| symbol.kind() == SymbolKind::Text && symbol.address() > 0;
    let of = |symbol: object::Symbol<'a, '_>| {
        Some((symbol.address(), symbol.address().saturating_add(symbol.size().max(1)), symbol.name().ok()?))
    };
    let mut all: Vec<(u64, u64, &str)> = object.symbols().filter(is).filter_map(of).collect();
    if all.is_empty() {
        all = object.dynamic_symbols().filter(is).filter_map(of).collect();
    }
    all.sort_unstable();
    all
}

fn function(functions: &[(u64, u64, &str)], address: u64) -> Option<String> {
    let at = functions.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
    let (_, _, name) = functions.get(at).filter(|(_, end, _)| address < *end)?;
    Some(demangled(name.split('@').next().unwrap_or(name)))
}

fn dwarf<'a>(object: &object::File<'a>) -> Option<DwarfSections<Cow<'a, [u8]>>> {
    object.section_by_name(".debug_info").or_else(|| object.section_by_name(".zdebug_info"))?;
    let load = |id: gimli::SectionId| -> Result<Cow<'a, [u8]>, ()> {
        let data = object.section_by_name(id.name()).and_then(|section| section.compressed_data().ok());
        let small = data.filter(|data| data.uncompressed_size <= OBJECT_BYTES);
        Ok(small.and_then(|data| data.decompress().ok()).unwrap_or_default())
    };
    DwarfSections::load(load).ok()
}

/// Files that may have names.
struct Files<'a> {
    dirs: &'a [PathBuf],
    /// Start of the run, ns since 1970-01-01 UTC.
    before_unix_ns: i64,
    /// Number of bytes that may still be read.
    left: AtomicU64,
}

impl Files<'_> {
    /// Returns the contents of a module's files: the module itself, and debug information that lies apart.
    fn of(&self, module: &Module) -> Vec<Vec<u8>> {
        let path = Path::new(&module.path);
        let id: String = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let by_id = |dir: &Path| {
            let split = id.split_at_checked(2).filter(|(_, rest)| !rest.is_empty());
            let parted = split.map(|(start, rest)| dir.join(".build-id").join(start).join(format!("{rest}.debug")));
            let whole = split.map(|_| dir.join(&id).join("debuginfo"));
            parted.into_iter().chain(whole)
        };
        let mut places: Vec<(PathBuf, bool)> = Vec::new();
        for dir in self.dirs {
            let named = path.file_name().map(|name| dir.join(name));
            let debug = path.file_name().map(|name| dir.join(format!("{}.debug", name.to_string_lossy())));
            places.extend(by_id(dir).chain(named).chain(debug).map(|place| (place, true)));
        }
        if path.is_absolute() {
            places.push((path.to_owned(), false));
        }
        places.extend(by_id(Path::new("/usr/lib/debug")).map(|place| (place, false)));
        places.iter().filter_map(|(place, is_named)| self.content(place, &module.build_id, *is_named)).collect()
    }

    /// Returns the content of an ELF file with this build id. If none is known, the file must be older than the run: it may have been built anew
    /// since, unless the user has named its directory (`is_named`).
    fn content(&self, path: &Path, build_id: &[u8], is_named: bool) -> Option<Vec<u8>> {
        let mut file = crate::input::open(path).ok()?;
        let about = file.metadata().ok()?;
        if about.len() > OBJECT_BYTES {
            return None;
        }
        // Only what the question needs is read, since most files of other machines are not those.
        let cache = ReadCache::new(&file);
        let object = object::File::parse(&cache).ok()?;
        let changed = || about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec());
        let is_same = match build_id {
            [] => is_named || changed() < self.before_unix_ns,
            known => object.build_id().ok().flatten() == Some(known),
        };
        let take = |left: u64| left.checked_sub(about.len());
        if !is_same || self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            return None;
        }
        let mut content = Vec::with_capacity(usize::try_from(about.len()).ok()?);
        file.rewind().ok()?;
        file.take(OBJECT_BYTES).read_to_end(&mut content).ok()?;
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_language_are_those_of_their_source() {
        for (name, expected) in [
            ("t", "t"),
            ("Pi", "Pi"),
            ("main", "main"),
            ("dump_field_", "dump_field_"),
            ("__mesh_MOD_write", "__mesh_MOD_write"),
            ("_ZN4mesh5writeERKSt6vectorIdSaIdEEi", "mesh::write"),
            ("_ZN3std2io5Write9write_all17h0123456789abcdefE", "std::io::Write::write_all"),
            ("_Znonsense", "_Znonsense"),
        ] {
            assert_eq!(demangled(name), expected);
        }
    }

    /// Each step of the name repeats all before it twice.
    #[test]
    fn a_name_that_unfolds_without_end_stays_as_it_is() {
        let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let steps: String = (0..30)
            .map(|step| {
                let last = char::from(digits[step]);
                format!("S_IS{last}_S{last}_E")
            })
            .collect();
        let name = format!("_Z1fISt4pairIiiE{steps}Evv");
        assert!(name.len() < FUNCTION_NAME_BYTES);
        assert_eq!(demangled(&name), name);
    }
}
