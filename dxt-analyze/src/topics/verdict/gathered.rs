//! One rank that does all I/O and collects the data of other ranks, or distributes data to them. If the same rank arrives late at
//! synchronization points, its I/O is the cause, and both findings become one.

use crate::findings::Code;
use crate::model::Run;
use crate::topics::causes::claim::Claim;
use crate::words::verdict::one_rank_gathers;

/// MPI functions that bring data to one rank.
const COLLECTS: [&str; 2] = ["gather", "gatherv"];
/// MPI functions that bring data from one rank to all.
const HANDS_ON: [&str; 3] = ["bcast", "scatter", "scatterv"];

/// Merges the claim (finding with its saving) about a single rank doing all I/O with the claim about a straggler (rank for which others
/// wait), if both name the same rank.
pub(crate) fn joined(run: &Run, mut claims: Vec<Claim>) -> Vec<Claim> {
    let called = |name: &str| {
        let mut streams = run.processes.iter().flat_map(|process| &process.streams).filter(|stream| stream.meets);
        streams.any(|stream| run.op(stream).name == name)
    };
    let of = |names: &[&str]| -> Vec<String> {
        names.iter().filter(|name| called(name)).map(|name| format!("MPI_{}", super::sentence::capital(name))).collect()
    };
    let (collects, hands_on) = (of(&COLLECTS), of(&HANDS_ON));
    if collects.is_empty() && hands_on.is_empty() {
        return claims;
    }
    let at = |claims: &[Claim], code: Code| claims.iter().position(|claim| claim.finding.code == code);
    let (Some(one), Some(late)) = (at(&claims, Code::ONE_RANK), at(&claims, Code::LATE_TO_MEET)) else { return claims };
    let rank = |at: usize| claims.get(at).and_then(|claim| claim.finding.about.rank);
    if rank(one).is_none() || rank(one) != rank(late) {
        return claims;
    }
    let waiting_ns = claims.get(late).map_or(0.0, |claim| claim.waiting_ns);
    if let Some(claim) = claims.get_mut(one) {
        claim.waiting_ns += waiting_ns;
        let (title, waits) = one_rank_gathers(&claim.finding.title, &collects, &hands_on, waiting_ns as u64);
        claim.finding.title = title;
        claim.finding.evidence.push(waits);
    }
    claims.remove(late);
    claims
}
