/* Calls that fail, each for a different reason, on descriptors and on names. With COUNT, also COUNT opens of names that
 * do not exist, twice.
 * Usage: failed DIRECTORY [COUNT] (absolute, canonical, empty). Log: oplog.h, FAILED lines.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

static char dir[4000];
static char buffer[4096];
/* Invalid arguments, hidden from the compiler. */
static void *volatile nowhere = (void *)8;
static volatile int minus_one = -1;

static const char *in_dir(const char *name) {
    static char path[4][4200];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

/* The call must fail with this error; it is logged as `name` on `file`. */
#define FAILS(call, error, name, mode, offset, file)                                                                  \
    do {                                                                                                              \
        errno = 0;                                                                                                    \
        CHECK((call) == -1 && errno == (error));                                                                      \
        op_failed("POSIX", name, mode, offset, file);                                                                 \
    } while (0)
/* The call must fail and belongs to no recorded file. */
#define FAILS_UNSEEN(call, error)                                                                                     \
    do {                                                                                                              \
        errno = 0;                                                                                                    \
        CHECK((call) == -1 && errno == (error));                                                                      \
    } while (0)

static void done(const char *name, long long offset, long long length, const char *file) {
    op("POSIX", name, "-", offset, length, file);
}

static void opens(void) {
    int at = open(dir, O_RDONLY | O_DIRECTORY);
    CHECK(at >= 0);
    FAILS(open(in_dir("missing"), O_RDONLY), ENOENT, "open", "-", -1, in_dir("missing"));
    FAILS(open64(in_dir("missing"), O_RDONLY), ENOENT, "open", "-", -1, in_dir("missing"));
    FAILS(open("missing", O_RDONLY), ENOENT, "open", "-", -1, in_dir("missing"));
    FAILS(open("./a/../missing", O_RDONLY), ENOENT, "open", "-", -1, in_dir("missing"));
    char above[4200];
    strcpy(above, dir);
    strcpy(strrchr(above, '/'), "/missing");
    FAILS(open("..//missing", O_RDONLY), ENOENT, "open", "-", -1, above);
    FAILS(openat(at, "missing", O_RDONLY), ENOENT, "open", "-", -1, in_dir("missing"));
    FAILS(openat64(at, "x/y", O_RDONLY), ENOENT, "open", "-", -1, in_dir("x/y"));
    FAILS(openat(AT_FDCWD, "gone", O_WRONLY), ENOENT, "open", "-", -1, in_dir("gone"));
    FAILS(creat("no/where", 0600), ENOENT, "open", "-", -1, in_dir("no/where"));
    FAILS(open("file", O_CREAT | O_EXCL | O_RDWR, 0600), EEXIST, "open", "-", -1, in_dir("file"));
    FAILS(open("file/x", O_RDONLY), ENOTDIR, "open", "-", -1, in_dir("file/x"));
    FAILS(open(".", O_WRONLY), EISDIR, "open", "-", -1, dir);
    FAILS(openat(at, ".", O_WRONLY), EISDIR, "open", "-", -1, dir);
    /* With an unreadable name there is no file. */
    FAILS_UNSEEN(open(nowhere, O_RDONLY), EFAULT);
    FAILS_UNSEEN(open("", O_RDONLY), ENOENT);
    FAILS_UNSEEN(openat(999, "x", O_RDONLY), EBADF);
    FAILS_UNSEEN(open("/proc/self/missing", O_RDONLY), ENOENT);
    FAILS_UNSEEN(open("/etc/missing", O_RDONLY), ENOENT);
    struct rlimit limit, low;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    low = limit;
    low.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
    FAILS(open("file", O_RDONLY), EMFILE, "open", "-", -1, in_dir("file"));
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(close(at) == 0);
}

static void on_descriptors(void) {
    const char *file = in_dir("file");
    int fd = open(file, O_RDONLY);
    CHECK(fd >= 0);
    done("open", -1, 0, file);
    struct iovec piece = {buffer, 10}, wrong = {nowhere, 10};
    CHECK(lseek(fd, 3, SEEK_SET) == 3);
    done("seek", 3, 0, file);
    FAILS(write(fd, buffer, 10), EBADF, "write", "-", 3, file);
    FAILS(pwrite(fd, buffer, 10, 77), EBADF, "write", "-", 77, file);
    FAILS(writev(fd, &piece, 1), EBADF, "write", "vectored", 3, file);
    FAILS(pwritev(fd, &piece, 1, 5), EBADF, "write", "vectored", 5, file);
    FAILS(pwritev2(fd, &piece, 1, 5, RWF_APPEND), EBADF, "write", "vectored", -1, file);
    FAILS(pwritev2(fd, &piece, 1, -1, 0), EBADF, "write", "vectored", 3, file);
    FAILS(read(fd, nowhere, 10), EFAULT, "read", "-", 3, file);
    FAILS(pread(fd, buffer, 10, minus_one), EINVAL, "read", "-", -1, file);
    FAILS(pread64(fd, buffer, 10, -77), EINVAL, "read", "-", -1, file);
    FAILS(readv(fd, &wrong, 1), EFAULT, "read", "vectored", 3, file);
    FAILS(preadv(fd, &piece, minus_one, 0), EINVAL, "read", "vectored", 0, file);
    FAILS(preadv2(fd, &piece, 1, 0, 0x40000000), EOPNOTSUPP, "read", "vectored", 0, file);
    FAILS(lseek(fd, -10, SEEK_SET), EINVAL, "seek", "-", -1, file);
    FAILS(lseek(fd, 0, 99), EINVAL, "seek", "-", -1, file);
    FAILS(fcntl(fd, F_DUPFD, minus_one), EINVAL, "dup", "-", -1, file);
    FAILS(dup2(fd, minus_one), EBADF, "dup", "-", -1, file);
    FAILS(dup3(fd, fd, 0), EINVAL, "dup", "-", -1, file);
    /* The failures did not move the position. */
    CHECK(read(fd, buffer, 2) == 2);
    done("read", 3, 2, file);
    FAILS_UNSEEN(read(999, buffer, 1), EBADF);
    FAILS_UNSEEN(close(999), EBADF);
    FAILS_UNSEEN(fsync(minus_one), EBADF);
    CHECK(close(fd) == 0);
    done("close", -1, 0, file);
}

/* A full disk. */
static void full(void) {
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) {
        return;
    }
    done("open", -1, 0, "/dev/full");
    FAILS(write(fd, buffer, 100), ENOSPC, "write", "-", -1, "/dev/full");
    FAILS(pwrite(fd, buffer, 100, 4096), ENOSPC, "write", "-", 4096, "/dev/full");
    FAILS(fsync(fd), EINVAL, "sync", "-", -1, "/dev/full");
    FAILS(fdatasync(fd), EINVAL, "fdatasync", "-", -1, "/dev/full");
    CHECK(close(fd) == 0);
    done("close", -1, 0, "/dev/full");
}

static void storm(int count) {
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < count; i++) {
            char name[40];
            snprintf(name, sizeof name, "storm%d", i);
            FAILS_UNSEEN(open(in_dir(name), O_RDONLY), ENOENT);
        }
    }
    FAILS_UNSEEN(open(nowhere, O_RDONLY), EFAULT);
}

int main(int argc, char **argv) {
    CHECK(argc >= 2 && strlen(argv[1]) < sizeof dir && chdir(argv[1]) == 0);
    strcpy(dir, argv[1]);
    if (argc > 2) {
        storm(atoi(argv[2]));
        return 0;
    }
    int fd = open(in_dir("file"), O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    done("open", -1, 0, in_dir("file"));
    CHECK(write(fd, "0123456789", 10) == 10);
    done("write", 0, 10, in_dir("file"));
    CHECK(close(fd) == 0);
    done("close", -1, 0, in_dir("file"));
    opens();
    on_descriptors();
    full();
    oplog_write();
    return 0;
}
