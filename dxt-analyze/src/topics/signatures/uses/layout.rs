//! Cost model of the IOSIG paper for three data layouts (data of each process on one storage node, on all, or on some), for one request by
//! each process.
//!
//! The cost is the sum of network and disk time, without overlap. This reproduces the paper's numbers (p = n = 8, 16 KiB, 0.3 ms and 0.1
//! ms: 0.430 + 0.230 = 0.660 ms for 1-DV). Times are in ns.

/// Time per byte at 120 MiB/s, in ns: network and disk of the paper's machine.
pub const PAPER_BYTE_NS: f64 = 1e9 / (120.0 * 1_048_576.0);

/// Cost parameters of a machine; each field begins with its letter in the paper's formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// e: time to connect a process to a node, ns.
    pub connection_ns: f64,
    /// v: time per byte on the network, ns.
    pub network_byte_ns: f64,
    /// a: time to start a disk access, ns.
    pub start_ns: f64,
    /// b: time per byte on the disk, ns.
    pub disk_byte_ns: f64,
}

impl Machine {
    /// Machine of the paper: 0.3 ms to connect, 0.1 ms to start a disk access, 120 MiB/s.
    pub const PAPER: Self = Self {
        connection_ns: 300_000.0,
        network_byte_ns: PAPER_BYTE_NS,
        start_ns: 100_000.0,
        disk_byte_ns: PAPER_BYTE_NS,
    };
}

/// I/O load on a machine; each field begins with its letter in the paper's formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// p: number of processes that do I/O concurrently.
    pub processes: u64,
    /// n: number of storage nodes.
    pub nodes: u64,
    /// m: number of processes per client node.
    pub per_client: u64,
    /// s: number of bytes per request.
    pub request_bytes: u64,
}

/// Layout: distribution of each process's data over storage nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 1-DV: each process's data is on one storage node.
    OneNode,
    /// 1-DH: each process's data is on all storage nodes.
    AllNodes,
    /// 2-D: storage nodes form this many groups, and each process's data is on one group.
    Groups(u64),
}

impl Layout {
    /// Returns the layout's name in the IOSIG paper, such as `1-DV`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::OneNode => "1-DV".to_owned(),
            Self::AllNodes => "1-DH".to_owned(),
            Self::Groups(groups) => format!("2-D with {groups} groups"),
        }
    }

    /// Returns the number of storage nodes, out of `nodes`, that hold the data of one process: stripe count of the process's file, or of
    /// its region of a shared file.
    #[must_use]
    pub fn nodes_of_a_process(&self, nodes: u64) -> u64 {
        match self {
            Self::OneNode => 1,
            Self::AllNodes => nodes,
            Self::Groups(groups) => nodes.checked_div(*groups).unwrap_or(0),
        }
    }
}

/// Cost of one request by every process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Time that the requests of all processes take on the network, ns.
    pub network_ns: f64,
    /// Time that the requests of all processes take on the disks, ns.
    pub disk_ns: f64,
}

impl Cost {
    /// Returns network plus disk time of the requests, ns.
    #[must_use]
    pub fn total_ns(&self) -> f64 {
        self.network_ns + self.disk_ns
    }
}

