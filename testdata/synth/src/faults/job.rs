//! A parallel job as a set of knobs. A fault turns one of them; the job as it was before is its twin.

/// What the program calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    /// The system's calls.
    Posix,
    /// C streams.
    Streams,
    /// MPI-IO, each rank for itself.
    Independent,
    /// MPI-IO, all ranks together: aggregators move the data.
    Collective,
}

/// What the phases do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// All write.
    Write,
    /// All read.
    Read,
    /// They write and read in turn; what is read was there before.
    Both,
}

/// Where a rank's bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// One file, each rank a contiguous part.
    Parts,
    /// One file, ranks take turns transfer by transfer.
    Turns,
    /// A file per rank.
    Own,
}

/// In which order a rank goes through its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// From the first to the last.
    Forward,
    /// At random multiples of the transfer size, anywhere in the file.
    Random,
    /// All bytes of the phase so many times.
    Again(u32),
}

/// How MPI-IO serves an independent request with holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sieve {
    /// There are no holes.
    No,
    /// It reads so many times the bytes asked for and takes what it needs.
    Reads(u64),
    /// It locks, reads, changes and writes blocks that span so many times the bytes given.
    Writes(u64),
}

/// Everything that decides what a job does and how long that takes. Times in ns, sizes in bytes.
#[derive(Clone, Debug)]
pub(super) struct Job {
    // Shape.
    pub(super) ranks: u32,
    pub(super) nodes: u32,
    pub(super) osts: u32,
    /// Threads of each rank that do I/O.
    pub(super) threads: u32,
    pub(super) seed: u64,
    /// Spread of service times: sigma of their logarithm.
    pub(super) sigma: f64,

    // Rhythm.
    pub(super) phases: u32,
    pub(super) compute_ns: f64,
    /// Whether all ranks meet after each phase.
    pub(super) meet: bool,
    /// Whether the trace shows the meetings.
    pub(super) shown: bool,

    // Work of a rank in a phase.
    pub(super) interface: Interface,
    pub(super) direction: Direction,
    pub(super) place: Placement,
    pub(super) order: Order,
    pub(super) bytes: u64,
    pub(super) transfer: u64,
    /// All offsets are shifted by so much.
    pub(super) shift: u64,
    /// Bytes that are left free between the ranks' parts of a file.
    pub(super) gap: u64,
    pub(super) stripe_size: u64,
    pub(super) stripe_count: u32,
    /// Every file begins on OST 0; else file k on OST k.
    pub(super) crowded: bool,
    /// A new file in each phase (POSIX and C streams).
    pub(super) file_per_phase: bool,

    // Habits.
    pub(super) sync_each: bool,
    pub(super) open_each: bool,
    pub(super) stats_each: u32,
    /// Each access holds a lock on the whole file.
    pub(super) lock_each: bool,
    /// Each write first reads the blocks that hold its two ends.
    pub(super) edges: bool,
    pub(super) only_rank_0: bool,
    /// One rank after another.
    pub(super) serial: bool,
    pub(super) aggregators: u32,
    pub(super) sieve: Sieve,
    /// In each phase every rank reads the same 4 KiB so many times; else rank 0 does.
    pub(super) header: Option<Header>,
    /// A rank's work is so many times the others'.
    pub(super) shares: Vec<(u32, u64)>,
    /// A rank computes so many times as long.
    pub(super) late: Vec<(u32, f64)>,

    // What goes wrong outside the program.
    pub(super) slow_ranks: Vec<(u32, f64)>,
    pub(super) slow_nodes: Vec<(u32, f64)>,
    pub(super) slow_osts: Vec<(u32, f64)>,
    pub(super) windows: Vec<Window>,
    /// So large a part of the calls takes so many times as long.
    pub(super) tail: Option<(f64, f64)>,
    pub(super) stall: Option<Stall>,
    /// What the job takes with none of this.
    pub(super) undisturbed_ns: f64,
    /// An open of this rank takes so much longer.
    pub(super) slow_opens: Vec<(u32, f64)>,

    // The machine.
    pub(super) read_ns: f64,
    pub(super) write_ns: f64,
    pub(super) open_ns: f64,
    pub(super) close_ns: f64,
    pub(super) stat_ns: f64,
    pub(super) sync_ns: f64,
    pub(super) lock_ns: f64,
    /// Bytes per second that one call moves.
    pub(super) client_rate: f64,
    /// All OSTs together serve so many times what all ranks can ask for at once.
    pub(super) headroom: f64,
    /// Time of an OST for one request, besides its bytes.
    pub(super) ost_ns: f64,
    /// Time of the one metadata server for one request.
    pub(super) metadata_ns: f64,
    /// Taking a stripe's lock from another node.
    pub(super) handover_ns: f64,
}

/// A block that a job reads over and over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// All ranks read it, not rank 0 alone.
    pub(super) by_all: bool,
    /// Only so many ranks do the phase's other I/O.
    pub(super) bulk_ranks: u32,
    /// What one read of it costs its OST.
    pub(super) ost_ns: f64,
}

/// A span of time in which every call is slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Parts of the time that the undisturbed job takes.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) factor: f64,
}

/// One call that hangs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    pub(super) rank: u32,
    pub(super) phase: u32,
    pub(super) ns: f64,
}

impl Default for Job {
    /// 32 ranks on 4 nodes write a shared file on 8 OSTs, each its own part, in ten phases.
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
    /// Node of a rank: ranks fill the nodes in order.
    pub(super) fn node_of(&self, rank: u32) -> u32 {
        rank / self.ranks.div_ceil(self.nodes)
    }

    /// Name of a node.
    pub(super) fn node_name(node: u32) -> String {
        format!("node{node:04}")
    }

    /// Bytes per second that one OST serves.
    pub(super) fn ost_rate(&self) -> f64 {
        self.headroom * self.client_rate * f64::from(self.ranks * self.threads) / f64::from(self.osts)
    }

    /// Whether `phase` writes.
    pub(super) fn writes(&self, phase: u32) -> bool {
        match self.direction {
            Direction::Write => true,
            Direction::Read => false,
            Direction::Both => phase.is_multiple_of(2),
        }
    }

    /// The rank's share of the work, as a multiple of the others'.
    pub(super) fn share(&self, rank: u32) -> u64 {
        self.shares.iter().find(|share| share.0 == rank).map_or(1, |share| share.1)
    }

    /// Largest share of all.
    pub(super) fn largest_share(&self) -> u64 {
        self.shares.iter().map(|share| share.1).max().unwrap_or(1)
    }
}

/// The factor that `list` gives for `which`.
pub(super) fn factor(list: &[(u32, f64)], which: u32) -> f64 {
    list.iter().filter(|(number, _)| *number == which).map(|(_, factor)| factor).product()
}
