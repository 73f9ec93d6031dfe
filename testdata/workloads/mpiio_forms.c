/* Forms of MPI-IO other than blocking and nonblocking calls. Every rank checks the data it reads and logs its calls.
 * The same source is built with every MPI. Usage: mpiio_forms DIRECTORY PART, PART one of
 *   split         split collective calls
 *   positions     seek, seek_shared, set_size, preallocate, delete
 *   counts        the calls of MPI 4.0 with 64-bit counts; exit code 77 if the MPI is older
 * Log: oplog.h, set OPLOG. Provenance: written for this project. */
#define _GNU_SOURCE
#include "mpiio_parts.h"

static char blocks[1][BLOCK];

static void split(void) {
    const char *file = "split";
    MPI_File handle = created(file);
    MPI_Status status;
    for (int i = 0; i < 4; i++) {
        fill(blocks[0], place(i), BLOCK);
        MPI(MPI_File_write_at_all_begin(handle, place(i), blocks[0], BLOCK, MPI_BYTE));
        MPI(MPI_File_write_at_all_end(handle, blocks[0], &status));
        transferred(&status, MPI_BYTE, BLOCK);
        mpi_op("write_all", "split", place(i), BLOCK, file);
    }
    synced(handle, file);
    for (int i = 0; i < 4; i++) {
        MPI(MPI_File_read_at_all_begin(handle, place(i), blocks[0], BLOCK, MPI_BYTE));
        MPI(MPI_File_read_at_all_end(handle, blocks[0], MPI_STATUS_IGNORE));
        verify(blocks[0], place(i), BLOCK);
        mpi_op("read_all", "split", place(i), BLOCK, file);
    }
    long long own = (long long)(8 * ranks + 2 * rank) * BLOCK;
    sought(handle, own, MPI_SEEK_SET, own, file);
    fill(blocks[0], own, BLOCK);
    MPI(MPI_File_write_all_begin(handle, blocks[0], BLOCK, MPI_BYTE));
    MPI(MPI_File_write_all_end(handle, blocks[0], MPI_STATUS_IGNORE));
    mpi_op("write_all", "split", own, BLOCK, file);
    synced(handle, file);
    sought(handle, own + 500, MPI_SEEK_SET, own + 500, file);
    MPI(MPI_File_read_all_begin(handle, blocks[0], 500, MPI_BYTE));
    MPI(MPI_File_read_all_end(handle, blocks[0], &status));
    verify(blocks[0], own + 500, 500);
    mpi_op("read_all", "split", own + 500, 500, file);
    closed(&handle, file);

    file = "split.ordered";
    handle = created(file);
    for (int i = 0; i < 3; i++) {
        fill(blocks[0], place(i), BLOCK);
        MPI(MPI_File_write_ordered_begin(handle, blocks[0], BLOCK, MPI_BYTE));
        MPI(MPI_File_write_ordered_end(handle, blocks[0], MPI_STATUS_IGNORE));
        mpi_op("write_ordered", "split", place(i), BLOCK, file);
    }
    synced(handle, file);
    MPI(MPI_File_seek_shared(handle, 0, MPI_SEEK_SET));
    mpi_op("seek", "shared", 0, 0, file);
    for (int i = 0; i < 3; i++) {
        MPI(MPI_File_read_ordered_begin(handle, blocks[0], BLOCK, MPI_BYTE));
        MPI(MPI_File_read_ordered_end(handle, blocks[0], MPI_STATUS_IGNORE));
        verify(blocks[0], place(i), BLOCK);
        mpi_op("read_ordered", "split", place(i), BLOCK, file);
    }
    closed(&handle, file);
}

