/* Ranks that write together and end, one of which has no memory for its trace. Usage: scarce_mpi DIRECTORY RANK NUMBER: on
 * that rank the tracer's allocation NUMBER from MPI_Finalize on fails (see scarce.c), or all from -NUMBER on. Each rank writes
 * 3,000 times. Exit code 5.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char path[4200];
    int rank;
    if (argc != 4 || MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 9;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/out.%d", argv[1], rank);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    for (long i = 0; i < 3000; i++)
        if (pwrite(fd, &i, sizeof i, i * 8) != sizeof i)
            return 9;
    long *failing = dlsym(RTLD_DEFAULT, "DXT_TRACER_FAILING_ALLOCATION");
    if (failing && rank == atoi(argv[2]))
        *failing = atol(argv[3]);
    MPI_Finalize();
    return 5;
}
