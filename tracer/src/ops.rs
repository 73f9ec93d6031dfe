//! Table of the I/O operations that the tracer records. Each trace carries a copy of the table, so a new operation is added only here.

use trace_format::op::{Layer, OpClass, OpDef, OpMode};

/// I/O operation as listed in the trace's table of operations.
pub(crate) struct Op {
    code: u16,
    layer: Layer,
    class: OpClass,
    mode: OpMode,
    name: &'static str,
    /// Index of the operation in a file's table of frequently used streams (calls of one operation), if it has one.
    frequent: Option<u8>,
}

/// Way in which calls of an operation count in a file's access profile (reads, writes or neither).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Role {
    /// Not counted: the operation moves no data, or the call failed.
    None = 0,
    Reads = 1,
    Writes = 2,
}

impl Op {
    pub(crate) const fn code(&self) -> u16 {
        self.code
    }

    pub(crate) const fn layer(&self) -> Layer {
        self.layer
    }

    /// Returns the role (read, write or none) in which an access profile counts a call of this operation; [`Role::None`] if the call
    /// `failed`.
    pub(crate) const fn role(&self, failed: bool) -> Role {
        match self.class {
            OpClass::Read if !failed => Role::Reads,
            OpClass::Write if !failed => Role::Writes,
            _ => Role::None,
        }
    }

    /// True if the operation reads or writes file data.
    pub(crate) const fn is_data(&self) -> bool {
        self.class.is_data()
    }

    /// True if the operation writes file data.
    pub(crate) const fn writes(&self) -> bool {
        matches!(self.class, OpClass::Write)
    }

    pub(crate) const fn frequent(&self) -> Option<u8> {
        self.frequent
    }
}

/// Codes of the collective MPI operations (MPI_Barrier, MPI_Bcast, ...), a contiguous range.
const SYNC_POINTS: std::ops::Range<u16> = MPI_BARRIER.code..MPI_REDUCE_SCATTER_BLOCK.code + 1;
/// Number of collective MPI operations.
pub(crate) const COLLECTIVES: usize = (SYNC_POINTS.end - SYNC_POINTS.start) as usize;

/// Returns the index of `op` among the collective MPI operations; out of range for any other operation.
#[inline(always)]
pub(crate) fn collective_place(op: &Op) -> usize {
    usize::from(op.code().wrapping_sub(SYNC_POINTS.start))
}

/// Number of entries in a file's table of frequently used streams (calls of one operation). A second table of this size holds calls nested
/// in MPI or HDF5 calls.
pub(crate) const FREQUENT: usize = 4;

