//! Remedies in the source: C, or Python for Python scripts, with this run's numbers. Names are from HDF5's reference manual and MPI 4.0, chapter 14.

use super::facts::{Facts, OfFile, Way};
use super::{Destination, Remedy};
use crate::findings::{Code, Finding};
use crate::limits::ADVISED_CACHE;
use crate::model::{DataSet, FileId};
use crate::text::units;
use crate::topics::causes::shape::hdf5_amplified;
use crate::topics::signatures::advice::OneCall;

fn source(lines: &[&str], why: impl Into<String>) -> Remedy {
    Remedy::new(Destination::Program, lines.iter().map(|line| (*line).to_owned()).collect(), why)
}

fn subject(facts: &Facts<'_, '_>, file: Option<FileId>) -> Option<(FileId, OfFile)> {
    let file = file.or_else(|| facts.main(|file| file.processes.len() > 1)).or_else(|| facts.main(|_| true))?;
    Some((file, facts.file(file)))
}

pub(super) fn collective(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((file, of)) = subject(facts, file) else { return Vec::new() };
    if facts.ranks < 2 || of.processes.len() < 2 {
        return Vec::new();
    }
    // If a file uses MPI-IO, its other calls are for other purposes.
    let calls = |way: Way| if of.mpiio { way.alone.calls } else { way.own.calls };
    let (reads, writes) = (calls(of.reads), calls(of.writes));
    let together = of.reads.together.calls.saturating_add(of.writes.together.calls);
    // Most calls are collective already: changing the rest gains nothing.
    if reads + writes == 0 || (of.mpiio && together > reads + writes) {
        return Vec::new();
    }
    let calls = units::counted(reads + writes, "separate call");
    let ranks = units::counted(facts.ranks, "rank");
    let why = format!("aggregators combine {calls} of {ranks} into few large requests");
    let mut out = Vec::new();
    if of.hdf5 {
        out.push(if facts.is_python() {
            source(&["with dataset.collective:", "    dataset[mine] = values"], why)
        } else {
            source(&["H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);"], why)
        });
        out.extend(collective_metadata(facts, &of));
        return out;
    }
    let python = facts.is_python();
    let mut lines: Vec<&str> = Vec::new();
    if writes > 0 {
        lines.push(if python {
            "fh.Write_at_all(offset, values)"
        } else {
            "MPI_File_write_at_all(fh, offset, buf, count, type, &status);"
        });
    }
    if reads > 0 {
        lines.push(if python {
            "fh.Read_at_all(offset, values)"
        } else {
            "MPI_File_read_at_all(fh, offset, buf, count, type, &status);"
        });
    }
    // The gain comes from one call for all pieces.
    let loop_lines = facts.loop_on(file).map(|one| view_of(one, python));
    if let Some(view) = &loop_lines {
        lines.splice(0..0, view.iter().map(String::as_str));
    } else if of.mpiio && python {
        lines.insert(0, "fh.Set_view(disp, etype, filetype)");
    } else if of.mpiio {
        lines.insert(0, "MPI_File_set_view(fh, disp, etype, filetype, \"native\", info);");
    }
    out.push(source(&lines, why));
    out
}

/// Returns source lines (Python if `python`, else C) that set an MPI file view on the bytes that a loop of calls accesses, so that one call
/// can replace the loop.
fn view_of(one: &OneCall, python: bool) -> [String; 2] {
    let begins = one.displacement();
    if python {
        [one.python_vector(), format!("fh.Set_view({begins}, MPI.BYTE, filetype)")]
    } else {
        [
            format!("{}; MPI_Type_commit(&filetype);", one.vector()),
            format!("MPI_File_set_view(fh, {begins}, MPI_BYTE, filetype, \"native\", info);"),
        ]
    }
}

