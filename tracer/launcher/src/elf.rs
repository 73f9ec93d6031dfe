//! Inspects a program's ELF file to find out if a preloaded library takes effect in the program.

use crate::files;
use crate::texts::{has, os};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, elf};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Effect that preloading the tracer has on a program, judged by the program's file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The tracer's library is loaded into the program; also assumed if no evidence indicates otherwise.
    Reached,
    /// The library is not loaded: the program is statically linked, without the tracer.
    Static,
    /// The library is not loaded: the program is setuid or setgid.
    Privileged,
    /// With the library the program would fail to start, or complain, for this reason.
    Foreign(String),
}

/// Properties of an ELF file that determine if the tracer's library can be preloaded.
#[derive(PartialEq, Eq)]
struct Kind {
    is_64: bool,
    machine: u16,
    /// Path of the dynamic linker that the file names; `None` if statically linked.
    loader: Option<PathBuf>,
}

/// Maximum number of nested script interpreters that the kernel follows.
const MOST_SCRIPTS: usize = 4;

/// Determines the effect of preloading `library` into `program`, or into the interpreter if it is a script.
pub(crate) fn reach(program: &Path, library: &Path) -> Reach {
    let program = interpreter(program, MOST_SCRIPTS);
    let Some(kind) = kind(&program) else { return Reach::Reached };
    let mode = program.metadata().map_or(0, |file| file.permissions().mode());
    let Some(loader) = &kind.loader else {
        // The program may have a linked-in tracer, or be a dynamic linker, which loads libraries itself.
        let is_reached = has(&beginning(&program, 4096), b"DXT tracer") || program.canonicalize().ok() == own_loader();
        return if is_reached { Reach::Reached } else { Reach::Static };
    };
    if mode & 0o6000 != 0 {
        return Reach::Privileged;
    }
    foreign(&program, &kind, loader, library).map_or(Reach::Reached, Reach::Foreign)
}

/// Returns the reason why the library cannot be loaded into a program with this dynamic linker.
fn foreign(program: &Path, kind: &Kind, loader: &Path, library: &Path) -> Option<String> {
    let ours = self::kind(library)?;
    if !kind.is_64 && ours.is_64 {
        return Some("it is a 32-bit program".to_owned());
    }
    if (kind.is_64, kind.machine) != (ours.is_64, ours.machine) {
        return Some("it is for another processor".to_owned());
    }
    let Ok(place) = loader.canonicalize() else {
        return Some(format!("its dynamic linker does not exist ({})", loader.display()));
    };
    if own_loader().as_ref() == Some(&place) {
        return None;
    }
    if !is_glibc(&place) {
        return Some(format!("it is for another C library ({})", loader.display()));
    }
    // Another glibc: lists the libraries that the program would load, without running the program.
    let mut list = Command::new(program);
    list.env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_PRELOAD", library).stdin(Stdio::null());
    let loads = list.output().is_ok_and(|output| {
        let said = [output.stdout, output.stderr].concat();
        output.status.success()
            && has(&said, library.as_os_str().as_bytes())
            && !has(&said, b"not found")
            && !has(&said, b"cannot be")
    });
    (!loads).then(|| format!("it is for another glibc ({})", loader.display()))
}

/// Returns the path of dxt-run's own dynamic linker.
fn own_loader() -> Option<PathBuf> {
    kind(&std::env::current_exe().ok()?)?.loader?.canonicalize().ok()
}

/// True if `loader` is glibc's dynamic linker, regardless of its file name.
fn is_glibc(loader: &Path) -> bool {
    std::fs::read(loader).is_ok_and(|bytes| has(&bytes, b"\0GLIBC_PRIVATE\0") && has(&bytes, b"\0_dl_"))
}

/// Returns the interpreter of a script, or `program` itself if it is no script. Follows at most `depth` scripts that are interpreters of
/// each other.
fn interpreter(program: &Path, depth: usize) -> PathBuf {
    let line = beginning(program, 256);
    let Some(line) = line.strip_prefix(b"#!").filter(|_| depth > 0) else { return program.to_owned() };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let Some(first) = words.next() else { return program.to_owned() };
    let is_env = Path::new(first).file_name() == Some("env".as_ref());
    let named = words.find(|word| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'='));
    let place = named.filter(|_| is_env).and_then(files::program).unwrap_or_else(|| PathBuf::from(first));
    interpreter(&place, depth - 1)
}

/// Returns the first `most` bytes of a file.
fn beginning(file: &Path, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(file) {
        let _ = file.take(most).read_to_end(&mut bytes);
    }
    bytes
}

/// Returns the properties of an ELF file; `None` if the file is not ELF or cannot be read.
fn kind(file: &Path) -> Option<Kind> {
    let data = ReadCache::new(File::open(file).ok()?);
    match FileKind::parse(&data).ok()? {
        FileKind::Elf32 => kind_of::<elf::FileHeader32<Endianness>>(&data, false),
        FileKind::Elf64 => kind_of::<elf::FileHeader64<Endianness>>(&data, true),
        _ => None,
    }
}

fn kind_of<Header: FileHeader<Endian = Endianness>>(data: &ReadCache<File>, is_64: bool) -> Option<Kind> {
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let mut segments = header.program_headers(endian, data).ok()?.iter();
    let loader: Option<OsString> =
        segments.find_map(|segment| Some(os(segment.interpreter(endian, data).ok()??.to_vec())));
    Some(Kind { is_64, machine: header.e_machine(endian).0, loader: loader.map(PathBuf::from) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_what_interprets_them() {
        let folder = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            file
        };
        let sh = script("a", "#! /bin/sh -e\n");
        assert_eq!(interpreter(&sh, MOST_SCRIPTS), Path::new("/bin/sh"));
        let of_script = script("b", &format!("#!{}\n", sh.display()));
        assert_eq!(interpreter(&of_script, MOST_SCRIPTS), Path::new("/bin/sh"));
        let by_env = script("c", "#!/usr/bin/env -S A=1 sh -e\n");
        assert!(interpreter(&by_env, MOST_SCRIPTS).ends_with("bin/sh"));
        let of_itself = script("d", &format!("#!{}\n", folder.path().join("d").display()));
        assert_eq!(interpreter(&of_itself, MOST_SCRIPTS), of_itself);
    }

    #[test]
    fn a_file_that_is_no_program_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x");
        for text in [
            &b""[..],
            b"\x7fELF",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"#!",
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(reach(&file, "/bin/sh".as_ref()), Reach::Reached);
        }
        assert_eq!(reach("/bin/sh".as_ref(), "/bin/sh".as_ref()), Reach::Reached);
    }
}
