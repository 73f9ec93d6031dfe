//! Best stripe size for an access pattern: maps the pattern's requests to storage nodes under each candidate size, and sums the costs of
//! requests and nodes with the parameters of the IOSIG paper's cost model (`layout`).
//!
//! The model, and its limits:
//!
//! - Requests are made in order of their starts. As many requests as there are active clients run concurrently, and the next ones start
//!   when the last of these ends. This is a round.
//! - A round costs the busiest client's network time plus the busiest node's disk time. A client connects to each of the k nodes of its
//!   request and moves s bytes: k e + s v. A node starts once per request and moves the bytes that it stores: a + bytes x b. The bytes of a
//!   request on one node are contiguous there, as in a Lustre object.
//! - Network time at the nodes is not counted, as in the paper if there are as many processes as nodes. If many clients share a node,
//!   stripe sizes differ at least as much as computed.
//! - Stripes begin at byte 0 on node 0. Locks, caches and the splitting of large requests are ignored.

use super::layout::Machine;
use std::cmp::Reverse;

/// Granularity of Lustre's stripe sizes, bytes.
pub const LUSTRE_STEP_BYTES: u64 = 65_536;

/// Maximum stripe size of Lustre, bytes: the largest multiple of the granularity below 4 GiB (32 bits).
pub const LUSTRE_MOST_BYTES: u64 = (1 << 32) - LUSTRE_STEP_BYTES;

/// Striping of a file: stripe size and count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Striping {
    /// Size of a stripe, bytes.
    pub stripe_bytes: u64,
    /// Stripe count: number of storage nodes.
    pub nodes: u64,
}

/// Cost of a pattern's requests under one striping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Stripe size and count of which this is the cost.
    pub striping: Striping,
    /// Sum of the busiest client's network time over all rounds (sets of concurrent requests), ns.
    pub network_ns: f64,
    /// Sum of the busiest node's disk time over all rounds (sets of concurrent requests), ns.
    pub disk_ns: f64,
    /// Mean number of storage nodes that a request accesses.
    pub nodes_per_request: f64,
    /// Number of storage nodes that store any of the requests' bytes.
    pub nodes_touched: u64,
}

impl Ranked {
    /// Returns network plus disk time of the pattern's requests, ns.
    #[must_use]
    pub fn total_ns(&self) -> f64 {
        self.network_ns + self.disk_ns
    }
}

/// Result of the check if Lustre allows a stripe size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLustre {
    /// Lustre allows the stripe size.
    Settable,
    /// Lustre does not allow the stripe size: not a multiple of 64 KiB, or too large.
    Not {
        /// Next smaller stripe size that Lustre allows; `None` below 64 KiB.
        below: Option<u64>,
        /// Next larger stripe size that Lustre allows; `None` above [`LUSTRE_MOST_BYTES`].
        above: Option<u64>,
    },
}

/// Checks if Lustre allows a stripe size.
#[must_use]
pub fn on_lustre(stripe_bytes: u64) -> OnLustre {
    let below = (stripe_bytes - stripe_bytes % LUSTRE_STEP_BYTES).min(LUSTRE_MOST_BYTES);
    if below == stripe_bytes && below > 0 {
        return OnLustre::Settable;
    }
    let above = below.saturating_add(LUSTRE_STEP_BYTES);
    OnLustre::Not { below: (below > 0).then_some(below), above: (above <= LUSTRE_MOST_BYTES).then_some(above) }
}