/// Returns lines that announce the next reads to the kernel.
pub(super) fn ahead(facts: &Facts<'_, '_>, finding: &Finding) -> Vec<Remedy> {
    let about = &finding.about;
    let Some(length) = about.bytes.filter(|_| !facts.is_python()) else { return Vec::new() };
    let line = format!(
        "posix_fadvise(fd, next_offset, {length}, POSIX_FADV_WILLNEED);    /* as many reads before it as the finding says */"
    );
    vec![source(&[&line], "the access pattern predicts the next reads, and the program computes between reads")]
}

/// Advises collective access to HDF5's metadata (small blocks in the file); `None` for h5py, which has no call for that.
fn collective_metadata(facts: &Facts<'_, '_>, of: &OfFile) -> Option<Remedy> {
    let why = "one rank reads and writes HDF5's own small blocks for all ranks";
    let lines = ["H5Pset_all_coll_metadata_ops(fapl, true);", "H5Pset_coll_metadata_write(fapl, true);"];
    (of.hdf5 && of.mpiio && facts.ranks > 1 && !facts.is_python()).then(|| source(&lines, why))
}

/// Advises fewer and larger reads (or writes, if `writes` is true) of `file`, or of the file with most small calls.
pub(super) fn larger(facts: &Facts<'_, '_>, file: Option<FileId>, writes: bool) -> Vec<Remedy> {
    let small = |of: &OfFile| {
        let way = if writes { of.writes } else { of.reads };
        way.own.calls + way.inside.calls + way.alone.calls
    };
    let is = |of: &OfFile| small(of) > 0;
    let most = || facts.run.numbered_files().map(|(at, _)| at).max_by_key(|at| small(&facts.file(*at)));
    let Some(file) = file.or_else(most) else { return Vec::new() };
    let of = facts.file(file);
    if !is(&of) {
        return Vec::new();
    }
    let way = if writes { of.writes } else { of.reads };
    // Gaps between a rank's calls belong to other ranks: a buffer per rank cannot gather them.
    let could_be_collective = of.hdf5 || of.mpiio || facts.loop_on(file).is_some();
    if facts.ranks > 1 && of.processes.len() > 1 && could_be_collective && way.together.calls == 0 {
        return collective(facts, Some(file));
    }
    if of.hdf5 {
        let largest = facts.run.data_sets.iter().filter(|set| set.file == file).max_by_key(|set| volume(set));
        return largest.and_then(|set| chunks(facts, set, None)).into_iter().collect();
    }
    let mean = if way.own.calls > 0 { way.own.mean() } else { way.inside.mean() };
    let advised = facts.run.thresholds.advised_request_bytes;
    let size = units::size_option(advised);
    let why = format!(
        "{} of {} {} one of {}",
        units::counted(advised / mean.max(1), "call"),
        units::bytes(mean),
        units::agree(advised / mean.max(1), "becomes", "become"),
        units::bytes(advised)
    );
    if mean >= advised / 2 {
        return Vec::new();
    }
    vec![match (facts.is_python(), of.stdio) {
        (true, _) => source(&[&format!("open(name, mode, buffering={advised})")], why),
        (false, true) => source(
            // The GNU C library ignores the size if the buffer is null.
            &[&format!(
                "setvbuf(stream, malloc({size}), _IOFBF, {size});    /* before the first call; free it after fclose */"
            )
            .replace(&size, &c_size(advised))],
            why,
        ),
        (false, false) if writes => source(
            &[
                &format!("static char gathered[{}];", c_size(advised)),
                "memcpy(gathered + used, buf, n); used += n;    /* in place of write(fd, buf, n) */",
                "if (used + n > sizeof gathered) { write(fd, gathered, used); used = 0; }",
            ],
            why,
        ),
        (false, false) => source(
            &[
                &format!("static char block[{}];", c_size(advised)),
                "pread(fd, block, sizeof block, offset);    /* then copy out of it */",
            ],
            why,
        ),
    }]
}

/// Returns a number of bytes as an expression in C, such as `4 << 20`.
fn c_size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{} << 20", bytes >> 20) } else { bytes.to_string() }
}

