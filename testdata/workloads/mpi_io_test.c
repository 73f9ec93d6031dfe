/* Like mpi-io-test, the program of the LDMS-Darshan connector's paper: ten phases in which each rank writes a block of 16 MiB to one
 * file, then ten in which it reads another rank's block, with a barrier after each.
 * Usage: mpirun mpi_io_test FILE. Provenance: written for this project. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MPI(call) do { if ((call) != MPI_SUCCESS) { fprintf(stderr, "failed: %s\n", #call); abort(); } } while (0)

enum { PHASES = 10, BLOCK = 16 << 20 };

int main(int argc, char **argv) {
    int rank, ranks;
    MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    static char block[BLOCK];
    MPI_File file;
    MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    for (int phase = 0; phase < 2 * PHASES; phase++) {
        int whose = phase < PHASES ? rank : (rank + 1) % ranks;
        MPI_Offset at = ((MPI_Offset)(phase % PHASES) * ranks + whose) * BLOCK;
        if (phase < PHASES) {
            MPI(MPI_File_write_at(file, at, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        } else {
            MPI(MPI_File_read_at(file, at, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    MPI(MPI_File_close(&file));
    MPI(MPI_Finalize());
    return 0;
}