static void positions(void) {
    const char *file = "positions";
    char own[32];
    MPI_Offset size = -1;
    MPI_Comm together = MPI_COMM_WORLD;
    snprintf(own, sizeof own, "preallocated");
#ifdef OPEN_MPI
    /* A file of each rank: on a shared one Open MPI's own MPI-IO (4.1) lets one rank preallocate, and a rank that sees the file grow returns
       early, so that later collective calls of these ranks fail or wait forever. */
    together = MPI_COMM_SELF;
    snprintf(own, sizeof own, "preallocated.%d", rank);
#endif
    MPI_File handle = opened(together, own, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI(MPI_File_preallocate(handle, 5000));
    mpi_op("preallocate", "-", -1, 5000, own);
    closed(&handle, own);
    handle = created(file);
    MPI(MPI_File_set_size(handle, 8000));
    mpi_op("set_size", "-", -1, 8000, file);
    MPI(MPI_File_get_size(handle, &size));
    CHECK(size == 8000);
    sought(handle, 100, MPI_SEEK_SET, 100, file);
    sought(handle, 50, MPI_SEEK_CUR, 150, file);
    sought(handle, -50, MPI_SEEK_END, 7950, file);
    viewed(handle, 1000, MPI_INT, MPI_INT, file);
    sought(handle, 10, MPI_SEEK_SET, 1040, file);
    sought(handle, -5, MPI_SEEK_CUR, 1020, file);
    MPI(MPI_File_seek_shared(handle, 25, MPI_SEEK_SET));
    mpi_op("seek", "shared", 1100, 0, file);
    MPI(MPI_File_seek_shared(handle, 25, MPI_SEEK_CUR));
    mpi_op("seek", "shared", -1, 0, file);
    closed(&handle, file);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        MPI(MPI_File_delete(in_dir(file), MPI_INFO_NULL));
        mpi_op("delete", "-", -1, 0, file);
        CHECK(MPI_File_delete(in_dir(file), MPI_INFO_NULL) != MPI_SUCCESS);
    }
}