/// Advises a cache for all chunks of a call, or chunks shaped like the calls.
pub(super) fn chunk_cache(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let of = file.and_then(|file| hdf5_amplified::chunks(facts.cube, file));
    let Some(of) = of.filter(|of| of.exceed_cache()) else { return Vec::new() };
    let bytes = of.wanted_bytes();
    let why = format!("{} of {} that a call crosses", units::counted(of.touched, "chunk"), units::bytes(of.bytes));
    let larger = if facts.is_python() {
        source(&[&format!("h5py.File(name, mode, rdcc_nbytes={bytes})")], why)
    } else {
        source(&[&format!("H5Pset_chunk_cache(dapl, 12421, {bytes}, H5D_CHUNK_CACHE_W0_DEFAULT);")], why)
    };
    let reshaped = chunks(facts, of.set, of.along());
    // A larger cache would take too much of a node's memory.
    std::iter::once(larger)
        .filter(|_| bytes <= ADVISED_CACHE)
        .chain(reshaped.map(|one| Remedy { only_if: Some("other calls run the same way"), ..one }))
        .collect()
}

fn volume(set: &DataSet) -> u64 {
    set.extent.iter().fold(u64::from(set.element_bytes), |all, n| all.saturating_mul(*n))
}

/// Advises chunks of about `large_bytes` (a threshold) for a larger data set. A chunk takes as much as fits of dimension `along`, then of the other
/// dimensions, fastest-varying first. `None` if the data set is not larger.
fn chunks(facts: &Facts<'_, '_>, set: &DataSet, along: Option<usize>) -> Option<Remedy> {
    let advised = facts.run.thresholds.large_bytes;
    if set.element_bytes == 0 || set.extent.is_empty() || volume(set) <= advised {
        return None;
    }
    let mut room = advised / u64::from(set.element_bytes).max(1);
    let mut shape = set.extent.clone();
    let order = along.into_iter().chain((0..shape.len()).rev().filter(|at| Some(*at) != along));
    for at in order.collect::<Vec<_>>() {
        if let Some(extent) = shape.get_mut(at) {
            *extent = (*extent).min(room).max(1);
            room /= *extent;
        }
    }
    let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
    let why = format!("chunks of about {} for the data set of {}", units::bytes(advised), units::bytes(volume(set)));
    let (rank, shape) = (shape.len(), shape.join(", "));
    Some(if facts.is_python() {
        source(
            &[&format!("f.create_dataset(name, shape, dtype, chunks=({shape}{}))", if rank == 1 { "," } else { "" })],
            why,
        )
    } else {
        source(&[&format!("hsize_t chunk[{rank}] = {{{shape}}};"), &format!("H5Pset_chunk(dcpl, {rank}, chunk);")], why)
    })
}

/// Advises not to write fill values when a data set is created, and collective access to HDF5's metadata.
pub(super) fn first_call(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((_, of)) = file.map(|file| (file, facts.file(file))).filter(|(_, of)| of.hdf5) else { return Vec::new() };
    let lines: &[&str] = if facts.is_python() {
        &["dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)", "dcpl.set_fill_time(h5py.h5d.FILL_TIME_NEVER)"]
    } else {
        &["H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);"]
    };
    let fill = source(lines, "a data set that is written completely needs no fill values at creation");
    let fill = Remedy { only_if: Some("the call creates a data set, or is the first to write to it"), ..fill };
    std::iter::once(fill).chain(collective_metadata(facts, &of)).collect()
}

