//! Wrappers of MPI's blocking collective calls (MPI 4.0, chapter 6). They touch no file, but are synchronization points between ranks. Only
//! the communicator argument is inspected. Collective calls made inside a collective, MPI-IO or HDF5 call are not recorded. Nonblocking and
//! point-to-point calls are not wrapped.
#![expect(unsafe_code, reason = "C functions")]

use super::life::ERR_OTHER;
use super::meetings::{meeting, passes};
use crate::mpi::Handle;
use crate::ops::{
    MPI_ALLGATHER, MPI_ALLGATHERV, MPI_ALLREDUCE, MPI_ALLTOALL, MPI_ALLTOALLV, MPI_ALLTOALLW, MPI_BARRIER, MPI_BCAST,
    MPI_EXSCAN, MPI_GATHER, MPI_GATHERV, MPI_REDUCE, MPI_REDUCE_SCATTER, MPI_REDUCE_SCATTER_BLOCK, MPI_SCAN,
    MPI_SCATTER, MPI_SCATTERV,
};
use crate::real::hooks;
use std::ffi::{c_int, c_void};

hooks! { COLLECTIVES, missing = ERR_OTHER;
    [MPI_Barrier, PMPI_Barrier](comm: Handle) -> c_int
        = |real| if passes() { real(comm) } else { meeting(comm, &MPI_BARRIER, move || real(comm)) };
    [MPI_Bcast, PMPI_Bcast](buffer: *mut c_void, count: c_int, datatype: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(buffer, count, datatype, root, comm) } else { meeting(comm, &MPI_BCAST, move || real(buffer, count, datatype, root, comm)) };
    [MPI_Reduce, PMPI_Reduce](send: *const c_void, receive: *mut c_void, count: c_int, datatype: Handle, op: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, root, comm) } else { meeting(comm, &MPI_REDUCE, move || real(send, receive, count, datatype, op, root, comm)) };
    [MPI_Allreduce, PMPI_Allreduce](send: *const c_void, receive: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { meeting(comm, &MPI_ALLREDUCE, move || real(send, receive, count, datatype, op, comm)) };
    [MPI_Gather, PMPI_Gather](send: *const c_void, sent: c_int, of: Handle, receive: *mut c_void, received: c_int, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, root, comm) } else { meeting(comm, &MPI_GATHER, move || real(send, sent, of, receive, received, into, root, comm)) };
    [MPI_Gatherv, PMPI_Gatherv](send: *const c_void, sent: c_int, of: Handle, receive: *mut c_void, received: *const c_int, places: *const c_int, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, places, into, root, comm) } else { meeting(comm, &MPI_GATHERV, move || real(send, sent, of, receive, received, places, into, root, comm)) };
    [MPI_Allgather, PMPI_Allgather](send: *const c_void, sent: c_int, of: Handle, receive: *mut c_void, received: c_int, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, comm) } else { meeting(comm, &MPI_ALLGATHER, move || real(send, sent, of, receive, received, into, comm)) };
    [MPI_Allgatherv, PMPI_Allgatherv](send: *const c_void, sent: c_int, of: Handle, receive: *mut c_void, received: *const c_int, places: *const c_int, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, places, into, comm) } else { meeting(comm, &MPI_ALLGATHERV, move || real(send, sent, of, receive, received, places, into, comm)) };
    [MPI_Scatter, PMPI_Scatter](send: *const c_void, sent: c_int, of: Handle, receive: *mut c_void, received: c_int, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, root, comm) } else { meeting(comm, &MPI_SCATTER, move || real(send, sent, of, receive, received, into, root, comm)) };
    [MPI_Scatterv, PMPI_Scatterv](send: *const c_void, sent: *const c_int, places: *const c_int, of: Handle, receive: *mut c_void, received: c_int, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, places, of, receive, received, into, root, comm) } else { meeting(comm, &MPI_SCATTERV, move || real(send, sent, places, of, receive, received, into, root, comm)) };
    [MPI_Alltoall, PMPI_Alltoall](send: *const c_void, sent: c_int, of: Handle, receive: *mut c_void, received: c_int, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, comm) } else { meeting(comm, &MPI_ALLTOALL, move || real(send, sent, of, receive, received, into, comm)) };
    [MPI_Alltoallv, PMPI_Alltoallv](send: *const c_void, sent: *const c_int, from: *const c_int, of: Handle, receive: *mut c_void, received: *const c_int, places: *const c_int, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, from, of, receive, received, places, into, comm) } else { meeting(comm, &MPI_ALLTOALLV, move || real(send, sent, from, of, receive, received, places, into, comm)) };
    [MPI_Alltoallw, PMPI_Alltoallw](send: *const c_void, sent: *const c_int, from: *const c_int, of: *const c_void, receive: *mut c_void, received: *const c_int, places: *const c_int, into: *const c_void, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, from, of, receive, received, places, into, comm) } else { meeting(comm, &MPI_ALLTOALLW, move || real(send, sent, from, of, receive, received, places, into, comm)) };
    [MPI_Scan, PMPI_Scan](send: *const c_void, receive: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { meeting(comm, &MPI_SCAN, move || real(send, receive, count, datatype, op, comm)) };
    [MPI_Exscan, PMPI_Exscan](send: *const c_void, receive: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { meeting(comm, &MPI_EXSCAN, move || real(send, receive, count, datatype, op, comm)) };
    [MPI_Reduce_scatter, PMPI_Reduce_scatter](send: *const c_void, receive: *mut c_void, counts: *const c_int, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, counts, datatype, op, comm) } else { meeting(comm, &MPI_REDUCE_SCATTER, move || real(send, receive, counts, datatype, op, comm)) };
    [MPI_Reduce_scatter_block, PMPI_Reduce_scatter_block](send: *const c_void, receive: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { meeting(comm, &MPI_REDUCE_SCATTER_BLOCK, move || real(send, receive, count, datatype, op, comm)) };
}
