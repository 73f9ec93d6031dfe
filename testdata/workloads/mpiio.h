/* Functions shared by the MPI-IO test programs: paths of files in a directory, calls that are checked and logged, and data whose
 * bytes follow from their file offset. Provenance: written for this project. */
#ifndef MPIIO_H
#define MPIIO_H

#include "oplog.h"
#include <mpi.h>

static char dir[4096];
static int rank, ranks;

/* Checks an MPI call. */
#define MPI(call) CHECK((call) == MPI_SUCCESS)

static inline const char *in_dir(const char *name) {
    static _Thread_local char path[4200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static inline void mpi_op(const char *name, const char *mode, long long offset, long long length, const char *file) {
    op("MPIIO", name, mode, offset, length, in_dir(file));
}

static inline MPI_File opened(MPI_Comm comm, const char *file, int flags) {
    MPI_File handle;
    MPI(MPI_File_open(comm, in_dir(file), flags, MPI_INFO_NULL, &handle));
    mpi_op("open", "-", -1, 0, file);
    return handle;
}

static inline void closed(MPI_File *handle, const char *file) {
    MPI(MPI_File_close(handle));
    mpi_op("close", "-", -1, 0, file);
}

static inline void synced(MPI_File handle, const char *file) {
    MPI(MPI_File_sync(handle));
    mpi_op("sync", "-", -1, 0, file);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static inline void viewed(MPI_File handle, long long displacement, MPI_Datatype etype, MPI_Datatype filetype,
                   const char *file) {
    MPI(MPI_File_set_view(handle, displacement, etype, filetype, "native", MPI_INFO_NULL));
    mpi_op("set_view", "-", displacement, 0, file);
}

/* Value of the byte at `offset` of every file that the programs write. */
static inline char byte_at(long long offset) { return (char)(offset * 131 + offset / 251); }

static inline void fill(char *block, long long offset, size_t length) {
    for (size_t i = 0; i < length; i++) {
        block[i] = byte_at(offset + (long long)i);
    }
}

static inline void verify(const char *block, long long offset, size_t length) {
    for (size_t i = 0; i < length; i++) {
        CHECK(block[i] == byte_at(offset + (long long)i));
    }
}

static inline void transferred(const MPI_Status *status, MPI_Datatype type, int expected) {
    int count = -1;
    MPI(MPI_Get_count(status, type, &count));
    CHECK(count == expected);
}

/* Moves the individual pointer, to `at` in bytes from the file's start. */
static inline void sought(MPI_File handle, long long offset, int whence, long long at, const char *file) {
    MPI(MPI_File_seek(handle, offset, whence));
    mpi_op("seek", "-", at, 0, file);
}

#endif
