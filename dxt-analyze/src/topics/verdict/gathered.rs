//! One rank that does all I/O and, to do so, first collects what others have, or hands on what it has read: that it comes late to where all
//! ranks meet is of the same cause.

use crate::findings::{Addition, Code, Evidence};
use crate::model::Run;
use crate::text::units;
use crate::topics::causes::claim::Claim;

/// MPI's calls that bring data to one rank.
const COLLECTS: [&str; 2] = ["gather", "gatherv"];
/// Those that bring data from one to all.
const HANDS_ON: [&str; 3] = ["bcast", "scatter", "scatterv"];

/// Makes one of the two claims, if both are of the same rank.
pub(crate) fn joined(run: &Run, mut claims: Vec<Claim>) -> Vec<Claim> {
    let called = |name: &str| {
        let mut streams = run.processes.iter().flat_map(|process| &process.streams).filter(|stream| stream.meets);
        streams.any(|stream| run.op(stream).name == name)
    };
    let of = |names: &[&str]| -> Vec<String> {
        names.iter().filter(|name| called(name)).map(|name| format!("MPI_{}", super::sentence::capital(name))).collect()
    };
    let (collects, hands_on) = (of(&COLLECTS), of(&HANDS_ON));
    let does = match (collects.is_empty(), hands_on.is_empty()) {
        (true, true) => return claims,
        (false, true) => "gathers data",
        (true, false) => "distributes data",
        (false, false) => "gathers and distributes data",
    };
    let at = |claims: &[Claim], code: Code| claims.iter().position(|claim| claim.finding.code == code);
    let (Some(one), Some(late)) = (at(&claims, Code::ONE_RANK), at(&claims, Code::LATE_TO_MEET)) else { return claims };
    let rank = |at: usize| claims.get(at).and_then(|claim| claim.finding.about.rank);
    if rank(one).is_none() || rank(one) != rank(late) {
        return claims;
    }
    let waiting_ns = claims.get(late).map_or(0.0, |claim| claim.waiting_ns);
    if let Some(claim) = claims.get_mut(one) {
        claim.waiting_ns += waiting_ns;
        claim.finding.title.add(Addition::Also(does));
        let words = format!(
            "the others wait {} for this rank at synchronization points ({}), in addition to its reads and writes",
            units::duration(waiting_ns as u64),
            [collects, hands_on].concat().join(", ")
        );
        claim.finding.evidence.push(Evidence::from(words));
    }
    claims.remove(late);
    claims
}
