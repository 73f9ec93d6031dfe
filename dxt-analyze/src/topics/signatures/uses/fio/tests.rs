//! Tests of the generated fio input. Unit tests run no other programs, so these tests do not show that fio accepts the input.

use super::*;

fn call(op: Op, file: &str, offset: u64, length: u64, start_ns: u64) -> Call<'_> {
    Call { op, file, offset, length, start_ns }
}

fn log(files: &mut Files, calls: &[Call<'_>], timing: Timing) -> (String, Counts) {
    let mut out = Vec::new();
    let counts = files.iolog(calls.iter().copied(), timing, &mut out).unwrap_or_default();
    (String::from_utf8(out).unwrap_or_default(), counts)
}

fn files() -> Files {
    Files::new("/d").unwrap()
}

#[test]
fn times_are_microseconds_from_1_on() {
    let mut files = files();
    let calls = [call(Op::Write, "/a/x", 0, 10, 5_000), call(Op::Read, "/a/x", 4, 6, 9_999)];
    let (text, counts) = log(&mut files, &calls, Timing::AsRecorded);
    assert_eq!(
        text,
        "fio version 3 iolog\n1 /d/x add\n1 /d/x open\n6 /d/x write 0 10\n10 /d/x read 4 6\n10 /d/x close\n"
    );
    assert_eq!(counts, Counts { calls: 2, split: 0, left_out: 0 });
    let (text, _) = log(&mut files, &calls[..1], Timing::AtOnce);
    assert_eq!(text, "fio version 2 iolog\n/d/x add\n/d/x open\n/d/x write 0 10\n/d/x close\n");
}

#[test]
fn names_are_ones_that_fio_reads_and_no_two_files_have_one() {
    let mut files = files();
    let long = "n".repeat(1_000);
    let names = ["/a/x", "/b/x", "/c/a b:c\nd", "/c/a b;c\nd", "/", "..", "/e/é", &long, "/f/x-2", "/a/x"];
    let calls: Vec<Call<'_>> = names.iter().map(|name| call(Op::Write, name, 0, 1, 0)).collect();
    let (text, _) = log(&mut files, &calls, Timing::AsRecorded);
    let paths: Vec<&str> = files.played().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths[..7], ["/d/x", "/d/x-2", "/d/a_b_c_d", "/d/a_b_c_d-2", "/d/file", "/d/file-2", "/d/_"]);
    assert_eq!(paths.len(), 9);
    assert!(paths.iter().all(|path| path.len() <= 256));
    assert_eq!(paths.iter().collect::<HashSet<_>>().len(), 9);
    assert!(text.lines().skip(1).all(|line| matches!(line.split(' ').count(), 3 | 5)));
    for bad in ["", "a b", "/a:b", "/a\n[x]", "/$HOME", "/é", &long] {
        assert_eq!(Files::new(bad).err(), Some(BadDirectory), "{bad}");
    }
}

#[test]
fn too_long_calls_are_split_and_empty_ones_left_out() {
    let mut files = files();
    let calls = [
        call(Op::Read, "x", 7, (5 << 30) + 1, 0),
        call(Op::Read, "x", 0, MOST_CALL_BYTES, 0),
        call(Op::Read, "x", 9, 0, 0),
        call(Op::Write, "x", u64::MAX, u64::MAX, u64::MAX),
        call(Op::Write, "x", i64::MAX as u64, 1, 0),
        call(Op::Write, "x", 0, i64::MAX as u64, 0),
    ];
    let (text, counts) = log(&mut files, &calls, Timing::AtOnce);
    assert_eq!(counts, Counts { calls: 2, split: 1, left_out: 4 });
    let lengths: Vec<u64> = text.lines().filter_map(|line| line.split(' ').nth(3)?.parse().ok()).collect();
    assert_eq!(lengths, [1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 1, MOST_CALL_BYTES]);
    assert_eq!(files.played().first().map(|file| file.read_bytes), Some((5 << 30) + 8));
}

#[test]
fn times_never_go_back() {
    let calls = [5_000_000, 1_000, u64::MAX, 0].map(|start_ns| call(Op::Write, "x", 0, 1, start_ns));
    let (text, _) = log(&mut files(), &calls, Timing::AsRecorded);
    let times: Vec<u64> = text.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect();
    assert!(times.len() == 7 && times.is_sorted(), "{times:?}");
}

#[test]
fn no_more_files_are_open_than_a_process_may_have() {
    let names: Vec<String> = (0..300).map(|number| format!("/x/{number}")).collect();
    let calls: Vec<Call<'_>> = names.iter().chain(&names).map(|name| call(Op::Write, name, 0, 1, 0)).collect();
    let (text, _) = log(&mut files(), &calls, Timing::AtOnce);
    let count = |action: &str| text.lines().filter(|line| line.ends_with(action)).count();
    assert_eq!((count(" add"), count(" open"), count(" close")), (300, 600, 600));
    let mut open = 0_usize;
    for line in text.lines() {
        open = open + usize::from(line.ends_with(" open")) - usize::from(line.ends_with(" close"));
        assert!(open <= MOST_OPEN);
    }
}

#[test]
fn the_job_files() {
    let mut files = files();
    log(&mut files, &[call(Op::Write, "w", 0, 9, 0)], Timing::AtOnce);
    assert_eq!(files.preparation(), None);
    log(&mut files, &[call(Op::Read, "r", 90, 10, 0), call(Op::Read, "r", 0, 10, 0)], Timing::AtOnce);
    assert_eq!(files.preparation_bytes(), 100);
    let text = files.preparation().unwrap_or_default();
    assert!(
        text.contains("create_only=1") && text.contains("filename=/d/r\nsize=100\nbs=100\n") && !text.contains("/d/w")
    );
    let text = job_file([("rank 0]\n[x", "/d/0.log"), ("global", "1.log")].into_iter()).unwrap_or_default();
    assert!(
        text.contains("[play-rank_0___x]\nread_iolog=/d/0.log\n") && text.contains("[play-global]\nread_iolog=1.log\n")
    );
    assert_eq!(job_file([("a", "b:c")].into_iter()), Err(BadDirectory));
}
