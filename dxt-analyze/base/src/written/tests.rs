//! Tests that only the name and the bytes of an existing file decide if it is replaced.

use super::*;
use std::os::unix::fs::{MetadataExt, symlink};

const PAGE: &[u8] = b"<!doctype html><meta name=\"generator\" content=\"dxt-analyze 0.1\">old";

fn write(path: &Path, force: bool) -> Result<()> {
    Target::new(path, Ours::Page, force).stream(|out| Ok(out.write_all(b"new")?))
}

fn refused(path: &Path) -> String {
    format!("{:#}", write(path, false).expect_err("must be refused"))
}

#[test]
fn only_what_is_ours_or_empty_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    for (before, replaced) in [(PAGE, true), (b"", true), (b"mine", false), (b"<!doctype html>mine", false)] {
        std::fs::write(&path, before).unwrap();
        assert_eq!(write(&path, false).is_ok(), replaced, "{before:?}");
        assert_eq!(std::fs::read(&path).unwrap(), if replaced { b"new" } else { before });
    }
    assert!(refused(&path).contains("--force"));
    write(&path, true).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn nothing_is_written_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let [behind, link, dangling] = ["behind", "link", "dangling"].map(|name| folder.path().join(name));
    // The link is refused even if its target could be replaced under the target's own name.
    std::fs::write(&behind, PAGE).unwrap();
    symlink(&behind, &link).unwrap();
    symlink(folder.path().join("absent"), &dangling).unwrap();
    for path in [&link, &dangling] {
        assert!(refused(path).contains("symbolic link"));
        write(path, true).unwrap();
        assert!(std::fs::symlink_metadata(path).unwrap().is_file());
    }
    assert_eq!(std::fs::read(&behind).unwrap(), PAGE);
    assert!(!folder.path().join("absent").exists());
}

#[test]
fn another_name_of_the_same_file_keeps_its_bytes_and_rights_stay() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["path", "other"].map(|name| folder.path().join(name));
    std::fs::write(&path, PAGE).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    std::fs::hard_link(&path, &other).unwrap();
    write(&path, false).unwrap();
    assert_eq!(std::fs::read(&other).unwrap(), PAGE);
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
}

#[test]
fn what_comes_to_be_meanwhile_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let target = Target::new(&path, Ours::Page, false);
    let put = |what: &[u8]| std::fs::write(&path, what).unwrap();
    let done = target.file(|_| {
        put(b"mine");
        Ok(())
    });
    assert!(done.is_err() && std::fs::read(&path).unwrap() == b"mine");
    std::fs::write(folder.path().join("from"), b"new").unwrap();
    assert!(rename_to_nothing(&folder.path().join("from"), &path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn devices_and_pipes_are_written_and_others_refused() {
    write(Path::new("/dev/null"), false).unwrap();
    assert!(format!("{:#}", write(Path::new("/dev/full"), false).unwrap_err()).contains("No space left"));
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("null");
    symlink("/dev/null", &link).unwrap();
    write(&link, false).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe).unwrap()
    });
    write(&pipe, false).unwrap();
    assert_eq!(reader.join().unwrap(), b"new");
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(write(&socket, true).is_err() && write(folder.path(), true).is_err());
}

#[test]
fn names_of_descriptors_never_become_files() {
    let folder = tempfile::tempdir().unwrap();
    let [null, input] = ["null", "input"].map(|name| folder.path().join(name));
    symlink("/dev/null", &null).unwrap();
    symlink("/proc/self/fd/0", &input).unwrap();
    for path in [&*null, &*input, Path::new("/dev/null"), Path::new("/dev/stdout")] {
        let done = Target::new(path, Ours::Page, true).file(|_| Ok(()));
        assert!(done.is_err(), "{}", path.display());
    }
    assert!(null.is_symlink() && input.is_symlink() && Path::new("/dev/stdout").is_symlink());
}

#[test]
fn what_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let done: Result<()> = Target::new(&path, Ours::Page, false).file(|file| {
        file.write_all(b"half")?;
        bail!("no more")
    });
    assert!(done.is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