/// Advises data that begins at stripe boundaries.
pub(super) fn alignment(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((file, of)) = file.map(|file| (file, facts.file(file))) else { return Vec::new() };
    let Some((stripe, _)) = facts.stripes(file) else { return Vec::new() };
    let why = format!("data that start at a multiple of {} share no stripe with the data before", units::bytes(stripe));
    if of.hdf5 {
        return vec![if facts.is_python() {
            source(&[&format!("h5py.File(name, mode, alignment_threshold=65536, alignment_interval={stripe})")], why)
        } else {
            source(&[&format!("H5Pset_alignment(fapl, 65536, {stripe});")], why)
        }];
    }
    if of.processes.len() < 2 {
        return Vec::new();
    }
    vec![source(
        &[&format!(
            "offset = (offset + {}) / {stripe} * {stripe};    /* where a rank's part begins */",
            stripe.saturating_sub(1)
        )],
        why,
    )]
}

/// Replaces a shared file pointer by offsets that ranks compute.
pub(super) fn own_offsets() -> Vec<Remedy> {
    vec![source(
        &[
            "MPI_Exscan(&bytes, &offset, 1, MPI_OFFSET, MPI_SUM, comm);    /* on rank 0: offset = 0 */",
            "MPI_File_write_at_all(fh, start + offset, buf, count, type, &status);",
        ],
        "a lock on the shared file pointer serializes the ranks",
    )]
}

/// Turns off atomic mode, which locks even calls on different bytes.
pub(super) fn not_atomic() -> Vec<Remedy> {
    vec![source(
        &["MPI_File_set_atomicity(fh, 0);    /* the default */"],
        "ranks that write different bytes need no locks; to read bytes that another rank wrote, call MPI_File_sync, MPI_Barrier, MPI_File_sync",
    )]
}

/// Advises that one rank reads the bytes that all ranks read, and passes them on. Nothing is advised if `common` is false: the same process
/// rereads the bytes.
pub(super) fn read_once(facts: &Facts<'_, '_>, file: Option<FileId>, common: bool) -> Vec<Remedy> {
    let Some((_, of)) = subject(facts, file) else { return Vec::new() };
    if !common || facts.ranks < 2 {
        return Vec::new();
    }
    let why = format!(
        "one rank reads the bytes that {} now read separately",
        units::counted(of.processes.len() as u64, "process")
    );
    let python = facts.is_python();
    let broadcast = if python {
        source(&["values = comm.bcast(read(name) if comm.rank == 0 else None)"], why)
    } else {
        source(&["if (rank == 0) pread(fd, buf, n, offset);", "MPI_Bcast(buf, n, MPI_BYTE, 0, MPI_COMM_WORLD);"], why)
    };
    match (of.hdf5 && of.mpiio, of.mpiio) {
        (true, _) => collective(facts, file),
        (_, true) => {
            let line = if python {
                "fh.Read_at_all(offset, values)"
            } else {
                "MPI_File_read_at_all(fh, offset, buf, count, type, &status);"
            };
            vec![source(&[line], "a collective call reads each byte once for all ranks")]
        }
        _ => vec![broadcast],
    }
}

