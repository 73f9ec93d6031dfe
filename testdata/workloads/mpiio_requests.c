/* MPI-IO with requests: a nonblocking call is logged when its completion is seen. Every rank checks the data it reads. The
 * same source is built with every MPI. Usage: mpiio_requests DIRECTORY PART, PART one of
 *   nonblocking   every nonblocking call, every call that completes requests, mixed with messages
 *   crowd         more simultaneous requests than the tracer has statuses for, and one that is freed
 * Log: oplog.h, set OPLOG. Provenance: written for this project. */
#define _GNU_SOURCE
#include "mpiio_parts.h"

/* MPICH's MPI_STATUSES_IGNORE is the address 1, which the compiler considers too small an array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

enum { CROWD = 600 };

static char blocks[16][BLOCK];

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
    /* MPICH 4.0 sometimes crashes, also untraced, in MPI_Testall on I/O in flight (mpir_request.h, ref_count). */
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
            /* Completions are recorded in the order of the list. */
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
    /* The shared pointer; one rank after the other, so that offsets are known. */
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
    /* A freed request never completes visibly; its handle may be reused. */
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

static void every_nonblocking(void) {
    nonblocking();
    nonblocking_collective();
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"nonblocking", every_nonblocking},
        {"crowd", crowd},
        {NULL, NULL},
    };
    return run_part(argc, argv, parts);
}
