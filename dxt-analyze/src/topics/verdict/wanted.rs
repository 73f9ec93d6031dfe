//! Reads that wait at a storage target because all ranks read the same bytes: more targets would not help, so the finding about the bytes
//! gets the waiting time.

use crate::findings::Code;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use std::collections::BTreeMap;

/// Removes claims (findings with their savings) about busy or slow targets from `causes` if most of their waiting time is in reads of the
/// same bytes by all ranks. The claim about those bytes, in `patterns`, gets the savings.
pub(crate) fn joined(thresholds: &Thresholds, causes: &mut Vec<Claim>, patterns: &mut [Claim]) {
    causes.retain(|cause| {
        let mut same = patterns.iter_mut().filter(|claim| claim.finding.code == Code::SAME_BYTES);
        // All ranks read a file's first target at once, which makes it look slow, and the other targets one after another.
        let least =
            if cause.finding.code == Code::SLOW_TARGET { thresholds.nearly_all_share } else { thresholds.half_share };
        let waits = cause.is_load || cause.finding.code == Code::SLOW_TARGET;
        !(waits && same.any(|claim| takes(claim, cause, least)))
    });
}

fn takes(same: &mut Claim, load: &Claim, least: f64) -> bool {
    let all: f64 = load.savings.iter().map(|(_, ns)| ns).sum();
    let mut by: BTreeMap<u32, f64> = same.savings.iter().copied().collect();
    let theirs: f64 = load.savings.iter().filter(|(index, _)| by.contains_key(index)).map(|(_, ns)| ns).sum();
    if theirs < all * least {
        return false;
    }
    for (index, ns) in &load.savings {
        let most = by.entry(*index).or_default();
        *most = most.max(*ns);
    }
    same.savings = by.into_iter().collect();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Finding, Words};

    fn claim(code: Code, savings: &[(u32, f64)]) -> Claim {
        Claim::new(Finding::new(code, Words::default()), savings.to_vec())
    }

    #[test]
    fn what_waits_for_bytes_that_all_want_is_of_these() {
        let load = |savings: &[(u32, f64)]| Claim { is_load: true, ..claim(Code::FEW_TARGETS, savings) };
        let mut same = [claim(Code::SAME_BYTES, &[(1, 10.0), (2, 50.0)])];
        let mut causes =
            vec![load(&[(1, 40.0), (2, 30.0), (3, 20.0)]), claim(Code::SLOW_TARGET, &[(1, 40.0), (8, 9.0)])];
        joined(&Thresholds::default(), &mut causes, &mut same);
        assert_eq!(causes.len(), 1, "a target that is slow by itself stays");
        assert_eq!(same[0].savings, [(1, 40.0), (2, 50.0), (3, 20.0)]);
        // The target has other readers, too.
        let mut causes = vec![load(&[(1, 40.0), (7, 50.0)])];
        joined(&Thresholds::default(), &mut causes, &mut same);
        assert_eq!(causes.len(), 1);
    }
}
