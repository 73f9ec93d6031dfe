//! Parallel job, described by parameters. A fault changes one of these; the unchanged job is the fault-free twin.

/// Interface used by the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    /// POSIX calls.
    Posix,
    /// C streams.
    Streams,
    /// Independent MPI-IO.
    Independent,
    /// Collective MPI-IO, in which aggregators write or read the data of all ranks.
    Collective,
}

/// Direction of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// All phases write.
    Write,
    /// All phases read.
    Read,
    /// Phases alternate between writing and reading. The data that is read existed before the job.
    Both,
}

/// Placement of a rank's data in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// One file with a contiguous part per rank.
    Parts,
    /// One file in which the transfers of the ranks alternate.
    Turns,
    /// A file per rank.
    Own,
}

/// Order of a rank's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Ascending offsets.
    Forward,
    /// Random multiples of the transfer size, anywhere in the file.
    Random,
    /// Reads or writes all bytes of the phase this many times.
    Again(u32),
}

/// Data sieving in independent MPI-IO requests: access to blocks that include the holes between requested bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sieve {
    /// No data sieving, since requests have no holes.
    No,
    /// Reads blocks of this multiple of the requested bytes, and extracts the data.
    Reads(u64),
    /// Locks, reads, modifies and writes back blocks of this multiple of the written bytes.
    Writes(u64),
}

/// Parameters of a simulated job: its shape, its work, its faults, and the machine. Times are in ns, sizes in bytes.
#[derive(Clone, Debug)]
pub(super) struct Job {
    // Shape of the job.
    pub(super) ranks: u32,
    pub(super) nodes: u32,
    pub(super) osts: u32,
    /// I/O threads per rank.
    pub(super) threads: u32,
    pub(super) seed: u64,
    /// Random variation of service times: standard deviation (sigma) of their logarithm.
    pub(super) sigma: f64,

    // Phases and computing.
    pub(super) phases: u32,
    pub(super) compute_ns: f64,
    /// True if all ranks synchronize after each phase.
    pub(super) meet: bool,
    /// True if the trace records the synchronization as an MPI call.
    pub(super) shown: bool,

    // Work of a rank in a phase.
    pub(super) interface: Interface,
    pub(super) direction: Direction,
    pub(super) place: Placement,
    pub(super) order: Order,
    pub(super) bytes: u64,
    pub(super) transfer: u64,
    /// Number of bytes by which all offsets are shifted.
    pub(super) shift: u64,
    /// Gap between the parts of the ranks in a shared file, in bytes.
    pub(super) gap: u64,
    pub(super) stripe_size: u64,
    pub(super) stripe_count: u32,
    /// True if every file begins on OST 0. Otherwise file k begins on OST k.
    pub(super) crowded: bool,
    /// True if each phase uses a new file (POSIX and C streams only).
    pub(super) file_per_phase: bool,

    // Additional calls and coordination.
    pub(super) sync_each: bool,
    pub(super) open_each: bool,
    pub(super) stats_each: u32,
    /// True if each access locks the whole file.
    pub(super) lock_each: bool,
    /// True if each write first reads the blocks that contain its first and last byte.
    pub(super) edges: bool,
    pub(super) only_rank_0: bool,
    /// True if ranks do their I/O one after another.
    pub(super) serial: bool,
    pub(super) aggregators: u32,
    pub(super) sieve: Sieve,
    /// Block of 4 KiB that is read repeatedly in each phase, by every rank or by rank 0 only.
    pub(super) header: Option<Header>,
    /// Ranks with more data than others: (rank, factor).
    pub(super) shares: Vec<(u32, u64)>,
    /// Ranks that compute longer than others: (rank, factor).
    pub(super) late: Vec<(u32, f64)>,

    // Faults outside the program.
    pub(super) slow_ranks: Vec<(u32, f64)>,
    pub(super) slow_nodes: Vec<(u32, f64)>,
    pub(super) slow_osts: Vec<(u32, f64)>,
    pub(super) windows: Vec<Window>,
    /// Fraction of calls that are slow, and the factor by which they are slower.
    pub(super) tail: Option<(f64, f64)>,
    pub(super) stall: Option<Stall>,
    /// Run time of the job without any fault, in ns.
    pub(super) undisturbed_ns: f64,
    /// Ranks with slow opens: (rank, additional ns per open).
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
    /// Total bandwidth of all OSTs, as a multiple of the combined rate of all ranks.
    pub(super) headroom: f64,
    /// Time that an OST needs per request, in addition to the transfer of its bytes.
    pub(super) ost_ns: f64,
    /// Time that the only metadata server needs per request.
    pub(super) metadata_ns: f64,
    /// Time to transfer a stripe's lock from another node.
    pub(super) handover_ns: f64,
}

/// Parameters of a block that a job reads repeatedly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// True if all ranks read the block; false if only rank 0 does.
    pub(super) by_all: bool,
    /// Number of ranks that do the other I/O of a phase.
    pub(super) bulk_ranks: u32,
    /// Time that the OST needs for one read of the block, in ns.
    pub(super) ost_ns: f64,
}

/// Time period in which every call is slower by a factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Start of the period as a fraction of the fault-free run time; `to` is its end.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) factor: f64,
}

/// Single call that stalls for `ns`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    pub(super) rank: u32,
    pub(super) phase: u32,
    pub(super) ns: f64,
}

impl Default for Job {
    /// Returns the default job: 32 ranks on 4 nodes write their own parts of a shared file on 8 OSTs, in ten phases.
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
    /// Returns the node of a rank: ranks fill the nodes in order.
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

    /// Returns true if `phase` writes.
    pub(super) fn writes(&self, phase: u32) -> bool {
        match self.direction {
            Direction::Write => true,
            Direction::Read => false,
            Direction::Both => phase.is_multiple_of(2),
        }
    }

    /// Returns the factor by which this rank has more data than others; 1 if it has not.
    pub(super) fn share(&self, rank: u32) -> u64 {
        self.shares.iter().find(|share| share.0 == rank).map_or(1, |share| share.1)
    }

    /// Returns the largest factor of all ranks for additional data.
    pub(super) fn largest_share(&self) -> u64 {
        self.shares.iter().map(|share| share.1).max().unwrap_or(1)
    }
}

/// Returns the factor that `list` has for rank, node or OST number `which`; 1 if absent.
pub(super) fn factor(list: &[(u32, f64)], which: u32) -> f64 {
    list.iter().filter(|(number, _)| *number == which).map(|(_, factor)| factor).product()
}
