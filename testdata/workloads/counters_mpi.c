/* Tests exactness of counters of several ranks. No log: the test knows the numbers.
 * Usage: counters_mpi DIRECTORY WAY, WAY one of
 *   shared   every rank writes 10 * 1000 bytes of one file by MPI_File_write_at_all, and 20 + rank times 100 bytes of
 *            another by pwrite, of which rank 1 also reads one byte
 *   own      every rank writes 7 bytes of a file of its own, and nothing else
 *   many     every rank writes a byte of each of 2000 shared files
 *   some     as own, but only by rank 1
 *   nothing  no I/O
 *   mixed    as shared, and every rank writes 7 bytes of a file of its own, and the lower half of the ranks 3 bytes of one
 *   subsets  every rank writes 10 + rank times 100 bytes of one file and 7 bytes of one of its own; each half of the ranks has a
 *            file, of which a rank writes 1 + rank times 50 bytes and the last rank of the half reads one byte, and one with a path of
 *            some 600 bytes, of which it writes 5; the upper half writes 100 bytes each of another by MPI_File_write_at_all
 *   crowd    every rank but rank 0 writes 7 bytes of each of 300 files of its own, and a byte of each of 60 that these ranks share
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static void put(const char *directory, const char *name, int number, int times, int length, int rank) {
    int fd = opened(directory, name, number);
    for (int i = 0; i < times; i++) {
        CHECK(pwrite(fd, bytes, length, ((off_t)i * 64 + rank) * 4096) == length);
    }
    CHECK(close(fd) == 0);
}

static void subsets(const char *directory, int rank, int size) {
    static char deep[4000];
    int half = rank >= size / 2, last = half ? size - 1 : size / 2 - 1;
    put(directory, "all", 0, 10 + rank, 100, rank);
    put(directory, "own", rank, 1, 7, rank);
    put(directory, "half", half, 1 + rank, 50, rank);
    if (rank == last) {
        int fd = opened(directory, "half", half);
        CHECK(pread(fd, bytes, 1, (off_t)rank * 4096) == 1 && close(fd) == 0);
    }
    int length = snprintf(deep, sizeof deep, "%s", directory);
    for (int i = 0; i < 3; i++) {
        length += snprintf(deep + length, sizeof deep - length, "/%0200d", i);
        CHECK(mkdir(deep, 0755) == 0 || errno == EEXIST);
    }
    put(deep, "deep", half, 1, 5, rank);
    MPI_Comm part;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, half, rank, &part) == MPI_SUCCESS);
    if (half) {
        MPI_File file;
        MPI_Info info;
        CHECK(MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_set(info, "cb_buffer_size", "65536") == MPI_SUCCESS);
        snprintf(path, sizeof path, "%s/part", directory);
        CHECK(MPI_File_open(part, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file) == MPI_SUCCESS);
        CHECK(MPI_File_write_at_all(file, rank * 100, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_close(&file) == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&part) == MPI_SUCCESS);
}

static void crowd(const char *directory, int rank) {
    for (int i = 0; i < 300 && rank > 0; i++) {
        put(directory, "own", rank * 1000 + i, 1, 7, rank);
    }
    for (int i = 0; i < 60 && rank > 0; i++) {
        put(directory, "part", i, 1, 1, rank);
    }
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
    if (strcmp(argv[2], "subsets") == 0) {
        subsets(argv[1], rank, size);
        MPI_Finalize();
        return 0;
    }
    if (strcmp(argv[2], "crowd") == 0) {
        crowd(argv[1], rank);
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
