//! Wrappers of MPI 4.0's collective calls with 64-bit counts (MPI_..._c), like the MPI-IO functions in [`super::large`].
#![expect(unsafe_code, reason = "C functions")]

use super::life::ERR_OTHER;
use super::meetings::{meeting, passes};
use crate::mpi::Handle;
use crate::ops::{
    MPI_ALLGATHER, MPI_ALLGATHERV, MPI_ALLREDUCE, MPI_ALLTOALL, MPI_ALLTOALLV, MPI_ALLTOALLW, MPI_BCAST, MPI_EXSCAN,
    MPI_GATHER, MPI_GATHERV, MPI_REDUCE, MPI_REDUCE_SCATTER, MPI_REDUCE_SCATTER_BLOCK, MPI_SCAN, MPI_SCATTER,
    MPI_SCATTERV,
};
use crate::real::hooks;
use std::ffi::{c_int, c_void};

hooks! { LARGE_COLLECTIVES, missing = ERR_OTHER;
    [MPI_Bcast_c, PMPI_Bcast_c](buffer: *mut c_void, count: i64, datatype: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(buffer, count, datatype, root, comm) } else { meeting(comm, &MPI_BCAST, move || real(buffer, count, datatype, root, comm)) };
    [MPI_Reduce_c, PMPI_Reduce_c](send: *const c_void, receive: *mut c_void, count: i64, datatype: Handle, op: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, root, comm) } else { meeting(comm, &MPI_REDUCE, move || real(send, receive, count, datatype, op, root, comm)) };
    [MPI_Allreduce_c, PMPI_Allreduce_c](send: *const c_void, receive: *mut c_void, count: i64, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { meeting(comm, &MPI_ALLREDUCE, move || real(send, receive, count, datatype, op, comm)) };
    [MPI_Gather_c, PMPI_Gather_c](send: *const c_void, sent: i64, of: Handle, receive: *mut c_void, received: i64, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, root, comm) } else { meeting(comm, &MPI_GATHER, move || real(send, sent, of, receive, received, into, root, comm)) };
    [MPI_Gatherv_c, PMPI_Gatherv_c](send: *const c_void, sent: i64, of: Handle, receive: *mut c_void, received: *const i64, places: *const isize, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, places, into, root, comm) } else { meeting(comm, &MPI_GATHERV, move || real(send, sent, of, receive, received, places, into, root, comm)) };
    [MPI_Allgather_c, PMPI_Allgather_c](send: *const c_void, sent: i64, of: Handle, receive: *mut c_void, received: i64, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, comm) } else { meeting(comm, &MPI_ALLGATHER, move || real(send, sent, of, receive, received, into, comm)) };
    [MPI_Allgatherv_c, PMPI_Allgatherv_c](send: *const c_void, sent: i64, of: Handle, receive: *mut c_void, received: *const i64, places: *const isize, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, places, into, comm) } else { meeting(comm, &MPI_ALLGATHERV, move || real(send, sent, of, receive, received, places, into, comm)) };
    [MPI_Scatter_c, PMPI_Scatter_c](send: *const c_void, sent: i64, of: Handle, receive: *mut c_void, received: i64, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, root, comm) } else { meeting(comm, &MPI_SCATTER, move || real(send, sent, of, receive, received, into, root, comm)) };
    [MPI_Scatterv_c, PMPI_Scatterv_c](send: *const c_void, sent: *const i64, places: *const isize, of: Handle, receive: *mut c_void, received: i64, into: Handle, root: c_int, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, places, of, receive, received, into, root, comm) } else { meeting(comm, &MPI_SCATTERV, move || real(send, sent, places, of, receive, received, into, root, comm)) };
    [MPI_Alltoall_c, PMPI_Alltoall_c](send: *const c_void, sent: i64, of: Handle, receive: *mut c_void, received: i64, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, of, receive, received, into, comm) } else { meeting(comm, &MPI_ALLTOALL, move || real(send, sent, of, receive, received, into, comm)) };
    [MPI_Alltoallv_c, PMPI_Alltoallv_c](send: *const c_void, sent: *const i64, from: *const isize, of: Handle, receive: *mut c_void, received: *const i64, places: *const isize, into: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, from, of, receive, received, places, into, comm) } else { meeting(comm, &MPI_ALLTOALLV, move || real(send, sent, from, of, receive, received, places, into, comm)) };
    [MPI_Alltoallw_c, PMPI_Alltoallw_c](send: *const c_void, sent: *const i64, from: *const isize, of: *const c_void, receive: *mut c_void, received: *const i64, places: *const isize, into: *const c_void, comm: Handle) -> c_int
        = |real| if passes() { real(send, sent, from, of, receive, received, places, into, comm) } else { meeting(comm, &MPI_ALLTOALLW, move || real(send, sent, from, of, receive, received, places, into, comm)) };
    [MPI_Scan_c, PMPI_Scan_c](send: *const c_void, receive: *mut c_void, count: i64, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { meeting(comm, &MPI_SCAN, move || real(send, receive, count, datatype, op, comm)) };
    [MPI_Exscan_c, PMPI_Exscan_c](send: *const c_void, receive: *mut c_void, count: i64, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { meeting(comm, &MPI_EXSCAN, move || real(send, receive, count, datatype, op, comm)) };
    [MPI_Reduce_scatter_c, PMPI_Reduce_scatter_c](send: *const c_void, receive: *mut c_void, counts: *const i64, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, counts, datatype, op, comm) } else { meeting(comm, &MPI_REDUCE_SCATTER, move || real(send, receive, counts, datatype, op, comm)) };
    [MPI_Reduce_scatter_block_c, PMPI_Reduce_scatter_block_c](send: *const c_void, receive: *mut c_void, count: i64, datatype: Handle, op: Handle, comm: Handle) -> c_int
        = |real| if passes() { real(send, receive, count, datatype, op, comm) } else { meeting(comm, &MPI_REDUCE_SCATTER_BLOCK, move || real(send, receive, count, datatype, op, comm)) };
}
