/* MPI-IO that fails: files that cannot be opened, calls that the access mode forbids, and a file that may not grow. MPI
 * libraries differ in what they report as errors, so the actual results are logged: a success as the operation, an error as
 * the errno that docs/coverage.md lists for its class. Usage: mpiio_failed DIRECTORY. Log: oplog.h, set OPLOG.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "mpiio.h"
#include <signal.h>
#include <sys/resource.h>

static char bytes[20000];
static int failures;

static int errno_of(int code) {
    int class = 0;
    MPI(MPI_Error_class(code, &class));
    switch (class) {
    case MPI_ERR_NO_SUCH_FILE:
        return ENOENT;
    case MPI_ERR_FILE_EXISTS:
        return EEXIST;
    case MPI_ERR_ACCESS:
        return EACCES;
    case MPI_ERR_READ_ONLY:
        return EROFS;
    case MPI_ERR_NO_SPACE:
        return ENOSPC;
    case MPI_ERR_QUOTA:
        return EDQUOT;
    case MPI_ERR_FILE_IN_USE:
        return EBUSY;
    case MPI_ERR_BAD_FILE:
        return ENAMETOOLONG;
    case MPI_ERR_FILE:
        return EBADF;
    case MPI_ERR_NO_MEM:
        return ENOMEM;
    case MPI_ERR_UNSUPPORTED_OPERATION:
        return EOPNOTSUPP;
    case MPI_ERR_AMODE:
    case MPI_ERR_ARG:
    case MPI_ERR_COUNT:
    case MPI_ERR_TYPE:
        return EINVAL;
    default:
        return EIO;
    }
}

/* Logs the result of a call; the length is that of the status if bytes were moved. */
static void result(int code, const char *name, const char *mode, long long offset, long long length,
                   const MPI_Status *status, const char *file) {
    if (code != MPI_SUCCESS) {
        errno = errno_of(code);
        op_failed("MPIIO", name, mode, offset, in_dir(file));
        failures++;
        return;
    }
    int count = 0;
    if (status != NULL) {
        MPI(MPI_Get_count(status, MPI_BYTE, &count));
        length = count;
    }
    mpi_op(name, mode, offset, length, file);
}

static void opens(void) {
    MPI_File handle;
    int code = MPI_File_open(MPI_COMM_SELF, in_dir("missing"), MPI_MODE_RDONLY, MPI_INFO_NULL, &handle);
    CHECK(code != MPI_SUCCESS && errno_of(code) == ENOENT);
    result(code, "open", "-", -1, 0, NULL, "missing");
    code = MPI_File_open(MPI_COMM_SELF, in_dir("no/where"), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &handle);
    CHECK(code != MPI_SUCCESS);
    result(code, "open", "-", -1, 0, NULL, "no/where");
    code = MPI_File_open(MPI_COMM_SELF, in_dir("x"), MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_INFO_NULL, &handle);
    CHECK(code != MPI_SUCCESS);
    result(code, "open", "-", -1, 0, NULL, "x");
    code = MPI_File_delete(in_dir("missing"), MPI_INFO_NULL);
    CHECK(code != MPI_SUCCESS);
    result(code, "delete", "-", -1, 0, NULL, "missing");
}

/* Each rank has its own file, whose access mode forbids writing. */
static void forbidden(const char *file) {
    MPI_File handle = opened(MPI_COMM_SELF, file, MPI_MODE_RDONLY);
    MPI_Status status;
    result(MPI_File_write_at(handle, 5, bytes, 10, MPI_BYTE, &status), "write", "-", 5, 0, &status, file);
    result(MPI_File_write_at_all(handle, 6, bytes, 10, MPI_BYTE, &status), "write", "collective", 6, 0, &status, file);
    result(MPI_File_set_size(handle, 100), "set_size", "-", -1, 100, NULL, file);
    result(MPI_File_preallocate(handle, 100), "preallocate", "-", -1, 100, NULL, file);
    MPI_Request request;
    int code = MPI_File_iwrite_at(handle, 7, bytes, 10, MPI_BYTE, &request);
    if (code != MPI_SUCCESS) {
        result(code, "write", "nonblocking", 7, 0, NULL, file);
    } else {
        code = MPI_Wait(&request, &status);
        result(code, "write", "nonblocking", 7, 0, &status, file);
    }
    code = MPI_File_write_at_all_begin(handle, 8, bytes, 10, MPI_BYTE);
    if (code != MPI_SUCCESS) {
        result(code, "write_all", "split", 8, 0, NULL, file);
    } else {
        code = MPI_File_write_at_all_end(handle, bytes, &status);
        result(code, "write_all", "split", 8, 0, &status, file);
    }
    result(MPI_File_read_at(handle, 0, bytes, 10, MPI_BYTE, &status), "read", "-", 0, 0, &status, file);
    closed(&handle, file);
}

/* Files are limited to 10,000 bytes. */
static void limited(const char *file) {
    struct rlimit limit, low;
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && getrlimit(RLIMIT_FSIZE, &limit) == 0);
    low = limit;
    low.rlim_cur = 10000;
    MPI_File handle = opened(MPI_COMM_SELF, file, MPI_MODE_WRONLY);
    MPI_Status status;
    CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
    int codes[2];
    MPI_Status statuses[2];
    codes[0] = MPI_File_write_at(handle, 0, bytes, 9000, MPI_BYTE, &statuses[0]);
    codes[1] = MPI_File_write_at(handle, 10000, bytes, 100, MPI_BYTE, &statuses[1]);
    int all = MPI_File_write_at_all(handle, 10100, bytes, 100, MPI_BYTE, &status);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(codes[0] == MPI_SUCCESS);
    result(codes[0], "write", "-", 0, 0, &statuses[0], file);
    result(codes[1], "write", "-", 10000, 0, &statuses[1], file);
    result(all, "write", "collective", 10100, 0, &status, file);
    closed(&handle, file);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    char file[32];
    snprintf(file, sizeof file, "own.%d", rank);
    MPI_File handle = opened(MPI_COMM_SELF, file, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    MPI_Status status;
    result(MPI_File_write_at(handle, 0, bytes, 100, MPI_BYTE, &status), "write", "-", 0, 0, &status, file);
    closed(&handle, file);
    opens();
    forbidden(file);
    limited(file);
    CHECK(failures >= 4);
    oplog_write();
    MPI(MPI_Finalize());
    return 0;
}
