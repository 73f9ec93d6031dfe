//! Locates programs on PATH, and files of this project (installed beside dxt-run, or just built).

use crate::texts::variable;
use rustix::fs::{Access, access};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns the path of this project's file `name` (library, program, script). Searches beside the given library, beside dxt-run, in the
/// installation, and in cargo's target directory.
pub(crate) fn ours(name: &str, library: Option<&Path>) -> Option<PathBuf> {
    let beside = library.and_then(Path::parent).map(|folder| folder.join(name));
    let here = std::env::current_exe().and_then(|exe| exe.canonicalize()).ok();
    let here = here.as_deref().and_then(Path::parent).map(Path::to_owned);
    let places = ["", "../lib/dxt", "../lib64/dxt", "../lib"].map(|place| Some(here.as_ref()?.join(place).join(name)));
    let built = variable("CARGO_TARGET_DIR").map(|target| Path::new(&target).join("release").join(name));
    std::iter::once(beside).chain(places).chain([built]).flatten().find(|file| file.exists())
}

/// Returns the path of the program that execvp(3) would execute for `word`.
pub(crate) fn program(word: &OsStr) -> Option<PathBuf> {
    let runs = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    if word.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(word)).filter(|file| runs(file));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path).map(|folder| folder.join(word)).find(|file| !word.is_empty() && runs(file))
}

/// Makes a path absolute, and resolves symbolic links in the part of the path that exists.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
        if let Ok(known) = out.canonicalize() {
            out = known;
        }
    }
    out
}

/// Returns the current directory or, if it was deleted, its former name from PWD.
pub(crate) fn current() -> PathBuf {
    std::env::current_dir().ok().or_else(|| variable("PWD").map(PathBuf::from)).unwrap_or_else(|| "/".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_as_far_as_they_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("a")).unwrap();
        std::os::unix::fs::symlink("a", real.join("link")).unwrap();
        assert_eq!(resolved(&real.join("link/new/../x/./y")), real.join("a/x/y"));
        assert_eq!(resolved(Path::new("/no/such/../place")), Path::new("/no/place"));
    }

    #[test]
    fn programs_are_those_that_can_be_run() {
        assert!(program("sh".as_ref()).is_some() && program("/bin/sh".as_ref()).is_some());
        for word in ["", "/etc/passwd", "/etc", "no-such-program"] {
            assert_eq!(program(word.as_ref()), None, "{word}");
        }
    }
}
