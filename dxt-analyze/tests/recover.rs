//! `recover` without a spool, with something that is none, and with one that was never finished.

mod common;

use common::{put, run, stdout};

#[test]
fn what_is_no_spool_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("traces");
    let recover = |path: &str| run(&["recover", path, "-o", output.to_str().unwrap()]);
    let empty = put(folder.path(), "dxt-0-1-2-0.spool", &[0; 4096]);
    let found = stdout(&["recover", &empty, "-o", output.to_str().unwrap()], 0);
    assert!(found.contains("1 spools held nothing"), "{found}");
    assert!(!output.exists());
    for (name, bytes) in [("short.spool", vec![0; 10]), ("other.spool", b"something else ".repeat(400))] {
        let path = put(folder.path(), name, &bytes);
        let outcome = recover(&path);
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.status.code(), Some(1), "{said}");
        assert!(said.contains(name) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(recover("/no/such/spool").status.code(), Some(1));
    // Beside one that cannot be read, the others are.
    let both = run(&["recover", folder.path().to_str().unwrap()]);
    assert_eq!(both.status.code(), Some(3));
}

#[test]
fn no_bytes_make_it_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut header = vec![0_u8; 8192];
    header[..8].copy_from_slice(b"DXTSPOOL");
    header[8] = 1;
    let mut state = 1_u64;
    for round in 0..60 {
        let mut bytes = header.clone();
        for at in (128..8192).step_by(1 + round) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Parts that lie in the file, filled with anything.
            bytes[at] = if at < 512 && at % 8 > 1 { 0 } else { (state >> 56) as u8 };
        }
        let path = put(folder.path(), &format!("{round}.spool"), &bytes);
        let output = folder.path().join(format!("{round}.dxt"));
        let code = run(&["recover", &path, "-o", output.to_str().unwrap()]).status.code();
        assert!(matches!(code, Some(0 | 1 | 3)), "{round}: {code:?}");
    }
}