/// Returns candidate stripe sizes, ascending, for requests of `request_bytes` that begin `period_bytes` apart, over `nodes` storage nodes.
///
/// Candidates are request length and period (each as it is, halved, divided by `nodes`, and doubled), and all powers of two from 64 KiB to
/// 64 MiB.
#[must_use]
pub fn candidates(request_bytes: u64, period_bytes: u64, nodes: u64) -> Vec<u64> {
    let of = |bytes: u64| [bytes, bytes.div_ceil(2), bytes.div_ceil(nodes.max(1)), bytes.saturating_mul(2)];
    let powers = (16..=26).map(|power| 1_u64 << power);
    let mut sizes: Vec<u64> = of(request_bytes).into_iter().chain(of(period_bytes)).chain(powers).collect();
    sizes.retain(|bytes| *bytes > 0);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Ranks stripings, cheapest first. `requests` yields (offset, length) in order of their starts; `at_once` requests run concurrently.
///
/// Stripings with equal cost (to 1 ns per request) are ordered by fewer nodes, then by more nodes with data, then by larger stripes. Memory
/// grows only with the number of the candidates' nodes. Candidates with no node or more than 64 Ki nodes are omitted.
pub fn rank(
    requests: impl Iterator<Item = (u64, u64)>,
    at_once: u64,
    stripings: &[Striping],
    machine: &Machine,
) -> Vec<Ranked> {
    let usable = stripings.iter().filter(|it| it.stripe_bytes > 0 && (1..=1 << 16).contains(&it.nodes));
    let mut trials: Vec<Trial> = usable.map(|striping| Trial::new(*striping)).collect();
    let at_once = at_once.max(1);
    let (mut in_round, mut requests_in_all) = (0, 0_u64);
    for (offset, length) in requests.filter(|(_, length)| *length > 0) {
        for trial in &mut trials {
            trial.request(offset, length, machine);
        }
        in_round += 1;
        requests_in_all += 1;
        if in_round == at_once {
            in_round = 0;
            trials.iter_mut().for_each(Trial::end_round);
        }
    }
    let mut ranked: Vec<Ranked> = trials.into_iter().map(Trial::end).collect();
    // Rounded to ns, since the last bits of a floating-point sum depend on the order of additions.
    let each_ns = |it: &Ranked| (it.total_ns() / requests_in_all.max(1) as f64).round();
    ranked.sort_by(|one, other| {
        let ties = |it: &Ranked| (it.striping.nodes, Reverse(it.nodes_touched), Reverse(it.striping.stripe_bytes));
        each_ns(one).total_cmp(&each_ns(other)).then_with(|| ties(one).cmp(&ties(other)))
    });
    ranked.dedup_by(|one, other| one.striping == other.striping);
    ranked
}

#[derive(Clone, Debug)]
struct Trial {
    striping: Striping,
    /// Disk time of each storage node in the current round (set of concurrent requests), ns.
    node_ns: Vec<f64>,
    /// Indices of the storage nodes with disk time in the current round (set of concurrent requests).
    busy: Vec<usize>,
    /// Network time of the busiest client in the current round (set of concurrent requests), ns.
    client_ns: f64,
    network_ns: f64,
    disk_ns: f64,
    requests: u64,
    pieces: u64,
    touched: Vec<bool>,
}

impl Trial {
    fn new(striping: Striping) -> Self {
        let nodes = usize::try_from(striping.nodes).unwrap_or(0);
        Self {
            striping,
            node_ns: vec![0.0; nodes],
            busy: Vec::new(),
            client_ns: 0.0,
            network_ns: 0.0,
            disk_ns: 0.0,
            requests: 0,
            pieces: 0,
            touched: vec![false; nodes],
        }
    }

    fn request(&mut self, offset: u64, length: u64, machine: &Machine) {
        let Striping { stripe_bytes, nodes } = self.striping;
        // The last byte is used, since the exclusive end may exceed u64.
        let last_byte = offset.saturating_add(length - 1);
        let (first, last) = (offset / stripe_bytes, last_byte / stripe_bytes);
        let pieces = (last - first).saturating_add(1).min(nodes);
        for piece in 0..pieces {
            let stripe = first + piece;
            // Each node stores every `nodes`-th stripe.
            let stripes = (last - stripe) / nodes + 1;
            let mut bytes = stripes as f64 * stripe_bytes as f64;
            if stripe == first {
                bytes -= (offset % stripe_bytes) as f64;
            }
            if (last - stripe).is_multiple_of(nodes) {
                bytes -= (stripe_bytes - 1 - last_byte % stripe_bytes) as f64;
            }
            let node = usize::try_from(stripe % nodes).unwrap_or(0);
            if let (Some(ns), Some(touched)) = (self.node_ns.get_mut(node), self.touched.get_mut(node)) {
                if *ns == 0.0 {
                    self.busy.push(node);
                }
                *ns += machine.start_ns + bytes * machine.disk_byte_ns;
                *touched = true;
            }
        }
        let client_ns = pieces as f64 * machine.connection_ns + length as f64 * machine.network_byte_ns;
        self.client_ns = self.client_ns.max(client_ns);
        self.requests = self.requests.saturating_add(1);
        self.pieces = self.pieces.saturating_add(pieces);
    }

    fn end_round(&mut self) {
        let mut busiest_ns = 0.0_f64;
        for node in self.busy.drain(..) {
            if let Some(ns) = self.node_ns.get_mut(node) {
                busiest_ns = busiest_ns.max(std::mem::take(ns));
            }
        }
        self.disk_ns += busiest_ns;
        self.network_ns += std::mem::take(&mut self.client_ns);
    }

    fn end(mut self) -> Ranked {
        self.end_round();
        Ranked {
            striping: self.striping,
            network_ns: self.network_ns,
            disk_ns: self.disk_ns,
            nodes_per_request: if self.requests == 0 { 0.0 } else { self.pieces as f64 / self.requests as f64 },
            nodes_touched: self.touched.iter().filter(|touched| **touched).count() as u64,
        }
    }
}

#[cfg(test)]
mod tests;
