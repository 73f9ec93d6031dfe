/* Benchmarks that time only their file access, between two barriers.
 *   ior: like IOR on one file: each rank writes its block in transfers of 256 KiB, independently, and reads the next rank's.
 *   tile: like MPI-Tile-IO: each rank has a tile of 512 x 256 elements of 32 bytes in a grid of ranks (a subarray as file view), written and
 *     read collectively.
 *   hacc: like HACC-IO on one file: each rank has PARTICLES particles of nine variables, 38 bytes in total, and writes and reads variable by
 *     variable, independently.
 * Usage: mpirun bench_mpi ior|tile|hacc FILE TIMES [PARTICLES]. Rank 0 prints the seconds of the slowest rank.
 * Provenance: written for this project. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "failed: %s\n", #what); abort(); } } while (0)
#define MPI(call) CHECK((call) == MPI_SUCCESS)

enum { TRANSFER = 256 << 10, TRANSFERS = 64, HIGH = 512, WIDE = 256, ELEMENT = 32 };

static char buffer[HIGH * WIDE * ELEMENT];

static void ior(MPI_File file, int rank, int ranks) {
    MPI_Offset block = (MPI_Offset)TRANSFER * TRANSFERS;
    for (int i = 0; i < TRANSFERS; i++) {
        MPI(MPI_File_write_at(file, rank * block + (MPI_Offset)i * TRANSFER, buffer, TRANSFER, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < TRANSFERS; i++) {
        MPI_Offset at = (rank + 1) % ranks * block + (MPI_Offset)i * TRANSFER;
        MPI(MPI_File_read_at(file, at, buffer, TRANSFER, MPI_BYTE, MPI_STATUS_IGNORE));
    }
}

static void tile(MPI_File file, int rank, int ranks) {
    int grid[2] = {0, 0};
    MPI(MPI_Dims_create(ranks, 2, grid));
    int sizes[2] = {grid[0] * HIGH, grid[1] * WIDE * ELEMENT};
    int own[2] = {HIGH, WIDE * ELEMENT};
    int starts[2] = {rank / grid[1] * HIGH, rank % grid[1] * WIDE * ELEMENT};
    MPI_Datatype view;
    MPI(MPI_Type_create_subarray(2, sizes, own, starts, MPI_ORDER_C, MPI_BYTE, &view));
    MPI(MPI_Type_commit(&view));
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, view, "native", MPI_INFO_NULL));
    MPI(MPI_File_write_at_all(file, 0, buffer, sizeof buffer, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI(MPI_File_read_at_all(file, 0, buffer, sizeof buffer, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI(MPI_Type_free(&view));
}

static long particles;

static void hacc(MPI_File file, int rank, int ranks) {
    /* Sizes of x, y, z, their velocities, the potential; the particle's number; a mask. */
    static const int sizes[] = {4, 4, 4, 4, 4, 4, 4, 8, 2};
    static char *variable;
    if (!variable) CHECK(variable = calloc((size_t)particles, 8));
    for (int back = 0; back < 2; back++) {
        MPI_Offset begin = 0;
        int who = back ? (rank + 1) % ranks : rank;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            MPI_Offset length = (MPI_Offset)particles * sizes[i], at = begin * ranks + who * length;
            begin += length;
            if (back) {
                MPI(MPI_File_read_at(file, at, variable, (int)length, MPI_BYTE, MPI_STATUS_IGNORE));
            } else {
                MPI(MPI_File_write_at(file, at, variable, (int)length, MPI_BYTE, MPI_STATUS_IGNORE));
            }
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    CHECK(argc == 4 || argc == 5);
    particles = argc == 5 ? atol(argv[4]) : 100000;
    void (*program)(MPI_File, int, int) =
        strcmp(argv[1], "ior") == 0 ? ior : strcmp(argv[1], "hacc") == 0 ? hacc : tile;
    memset(buffer, rank, sizeof buffer);
    MPI_File file;
    MPI(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    double begin = MPI_Wtime();
    for (int i = 0; i < atoi(argv[3]); i++) {
        program(file, rank, ranks);
    }
    double mine = MPI_Wtime() - begin, slowest;
    MPI(MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    MPI(MPI_File_close(&file));
    if (rank == 0) {
        printf("%.6f\n", slowest);
    }
    MPI(MPI_Finalize());
    return 0;
}
