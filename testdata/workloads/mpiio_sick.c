/* MPI-IO that is slow for reasons that a hint or a few lines fix, on storage with a latency per request.
 * Usage: mpiio_sick DIRECTORY VARIANT; VARIANT one of
 *   alone      all ranks write their interleaved pieces by independent calls, one per piece
 *   together   the same pieces by one collective call per turn, with a file view
 *   sieved     all ranks write a few large pieces with larger gaps by one independent call per turn
 *   gathered   all ranks write blocks by collective calls; each rank is on its own (simulated) node
 * Two variants of a kind leave the same file. Exit code 77: not possible on this machine.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "failed: %s\n", #what); abort(); } } while (0)
#define MPI(call) CHECK((call) == MPI_SUCCESS)

enum { TURNS = 4, PIECES = 40, PIECE = 4096, FEW = 8, LARGE = 65536, STRIDE = 1 << 20, ROUNDS = 4, BLOCK = 1 << 20 };

static int rank, ranks;
static char data[BLOCK];

static void fill(int seed, size_t size) {
    for (size_t i = 0; i < size; i++) {
        data[i] = (char)(seed * 31 + rank * 7 + (int)(i / 512));
    }
}

static void alone(MPI_File file) {
    for (int turn = 0; turn < TURNS; turn++) {
        fill(turn, (size_t)PIECES * PIECE);
        for (int i = 0; i < PIECES; i++) {
            MPI_Offset at = (((MPI_Offset)turn * PIECES + i) * ranks + rank) * PIECE;
            MPI(MPI_File_write_at(file, at, data + i * PIECE, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
}

static void together(MPI_File file) {
    MPI_Datatype mine;
    MPI(MPI_Type_vector(PIECES, PIECE, PIECE * ranks, MPI_BYTE, &mine));
    MPI(MPI_Type_commit(&mine));
    for (int turn = 0; turn < TURNS; turn++) {
        fill(turn, (size_t)PIECES * PIECE);
        MPI_Offset at = ((MPI_Offset)turn * PIECES * ranks + rank) * PIECE;
        MPI(MPI_File_set_view(file, at, MPI_BYTE, mine, "native", MPI_INFO_NULL));
        MPI(MPI_File_write_at_all(file, 0, data, PIECES * PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI(MPI_Type_free(&mine));
}

static void sieved(MPI_File file) {
    MPI_Datatype mine;
    MPI(MPI_Type_vector(FEW, LARGE, STRIDE, MPI_BYTE, &mine));
    MPI(MPI_Type_commit(&mine));
    for (int turn = 0; turn < TURNS; turn++) {
        fill(turn, (size_t)FEW * LARGE);
        MPI_Offset at = ((MPI_Offset)turn * ranks + rank) * FEW * STRIDE;
        MPI(MPI_File_set_view(file, at, MPI_BYTE, mine, "native", MPI_INFO_NULL));
        MPI(MPI_File_write_at(file, 0, data, FEW * LARGE, MPI_BYTE, MPI_STATUS_IGNORE));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI(MPI_Type_free(&mine));
}

static void gathered(MPI_File file) {
    for (int i = 0; i < ROUNDS; i++) {
        fill(i, BLOCK);
        MPI_Offset at = ((MPI_Offset)i * ranks + rank) * BLOCK;
        MPI(MPI_File_write_at_all(file, at, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    if (strcmp(argv[2], "gathered") == 0 && getenv("SICK_NODE") == NULL) {
        const char *number = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
        char host[64];
        snprintf(host, sizeof host, "sick-node-%s", number ? number : "0");
        if (unshare(CLONE_NEWUTS) != 0 || sethostname(host, strlen(host)) != 0) {
            return 77;
        }
        setenv("SICK_NODE", host, 1);
        /* Restarts, as libraries may read the host's name when they are loaded. */
        execv(argv[0], argv);
        return 77;
    }
    MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    char path[4200];
    snprintf(path, sizeof path, "%s/sick", argv[1]);
    MPI_File file;
    MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    if (strcmp(argv[2], "alone") == 0) {
        alone(file);
    } else if (strcmp(argv[2], "together") == 0) {
        together(file);
    } else if (strcmp(argv[2], "sieved") == 0) {
        sieved(file);
    } else {
        gathered(file);
    }
    MPI(MPI_File_close(&file));
    MPI(MPI_Finalize());
    return 0;
}
