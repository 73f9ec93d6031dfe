//! Small interleaved writes of ranks in a file's stripes, so that stripe locks pass from rank to rank: small size and shared stripes are
//! reported as one finding.

use crate::findings::{About, Code, Title};
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::topics::stripes::parts::FilePart;
use crate::words::verdict::same_calls;
use std::collections::BTreeSet;

/// Adds shared stripes to the titles of claims (findings with their savings) about small writes, if the claim about shared stripes covers
/// the same writes. Both kinds may be in `claims` or `patterns`. Stripes of a guessed layout (per `files`) are not added.
pub(crate) fn reported(thresholds: &Thresholds, claims: &mut [Claim], patterns: &mut [Claim], files: &[FilePart]) {
    const SHARING: [Code; 2] = [Code::FALSE_SHARING, Code::LOCAL_SHARING];
    const SMALL: [Code; 3] = [Code::INDEPENDENT, Code::SMALL_SHARED_WRITES, Code::STRIDED_WRITES];
    let of = |claim: &Claim| claim.savings.iter().map(|(index, _)| *index).collect::<BTreeSet<u32>>();
    let is_guess = |claim: &Claim| {
        let file = &claim.finding.about.file;
        files.iter().any(|part| part.is_guess() && Some(&part.file) == file.as_ref())
    };
    let sharing = patterns.iter().filter(|claim| SHARING.contains(&claim.finding.code) && !is_guess(claim));
    let mut sharing: Vec<(BTreeSet<u32>, About, Title)> =
        sharing.map(|claim| (of(claim), claim.finding.about.clone(), claim.finding.title.clone())).collect();
    sharing.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.1.cmp(&b.1)));
    for claim in claims.iter_mut().chain(patterns).filter(|claim| SMALL.contains(&claim.finding.code)) {
        let mine = of(claim);
        let is = |theirs: &BTreeSet<u32>| {
            theirs.intersection(&mine).count() as f64 >= theirs.len() as f64 * thresholds.half_share
        };
        if let Some((.., title)) = sharing.iter().find(|(theirs, ..)| is(theirs)) {
            claim.finding.title = same_calls(&claim.finding.title, title);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Finding, Words};

    #[test]
    fn small_writes_are_reported_with_the_stripes_that_they_share() {
        let claim = |code: Code, title: &str, of: &[u32]| {
            let savings = of.iter().map(|index| (*index, 1.0)).collect();
            Claim::new(Finding::new(code, Words::new(title, "")), savings)
        };
        let mut claims =
            [claim(Code::INDEPENDENT, "small", &[1, 2, 3]), claim(Code::INDEPENDENT, "elsewhere", &[7, 8])];
        reported(
            &Thresholds::default(),
            &mut claims,
            &mut [claim(Code::FALSE_SHARING, "2 stripes of f", &[1, 2])],
            &[],
        );
        let titles = claims.map(|claim| claim.finding.title.to_string());
        assert_eq!(titles, ["small; 2 stripes of f", "elsewhere"]);
    }
}