/// Returns the cost of one request by each process under a layout, for the load `load` on `machine`. `None` if there is no process, node or
/// client, or if a 2-D layout has no group or more groups than nodes.
#[must_use]
pub fn cost(layout: Layout, load: &Demand, machine: &Machine) -> Option<Cost> {
    let Demand { processes, nodes, per_client, request_bytes } = *load;
    if processes == 0 || nodes == 0 || per_client == 0 {
        return None;
    }
    let (p, n, m, s) = (processes as f64, nodes as f64, per_client as f64, request_bytes as f64);
    let (e, v) = (machine.connection_ns, machine.network_byte_ns);
    let (a, b) = (machine.start_ns, machine.disk_byte_ns);
    // Number of processes per node with 1-DV.
    let c = processes.div_ceil(nodes);
    let few_per_client = per_client <= c;
    let (network_ns, disk_ns) = match layout {
        Layout::OneNode => {
            let at_node = processes > nodes && few_per_client;
            let sharing = if at_node { c as f64 } else { m };
            (sharing * (e + s * v), c as f64 * (a + s * b))
        }
        Layout::AllNodes => {
            let network = if few_per_client { p * (e + s * v / n) } else { m * n * e + m * s * v };
            (network, p * (a + s * b / n))
        }
        Layout::Groups(groups) => {
            if groups == 0 || groups > nodes {
                return None;
            }
            // Number of processes, and of nodes, per group.
            let (q, h) = (processes.div_ceil(groups) as f64, (nodes / groups) as f64);
            let network = if processes <= groups {
                m * nodes.div_ceil(groups) as f64 * e + m * s * v
            } else if m <= q / h {
                q * (e + s * v / h)
            } else {
                m * h * e + m * s * v
            };
            (network, q * (a + s * b / h))
        }
    };
    Some(Cost { network_ns, disk_ns })
}

