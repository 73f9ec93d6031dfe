//! Implements `report --open`: opens the page in a browser, if there is one. A failure is no error: the path is printed instead.

use crate::progress::say;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the program that opens a page, if this session can show one: from `$BROWSER`, a list separated by colons; otherwise the
/// desktop's opener (`xdg-open`, on macOS `open`).
fn opener(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let folders = set("PATH").unwrap_or_default();
    let found = |program: &str| {
        if program.contains('/') {
            return Some(PathBuf::from(program)).filter(|path| path.is_file());
        }
        std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
    };
    // $BROWSER is used even without a display: remote editors set it to show pages on the local machine.
    if let Some(browser) = set("BROWSER").and_then(|names| names.split(':').find_map(|name| found(name.trim()))) {
        return Some(browser);
    }
    if cfg!(target_os = "macos") {
        return found("open");
    }
    (set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some()).then(|| found("xdg-open")).flatten()
}

/// Opens `page` in a browser; prints the path if that is impossible.
pub(super) fn open(page: &Path) {
    // Only regular files can be opened: the data written to a pipe is gone.
    let Some(page) = page.canonicalize().ok().filter(|page| page.is_file()) else { return };
    let opener = opener(|name| std::env::var_os(name)?.into_string().ok());
    let started = opener.and_then(|opener| {
        let mut command = Command::new(opener);
        command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A separate process group: Ctrl-C in this terminal must not reach the browser.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().ok()
    });
    match started {
        // The browser may run for hours, so this process does not wait for it.
        Some(_) => say!("opening {}", page.display()),
        None => say!("no browser found here: open {}", page.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_the_one_that_is_named_or_that_of_a_desktop() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["xdg-open", "firefox"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let path = folder.path().display().to_string();
        let of = |set: &[(&str, &str)]| {
            let found = opener(|name| {
                let own = set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
                own.or_else(|| (name == "PATH").then(|| path.clone()))
            });
            found.map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("BROWSER", "nothing:firefox")]).as_deref(), Some("firefox"));
        assert_eq!(of(&[("BROWSER", "nothing")]), None);
        if !cfg!(target_os = "macos") {
            assert_eq!(of(&[("DISPLAY", "")]), None);
            assert_eq!(of(&[("DISPLAY", ":0")]).as_deref(), Some("xdg-open"));
            assert_eq!(of(&[("WAYLAND_DISPLAY", "wayland-0"), ("BROWSER", "")]).as_deref(), Some("xdg-open"));
        }
    }
}
