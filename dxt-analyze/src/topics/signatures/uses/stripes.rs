//! Which stripe size suits a pattern: its requests are laid on the nodes under each candidate, and the cost of each request and of each node
//! is summed up with the times of the paper's cost model (`layout`).
//!
//! The model, and what it leaves out:
//! * So many requests as there are clients at work are under way at once, and the next ones start when the last of these is done: a round. The
//!   requests come in the order of their starts.
//! * A round costs what the busiest client takes in the network and what the busiest node takes at its disk, one after the other. A client
//!   opens a connection to each node that a request touches, and moves its bytes: k e + s v. A node starts once for each request, and
//!   moves the request's part: a + bytes b. What a request has on one node is one piece there, as in an object of Lustre.
//! * The network's end at the nodes is not counted, as the paper does with as many processes as nodes; where many clients meet at one
//!   node, the gap between the sizes is at least what is said here.
//! * Stripes begin at byte 0 on node 0. Locks, caches, and the splitting of large requests are not in it.

use super::layout::Machine;
use std::cmp::Reverse;

/// Lustre's stripe sizes are multiples of this.
pub const LUSTRE_STEP_BYTES: u64 = 65_536;

/// Lustre's largest stripe size: below 4 GiB (32 bits), in whole steps.
pub const LUSTRE_MOST_BYTES: u64 = (1 << 32) - LUSTRE_STEP_BYTES;

/// A stripe size and over how many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Striping {
    /// Bytes of a stripe.
    pub stripe_bytes: u64,
    /// Nodes.
    pub nodes: u64,
}

/// What a pattern costs under a striping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The striping.
    pub striping: Striping,
    /// In the network, of the busiest client of each round, ns.
    pub network_ns: f64,
    /// At the disk of the busiest node of each round, ns.
    pub disk_ns: f64,
    /// Nodes that a request touches, the mean.
    pub nodes_per_request: f64,
    /// Nodes that hold any of the bytes.
    pub nodes_touched: u64,
}

impl Ranked {
    /// Both, one after the other, ns.
    #[must_use]
    pub fn total_ns(&self) -> f64 {
        self.network_ns + self.disk_ns
    }
}

/// Whether Lustre can have a stripe size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLustre {
    /// It can.
    Settable,
    /// It is no multiple of 64 KiB, or too large: the nearest ones below (none below 64 KiB) and above (none from 4 GiB on).
    Not {
        /// The next smaller one.
        below: Option<u64>,
        /// The next larger one.
        above: Option<u64>,
    },
}

/// Whether Lustre can have stripes of so many bytes.
#[must_use]
pub fn on_lustre(stripe_bytes: u64) -> OnLustre {
    let below = (stripe_bytes - stripe_bytes % LUSTRE_STEP_BYTES).min(LUSTRE_MOST_BYTES);
    if below == stripe_bytes && below > 0 {
        return OnLustre::Settable;
    }
    let above = below.saturating_add(LUSTRE_STEP_BYTES);
    OnLustre::Not { below: (below > 0).then_some(below), above: (above <= LUSTRE_MOST_BYTES).then_some(above) }
}

/// Stripe sizes worth trying for requests of so many bytes, one every `period_bytes` (the stride), over so many nodes: the request and the
/// period, whole, halved to their parts of a node and doubled; and all powers of two from 64 KiB to 64 MiB. In order, none twice.
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

/// Ranks stripings for requests (offset, length) in the order of their starts, `at_once` of which are under way at any time: the cheapest
/// first, and of equal ones (to 1 ns a request) the one with fewer nodes, then that whose bytes lie on more of them, then the larger stripes. One pass; memory grows with the candidates' nodes only (at
/// most 64 Ki each; candidates beyond that, or of none, are left out).
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
    // Whole ns, since the last bits of a sum are those of its order.
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
    /// Of this round, ns: each node's, those at work, and the busiest client's.
    node_ns: Vec<f64>,
    busy: Vec<usize>,
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
        // Inclusive: the byte after the last one may be no number.
        let last_byte = offset.saturating_add(length - 1);
        let (first, last) = (offset / stripe_bytes, last_byte / stripe_bytes);
        let pieces = (last - first).saturating_add(1).min(nodes);
        for piece in 0..pieces {
            let stripe = first + piece;
            // Every so many stripes the same node has another one.
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