macro_rules! ops {
    ($($(#[$doc:meta])* $const:ident = $code:literal $layer:ident $class:ident $mode:ident $name:literal $(frequent $place:literal)?;)+) => {
        $($(#[$doc])* pub(crate) static $const: Op = Op {
            code: $code, layer: Layer::$layer, class: OpClass::$class, mode: OpMode::$mode, name: $name,
            frequent: ops!(@place $($place)?),
        };)+
        static ALL: &[&Op] = &[$(&$const),+];
    };
    (@place) => { None };
    (@place $place:literal) => { Some($place) };
}

// Codes are never reused, so that codes in older traces keep their meaning.
ops! {
    /// open(2), openat(2), openat2(2), creat(2).
    POSIX_OPEN = 1 Posix Open Plain "open";
    POSIX_CLOSE = 2 Posix Close Plain "close";
    /// read(2), pread(2).
    POSIX_READ = 3 Posix Read Plain "read" frequent 0;
    /// write(2), pwrite(2).
    POSIX_WRITE = 4 Posix Write Plain "write" frequent 1;
    /// readv(2), preadv(2), preadv2(2).
    POSIX_READV = 5 Posix Read Vectored "read";
    /// writev(2), pwritev(2), pwritev2(2).
    POSIX_WRITEV = 6 Posix Write Vectored "write";
    /// lseek(2); the recorded offset is the resulting position.
    POSIX_SEEK = 7 Posix Seek Plain "seek";
    /// fsync(2).
    POSIX_SYNC = 8 Posix Sync Plain "sync";
    /// dup(2), dup2(2), dup3(2), fcntl(2) with F_DUPFD.
    POSIX_DUP = 9 Posix Metadata Plain "dup";
    /// stat(2), lstat(2), fstat(2), fstatat(2), statx(2).
    POSIX_STAT = 10 Posix Metadata Plain "stat";
    /// truncate(2), ftruncate(2); the recorded length is the new file size.
    POSIX_TRUNCATE = 11 Posix Metadata Plain "truncate";
    /// fallocate(2), posix_fallocate(3).
    POSIX_ALLOCATE = 12 Posix Metadata Plain "allocate";
    /// sync_file_range(2), with offset and length of the range.
    POSIX_SYNC_RANGE = 13 Posix Sync Plain "sync_range";
    /// rename(2), renameat(2), renameat2(2), recorded on the old name.
    POSIX_RENAME = 14 Posix Metadata Plain "rename";
    /// unlink(2), unlinkat(2) without AT_REMOVEDIR.
    POSIX_UNLINK = 15 Posix Metadata Plain "unlink";
    /// mkdir(2), mkdirat(2).
    POSIX_MKDIR = 16 Posix Metadata Plain "mkdir";
    /// rmdir(2), unlinkat(2) with AT_REMOVEDIR.
    POSIX_RMDIR = 17 Posix Metadata Plain "rmdir";
    POSIX_OPENDIR = 18 Posix Open Plain "opendir";
    /// mmap(2), with the mapped file range. Accesses through the mapping are not recorded.
    POSIX_MMAP = 19 Posix Map Plain "mmap";
    /// munmap(2), with the unmapped file range.
    POSIX_MUNMAP = 20 Posix Map Plain "munmap";
    /// msync(2), with the synchronized file range.
    POSIX_MSYNC = 21 Posix Sync Plain "msync";
    /// flock(2), lockf(3), fcntl(2) with F_SETLK and its variants, with the locked range; length 0 means up to the end of the file.
    POSIX_LOCK = 22 Posix Lock Plain "lock";
    /// flock(2), lockf(3), fcntl(2) that release a lock, with the range.
    POSIX_UNLOCK = 23 Posix Unlock Plain "unlock";
    /// copy_file_range(2), sendfile(2), splice(2), recorded on the source file.
    POSIX_COPY_READ = 24 Posix Read Plain "copy_read";
    /// copy_file_range(2), sendfile(2), splice(2), recorded on the destination file.
    POSIX_COPY_WRITE = 25 Posix Write Plain "copy_write";
    /// aio_read(3), lio_listio(3) with LIO_READ: from submission until the program learns of the completion.
    POSIX_AIO_READ = 26 Posix Read Nonblocking "read";
    /// aio_write(3), lio_listio(3) with LIO_WRITE: from submission until the program learns of the completion.
    POSIX_AIO_WRITE = 27 Posix Write Nonblocking "write";
    /// aio_fsync(3) with O_SYNC: from submission until the program learns of the completion.
    POSIX_AIO_SYNC = 28 Posix Sync Nonblocking "sync";
    /// io_submit(2) with IOCB_CMD_PREAD or IOCB_CMD_PREADV: from submission until io_getevents(2) reports the completion.
    POSIX_IO_SUBMIT_READ = 29 Posix Read Nonblocking "io_submit_read";
    /// io_submit(2) with IOCB_CMD_PWRITE or IOCB_CMD_PWRITEV: from submission until io_getevents(2) reports the completion.
    POSIX_IO_SUBMIT_WRITE = 30 Posix Write Nonblocking "io_submit_write";
    /// io_submit(2) with IOCB_CMD_FSYNC: from submission until io_getevents(2) reports the completion.
    POSIX_IO_SUBMIT_SYNC = 31 Posix Sync Nonblocking "io_submit_sync";
    /// IORING_OP_READ and its variants (io_uring(7)): from submission until the tracer first sees the completion.
    POSIX_IO_URING_READ = 32 Posix Read Nonblocking "io_uring_read";
    /// IORING_OP_WRITE and its variants (io_uring(7)): from submission until the tracer first sees the completion.
    POSIX_IO_URING_WRITE = 33 Posix Write Nonblocking "io_uring_write";
    /// IORING_OP_FSYNC without IORING_FSYNC_DATASYNC.
    POSIX_IO_URING_SYNC = 34 Posix Sync Nonblocking "io_uring_sync";
    /// IORING_OP_SYNC_FILE_RANGE, with offset and length of the range.
    POSIX_IO_URING_SYNC_RANGE = 35 Posix Sync Nonblocking "io_uring_sync_range";
    /// IORING_OP_FALLOCATE, with offset and length of the range.
    POSIX_IO_URING_ALLOCATE = 36 Posix Metadata Nonblocking "io_uring_allocate";
    /// IORING_OP_OPENAT, IORING_OP_OPENAT2.
    POSIX_IO_URING_OPEN = 37 Posix Open Nonblocking "io_uring_open";
    /// IORING_OP_CLOSE.
    POSIX_IO_URING_CLOSE = 38 Posix Close Nonblocking "io_uring_close";
    /// mremap(2), with the file range mapped afterwards.
    POSIX_MREMAP = 39 Posix Map Plain "mremap";
    /// fopen(3), fdopen(3), freopen(3).
    STDIO_OPEN = 40 Stdio Open Plain "open";
    STDIO_CLOSE = 41 Stdio Close Plain "close";
    /// fread(3), fgets(3), getc(3), fscanf(3) and similar.
    STDIO_READ = 42 Stdio Read Plain "read" frequent 2;
    /// fwrite(3), fputs(3), putc(3), fprintf(3) and similar.
    STDIO_WRITE = 43 Stdio Write Plain "write" frequent 3;
    /// fseek(3), fseeko(3), rewind(3), fsetpos(3).
    STDIO_SEEK = 44 Stdio Seek Plain "seek";
    /// fflush(3).
    STDIO_SYNC = 45 Stdio Sync Plain "sync";
    MPIIO_OPEN = 80 Mpiio Open Plain "open";
    MPIIO_CLOSE = 81 Mpiio Close Plain "close";
    /// MPI_File_read, MPI_File_read_at.
    MPIIO_READ = 82 Mpiio Read Plain "read";
    /// MPI_File_write, MPI_File_write_at.
    MPIIO_WRITE = 83 Mpiio Write Plain "write";
    /// MPI_File_read_all, MPI_File_read_at_all.
    MPIIO_READ_ALL = 84 Mpiio Read Collective "read";
    /// MPI_File_write_all, MPI_File_write_at_all.
    MPIIO_WRITE_ALL = 85 Mpiio Write Collective "write";
    MPIIO_READ_SHARED = 86 Mpiio Read Shared "read";
    MPIIO_WRITE_SHARED = 87 Mpiio Write Shared "write";
    MPIIO_READ_ORDERED = 88 Mpiio Read Ordered "read";
    MPIIO_WRITE_ORDERED = 89 Mpiio Write Ordered "write";
    /// MPI_File_set_view; the recorded offset is the displacement of the view.
    MPIIO_SET_VIEW = 90 Mpiio Metadata Plain "set_view";
    MPIIO_SYNC = 91 Mpiio Sync Plain "sync";
    /// MPI_File_iread, MPI_File_iread_at.
    MPIIO_IREAD = 92 Mpiio Read Nonblocking "read";
    /// MPI_File_iwrite, MPI_File_iwrite_at.
    MPIIO_IWRITE = 93 Mpiio Write Nonblocking "write";
    /// MPI_File_iread_all, MPI_File_iread_at_all.
    MPIIO_IREAD_ALL = 94 Mpiio Read Nonblocking "read_all";
    /// MPI_File_iwrite_all, MPI_File_iwrite_at_all.
    MPIIO_IWRITE_ALL = 95 Mpiio Write Nonblocking "write_all";
    MPIIO_IREAD_SHARED = 96 Mpiio Read Nonblocking "read_shared";
    MPIIO_IWRITE_SHARED = 97 Mpiio Write Nonblocking "write_shared";
    /// MPI_File_read_all_begin, MPI_File_read_at_all_begin and the matching ends.
    MPIIO_SPLIT_READ_ALL = 98 Mpiio Read Split "read_all";
    /// MPI_File_write_all_begin, MPI_File_write_at_all_begin and the matching ends.
    MPIIO_SPLIT_WRITE_ALL = 99 Mpiio Write Split "write_all";
    /// MPI_File_read_ordered_begin with its MPI_File_read_ordered_end.
    MPIIO_SPLIT_READ_ORDERED = 100 Mpiio Read Split "read_ordered";
    /// MPI_File_write_ordered_begin with its MPI_File_write_ordered_end.
    MPIIO_SPLIT_WRITE_ORDERED = 101 Mpiio Write Split "write_ordered";
    /// MPI_File_seek; the recorded offset is the resulting position.
    MPIIO_SEEK = 102 Mpiio Seek Plain "seek";
    /// MPI_File_seek_shared; the recorded offset is the resulting position if the call's arguments determine it.
    MPIIO_SEEK_SHARED = 103 Mpiio Seek Shared "seek";
    /// MPI_File_set_size; the recorded length is the new file size.
    MPIIO_SET_SIZE = 104 Mpiio Metadata Plain "set_size";
    /// MPI_File_preallocate; the recorded length is the requested size.
    MPIIO_PREALLOCATE = 105 Mpiio Metadata Plain "preallocate";
    MPIIO_DELETE = 106 Mpiio Metadata Plain "delete";
    /// H5Fopen.
    HDF5_OPEN = 120 Hdf5 Open Plain "open";
    /// H5Fcreate.
    HDF5_CREATE = 121 Hdf5 Open Plain "create";
    /// H5Fclose.
    HDF5_CLOSE = 122 Hdf5 Close Plain "close";
    /// H5Fflush.
    HDF5_SYNC = 123 Hdf5 Sync Plain "sync";
    /// H5Dopen, H5Oopen of a data set.
    HDF5_OPEN_DATA_SET = 124 Hdf5 Open Plain "open_dataset";
    /// H5Dcreate.
    HDF5_CREATE_DATA_SET = 125 Hdf5 Open Plain "create_dataset";
    /// H5Dclose, H5Oclose of a data set.
    HDF5_CLOSE_DATA_SET = 126 Hdf5 Close Plain "close_dataset";
    /// H5Dread; the recorded length is the size of the elements in the file.
    HDF5_READ = 127 Hdf5 Read Plain "read";
    /// H5Dwrite; the recorded length is the size of the elements in the file.
    HDF5_WRITE = 128 Hdf5 Write Plain "write";
    /// H5Dread with a property list that requests a collective transfer.
    HDF5_READ_ALL = 129 Hdf5 Read Collective "read";
    /// H5Dwrite with a property list that requests a collective transfer.
    HDF5_WRITE_ALL = 130 Hdf5 Write Collective "write";
    /// H5Dread_multi with independent transfer, recorded once per data set.
    HDF5_READ_MULTI = 131 Hdf5 Read Vectored "read";
    /// H5Dwrite_multi with independent transfer, recorded once per data set.
    HDF5_WRITE_MULTI = 132 Hdf5 Write Vectored "write";
    /// H5Dread_multi with collective transfer.
    HDF5_READ_MULTI_ALL = 133 Hdf5 Read Collective "read_multi";
    /// H5Dwrite_multi with collective transfer.
    HDF5_WRITE_MULTI_ALL = 134 Hdf5 Write Collective "write_multi";
    /// H5Dread_async, H5Dread_multi_async: time of the submitting call, without the completion.
    HDF5_READ_ASYNC = 135 Hdf5 Read Nonblocking "read";
    /// H5Dwrite_async, H5Dwrite_multi_async: time of the submitting call, without the completion.
    HDF5_WRITE_ASYNC = 136 Hdf5 Write Nonblocking "write";
    /// H5Dread_async, H5Dread_multi_async with collective transfer.
    HDF5_READ_ASYNC_ALL = 137 Hdf5 Read Nonblocking "read_all";
    /// H5Dwrite_async, H5Dwrite_multi_async with collective transfer.
    HDF5_WRITE_ASYNC_ALL = 138 Hdf5 Write Nonblocking "write_all";
    MPI_BARRIER = 139 Mpi Communication Plain "barrier";
    MPI_BCAST = 140 Mpi Communication Plain "bcast";
    MPI_REDUCE = 141 Mpi Communication Plain "reduce";
    MPI_ALLREDUCE = 142 Mpi Communication Plain "allreduce";
    MPI_GATHER = 143 Mpi Communication Plain "gather";
    MPI_GATHERV = 144 Mpi Communication Plain "gatherv";
    MPI_ALLGATHER = 145 Mpi Communication Plain "allgather";
    MPI_ALLGATHERV = 146 Mpi Communication Plain "allgatherv";
    MPI_SCATTER = 147 Mpi Communication Plain "scatter";
    MPI_SCATTERV = 148 Mpi Communication Plain "scatterv";
    MPI_ALLTOALL = 149 Mpi Communication Plain "alltoall";
    MPI_ALLTOALLV = 150 Mpi Communication Plain "alltoallv";
    MPI_ALLTOALLW = 151 Mpi Communication Plain "alltoallw";
    MPI_SCAN = 152 Mpi Communication Plain "scan";
    MPI_EXSCAN = 153 Mpi Communication Plain "exscan";
    MPI_REDUCE_SCATTER = 154 Mpi Communication Plain "reduce_scatter";
    MPI_REDUCE_SCATTER_BLOCK = 155 Mpi Communication Plain "reduce_scatter_block";
    /// chmod(2), fchmod(2), fchmodat(2).
    POSIX_CHMOD = 156 Posix Metadata Plain "chmod";
    /// chown(2), lchown(2), fchown(2), fchownat(2).
    POSIX_CHOWN = 157 Posix Metadata Plain "chown";
    /// utime(2), utimes(2), futimes(3), lutimes(3), futimesat(2), utimensat(2), futimens(3).
    POSIX_UTIME = 158 Posix Metadata Plain "utime";
    /// access(2), faccessat(2), euidaccess(3).
    POSIX_ACCESS = 159 Posix Metadata Plain "access";
    /// link(2), linkat(2), recorded on the old name.
    POSIX_LINK = 160 Posix Metadata Plain "link";
    /// io_submit(2), io_uring_enter(2), aio_write(3) and similar: time that the submitting call takes in the calling thread.
    POSIX_SUBMIT = 161 Posix Wait Plain "submit";
    /// aio_suspend(3), io_getevents(2), io_uring_enter(2) and similar that report a completion: time in the calling thread.
    POSIX_WAIT = 162 Posix Wait Plain "wait";
    /// MPI_File_iwrite, MPI_File_write_all_begin and similar: time that the submitting call takes in the calling thread.
    MPIIO_SUBMIT = 163 Mpiio Wait Plain "submit";
    /// MPI_Wait, MPI_File_write_all_end and similar that complete an MPI-IO operation: time in the calling thread.
    MPIIO_WAIT = 164 Mpiio Wait Plain "wait";
    /// fdatasync(2).
    POSIX_DATA_SYNC = 165 Posix Sync Plain "fdatasync";
    /// aio_fsync(3) with O_DSYNC: from submission until the program learns of the completion.
    POSIX_AIO_DATA_SYNC = 166 Posix Sync Nonblocking "fdatasync";
    /// io_submit(2) with IOCB_CMD_FDSYNC: from submission until io_getevents(2) reports the completion.
    POSIX_IO_SUBMIT_DATA_SYNC = 167 Posix Sync Nonblocking "io_submit_fdatasync";
    /// IORING_OP_FSYNC with IORING_FSYNC_DATASYNC.
    POSIX_IO_URING_DATA_SYNC = 168 Posix Sync Nonblocking "io_uring_fdatasync";
}

/// Returns all operations as definitions in the trace's format.
pub(crate) fn table() -> Vec<OpDef> {
    ALL.iter()
        .map(|op| OpDef { code: op.code, layer: op.layer, class: op.class, mode: op.mode, name: op.name.to_owned() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_places_are_unique() {
        let mut codes: Vec<u16> = ALL.iter().map(|op| op.code).collect();
        codes.dedup();
        assert!(codes.is_sorted() && codes.len() == ALL.len());
        let mut places: Vec<u8> = ALL.iter().filter_map(|op| op.frequent).collect();
        places.sort_unstable();
        assert_eq!(places, (0..FREQUENT as u8).collect::<Vec<_>>());
    }
}