/// Ranks all layouts for a load, cheapest first. Of equally cheap layouts, the one with fewer nodes per process is first.
///
/// Considers 1-DV, 1-DH, and 2-D with all useful numbers of groups: of several numbers that yield groups with equally many nodes, only the
/// largest. If nodes do not divide evenly among groups, the remaining nodes are idle.
#[must_use]
pub fn rank(load: &Demand, machine: &Machine) -> Vec<(Layout, Cost)> {
    // No file system has more nodes than this bound, which limits the run time if the number of nodes is wrong.
    let mut groups: Vec<u64> = (2..=(load.nodes / 2).min(1 << 16)).map(|of_a_group| load.nodes / of_a_group).collect();
    groups.dedup();
    let groups = groups.into_iter().filter(|groups| *groups > 1).map(Layout::Groups);
    let layouts = [Layout::OneNode, Layout::AllNodes].into_iter().chain(groups);
    let mut ranked: Vec<(Layout, Cost)> =
        layouts.filter_map(|layout| cost(layout, load, machine).map(|cost| (layout, cost))).collect();
    ranked.sort_by(|(one, cost), (other, more)| {
        let fewer = || one.nodes_of_a_process(load.nodes).cmp(&other.nodes_of_a_process(load.nodes));
        cost.total_ns().total_cmp(&more.total_ns()).then_with(fewer)
    });
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    const EIGHT: Demand = Demand { processes: 8, nodes: 8, per_client: 1, request_bytes: 16_384 };

    fn ms(layout: Layout, load: &Demand) -> f64 {
        let total_ns = cost(layout, load, &Machine::PAPER).map_or(f64::NAN, |cost| cost.total_ns());
        (total_ns / 1e3).round() / 1e3
    }

    #[test]
    fn the_papers_numbers() {
        assert_eq!(ms(Layout::OneNode, &EIGHT), 0.660);
        assert_eq!(ms(Layout::AllNodes, &EIGHT), 3.460);
        assert_eq!(ms(Layout::Groups(2), &EIGHT), 1.860);
        assert_eq!(ms(Layout::Groups(4), &EIGHT), 1.060);
        let best: Vec<Layout> = rank(&EIGHT, &Machine::PAPER).into_iter().map(|(layout, _)| layout).collect();
        assert_eq!(best, [Layout::OneNode, Layout::Groups(4), Layout::Groups(2), Layout::AllNodes]);
    }

    /// Tests each case of the network formulas, with e = 1000, v = 1, a = b = 0, so that the result shows which case was used.
    #[test]
    fn each_condition() {
        let machine = Machine { connection_ns: 1_000.0, network_byte_ns: 1.0, start_ns: 0.0, disk_byte_ns: 0.0 };
        let network = |layout, processes, nodes, per_client| {
            let load = Demand { processes, nodes, per_client, request_bytes: 100 };
            cost(layout, &load, &machine).map(|cost| cost.network_ns)
        };
        // 1-DV: m(e+sv), but c(e+sv) if p > n and m <= c.
        assert_eq!(network(Layout::OneNode, 4, 4, 2), Some(2_200.0));
        assert_eq!(network(Layout::OneNode, 16, 4, 2), Some(4_400.0));
        assert_eq!(network(Layout::OneNode, 16, 4, 4), Some(4_400.0));
        assert_eq!(network(Layout::OneNode, 16, 4, 8), Some(8_800.0));
        // 1-DH: p(e+sv/n) if m <= c, else mne+msv.
        assert_eq!(network(Layout::AllNodes, 16, 4, 4), Some(16.0 * 1_025.0));
        assert_eq!(network(Layout::AllNodes, 16, 4, 5), Some(5.0 * 4_000.0 + 500.0));
        // 2-D: p <= g; m <= q/h; else.
        assert_eq!(network(Layout::Groups(4), 3, 9, 2), Some(2.0 * 3.0 * 1_000.0 + 200.0));
        assert_eq!(network(Layout::Groups(2), 16, 4, 4), Some(8.0 * 1_050.0));
        assert_eq!(network(Layout::Groups(2), 16, 4, 5), Some(5.0 * 2_000.0 + 500.0));
        // The limit q/h = 2.5 is a fraction: 2 is below it, 3 is not.
        assert_eq!(network(Layout::Groups(2), 10, 4, 2), Some(5.0 * 1_050.0));
        assert_eq!(network(Layout::Groups(2), 10, 4, 3), Some(3.0 * 2_000.0 + 300.0));
    }

    #[test]
    fn the_disks_of_nodes_that_do_not_divide_evenly() {
        let machine = Machine { connection_ns: 0.0, network_byte_ns: 0.0, start_ns: 1.0, disk_byte_ns: 1.0 };
        let load = Demand { processes: 9, nodes: 4, per_client: 1, request_bytes: 12 };
        let disk = |layout| cost(layout, &load, &machine).map(|cost| cost.disk_ns);
        assert_eq!(disk(Layout::OneNode), Some(3.0 * 13.0));
        assert_eq!(disk(Layout::AllNodes), Some(9.0 * 4.0));
        assert_eq!(disk(Layout::Groups(2)), Some(5.0 * 7.0));
        // Four nodes in three groups: one node each, the fourth is idle.
        assert_eq!(disk(Layout::Groups(3)), Some(3.0 * 13.0));
    }

    #[test]
    fn large_requests_of_few_processes_go_to_all_nodes() {
        let load = Demand { processes: 1, nodes: 8, per_client: 1, request_bytes: 64 << 20 };
        assert_eq!(rank(&load, &Machine::PAPER).first().map(|(layout, _)| *layout), Some(Layout::AllNodes));
    }

    /// Seven nodes cannot be divided evenly: three groups of two nodes, or two groups of three.
    #[test]
    fn nodes_that_nothing_divides_have_groups_too() {
        let ranked = rank(&Demand { nodes: 7, ..EIGHT }, &Machine::PAPER);
        let mut layouts: Vec<String> = ranked.iter().map(|(layout, _)| layout.name()).collect();
        layouts.sort();
        assert_eq!(layouts, ["1-DH", "1-DV", "2-D with 2 groups", "2-D with 3 groups"]);
    }

    #[test]
    fn nothing_is_no_layout() {
        assert!(rank(&Demand { nodes: 0, ..EIGHT }, &Machine::PAPER).is_empty());
        assert!(rank(&Demand { processes: 0, ..EIGHT }, &Machine::PAPER).is_empty());
        assert!(cost(Layout::Groups(0), &EIGHT, &Machine::PAPER).is_none());
        assert!(cost(Layout::Groups(9), &EIGHT, &Machine::PAPER).is_none());
        let most = Demand { processes: u64::MAX, nodes: u64::MAX, per_client: u64::MAX, request_bytes: u64::MAX };
        assert!(!rank(&most, &Machine::PAPER).is_empty());
        assert_eq!(Layout::Groups(0).nodes_of_a_process(4), 0);
    }
}
