//! Wraps MPI's blocking collective calls (MPI 4.0, chapter 6), which are synchronization points of ranks. Only the communicator is
//! inspected. Not recorded: nonblocking calls, point-to-point calls, and collective calls made inside a collective, MPI-IO or HDF5 call.
#![expect(unsafe_code, reason = "C functions")]

use super::init_finalize::ERR_OTHER;
use super::narrow;
use super::sync_points::{passes, sync_point};
use crate::mpi::Handle;
use crate::ops::{
    MPI_ALLGATHER, MPI_ALLGATHERV, MPI_ALLREDUCE, MPI_ALLTOALL, MPI_ALLTOALLV, MPI_ALLTOALLW, MPI_BARRIER, MPI_BCAST,
    MPI_EXSCAN, MPI_GATHER, MPI_GATHERV, MPI_REDUCE, MPI_REDUCE_SCATTER, MPI_REDUCE_SCATTER_BLOCK, MPI_SCAN,
    MPI_SCATTER, MPI_SCATTERV,
};
use crate::real::hooks;
use std::ffi::{c_int, c_void};

hooks! { COLLECTIVES, missing = ERR_OTHER, with Count = c_int | i64, Displacement = c_int | isize;
    [MPI_Barrier, PMPI_Barrier](comm: Handle) -> c_int
        = |real| if passes() { real(comm) } else { sync_point(comm, &MPI_BARRIER, move || real(comm)) };
    [MPI_Bcast, PMPI_Bcast; MPI_Bcast_c, PMPI_Bcast_c](buffer: *mut c_void, count: Count, datatype: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(buffer, count, datatype, root, comm) } else { sync_point(comm, &MPI_BCAST, move || real(buffer, count, datatype, root, comm)) };
    [MPI_Reduce, PMPI_Reduce; MPI_Reduce_c, PMPI_Reduce_c](send: *const c_void, receive: *mut c_void, count: Count, datatype: Handle, op: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, root, comm) } else { sync_point(comm, &MPI_REDUCE, move || real(send, receive, count, datatype, op, root, comm)) };
    [MPI_Allreduce, PMPI_Allreduce; MPI_Allreduce_c, PMPI_Allreduce_c](send: *const c_void, receive: *mut c_void, count: Count, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { sync_point(comm, &MPI_ALLREDUCE, move || real(send, receive, count, datatype, op, comm)) };
    [MPI_Gather, PMPI_Gather; MPI_Gather_c, PMPI_Gather_c](send: *const c_void, sent: Count, of: Handle, receive: *mut c_void, received: Count, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, root, comm) } else { sync_point(comm, &MPI_GATHER, move || real(send, sent, of, receive, received, into, root, comm)) };
    [MPI_Gatherv, PMPI_Gatherv; MPI_Gatherv_c, PMPI_Gatherv_c](send: *const c_void, sent: Count, of: Handle, receive: *mut c_void, received: *const Count, places: *const Displacement, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, places, into, root, comm) } else { sync_point(comm, &MPI_GATHERV, move || real(send, sent, of, receive, received, places, into, root, comm)) };
    [MPI_Allgather, PMPI_Allgather; MPI_Allgather_c, PMPI_Allgather_c](send: *const c_void, sent: Count, of: Handle, receive: *mut c_void, received: Count, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, comm) } else { sync_point(comm, &MPI_ALLGATHER, move || real(send, sent, of, receive, received, into, comm)) };
    [MPI_Allgatherv, PMPI_Allgatherv; MPI_Allgatherv_c, PMPI_Allgatherv_c](send: *const c_void, sent: Count, of: Handle, receive: *mut c_void, received: *const Count, places: *const Displacement, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, places, into, comm) } else { sync_point(comm, &MPI_ALLGATHERV, move || real(send, sent, of, receive, received, places, into, comm)) };
    [MPI_Scatter, PMPI_Scatter; MPI_Scatter_c, PMPI_Scatter_c](send: *const c_void, sent: Count, of: Handle, receive: *mut c_void, received: Count, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, root, comm) } else { sync_point(comm, &MPI_SCATTER, move || real(send, sent, of, receive, received, into, root, comm)) };
    [MPI_Scatterv, PMPI_Scatterv; MPI_Scatterv_c, PMPI_Scatterv_c](send: *const c_void, sent: *const Count, places: *const Displacement, of: Handle, receive: *mut c_void, received: Count, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, places, of, receive, received, into, root, comm) } else { sync_point(comm, &MPI_SCATTERV, move || real(send, sent, places, of, receive, received, into, root, comm)) };
    [MPI_Alltoall, PMPI_Alltoall; MPI_Alltoall_c, PMPI_Alltoall_c](send: *const c_void, sent: Count, of: Handle, receive: *mut c_void, received: Count, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, comm) } else { sync_point(comm, &MPI_ALLTOALL, move || real(send, sent, of, receive, received, into, comm)) };
    [MPI_Alltoallv, PMPI_Alltoallv; MPI_Alltoallv_c, PMPI_Alltoallv_c](send: *const c_void, sent: *const Count, from: *const Displacement, of: Handle, receive: *mut c_void, received: *const Count, places: *const Displacement, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, from, of, receive, received, places, into, comm) } else { sync_point(comm, &MPI_ALLTOALLV, move || real(send, sent, from, of, receive, received, places, into, comm)) };
    [MPI_Alltoallw, PMPI_Alltoallw; MPI_Alltoallw_c, PMPI_Alltoallw_c](send: *const c_void, sent: *const Count, from: *const Displacement, of: *const c_void, receive: *mut c_void, received: *const Count, places: *const Displacement, into: *const c_void, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, from, of, receive, received, places, into, comm) } else { sync_point(comm, &MPI_ALLTOALLW, move || real(send, sent, from, of, receive, received, places, into, comm)) };
    [MPI_Scan, PMPI_Scan; MPI_Scan_c, PMPI_Scan_c](send: *const c_void, receive: *mut c_void, count: Count, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { sync_point(comm, &MPI_SCAN, move || real(send, receive, count, datatype, op, comm)) };
    [MPI_Exscan, PMPI_Exscan; MPI_Exscan_c, PMPI_Exscan_c](send: *const c_void, receive: *mut c_void, count: Count, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { sync_point(comm, &MPI_EXSCAN, move || real(send, receive, count, datatype, op, comm)) };
    [MPI_Reduce_scatter, PMPI_Reduce_scatter; MPI_Reduce_scatter_c, PMPI_Reduce_scatter_c](send: *const c_void, receive: *mut c_void, counts: *const Count, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, counts, datatype, op, comm) } else { sync_point(comm, &MPI_REDUCE_SCATTER, move || real(send, receive, counts, datatype, op, comm)) };
    [MPI_Reduce_scatter_block, PMPI_Reduce_scatter_block; MPI_Reduce_scatter_block_c, PMPI_Reduce_scatter_block_c](send: *const c_void, receive: *mut c_void, count: Count, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { sync_point(comm, &MPI_REDUCE_SCATTER_BLOCK, move || real(send, receive, count, datatype, op, comm)) };
}
