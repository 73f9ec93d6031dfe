//! Builds this rank's element of the MPI reduction: the rank's counts of the shared files, with times relative to a common barrier.

use super::described::{self, DESCRIBED};
use super::keys::{key, pair};
use super::shared::Shared;
use super::sums::{Room, Sums};
use super::table::Table;
use super::words::{self, COUNTERS, FILE};
use crate::flush::counted::{Counted, in_nanoseconds, profile_in_nanoseconds};
use crate::ops::Role;
use crate::registry::{self, DATATYPE_COUNTS};
use std::collections::BTreeMap;
use trace_format::columns::TickScale;
use trace_format::counters::Counters;
use trace_format::profile::Profile;
use trace_format::spread::{RankShare, Spread};

#[derive(Clone, Copy)]
pub(super) struct Rank<'a> {
    pub(super) rank: u32,
    /// Hash of the name of the node on which the rank runs.
    pub(super) node: u64,
    pub(super) scale: &'a TickScale,
    /// Time at which the rank left the barrier that aligns the ranks' clocks, in ns since the rank's epoch.
    pub(super) sync_ns: u64,
}

/// Builds this rank's element of the MPI reduction from its counts and notes. `room`: number of entries that the element has room for.
pub(super) fn sums(rank: &Rank<'_>, room: Room, notes: &[(String, u64)], counted: &Counted, shared: &Shared) -> Sums {
    let mut streams: BTreeMap<u64, Counters> = BTreeMap::new();
    let mut shares: BTreeMap<u64, RankShare> = BTreeMap::new();
    let mut described: BTreeMap<u64, [u64; DESCRIBED]> = BTreeMap::new();
    let others = shared.len() - shared.others();
    let lowest: Vec<u32> = shared.files().map(|(_, lowest)| lowest).collect();
    for (_, stream, counters) in &counted.streams {
        let Some(place) = shared.place(stream.file.hash) else { continue };
        let ns = in_nanoseconds(counters.clone(), rank.scale);
        let share = shares.entry(pair(place, stream.layer)).or_default();
        share.rank = rank.rank;
        share.time_ns = share.time_ns.saturating_add(ns.duration);
        if stream.role != Role::None {
            share.bytes = share.bytes.saturating_add(ns.bytes);
        }
        let first_start = words::aligned(ns.first_start, rank.sync_ns);
        let last_end = words::aligned(ns.last_end, rank.sync_ns);
        let counters = Counters { first_start, last_end, ..ns };
        // Data sets of a file have streams of their own, which are merged in the common record.
        let known = streams.entry(key(place, stream)).and_modify(|known| known.merge(&counters));
        known.or_insert(counters);
        if place >= others && lowest.get(place) == Some(&rank.rank) {
            described.entry(place as u64).or_insert_with(|| described::put(stream.file));
        }
    }
    let mut profiles: BTreeMap<u64, Profile> = BTreeMap::new();
    for (file, layer, profile) in &counted.profiles {
        let Some(place) = shared.place(file.hash) else { continue };
        let ns = profile_in_nanoseconds(*profile, rank.scale);
        profiles.insert(pair(place, *layer), words::with_starts(ns, |start| words::aligned(start, rank.sync_ns)));
    }
    let mut datatypes: BTreeMap<u64, [u64; DATATYPE_COUNTS]> = BTreeMap::new();
    for details in registry::mpi_details().filter(|details| details.has_datatypes()) {
        if let Some(place) = shared.place(details.file.hash) {
            datatypes.insert(place as u64, details.datatype_counts());
        }
    }
    let streams = streams.into_iter().map(|(key, counters)| {
        let mut words = [0; COUNTERS];
        words::put_counters(&counters, &mut words);
        (key, words)
    });
    let pairs = shares.into_iter().map(|(pair, share)| {
        let mut words = [0; FILE];
        words::put_file(&profiles.get(&pair).copied().unwrap_or_default(), &Spread::of(share), &mut words);
        (pair, words)
    });
    Sums {
        notes: notes.iter().map(|(_, count)| *count).collect(),
        nodes: Table::new(room.nodes, [(rank.node, [])]),
        streams: Table::new(room.streams, streams),
        pairs: Table::new(room.pairs, pairs),
        datatypes: Table::new(room.datatypes, datatypes),
        described: Table::new(room.described, described),
    }
}
