/* Benchmark of tracing for parallel programs: each rank writes VOLUME bytes in transfers of TRANSFER bytes to FILES files, shared by all ranks
 * (each with its part of a file) or its own, and reads them back. If there are more files than transfers, the others are only opened and
 * closed. All ranks begin and end each phase together.
 * Usage: mpirun bench_parallel DIRECTORY FILES shared|own TRANSFER VOLUME. Each rank prints a line: seconds from the first barrier to the end
 * of the last phase, and seconds in MPI_Finalize. Provenance: written for this project. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "failed: %s\n", #what); abort(); } } while (0)

static double now(void) {
    struct timespec time;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    CHECK(argc == 6);
    int rank, shared = strcmp(argv[3], "shared") == 0;
    long files = atol(argv[2]), transfer = atol(argv[4]), volume = atol(argv[5]);
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(files > 0 && transfer > 0 && volume >= transfer);
    long transfers = volume / transfer;
    char *buffer = malloc(transfer), path[4096];
    CHECK(buffer);
    memset(buffer, rank, transfer);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    double begun = now();
    for (int writes = 1; writes >= 0; writes--) {
        for (long file = 0; file < files; file++) {
            long first = transfers * file / files, end = transfers * (file + 1) / files;
            snprintf(path, sizeof path, shared ? "%s/%ld" : "%s/%ld.%d", argv[1], file, rank);
            int fd = open(path, O_RDWR | O_CREAT, 0600);
            CHECK(fd >= 0);
            off_t at = shared ? (off_t)rank * (end - first) * transfer : 0;
            for (long i = first; i < end; i++, at += transfer) {
                CHECK((writes ? pwrite(fd, buffer, transfer, at) : pread(fd, buffer, transfer, at)) == transfer);
            }
            CHECK(close(fd) == 0);
        }
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    double ended = now();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    /* Prints by one write, so that lines of different ranks stay whole. */
    char line[80];
    int length = snprintf(line, sizeof line, "%.6f %.6f\n", ended - begun, now() - ended);
    CHECK(write(1, line, length) == length);
    free(buffer);
    return 0;
}
