//! Sentences on processes that wait for a processor.

use crate::findings::About;
use crate::text::units as show;
use crate::words::Words;

/// Processes that were ready but waited for a processor. Times in ns, summed over threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuWait {
    pub(crate) processes: u64,
    /// Number of CPUs on which the processes may run, on a single node; 0 if unknown.
    pub(crate) cpus: u64,
    pub(crate) nodes: u64,
    /// Share of `length_ns` in which the threads waited for a processor, 0 to 1.
    pub(crate) share: f64,
    pub(crate) waits_ns: u64,
    /// Total length of the sampled intervals in which a thread was at work: ran or waited for a processor most of the time, ns.
    pub(crate) length_ns: u64,
    /// Number of times that another thread took the processor from a thread of the processes.
    pub(crate) taken: u64,
}

/// Formats finding DXT-V036: processes waited for a processor.
pub(crate) fn cpu_wait(of: &CpuWait, about: About) -> Words {
    let place = match of.nodes {
        // Processes that have enough CPUs of their own wait for others.
        0 | 1 if of.processes <= of.cpus || of.cpus == 0 => String::new(),
        0 | 1 => format!(" on {}", show::counted(of.cpus, "CPU")),
        nodes => format!(" on {}", show::counted(nodes, "node")),
    };
    let processes = show::counted(of.processes, "process");
    let title = format!("{processes}{place} waited {:.0} % of the time for a CPU", of.share * 100.0);
    let hint = if of.cpus > 0 && of.processes > of.cpus {
        "start fewer processes per node, or give the job more CPUs (srun --cpus-per-task)"
    } else {
        "see what else runs on the node (top), and give each process CPUs of its own, one per thread (OMP_NUM_THREADS; srun --cpus-per-task, \
         --cpu-bind=cores)"
    };
    let sentence = format!(
        "of {} in which threads ran or waited for a CPU, they had none for {}, summed over threads; other threads took their CPU {}; calls that are long for this reason are no sign of slow storage",
        show::duration(of.length_ns),
        show::duration(of.waits_ns),
        if of.taken == 1 { "once".to_owned() } else { show::counted(of.taken, "time") }
    );
    Words::new(title, hint).with(sentence, about)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    let of = CpuWait {
        processes: 8,
        cpus: 2,
        nodes: 1,
        share: 0.84,
        waits_ns: 67_200_000_000,
        length_ns: 80_000_000_000,
        taken: 20_480,
    };
    let said = |of: CpuWait| (Code::CPU_WAIT, cpu_wait(&of, About::default()));
    vec![
        said(of),
        said(CpuWait { processes: 1, taken: 1, ..of }),
        said(CpuWait { processes: 64, cpus: 0, nodes: 4, ..of }),
    ]
}
