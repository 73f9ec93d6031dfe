/* The other forms of MPI-IO: nonblocking, split collective, positions and sizes, 64-bit counts, reads past the end. Every
 * rank checks the data it reads and logs what it did, a nonblocking call when its completion was seen. The same source is
 * built with every MPI. Usage: mpiio_forms DIRECTORY PART, PART one of
 *   nonblocking   every nonblocking call, every call that completes requests, mixed with messages
 *   crowd         more requests at once than the tracer has statuses for, and one that is freed
 *   split         split collective calls
 *   positions     seek, seek_shared, set_size, preallocate, delete
 *   counts        the calls of MPI 4.0 with 64-bit counts; ends with 77 where the MPI is older
 *   ends          reads that meet the end of the file, through contiguous and strided views
 *   huge          one call of more than 2 GiB
 * Log: oplog.h, set OPLOG. Provenance: written for this project. */
#define _GNU_SOURCE
#include "mpiio.h"
#include <sys/mman.h>

/* MPICH's MPI_STATUSES_IGNORE is the address 1, which the compiler takes for an array that is too small. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

enum { BLOCK = 1000, CROWD = 600 };

static char blocks[16][BLOCK];

/* Offset of this rank's i-th block. */
static long long place(int i) { return ((long long)i * ranks + rank) * BLOCK; }

static MPI_File created(const char *file) { return opened(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR); }

static void logged(const char *name, int i, const char *file) {
    mpi_op(name, "nonblocking", place(i), BLOCK, file);
}

/* Submits a write of block i. */
static void submit(MPI_File handle, int i, MPI_Request *request) {
    fill(blocks[i], place(i), BLOCK);
    MPI(MPI_File_iwrite_at(handle, place(i), blocks[i], BLOCK, MPI_BYTE, request));
}

static void nonblocking(void) {
    const char *file = "nonblocking";
    MPI_File handle = created(file);
    MPI_Request requests[8];
    MPI_Status statuses[8];
    int flag = 0, index = -1, count = 0, indices[8], message = rank, received = -1;
    /* MPI_Wait, with and without a status. */
    submit(handle, 0, &requests[0]);
    MPI(MPI_Wait(&requests[0], &statuses[0]));
    CHECK(requests[0] == MPI_REQUEST_NULL);
    transferred(&statuses[0], MPI_BYTE, BLOCK);
    logged("write", 0, file);
    submit(handle, 1, &requests[0]);
    MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    logged("write", 1, file);
    /* MPI_Test. */
    submit(handle, 2, &requests[0]);
    while (!flag) {
        MPI(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    }
    logged("write", 2, file);
    /* MPI_Waitall, with messages between. */
    submit(handle, 3, &requests[0]);
    MPI(MPI_Irecv(&received, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]));
    submit(handle, 4, &requests[2]);
    MPI(MPI_Isend(&message, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[3]));
    MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK(received == rank);
    logged("write", 3, file);
    logged("write", 4, file);
    /* MPI_Testall. */
    submit(handle, 5, &requests[0]);
    submit(handle, 6, &requests[1]);
#ifdef MPICH
    /* MPICH 4.0 dies now and then, untraced too, of MPI_Testall on I/O that is under way (mpir_request.h, ref_count). */
    MPI(MPI_Waitall(2, requests, statuses));
#else
    for (flag = 0; !flag;) {
        MPI(MPI_Testall(2, requests, &flag, statuses));
    }
#endif
    transferred(&statuses[1], MPI_BYTE, BLOCK);
    logged("write", 5, file);
    logged("write", 6, file);
    /* MPI_Waitany and MPI_Testany. */
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            submit(handle, 7 + i, &requests[i]);
        }
        for (int done = 0; done < 3; done++) {
            flag = 1;
            do {
                if (round == 0) {
                    MPI(MPI_Waitany(3, requests, &index, done == 1 ? MPI_STATUS_IGNORE : &statuses[0]));
                } else {
                    MPI(MPI_Testany(3, requests, &index, &flag, MPI_STATUS_IGNORE));
                }
            } while (!flag);
            CHECK(index >= 0 && index < 3);
            logged("write", 7 + index, file);
        }
    }
    /* MPI_Waitsome and MPI_Testsome. */
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            submit(handle, 10 + i, &requests[i]);
        }
        for (int done = 0; done < 3; done += count) {
            if (round == 0) {
                MPI(MPI_Waitsome(3, requests, &count, indices, statuses));
            } else {
                MPI(MPI_Testsome(3, requests, &count, indices, MPI_STATUSES_IGNORE));
            }
            /* They are recorded in the order of the list. */
            for (int at = 0; at < 3; at++) {
                for (int i = 0; i < count; i++) {
                    if (indices[i] == at) {
                        logged("write", 10 + at, file);
                    }
                }
            }
        }
    }
    synced(handle, file);
    for (int i = 0; i < 13; i++) {
        memset(blocks[0], 0, BLOCK);
        MPI(MPI_File_iread_at(handle, place(i), blocks[0], BLOCK / 4, MPI_INT, &requests[0]));
        MPI(MPI_Wait(&requests[0], &statuses[0]));
        transferred(&statuses[0], MPI_INT, BLOCK / 4);
        verify(blocks[0], place(i), BLOCK);
        logged("read", i, file);
    }
    /* The individual pointer moves when the call is made. */
    long long own = place(0) + 20LL * ranks * BLOCK;
    sought(handle, own, MPI_SEEK_SET, own, file);
    fill(blocks[0], own, BLOCK);
    for (int i = 0; i < 4; i++) {
        MPI(MPI_File_iwrite(handle, blocks[0] + i * 250, 250, MPI_BYTE, &requests[i]));
    }
    MPI(MPI_Waitall(4, requests, statuses));
    for (int i = 0; i < 4; i++) {
        mpi_op("write", "nonblocking", own + i * 250, 250, file);
    }
    sought(handle, own, MPI_SEEK_SET, own, file);
    memset(blocks[0], 0, BLOCK);
    MPI(MPI_File_iread(handle, blocks[0], 500, MPI_BYTE, &requests[0]));
    MPI(MPI_File_iread(handle, blocks[0] + 500, 500, MPI_BYTE, &requests[1]));
    MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    verify(blocks[0], own, BLOCK);
    mpi_op("read", "nonblocking", own, 500, file);
    mpi_op("read", "nonblocking", own + 500, 500, file);
    closed(&handle, file);
}

