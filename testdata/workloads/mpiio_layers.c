/* MPI-IO calls whose system calls are known: the hints determine them.
 * Usage: mpiio_layers DIRECTORY VARIANT [KEY=VALUE ...], the hints for MPI_File_open; VARIANT one of
 *   strided     every rank writes PIECES pieces with gaps between them by one independent call per turn
 *   whole       all ranks write ROUNDS blocks each by collective calls, interleaved
 *   late        as whole, but the last rank arrives 20 ms late at each call
 * Log: oplog.h, set OPLOG; also LATE <pid> <ns>, total lateness of a rank. Provenance: written for this
 * project. */
#define _GNU_SOURCE
#include "mpiio.h"
#include <time.h>

enum { TURNS = 4, PIECES = 64, PIECE = 100, GAP = 300, ROUNDS = 8, BLOCK = 4096 };

static MPI_Info hints = MPI_INFO_NULL;

static MPI_File opened_with_hints(const char *file) {
    MPI_File handle;
    MPI(MPI_File_open(MPI_COMM_WORLD, in_dir(file), MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &handle));
    mpi_op("open", "-", -1, 0, file);
    return handle;
}

/* Pieces of a rank's own region of the file: with data sieving the gaps are read and written too, under a lock. */
static void strided(void) {
    const char *file = "strided";
    MPI_File handle = opened_with_hints(file);
    MPI_Datatype vector;
    char block[PIECES * PIECE];
    MPI(MPI_Type_vector(PIECES, PIECE, PIECE + GAP, MPI_BYTE, &vector));
    MPI(MPI_Type_commit(&vector));
    const long long region = (long long)PIECES * (PIECE + GAP);
    for (int turn = 0; turn < TURNS; turn++) {
        long long at = ((long long)turn * ranks + rank) * region;
        MPI(MPI_File_set_view(handle, at, MPI_BYTE, vector, "native", MPI_INFO_NULL));
        mpi_op("set_view", "-", at, 0, file);
        fill(block, at, sizeof block);
        MPI(MPI_File_write_at(handle, 0, block, sizeof block, MPI_BYTE, MPI_STATUS_IGNORE));
        mpi_op("write", "-", at, sizeof block, file);
    }
    MPI(MPI_Type_free(&vector));
    closed(&handle, file);
}

static void sleep_ns(long ns) {
    struct timespec time = {0, ns};
    while (nanosleep(&time, &time) != 0) {
    }
}

static void whole(int late) {
    const char *file = "whole";
    MPI_File handle = opened_with_hints(file);
    char block[BLOCK];
    long long late_ns = 0;
    for (int i = 0; i < ROUNDS; i++) {
        long long at = ((long long)i * ranks + rank) * BLOCK;
        fill(block, at, BLOCK);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (late && rank == ranks - 1) {
            sleep_ns(20000000);
            late_ns += 20000000;
        }
        MPI(MPI_File_write_at_all(handle, at, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        mpi_op("write", "collective", at, BLOCK, file);
    }
    synced(handle, file);
    for (int i = 0; i < ROUNDS; i++) {
        long long at = ((long long)i * ranks + (rank + 1) % ranks) * BLOCK;
        MPI(MPI_File_read_at_all(handle, at, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        verify(block, at, BLOCK);
        mpi_op("read", "collective", at, BLOCK, file);
    }
    closed(&handle, file);
    oplog_line("LATE %d %lld\n", (int)getpid(), late_ns);
}

int main(int argc, char **argv) {
    MPI(MPI_Init(&argc, &argv));
    CHECK(argc >= 3 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    MPI(MPI_Info_create(&hints));
    for (int i = 3; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        CHECK(value != NULL);
        *value = '\0';
        MPI(MPI_Info_set(hints, argv[i], value + 1));
    }
    if (strcmp(argv[2], "strided") == 0) {
        strided();
    } else {
        whole(strcmp(argv[2], "late") == 0);
    }
    MPI(MPI_Info_free(&hints));
    oplog_write();
    MPI(MPI_Finalize());
    return 0;
}
