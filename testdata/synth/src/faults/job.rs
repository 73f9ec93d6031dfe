//! Simulated parallel job, described by parameters. A fault changes one parameter; the unchanged job shows what the fault costs.

/// Interface through which the program does its I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    Posix,
    Streams,
    Independent,
    /// Collective MPI-IO calls, in which aggregators write or read the data of all ranks.
    Collective,
}

/// Direction of the transfers in a job's phases (each computes, does I/O and synchronizes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Write,
    Read,
    /// Phases alternate between writing and reading; data that is read existed before the job.
    Both,
}

/// Placement of a rank's data in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// One file with a contiguous part per rank.
    Parts,
    /// One file in which the transfers of the ranks alternate: rank 0, rank 1 and so on, then rank 0 again.
    Turns,
    /// One file per rank.
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Each rank accesses its data in ascending order of file offsets.
    Forward,
    /// Accesses at random multiples of the transfer size, anywhere in the file.
    Random,
    /// Accesses all bytes of the phase in ascending order, and repeats that so that each byte is accessed the given number of times.
    Again(u32),
}

/// Data sieving of independent MPI-IO requests: access to whole blocks that include holes between the requested bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sieve {
    /// No data sieving, because requests have no holes.
    No,
    /// Reads blocks of the given multiple of the requested bytes and extracts the data.
    Reads(u64),
    /// Locks, reads, modifies and writes back blocks of the given multiple of the written bytes.
    Writes(u64),
}

/// Parameters of a simulated job: shape, work, faults and machine. Times are in ns, sizes in bytes.
#[derive(Clone, Debug)]
pub(super) struct Job {
    // Parameters of the job's shape.
    pub(super) ranks: u32,
    pub(super) nodes: u32,
    pub(super) osts: u32,
    /// Number of I/O threads per rank.
    pub(super) threads: u32,
    pub(super) seed: u64,
    /// Random variation of service times: standard deviation (sigma) of their logarithm.
    pub(super) sigma: f64,

    // Parameters of phases and computing.
    pub(super) phases: u32,
    pub(super) compute_ns: f64,
    /// True if all ranks synchronize after each phase (computing, then I/O).
    pub(super) meet: bool,
    /// True if the trace records the synchronizations as MPI calls.
    pub(super) shown: bool,

    // Parameters of the work of a rank in a phase.
    pub(super) interface: Interface,
    pub(super) direction: Direction,
    pub(super) place: Placement,
    pub(super) order: Order,
    pub(super) bytes: u64,
    pub(super) transfer: u64,
    /// Number of bytes added to the file offsets of all accesses.
    pub(super) shift: u64,
    /// Gap between the ranks' parts of a shared file, in bytes.
    pub(super) gap: u64,
    pub(super) stripe_size: u64,
    pub(super) stripe_count: u32,
    /// True if every file begins on OST 0; otherwise file k begins on OST k.
    pub(super) crowded: bool,
    /// True if each phase (computing, then I/O) uses new files; POSIX and C streams only.
    pub(super) file_per_phase: bool,

    // Parameters of additional calls and coordination.
    pub(super) sync_each: bool,
    pub(super) open_each: bool,
    pub(super) stats_each: u32,
    /// True if each access locks the whole file.
    pub(super) lock_each: bool,
    /// True if each write is preceded by reads of the blocks that contain its first and last byte.
    pub(super) edges: bool,
    pub(super) only_rank_0: bool,
    /// True if ranks do their I/O one after another.
    pub(super) serial: bool,
    pub(super) aggregators: u32,
    pub(super) sieve: Sieve,
    /// Block of 4 KiB that every rank, or only rank 0, reads in each phase; `None` without such a block.
    pub(super) header: Option<Header>,
    /// Ranks with more data than others, as (rank, factor on the bytes).
    pub(super) shares: Vec<(u32, u64)>,
    /// Ranks that compute longer than others, as (rank, factor on the time).
    pub(super) late: Vec<(u32, f64)>,

    // Parameters of faults outside the program.
    pub(super) slow_ranks: Vec<(u32, f64)>,
    pub(super) slow_nodes: Vec<(u32, f64)>,
    pub(super) slow_osts: Vec<(u32, f64)>,
    pub(super) windows: Vec<Window>,
    /// Fraction of calls that are slow, and the factor by which these calls are slower.
    pub(super) tail: Option<(f64, f64)>,
    pub(super) stall: Option<Stall>,
    /// Part of a CPU that each thread gets, up to 1; `None` if the trace has no samples of the use of the processors.
    pub(super) cpu_share: Option<f64>,
    /// Run time of the job without faults, in ns.
    pub(super) undisturbed_ns: f64,
    /// Ranks with slow opens, as (rank, additional ns per open).
    pub(super) slow_opens: Vec<(u32, f64)>,

