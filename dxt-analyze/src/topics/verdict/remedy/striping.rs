//! Striping of files, and excluded nodes and targets. Commands: lfs-setstripe(1) for Lustre; file layouts of CephFS; striping of BeeGFS. They
//! apply to new files only.

use super::facts::{Facts, OfFile, Storage};
use super::{Destination, Remedy};
use crate::findings::{Code, Finding};
use crate::model::FileId;
use crate::text::printable::is_hidden;
use crate::text::units;
use crate::topics::causes::shape::queue::queues;
use std::collections::BTreeSet;

/// Returns a file's directory, quoted for a shell; `None` if the name is uncertain or unsafe in a script.
pub(super) fn directory(facts: &Facts<'_, '_>, file: FileId) -> Option<String> {
    let name = &facts.run.file(file)?.name;
    let (directory, _) = name.rsplit_once('/')?;
    quoted(if directory.is_empty() { "/" } else { directory })
}

/// Quotes an absolute path as one word of a shell; `None` for relative paths and for paths with unsafe characters.
fn quoted(path: &str) -> Option<String> {
    if !path.starts_with('/') || path.contains(|c: char| is_hidden(c) || c == char::REPLACEMENT_CHARACTER) {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    Some(if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) })
}

/// Advises more storage targets for new files in the directory of `file`, or of the file with most bytes.
pub(super) fn wider(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let is_data =
        |of: &OfFile| of.reads.inside.calls + of.reads.own.calls + of.writes.inside.calls + of.writes.own.calls > 0;
    let Some(file) = file.or_else(|| facts.main(is_data)) else { return Vec::new() };
    let of = facts.file(file);
    let thresholds = &facts.run.thresholds;
    let (size, count) = facts.stripes(file).unwrap_or((thresholds.large_bytes, 0));
    let size = size.max(thresholds.large_bytes);
    let enough = queues(facts.cube).iter().map(|queue| queue.facts.enough.round() as u64).max();
    let wanted = enough.unwrap_or((thresholds.far_ratio as u64).min(of.processes.len() as u64)).max(2);
    let Some(directory) = directory(facts, file) else { return Vec::new() };
    let shared = of.processes.len() > 1;
    if shared && count >= wanted {
        return Vec::new();
    }
    if facts.storage(file) == Storage::Lustre && !shared {
        let why = format!("each new file in {directory} gets one target, chosen by the file system's servers");
        let line = format!("lfs setstripe -c 1 -i -1 -S {} {directory}", units::size_option(size));
        return vec![Remedy::new(Destination::Shell, vec![line], why)];
    }
    let why = format!("new files in {directory} get {} instead of {}", units::counted(wanted, "stripe"), count.max(1));
    striped(facts.storage(file), wanted, size, &directory, why)
}

/// Returns the command that gives new files of a directory `count` stripes of `size` bytes.
fn striped(storage: Storage, count: u64, size: u64, directory: &str, mut why: String) -> Vec<Remedy> {
    let option = units::size_option(size);
    let lines = match storage {
        Storage::Lustre => {
            why.push_str("; to move an existing file, use lfs migrate with the same options");
            vec![format!("lfs setstripe -c {count} -S {option} {directory}")]
        }
        Storage::Ceph => vec![format!("setfattr -n ceph.dir.layout.stripe_count -v {count} {directory}")],
        Storage::BeeGfs => {
            let option = option.to_ascii_lowercase();
            vec![format!("beegfs-ctl --setpattern --chunksize={option} --numtargets={count} {directory}")]
        }
        Storage::Other => Vec::new(),
    };
    vec![Remedy::new(Destination::Shell, lines, why)]
}

/// Advises another stripe count for files whose blocks begin a multiple of stripe size × stripe count apart: the largest prime below the
/// current count. With it, blocks begin on different targets, unless their distance is also a multiple of that many stripes.
pub(super) fn askew(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((file, (size, count))) = file.and_then(|file| Some((file, facts.stripes(file)?))) else {
        return Vec::new();
    };
    let is_prime =
        |number: &u64| !(2..*number).take_while(|part| part * part <= *number).any(|part| number.is_multiple_of(part));
    let (Some(wanted), Some(directory)) = ((3..count).rev().find(is_prime), directory(facts, file)) else {
        return Vec::new();
    };
    let why = format!(
        "new files in {directory} get {wanted} stripes instead of {count}: blocks of ranks then start on different targets, unless their distance \
         is also a multiple of {wanted} stripes"
    );
    striped(facts.storage(file), wanted, size, &directory, why)
}

/// Advises to create new files on other storage targets than the slow ones.
pub(super) fn around(facts: &Facts<'_, '_>, finding: &Finding) -> Vec<Remedy> {
    let named = finding.evidence.iter().filter_map(|evidence| evidence.about.ost);
    let slow: BTreeSet<u32> = named.chain(facts.slow.iter().copied()).collect();
    let good: Vec<String> = facts.targets().difference(&slow).map(u32::to_string).collect();
    let Some(file) = facts.main(|_| true).filter(|file| facts.storage(*file) == Storage::Lustre) else {
        return Vec::new();
    };
    let (Some(directory), Some((size, count))) = (directory(facts, file), facts.stripes(file)) else {
        return Vec::new();
    };
    if slow.is_empty() || good.is_empty() {
        return Vec::new();
    }
    let which: Vec<String> = slow.iter().map(u32::to_string).collect();
    let count = count.min(good.len() as u64).max(1);
    let line = format!("lfs setstripe -c {count} -S {} -o {} {directory}", units::size_option(size), good.join(","));
    let why = format!(
        "new files in {directory} go to the targets of this run except OST {}; undo this with lfs setstripe -d after the repair",
        which.join(", ")
    );
    vec![Remedy::new(Destination::Shell, vec![line], why)]
}

/// Advises the next job to exclude slow nodes.
pub(super) fn without_nodes(facts: &Facts<'_, '_>, finding: &Finding) -> Vec<Remedy> {
    debug_assert!(finding.code == Code::SLOW_NODE, "other findings name nodes that are not slow");
    let is_name =
        |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    let slow: BTreeSet<&str> =
        finding.evidence.iter().filter_map(|evidence| evidence.about.node.as_deref()).filter(is_name).collect();
    let list: Vec<&str> = slow.into_iter().collect();
    let lines = match facts.run.info.scheduler.split('=').next().unwrap_or_default() {
        "SLURM_JOB_ID" | "SLURM_JOBID" if !list.is_empty() => vec![format!("sbatch --exclude={} ...", list.join(","))],
        "LSB_JOBID" if !list.is_empty() => {
            let not: Vec<String> = list.iter().map(|node| format!("hname!='{node}'")).collect();
            vec![format!("bsub -R \"select[{}]\" ...", not.join(" && "))]
        }
        _ => Vec::new(),
    };
    vec![Remedy::new(Destination::Job, lines, "exclude the slow node from jobs until it is checked")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_or_none() {
        assert_eq!(quoted("/scratch/run-1").as_deref(), Some("/scratch/run-1"));
        assert_eq!(quoted("/a b/$(rm -rf .)").as_deref(), Some("'/a b/$(rm -rf .)'"));
        assert_eq!(quoted("/it's").as_deref(), Some(r"'/it'\''s'"));
        for bad in ["relative", "", "-c", "/new\nline", "/lost\u{fffd}", "/bell\u{7}"] {
            assert_eq!(quoted(bad), None, "{bad:?}");
        }
    }
}
