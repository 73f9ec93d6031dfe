//! Determines a node's part of the job's byte budget from environment variables of scheduler and launcher, without communication.

use crate::config::Environment;
use std::ffi::CStr;

/// Environment variables of schedulers that hold the job's number of nodes.
const NODES: [&CStr; 7] = [
    c"SLURM_JOB_NUM_NODES",
    c"SLURM_NNODES",
    c"FLUX_JOB_NNODES",
    c"PBS_NUM_NODES",
    c"COBALT_JOBSIZE",
    c"PJM_NODE",
    c"NHOSTS",
];

/// Pairs of environment variables of launchers: total number of ranks, number of ranks on this node.
const RANKS: [(&CStr, &CStr); 4] = [
    (c"OMPI_COMM_WORLD_SIZE", c"OMPI_COMM_WORLD_LOCAL_SIZE"),
    (c"PMI_SIZE", c"MPI_LOCALNRANKS"),
    (c"MV2_COMM_WORLD_SIZE", c"MV2_COMM_WORLD_LOCAL_SIZE"),
    (c"PMI_SIZE", c"PALS_LOCAL_SIZE"),
];

/// Maximum path length of a scheduler's node file, in bytes.
const MOST_PATH: usize = libc::PATH_MAX as usize;

fn number(environment: &impl Environment, name: &CStr) -> Option<u64> {
    let text = std::str::from_utf8(environment.get(name)?).ok()?;
    text.trim().parse().ok().filter(|&number| number > 0)
}

/// Returns the total number of ranks, as reported by the launcher; `None` if unknown.
pub(super) fn ranks(environment: &impl Environment) -> Option<u64> {
    RANKS.iter().find_map(|(all, _)| number(environment, all))
}

/// Returns the job's number of nodes: from the scheduler, else (ranks / ranks on this node) rounded up, else 1.
pub(super) fn nodes(environment: &impl Environment) -> u64 {
    let of_scheduler = || NODES.iter().find_map(|name| number(environment, name));
    let of_launcher = || {
        RANKS.iter().find_map(|(all, here)| {
            let (all, here) = (number(environment, all)?, number(environment, here)?);
            Some(all.div_ceil(here))
        })
    };
    of_scheduler().or_else(|| of_lsf(environment)).or_else(|| of_pbs(environment)).or_else(of_launcher).unwrap_or(1)
}

/// Counts the hosts in LSF's variable, which lists each host with its number of processors.
fn of_lsf(environment: &impl Environment) -> Option<u64> {
    let words = environment.get(c"LSB_MCPU_HOSTS")?.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    Some(words.count() as u64 / 2).filter(|&nodes| nodes > 0)
}

/// Counts the distinct hosts in PBS's node file, which has one line per processor.
fn of_pbs(environment: &impl Environment) -> Option<u64> {
    let path = environment.get(c"PBS_NODEFILE").filter(|path| path.starts_with(b"/") && path.len() < MOST_PATH)?;
    let text = crate::config::content(path).ok()?;
    let hosts: std::collections::BTreeSet<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    Some(hosts.iter().filter(|host| !host.is_empty()).count() as u64).filter(|&nodes| nodes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_and_launchers_tell_nodes() {
        let of = |variables: &[(&CStr, &str)]| nodes(&variables);
        assert_eq!(of(&[]), 1);
        assert_eq!(of(&[(c"SLURM_JOB_NUM_NODES", "4"), (c"SLURM_NNODES", "2")]), 4);
        assert_eq!(of(&[(c"FLUX_JOB_NNODES", "0"), (c"PBS_NUM_NODES", "x")]), 1);
        assert_eq!(of(&[(c"LSB_MCPU_HOSTS", "n1 16 n2 16  n3 8 ")]), 3);
        let ranks_here = [(c"OMPI_COMM_WORLD_SIZE", "10"), (c"OMPI_COMM_WORLD_LOCAL_SIZE", "4")];
        assert_eq!((of(&ranks_here), ranks(&ranks_here.as_slice())), (3, Some(10)));
        assert_eq!(of(&[(c"PMI_SIZE", "8"), (c"MPI_LOCALNRANKS", "8"), (c"SLURM_JOB_NUM_NODES", "2")]), 2);
        let file = std::env::temp_dir().join(format!("dxt-nodes-{}", std::process::id()));
        std::fs::write(&file, "n1\nn1\nn2\n").unwrap();
        assert_eq!(of(&[(c"PBS_NODEFILE", file.to_str().unwrap())]), 2);
        std::fs::remove_file(file).unwrap();
    }
}
