/* Accesses of different kinds to different files, alternating: `small` gets consecutive writes of 100 bytes, `large` 16 KiB at
 * multiples of 16 KiB, `beside` 16 KiB at odd offsets, `half` alternately 16 KiB at such multiples and 4 bytes beside them;
 * `named` is only queried (stat), `stream` gets 100 bytes by fwrite. With MPI (-DWITH_MPI) each rank has files of its own and
 * writes one more, `mpi`, of 100 bytes by MPI_File_write_at.
 * Usage: kinds DIRECTORY (absolute, canonical, empty) ROUNDS. Log: oplog.h; for `stream` and `mpi` only the calls that
 * the program makes itself. Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <sys/stat.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { FILES = 4, LARGE = 16384, SMALL = 100, PLACES = 16 };

static const char *const names[FILES] = {"small", "large", "beside", "half"};
static char paths[FILES][4200], block[LARGE];
static int fds[FILES], rank;

static const char *in_dir(char *path, const char *dir, const char *name) {
    snprintf(path, 4200, "%s/%s.%d", dir, name, rank);
    return path;
}

static void put(int file, size_t length, off_t at) {
    CHECK(pwrite(fds[file], block, length, at) == (ssize_t)length);
    op("POSIX", "write", "-", at, (long long)length, paths[file]);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
#ifdef WITH_MPI
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS && MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
#endif
    long rounds = atol(argv[2]);
    char named[4200], stream_path[4200];
    struct stat status;
    for (int i = 0; i < FILES; i++) {
        in_dir(paths[i], argv[1], names[i]);
        CHECK((fds[i] = open(paths[i], O_CREAT | O_RDWR, 0644)) >= 0);
        op("POSIX", "open", "-", -1, 0, paths[i]);
    }
    in_dir(named, argv[1], "named");
    CHECK(mkdir(named, 0755) == 0 && stat(named, &status) == 0);
    op("POSIX", "mkdir", "-", -1, 0, named);
    op("POSIX", "stat", "-", -1, 0, named);
    FILE *stream = fopen(in_dir(stream_path, argv[1], "stream"), "w");
    CHECK(stream != NULL);
    op("STDIO", "open", "-", -1, 0, stream_path);
    for (long i = 0; i < rounds; i++) {
        off_t place = i % PLACES * LARGE;
        put(0, SMALL, i * SMALL);
        put(1, LARGE, place);
        put(2, LARGE, place + 1);
        put(3, i % 2 ? 4 : LARGE, i % 2 ? place + 1 : place);
        CHECK(fwrite(block, SMALL, 1, stream) == 1);
        op("STDIO", "write", "-", i * SMALL, SMALL, stream_path);
    }
    CHECK(fclose(stream) == 0);
    op("STDIO", "close", "-", -1, 0, stream_path);
    for (int i = 0; i < FILES; i++) {
        CHECK(close(fds[i]) == 0);
        op("POSIX", "close", "-", -1, 0, paths[i]);
    }
#ifdef WITH_MPI
    char path[4200];
    MPI_File file;
    in_dir(path, argv[1], "mpi");
    CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    op("MPIIO", "open", "-", -1, 0, path);
    for (long i = 0; i < rounds; i++) {
        CHECK(MPI_File_write_at(file, i * SMALL, block, SMALL, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        op("MPIIO", "write", "-", i * SMALL, SMALL, path);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    op("MPIIO", "close", "-", -1, 0, path);
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    oplog_write();
    MPI_Finalize();
#else
    oplog_write();
#endif
    return 0;
}