    // Parameters of the machine.
    pub(super) read_ns: f64,
    pub(super) write_ns: f64,
    pub(super) open_ns: f64,
    pub(super) close_ns: f64,
    pub(super) stat_ns: f64,
    pub(super) sync_ns: f64,
    pub(super) lock_ns: f64,
    /// Transfer rate of one call, in bytes per second.
    pub(super) client_rate: f64,
    /// Total bandwidth of all OSTs as a multiple of the combined transfer rate of all ranks.
    pub(super) headroom: f64,
    /// Service time of an OST per request in addition to the transfer of the bytes, in ns.
    pub(super) ost_ns: f64,
    /// Service time of the metadata server per request, in ns; there is only one server.
    pub(super) metadata_ns: f64,
    /// Time in which the lock of a stripe moves from one node to another, in ns.
    pub(super) handover_ns: f64,
}

/// Parameters of a block of 4 KiB that a job reads in each phase, before the other I/O.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// True if all ranks read the block, false if only rank 0 reads it.
    pub(super) by_all: bool,
    /// Number of ranks, from rank 0 on, that also do the other I/O of a phase.
    pub(super) bulk_ranks: u32,
    /// Time that the OST needs for one read of the block, in ns.
    pub(super) ost_ns: f64,
}

/// Time window in which all calls are slower by a factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Start of the window, as a fraction of the job's run time without faults.
    pub(super) from: f64,
    /// End of the window, as a fraction of the job's run time without faults.
    pub(super) to: f64,
    pub(super) factor: f64,
}

/// Single call that stalls for `ns` nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    pub(super) rank: u32,
    pub(super) phase: u32,
    pub(super) ns: f64,
}

impl Default for Job {
    /// Returns a job of 32 ranks on 4 nodes, which write their own parts of a shared file on 8 OSTs in ten phases.
    fn default() -> Self {
        Self {
            ranks: 32,
            nodes: 4,
            osts: 8,
            threads: 1,
            seed: 1,
            sigma: 0.3,
            phases: 10,
            compute_ns: 150e6,
            meet: true,
            shown: false,
            interface: Interface::Posix,
            direction: Direction::Write,
            place: Placement::Parts,
            order: Order::Forward,
            bytes: 64 << 20,
            transfer: 4 << 20,
            shift: 0,
            gap: 0,
            stripe_size: 4 << 20,
            stripe_count: 8,
            crowded: false,
            file_per_phase: false,
            sync_each: false,
            open_each: false,
            stats_each: 0,
            lock_each: false,
            edges: false,
            only_rank_0: false,
            serial: false,
            aggregators: 4,
            sieve: Sieve::No,
            header: None,
            shares: Vec::new(),
            late: Vec::new(),
            slow_ranks: Vec::new(),
            slow_nodes: Vec::new(),
            slow_osts: Vec::new(),
            windows: Vec::new(),
            tail: None,
            stall: None,
            cpu_share: None,
            undisturbed_ns: 0.0,
            slow_opens: Vec::new(),
            read_ns: 250e3,
            write_ns: 200e3,
            open_ns: 800e3,
            close_ns: 100e3,
            stat_ns: 250e3,
            sync_ns: 3e6,
            lock_ns: 200e3,
            client_rate: 1e9,
            headroom: 3.0,
            ost_ns: 5e3,
            metadata_ns: 10e3,
            handover_ns: 3e6,
        }
    }
}

impl Job {
    /// Returns the node of a rank: nodes are filled with ranks in order.
    pub(super) fn node_of(&self, rank: u32) -> u32 {
        rank / self.ranks.div_ceil(self.nodes)
    }

    pub(super) fn node_name(node: u32) -> String {
        format!("node{node:04}")
    }

    /// Returns the bandwidth of one OST, in bytes per second.
    pub(super) fn ost_rate(&self) -> f64 {
        self.headroom * self.client_rate * f64::from(self.ranks * self.threads) / f64::from(self.osts)
    }

    pub(super) fn writes(&self, phase: u32) -> bool {
        match self.direction {
            Direction::Write => true,
            Direction::Read => false,
            Direction::Both => phase.is_multiple_of(2),
        }
    }

    /// Returns the factor by which `rank` has more data than others, usually 1.
    pub(super) fn share(&self, rank: u32) -> u64 {
        self.shares.iter().find(|share| share.0 == rank).map_or(1, |share| share.1)
    }

    /// Returns the largest factor by which a rank has more data than others ([`Self::share`]).
    pub(super) fn largest_share(&self) -> u64 {
        self.shares.iter().map(|share| share.1).max().unwrap_or(1)
    }
}

/// Returns the factor in `list` for number `which` (of a rank, node or OST); 1 if `list` has no such number.
pub(super) fn factor(list: &[(u32, f64)], which: u32) -> f64 {
    list.iter().filter(|(number, _)| *number == which).map(|(_, factor)| factor).product()
}
