//! Causes: which rank, node, storage target, moment or kind of call is slower than its like, and what the job's run time would be without.
//! Everything is judged together, on the logarithm of durations, so that one slow thing is not taken for another.
//!
//! * [`phases`]: first reading: where ranks meet ([`who`]), and when no process does I/O; [`slots`]: the run divided there.
//! * [`usual`]: first reading: how long calls of a kind and size usually take.
//! * [`cells`]: second reading: time of calls by process, slot, stream, size and storage target; [`grid`]: all of them, ready to compare; [`class`]: what they do; [`callers`]: who makes collective ones; [`depths`]: how many others they find on their target; [`threads`]: when those of a process are in calls.
//! * [`members`]: what a rank, node, target, moment, file or part of one ([`regions`], of [`parts`]) differs by from its like; [`odd`]: whether that is more than chance; [`apart`]: whether they fall into two groups; [`of_two`]: which of two is slow.
//! * [`slow`]: the units that are slow, the one that explains most first; [`tails`]: single calls, [`stalls_in_a_row`]; [`stand_still`]: those of most processes at once.
//! * [`first_calls`]: long calls that are the first of their process.
//! * [`shape`]: what costs time by the shape of the I/O, a module for each finding: [`uneven`]: ranks with more than their share, [`rounds`]: or one of each round of processes; [`queue`]: too few targets; [`locks`]: waiting for them;
//!   [`late`], [`meeting_late`]: ranks that come late to collective calls ([`who_is_late`]); [`longer`]: ranks that are in calls for longer; [`long_collective`]: a call that held its ranks;
//!   [`shared_block`]: a block that all read; [`syncs`]; [`slow_metadata`]; [`filling`]: reads for writes of less than a block; [`shared_records`]: files of which a log knows only the slowest rank;
//!   [`past_cache`]: files opened with O_SYNC or O_DIRECT; [`tiny`]: requests of few bytes; [`tiny_collective`]: of all ranks together; [`stream_buffer`]: of C streams; [`asked_again`]: names that are asked for again; [`polled`]: files that are waited for;
//!   [`one_aggregator`]: by a hint; [`many_aggregators`]: that wait for each other; [`many_files`]: small or temporary ones; [`reopened`], [`mpiio_reopened`]: files that are opened again, [`rewritten`]: or written anew; [`header`]: between records; [`independent`]: small calls of MPI-IO
//!   one by one; [`seeks`]: by their price; [`aliasing`]: ranks that meet on one target after another; [`hdf5_metadata`]: of which each rank reads and writes its own;
//!   [`hdf5_reopened`], [`hdf5_flushed`]: again and again; [`hdf5_amplified`]: more read than asked for.
//!   Beneath them: [`put_together`]: what short requests would save as long ones; [`helpers`]: processes that work for another; [`kind_of_file`]: what files most of it is on; [`folders`]: those
//!   that they lie in.
//! * [`replay`]: what the job's run time would be with some calls shortened; [`meetings`]: who waits for whom, [`kept_waiting`]: where not all meet; [`alone`]: who is left at the end.
//! * [`named`]: what units are called; [`claim`]: a finding and the calls that it explains; [`long_calls`]: those of single calls; [`once_each`]: one for each file; [`result`], [`view`]: all of them, and how they look.

pub mod aliasing;
pub mod alone;
pub mod apart;
pub mod args;
pub mod asked_again;
pub mod callers;
pub mod cells;
pub mod claim;
pub mod class;
pub mod codes;
pub mod depths;
pub mod filling;
pub mod first_calls;
pub mod folders;
pub mod grid;
pub mod hdf5_amplified;
pub mod hdf5_flushed;
pub mod hdf5_metadata;
pub mod hdf5_reopened;
pub mod header;
pub mod helpers;
mod in_report;
pub mod independent;
pub mod kept_waiting;
pub mod kind_of_file;
pub mod late;
pub mod locks;
pub mod long_calls;
pub mod long_collective;
pub mod longer;
pub mod many_aggregators;
pub mod many_files;
pub mod meeting_late;
pub mod meetings;
pub mod members;
pub mod messages;
pub mod mpiio_reopened;
pub mod named;
pub mod odd;
pub mod of_two;
pub mod once_each;
pub mod one_aggregator;
pub mod parts;
pub mod past_cache;
pub mod phases;
pub mod polled;
pub mod put_together;
pub mod queue;
pub mod regions;
pub mod reopened;
pub mod replay;
pub mod result;
pub mod rewritten;
pub mod rounds;
pub mod seeks;
pub mod shape;
pub mod shared_block;
pub mod shared_records;
pub mod slots;
pub mod slow;
pub mod slow_metadata;
pub mod stalled_once;
pub mod stalls_in_a_row;
pub mod stand_still;
pub mod stream_buffer;
pub mod syncs;
pub mod tails;
pub mod threads;
pub mod tiny;
pub mod tiny_collective;
pub mod uneven;
pub mod usual;
pub mod view;
pub mod who;
pub mod who_is_late;
pub mod whole_waits;

pub use args::{Args, Options};
pub use codes::CODES;
pub(crate) use in_report::InReport;
pub use view::causes as verb;