static void nonblocking_collective(void) {
    const char *file = "nonblocking.collective";
    MPI_File handle = created(file);
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < 4; i++) {
        fill(blocks[0], place(i), BLOCK);
        MPI(MPI_File_iwrite_at_all(handle, place(i), blocks[0], BLOCK, MPI_BYTE, &request));
        MPI(MPI_Wait(&request, &status));
        logged("write_all", i, file);
    }
    synced(handle, file);
    for (int i = 0; i < 4; i++) {
        MPI(MPI_File_iread_at_all(handle, place(i), blocks[0], BLOCK, MPI_BYTE, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        verify(blocks[0], place(i), BLOCK);
        logged("read_all", i, file);
    }
    long long base = 4LL * ranks * BLOCK + 100;
    viewed(handle, base + 2LL * rank * BLOCK, MPI_INT, MPI_INT, file);
    long long own = base + 2LL * rank * BLOCK;
    fill(blocks[0], own, BLOCK);
    MPI(MPI_File_iwrite_all(handle, blocks[0], BLOCK / 4, MPI_INT, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    mpi_op("write_all", "nonblocking", own, BLOCK, file);
    synced(handle, file);
    sought(handle, BLOCK / 8, MPI_SEEK_SET, own + BLOCK / 2, file);
    MPI(MPI_File_iread_all(handle, blocks[0], BLOCK / 8, MPI_INT, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    verify(blocks[0], own + BLOCK / 2, BLOCK / 2);
    mpi_op("read_all", "nonblocking", own + BLOCK / 2, BLOCK / 2, file);
    closed(&handle, file);
    /* The shared pointer; one rank after the other, so that everyone knows where. */
    file = "nonblocking.shared";
    handle = created(file);
    for (int turn = 0; turn < 2 * ranks; turn++) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (turn % ranks != rank) {
            continue;
        }
        fill(blocks[0], (long long)turn * BLOCK, BLOCK);
        MPI(MPI_File_iwrite_shared(handle, blocks[0], BLOCK, MPI_BYTE, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        mpi_op("write_shared", "nonblocking", (long long)turn * BLOCK, BLOCK, file);
    }
    synced(handle, file);
    MPI(MPI_File_seek_shared(handle, 0, MPI_SEEK_SET));
    mpi_op("seek", "shared", 0, 0, file);
    for (int turn = 0; turn < 2 * ranks; turn++) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (turn % ranks != rank) {
            continue;
        }
        MPI(MPI_File_iread_shared(handle, blocks[0], BLOCK, MPI_BYTE, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        verify(blocks[0], (long long)turn * BLOCK, BLOCK);
        mpi_op("read_shared", "nonblocking", (long long)turn * BLOCK, BLOCK, file);
    }
    closed(&handle, file);
}

static void crowd(void) {
    const char *file = "crowd";
    MPI_File handle = created(file);
    static MPI_Request requests[CROWD];
    static char bytes[CROWD];
    for (int i = 0; i < CROWD; i++) {
        long long at = (long long)rank * CROWD + i;
        bytes[i] = byte_at(at);
        MPI(MPI_File_iwrite_at(handle, at, &bytes[i], 1, MPI_BYTE, &requests[i]));
    }
    MPI(MPI_Waitall(CROWD, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < CROWD; i++) {
        mpi_op("write", "nonblocking", (long long)rank * CROWD + i, 1, file);
    }
    /* One that is freed has no end; its handle may come again. */
    MPI(MPI_File_iwrite_at(handle, (long long)rank * CROWD, bytes, 1, MPI_BYTE, &requests[0]));
    MPI(MPI_Request_free(&requests[0]));
    for (int i = 0; i < 3; i++) {
        MPI(MPI_File_iwrite_at(handle, (long long)rank * CROWD + i, &bytes[i], 1, MPI_BYTE, &requests[0]));
        MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        mpi_op("write", "nonblocking", (long long)rank * CROWD + i, 1, file);
    }
    synced(handle, file);
    closed(&handle, file);
}

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
    MPI_File handle = created(file);
    MPI_Offset size = -1;
    MPI(MPI_File_set_size(handle, 5000));
    mpi_op("set_size", "-", -1, 5000, file);
    MPI(MPI_File_preallocate(handle, 8000));
    mpi_op("preallocate", "-", -1, 8000, file);
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
#endif

/* What a read gives of a file that ends before; statuses of strided and collective reads need not tell. */
static void ends(void) {
    const char *file = "ends";
    MPI_File handle = created(file);
    MPI_Status status;
    static char block[4000];
    MPI(MPI_File_set_size(handle, 1000));
    mpi_op("set_size", "-", -1, 1000, file);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Datatype every_second, filetype;
    MPI(MPI_Type_vector(100, 10, 20, MPI_BYTE, &every_second));
    MPI(MPI_Type_commit(&every_second));
    MPI(MPI_Type_create_resized(every_second, 0, 2000, &filetype));
    MPI(MPI_Type_commit(&filetype));
    MPI(MPI_File_read_at(handle, 500, block, 1000, MPI_BYTE, &status));
    mpi_op("read", "-", 500, 500, file);
    MPI(MPI_File_read_at(handle, 2000, block, 1000, MPI_BYTE, &status));
    mpi_op("read", "-", 2000, 0, file);
    MPI(MPI_File_read_at(handle, 500, block, 1, every_second, MPI_STATUS_IGNORE));
    mpi_op("read", "-", 500, 500, file);
    MPI(MPI_File_read_at_all(handle, 500 + rank, block, 1000, MPI_BYTE, &status));
    mpi_op("read", "collective", 500 + rank, 500 - rank, file);
    MPI(MPI_File_read_at_all(handle, 2000 + rank, block, 1000, MPI_BYTE, &status));
    mpi_op("read", "collective", 2000 + rank, 0, file);
#ifndef OPEN_MPI /* Open MPI 4.1 never returns from these at the end of a file. */
    MPI(MPI_File_read_at_all_begin(handle, 500, block, 1000, MPI_BYTE));
    MPI(MPI_File_read_at_all_end(handle, block, &status));
    mpi_op("read_all", "split", 500, 500, file);
    MPI_Request request;
    MPI(MPI_File_iread_at(handle, 500, block, 1000, MPI_BYTE, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    mpi_op("read", "nonblocking", 500, 500, file);
    MPI(MPI_File_iread_at_all(handle, 500, block, 1000, MPI_BYTE, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    mpi_op("read_all", "nonblocking", 500, 500, file);
#endif
    viewed(handle, 0, MPI_BYTE, filetype, file);
    MPI(MPI_File_read_at(handle, 0, block, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    mpi_op("read", "-", 0, 500, file);
    MPI(MPI_File_read_at(handle, 400, block, 300, MPI_BYTE, &status));
    mpi_op("read", "-", 800, 100, file);
    MPI(MPI_File_read_at(handle, 1000, block, 300, MPI_BYTE, &status));
    mpi_op("read", "-", 2000, 0, file);
    MPI(MPI_File_read_at_all(handle, 400, block, 300, MPI_BYTE, MPI_STATUS_IGNORE));
    mpi_op("read", "collective", 800, 100, file);
    /* The file grows, when all have read: what was the end is none any more. */
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_File_set_size(handle, 4000));
    mpi_op("set_size", "-", -1, 4000, file);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_File_read_at(handle, 400, block, 300, MPI_BYTE, &status));
    mpi_op("read", "-", 800, 300, file);
    MPI(MPI_Type_free(&filetype));
    MPI(MPI_Type_free(&every_second));
    closed(&handle, file);
}

/* Reads more than 2 GiB of a sparse file in one call, and one byte more than 4 GiB behind. The buffer is the same 64 MiB
 * of memory, mapped again and again. */
static void huge(void) {
    char file[32];
    snprintf(file, sizeof file, "huge.%d", rank);
    const int piece = 64 << 20, pieces = 34;
    const size_t whole = (size_t)piece * (size_t)pieces;
    MPI_File handle = opened(MPI_COMM_SELF, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI(MPI_File_set_size(handle, 5LL << 30));
    mpi_op("set_size", "-", -1, 5LL << 30, file);
    int memory = memfd_create("huge", MFD_CLOEXEC);
    CHECK(memory >= 0 && ftruncate(memory, piece) == 0);
    char *buffer = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(buffer != MAP_FAILED);
    for (int i = 0; i < pieces; i++) {
        char *at = buffer + (size_t)i * (size_t)piece;
        CHECK(mmap(at, (size_t)piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) == at);
    }
    MPI_Datatype run;
    MPI(MPI_Type_contiguous(piece, MPI_BYTE, &run));
    MPI(MPI_Type_commit(&run));
    MPI(MPI_File_read_at(handle, 1LL << 30, buffer, pieces, run, MPI_STATUS_IGNORE));
    mpi_op("read", "-", 1LL << 30, (long long)whole, file);
    MPI(MPI_File_read_at(handle, (4LL << 30) + 7, buffer, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    mpi_op("read", "-", (4LL << 30) + 7, 1, file);
    CHECK(munmap(buffer, whole) == 0 && close(memory) == 0);
    MPI(MPI_Type_free(&run));
    closed(&handle, file);
}

int main(int argc, char **argv) {
    CHECK(argc == 3 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    const char *part = argv[2];
    MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    int code = 0;
    if (strcmp(part, "nonblocking") == 0) {
        nonblocking();
        nonblocking_collective();
    } else if (strcmp(part, "crowd") == 0) {
        crowd();
    } else if (strcmp(part, "split") == 0) {
        split();
    } else if (strcmp(part, "positions") == 0) {
        positions();
    } else if (strcmp(part, "ends") == 0) {
        ends();
    } else if (strcmp(part, "huge") == 0) {
        huge();
    } else {
#if MPI_VERSION >= 4
        counts();
#else
        code = 77;
#endif
    }
    oplog_write();
    MPI(MPI_Finalize());
    return code;
}