/// Advises source changes against calls that are made too often or wait needlessly, such as syncs, seeks and locks; the finding's `code`
/// selects the change.
pub(super) fn calls(facts: &Facts<'_, '_>, file: Option<FileId>, code: Code) -> Vec<Remedy> {
    let of = subject(facts, file).map(|(_, of)| of).unwrap_or_default();
    let is = |other| code == other;
    vec![if is(Code::SYNC_PER_WRITE) || is(Code::HDF5_FLUSHED) {
        let line = match (of.hdf5, of.mpiio, of.stdio) {
            (true, ..) => "H5Fflush(file, H5F_SCOPE_LOCAL);    /* once, after the last write of a step */",
            (_, true, _) => "MPI_File_sync(fh);    /* once, after the last write of a step */",
            (.., true) => "fflush(stream);    /* once, after the last write of a step */",
            _ => "fsync(fd);    /* once, after the last write of a step */",
        };
        source(&[line], "each sync waits for storage, however few bytes were written since the last sync")
    } else if is(Code::WRITTEN_THROUGH) {
        source(
            &[
                "int fd = open(name, O_WRONLY | O_CREAT, 0644);    /* without O_SYNC, O_DSYNC */",
                "fsync(fd);    /* once, after the last write of a step */",
            ],
            "one wait for storage instead of one per write",
        )
    } else if is(Code::PAST_CACHE) {
        source(
            &["int fd = open(name, flags & ~O_DIRECT, 0644);"],
            "the page cache reads ahead and gathers small writes",
        )
    } else if is(Code::SEEK_PER_ACCESS) {
        source(
            &[
                "pread(fd, buf, n, offset);    /* in place of lseek and read */",
                "pwrite(fd, buf, n, offset);    /* in place of lseek and write */",
            ],
            "the call carries the offset, so no seek is needed",
        )
    } else if is(Code::LOCK_WAITS) {
        source(
            &[
                "struct flock part = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = n};",
                "fcntl(fd, F_SETLKW, &part);    /* the bytes that are written, not the whole file */",
            ],
            "processes that write different bytes need not wait for each other",
        )
    } else {
        source(
            &[
                "MPI_File_iwrite_at_all(fh, offset, buf, count, type, &request);",
                "MPI_Wait(&request, &status);    /* after the computation */",
            ],
            "I/O continues while ranks compute",
        )
    }]
    .into_iter()
    // Nonblocking MPI-IO is not advised for files without MPI-IO.
    .filter(|_| of.mpiio || !(is(Code::IDLE_GAPS) || is(Code::BLOCKING_ONLY)))
    .collect()
}

pub(super) fn metadata(facts: &Facts<'_, '_>, file: Option<FileId>, code: Code) -> Vec<Remedy> {
    let of = subject(facts, file).map(|(_, of)| of).unwrap_or_default();
    if of.hdf5 && of.mpiio {
        return collective_metadata(facts, &of).into_iter().collect();
    }
    if [Code::METADATA_RATE, Code::METADATA_TIME].contains(&code) && facts.ranks > 1 {
        let lines: &[&str] = if facts.is_python() {
            &["about = comm.bcast(os.stat(name) if comm.rank == 0 else None)"]
        } else {
            &["if (rank == 0) stat(name, &about);", "MPI_Bcast(&about, sizeof about, MPI_BYTE, 0, MPI_COMM_WORLD);"]
        };
        return vec![source(
            lines,
            format!("one rank queries for all {} and broadcasts the answer", units::counted(facts.ranks, "rank")),
        )];
    }
    if ![Code::REPEATED_OPENS, Code::OPEN_PER_ACCESS].contains(&code) {
        return Vec::new();
    }
    let lines: &[&str] = match (facts.is_python(), of.hdf5) {
        (true, _) => &["with open(name, mode) as file:    # once, around the loop"],
        (false, true) => {
            &["hid_t file = H5Fopen(name, flags, fapl);    /* once, before the loop; H5Fclose behind it */"]
        }
        (false, false) => &["int fd = open(name, flags, 0644);    /* once, before the loop; close(fd) behind it */"],
    };
    vec![source(lines, "a file that stays open costs the metadata server only one call")]
}

/// Advises one collective call for the data of many steps; `None` if the finding has no number of calls.
pub(super) fn steps_together(finding: &Finding) -> Option<Remedy> {
    let rounds = finding.about.calls?;
    let why = format!("one collective call instead of {}", units::count(rounds));
    let lines = if finding.about.operation.as_deref() == Some("write") {
        [
            "memcpy(gathered + used, buf, n); used += n;    /* in place of MPI_File_write_all(fh, buf, n, ...) */",
            "MPI_File_write_all(fh, gathered, used, MPI_BYTE, &status);    /* once, after the last step */",
        ]
    } else {
        [
            "MPI_File_read_all(fh, gathered, all, MPI_BYTE, &status);    /* once, before the first step */",
            "memcpy(buf, gathered + used, n); used += n;    /* in place of MPI_File_read_all(fh, buf, n, ...) */",
        ]
    };
    Some(source(&lines, why))
}
