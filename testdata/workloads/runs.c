/* Ten phases of writing to one file with a pause after each, then ten of reading it: a program for repeated runs.
 * Usage: mpirun runs FILE. Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PHASES = 10, BLOCK = 1 << 20, BLOCKS = 4, PAUSE_US = 50000 };

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    static char block[BLOCK];
    int file = open(argv[1], O_CREAT | O_RDWR, 0600);
    if (file < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int phase = 0; phase < 2 * PHASES; phase++) {
        for (int i = 0; i < BLOCKS; i++) {
            off_t at = (((off_t)(phase % PHASES) * ranks + rank) * BLOCKS + i) * BLOCK;
            ssize_t done = phase < PHASES ? pwrite(file, block, BLOCK, at) : pread(file, block, BLOCK, at);
            if (done != BLOCK) MPI_Abort(MPI_COMM_WORLD, 1);
        }
        usleep(PAUSE_US);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close(file);
    MPI_Finalize();
    return 0;
}
