/* What counters of several ranks must be exact about. No log: the test knows the numbers.
 * Usage: counters_mpi DIRECTORY WAY, WAY one of
 *   shared   every rank writes 10 * 1000 bytes of one file by MPI_File_write_at_all, and 20 + rank times 100 bytes of
 *            another by pwrite, which rank 1 reads one byte of as well
 *   own      every rank writes 7 bytes of a file of its own, and nothing else
 *   many     every rank writes a byte of each of 2000 shared files
 *   some     as own, but only rank 1 does
 *   nothing  nobody does anything
 *   mixed    as shared, and every rank writes 7 bytes of a file of its own, and the lower half of the ranks 3 bytes of one
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); perror(""); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

static char path[4200];
static char bytes[1000] __attribute__((aligned(8)));

static int opened(const char *directory, const char *name, int number) {
    snprintf(path, sizeof path, "%s/%s.%d", directory, name, number);
    int fd = open(path, O_CREAT | O_RDWR, 0644);
    CHECK(fd >= 0);
    return fd;
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    CHECK(argc == 3);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    if (strcmp(argv[2], "nothing") == 0 || (strcmp(argv[2], "some") == 0 && rank != 1)) {
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; strcmp(argv[2], "many") == 0; i++) {
        if (i == 2000) {
            MPI_Finalize();
            return 0;
        }
        int shared = opened(argv[1], "many", i);
        CHECK(pwrite(shared, bytes, 1, rank) == 1 && close(shared) == 0);
    }
    if (strcmp(argv[2], "own") == 0 || strcmp(argv[2], "some") == 0) {
        int own = opened(argv[1], "own", rank);
        CHECK(write(own, bytes, 7) == 7 && close(own) == 0);
        MPI_Finalize();
        return 0;
    }
    MPI_File file;
    snprintf(path, sizeof path, "%s/collective", argv[1]);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    for (int i = 0; i < 10; i++) {
        MPI_Offset at = ((MPI_Offset)i * size + rank) * 1000;
        CHECK(MPI_File_write_at_all(file, at, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);

    int fd = opened(argv[1], "posix", 0);
    for (int i = 0; i < 20 + rank; i++) {
        CHECK(pwrite(fd, bytes, 100, ((off_t)i * size + rank) * 4096) == 100);
    }
    if (rank == 1) {
        CHECK(pread(fd, bytes, 1, 4096) == 1);
    }
    CHECK(close(fd) == 0);

    if (strcmp(argv[2], "mixed") == 0) {
        fd = opened(argv[1], "own", rank);
        CHECK(write(fd, bytes, 7) == 7 && close(fd) == 0);
        if (rank < size / 2) {
            fd = opened(argv[1], "half", 0);
            CHECK(pwrite(fd, bytes, 3, rank * 3) == 3 && close(fd) == 0);
        }
    }
    MPI_Finalize();
    return 0;
}
