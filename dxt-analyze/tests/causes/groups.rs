//! Who is told where several look alike: groups of ranks, ranks and their files, whole files and requests, the library and the program, stripes and targets.

use super::{BARRIER, MS, report, saves_ms, sentence};
use crate::common::{op, process};

#[test]
fn a_small_input_that_one_rank_reads_is_no_matter_beside_what_several_write() {
    // 16 ranks; rank 0 reads 6 kB for all, and ranks 0 to 3 write five times as much as the others.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        if rank == 0 {
            one.add("/in/input.nml", op::POSIX_READ, 0, 0, 6000, 0, MS);
        }
        for step in 0..10_u64 {
            let mut now = step * 100 * MS + 2 * MS;
            for call in 0..if rank < 4 { 10 } else { 2 } {
                let takes = 5 * MS + (rank * 7 + step * 3 + call) % 10 * MS / 20;
                one.write(&format!("/lus/{rank}"), ((step * 10 + call) << 20) as i64, 1 << 20, now, now + takes);
                now += takes;
            }
            one.add("", BARRIER, 0, 0, 0, now, (step + 1) * 100 * MS);
        }
        one
    };
    let found = report((0..16).map(rank).collect(), 1000);
    assert!(sentence(&found).starts_with("Ranks 0-3 write 2.5 times as much as the mean"), "{}", sentence(&found));
    assert_eq!(saves_ms(&found, "DXT-C013"), None);
}
