/* Writes and reads pieces of odd lengths at odd places of each file named, which then is SIZE bytes long; logs every access.
 * Compiled with -DWITH_MPI the ranks alternate in MPI-IO, one contiguous piece at a time, so that the library passes each on
 * unchanged; else the program uses pwrite(2) and pread(2), and leaves files whose name begins with `left` open at its end.
 * Usage: striped DIRECTORY FILE... Log: oplog.h, set OPLOG. Provenance: written for this project. */
#define _GNU_SOURCE
#ifdef WITH_MPI
#include "mpiio.h"
#else
#include "oplog.h"
#endif

enum { SIZE = 3 << 20, LONGEST = 300000 };

/* Pseudo-random lengths from 1 to LONGEST, the same in every run. */
static long long next_length(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return 1 + (long long)(*state >> 8) % LONGEST;
}

#ifdef WITH_MPI
static void one(const char *name) {
    static char block[LONGEST];
    MPI_File handle = opened(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    for (int pass = 0; pass < 2; pass++) {
        unsigned state = 7 + (unsigned)pass;
        long long at = 0;
        for (int piece = 0; at < SIZE; piece++) {
            long long length = next_length(&state);
            length = at + length > SIZE ? SIZE - at : length;
            if (piece % ranks == rank) {
                if (pass == 0) {
                    fill(block, at, (size_t)length);
                    MPI(MPI_File_write_at(handle, at, block, (int)length, MPI_BYTE, MPI_STATUS_IGNORE));
                } else {
                    MPI(MPI_File_read_at(handle, at, block, (int)length, MPI_BYTE, MPI_STATUS_IGNORE));
                    verify(block, at, (size_t)length);
                }
                mpi_op(pass == 0 ? "write" : "read", "-", at, length, name);
            }
            at += length;
        }
        synced(handle, name);
    }
    closed(&handle, name);
}

int main(int argc, char **argv) {
    CHECK(argc > 2);
    snprintf(dir, sizeof dir, "%s", argv[1]);
    MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    for (int i = 2; i < argc; i++) {
        one(argv[i]);
    }
    MPI(MPI_Finalize());
    oplog_write();
    return 0;
}
#else
static void one(const char *directory, const char *name) {
    static char block[LONGEST];
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    for (int pass = 0; pass < 2; pass++) {
        unsigned state = 7 + (unsigned)pass;
        for (long long at = 0; at < SIZE;) {
            long long length = next_length(&state);
            length = at + length > SIZE ? SIZE - at : length;
            memset(block, (int)(at % 251), (size_t)length);
            ssize_t done = pass == 0 ? pwrite(fd, block, (size_t)length, at) : pread(fd, block, (size_t)length, at);
            CHECK(done == length);
            op("POSIX", pass == 0 ? "write" : "read", "-", at, length, path);
            at += length;
        }
    }
    if (strncmp(name, "left", 4) != 0) {
        CHECK(close(fd) == 0);
        op("POSIX", "close", "-", -1, 0, path);
    }
}

int main(int argc, char **argv) {
    CHECK(argc > 2);
    for (int i = 2; i < argc; i++) {
        one(argv[1], argv[i]);
    }
    oplog_write();
    return 0;
}
#endif
