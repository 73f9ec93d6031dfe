//! MPI info hints of a file just opened (MPI 4.0, 14.2.8): requested by the program, and in effect. Only rank 0 of the communicator that
//! opened the file queries hints, a few times per file; each query is local. Open MPI also uses environment parameters as hints (`ompi_info
//! --param io all --level 9`), but does not report them.

use crate::mpi::{Handle, SUCCESS, api, world};
use crate::registry::{MpiDetails, mpi_details_of};
use crate::tls::Thread;
use std::ffi::{CStr, c_int};
use trace_format::meta::HintOrigin;

/// Buffer size for a hint's key, in bytes: ample, since `MPI_MAX_INFO_KEY` is at most 255.
const KEY_BYTES: usize = 512;
/// Buffer size for a hint's value, in bytes: ample, since `MPI_MAX_INFO_VAL` is at most 1024.
const VALUE_BYTES: usize = 2048;
/// Environment variables that set parameters of Open MPI's I/O.
const PARAMETERS: [&CStr; 7] = [
    c"OMPI_MCA_io",
    c"OMPI_MCA_fcoll",
    c"OMPI_MCA_io_ompio_num_aggregators",
    c"OMPI_MCA_io_ompio_bytes_per_agg",
    c"OMPI_MCA_io_ompio_cycle_buffer_size",
    c"OMPI_MCA_io_ompio_grouping_option",
    c"OMPI_MCA_io_ompio_max_aggregators_ratio",
];
const PARAMETER: &[u8] = b"OMPI_MCA_";
/// Maximum number of MPI-IO hints read from one info object.
const MOST_KEYS: c_int = 64;

/// Records the MPI-IO hints of the open file `handle`: requested ones in the info object `asked`, and those in effect.
pub(super) fn note(thread: &Thread, comm: Handle, asked: Handle, handle: Handle, file: &'static crate::registry::File) {
    let (Some(world), Some(details)) = (world(), mpi_details_of(file)) else { return };
    thread.while_asking(|| {
        let mut rank = -1;
        if api().comm_rank(comm, &raw mut rank) != SUCCESS || rank != 0 || !details.wants_hints() {
            return;
        }
        if !world.abi.is_null_info(asked) {
            keep(details, HintOrigin::Asked, asked);
        }
        for name in PARAMETERS {
            if let (Some(key), Some(value)) = (name.to_bytes().strip_prefix(PARAMETER), crate::job::variable(name)) {
                details.add_hint(HintOrigin::Asked, key, value);
            }
        }
        let mut used = 0;
        if api().file_get_info(handle, &raw mut used) == SUCCESS && !world.abi.is_null_info(used) {
            keep(details, HintOrigin::InEffect, used);
            api().info_free(&raw mut used);
        }
    });
}

fn keep(details: &MpiDetails, origin: HintOrigin, info: Handle) {
    let mut count = 0;
    if api().info_get_nkeys(info, &raw mut count) != SUCCESS {
        return;
    }
    for number in 0..count.min(MOST_KEYS) {
        let (mut key, mut value) = ([0_u8; KEY_BYTES], [0_u8; VALUE_BYTES]);
        if api().info_get_nthkey(info, number, key.as_mut_ptr().cast()) != SUCCESS {
            continue;
        }
        let mut found = 0;
        // Leave room for the NUL.
        let room = VALUE_BYTES as c_int - 1;
        let result = api().info_get(info, key.as_ptr().cast(), room, value.as_mut_ptr().cast(), &raw mut found);
        if result == SUCCESS && found != 0 {
            details.add_hint(origin, text(&key), text(&value));
        }
    }
}

fn text(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len())]
}
