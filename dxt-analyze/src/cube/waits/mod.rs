//! Waits of processes for each other, at synchronization points and elsewhere.
//!
//! * [`sync_points`]: waits in collective calls; [`messages`]: waits for messages between synchronization points.
//! * [`kept_waiting`]: processes that others wait for, if not all processes are known to synchronize.
//! * [`alone`]: the process that runs alone at the end; [`known`]: cache of which processes continue during a call.

pub mod alone;
pub mod kept_waiting;
pub mod known;
pub mod messages;
pub mod sync_points;