#if MPI_VERSION >= 4
static void counts(void) {
    const char *file = "counts";
    MPI_File handle = created(file);
    MPI_Request request;
    MPI_Status status;
    const MPI_Count length = BLOCK;
    char *block = blocks[0];
    int i = 0;
#define WRITTEN(call, name, mode)                                                                                     \
    fill(block, place(i), BLOCK);                                                                                     \
    MPI(call);                                                                                                        \
    mpi_op(name, mode, place(i), BLOCK, file);                                                                        \
    i++
#define WAITED(call) (call) == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : MPI_ERR_OTHER
    WRITTEN(MPI_File_write_at_c(handle, place(i), block, length, MPI_BYTE, &status), "write", "-");
    WRITTEN(MPI_File_write_at_all_c(handle, place(i), block, length, MPI_BYTE, &status), "write", "collective");
    WRITTEN(WAITED(MPI_File_iwrite_at_c(handle, place(i), block, length, MPI_BYTE, &request)), "write", "nonblocking");
    WRITTEN(WAITED(MPI_File_iwrite_at_all_c(handle, place(i), block, length, MPI_BYTE, &request)), "write_all",
            "nonblocking");
    WRITTEN((MPI_File_write_at_all_begin_c(handle, place(i), block, length, MPI_BYTE),
             MPI_File_write_at_all_end(handle, block, MPI_STATUS_IGNORE)),
            "write_all", "split");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    WRITTEN(MPI_File_write_c(handle, block, length, MPI_BYTE, MPI_STATUS_IGNORE), "write", "-");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    WRITTEN(MPI_File_write_all_c(handle, block, length, MPI_BYTE, MPI_STATUS_IGNORE), "write", "collective");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    WRITTEN(WAITED(MPI_File_iwrite_c(handle, block, length, MPI_BYTE, &request)), "write", "nonblocking");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    WRITTEN(WAITED(MPI_File_iwrite_all_c(handle, block, length, MPI_BYTE, &request)), "write_all", "nonblocking");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    WRITTEN((MPI_File_write_all_begin_c(handle, block, length, MPI_BYTE),
             MPI_File_write_all_end(handle, block, MPI_STATUS_IGNORE)),
            "write_all", "split");
    int last = i;
    synced(handle, file);
#define READ(call, name, mode)                                                                                        \
    memset(block, 0, BLOCK);                                                                                          \
    MPI(call);                                                                                                        \
    verify(block, place(i), BLOCK);                                                                                   \
    mpi_op(name, mode, place(i), BLOCK, file);                                                                        \
    i++
    i = 0;
    READ(MPI_File_read_at_c(handle, place(i), block, length, MPI_BYTE, &status), "read", "-");
    READ(MPI_File_read_at_all_c(handle, place(i), block, length, MPI_BYTE, &status), "read", "collective");
    READ(WAITED(MPI_File_iread_at_c(handle, place(i), block, length, MPI_BYTE, &request)), "read", "nonblocking");
    READ(WAITED(MPI_File_iread_at_all_c(handle, place(i), block, length, MPI_BYTE, &request)), "read_all",
         "nonblocking");
    READ((MPI_File_read_at_all_begin_c(handle, place(i), block, length, MPI_BYTE),
          MPI_File_read_at_all_end(handle, block, MPI_STATUS_IGNORE)),
         "read_all", "split");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    READ(MPI_File_read_c(handle, block, length, MPI_BYTE, MPI_STATUS_IGNORE), "read", "-");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    READ(MPI_File_read_all_c(handle, block, length, MPI_BYTE, MPI_STATUS_IGNORE), "read", "collective");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    READ(WAITED(MPI_File_iread_c(handle, block, length, MPI_BYTE, &request)), "read", "nonblocking");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    READ(WAITED(MPI_File_iread_all_c(handle, block, length, MPI_BYTE, &request)), "read_all", "nonblocking");
    sought(handle, place(i), MPI_SEEK_SET, place(i), file);
    READ((MPI_File_read_all_begin_c(handle, block, length, MPI_BYTE),
          MPI_File_read_all_end(handle, block, MPI_STATUS_IGNORE)),
         "read_all", "split");
    CHECK(i == last);
    closed(&handle, file);
    /* The shared pointer, in the order of ranks. */
    file = "counts.ordered";
    handle = created(file);
    i = 0;
    WRITTEN(MPI_File_write_ordered_c(handle, block, length, MPI_BYTE, MPI_STATUS_IGNORE), "write", "ordered");
    WRITTEN((MPI_File_write_ordered_begin_c(handle, block, length, MPI_BYTE),
             MPI_File_write_ordered_end(handle, block, MPI_STATUS_IGNORE)),
            "write_ordered", "split");
    for (int turn = 0; turn < ranks; turn++) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (turn == rank) {
            WRITTEN(MPI_File_write_shared_c(handle, block, length, MPI_BYTE, MPI_STATUS_IGNORE), "write", "shared");
        }
    }
    for (int turn = 0; turn < ranks; turn++) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (turn == rank) {
            WRITTEN(WAITED(MPI_File_iwrite_shared_c(handle, block, length, MPI_BYTE, &request)), "write_shared",
                    "nonblocking");
        }
    }
    synced(handle, file);
    MPI(MPI_File_seek_shared(handle, 0, MPI_SEEK_SET));
    mpi_op("seek", "shared", 0, 0, file);
    i = 0;
    READ(MPI_File_read_ordered_c(handle, block, length, MPI_BYTE, MPI_STATUS_IGNORE), "read", "ordered");
    READ((MPI_File_read_ordered_begin_c(handle, block, length, MPI_BYTE),
          MPI_File_read_ordered_end(handle, block, MPI_STATUS_IGNORE)),
         "read_ordered", "split");
    for (int turn = 0; turn < ranks; turn++) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (turn == rank) {
            READ(MPI_File_read_shared_c(handle, block, length, MPI_BYTE, MPI_STATUS_IGNORE), "read", "shared");
        }
    }
    for (int turn = 0; turn < ranks; turn++) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (turn == rank) {
            READ(WAITED(MPI_File_iread_shared_c(handle, block, length, MPI_BYTE, &request)), "read_shared",
                 "nonblocking");
        }
    }
    closed(&handle, file);
}
#define COUNTS counts
#else
#define COUNTS NULL
#endif

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"split", split},
        {"positions", positions},
        {"counts", COUNTS},
        {NULL, NULL},
    };
    return run_part(argc, argv, parts);
}
