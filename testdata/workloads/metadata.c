/* Metadata calls, which query and change files: by name, by descriptor, by directory and name, with their 64-bit and older
 * symbols; successful and failing ones.
 * Usage: metadata DIRECTORY (absolute, canonical, empty). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include "oplog.h"
#include <dirent.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <utime.h>

/* Names that programs built against glibc before 2.33 call; only such programs may link with them by default. */
#if defined(__x86_64__)
#define OLD_VERSION "GLIBC_2.2.5"
#define OLDER_VERSION "GLIBC_2.4"
int old_xstat(int version, const char *path, struct stat *status);
int old_lxstat(int version, const char *path, struct stat *status);
int old_fxstat(int version, int fd, struct stat *status);
int old_fxstatat(int version, int at, const char *path, struct stat *status, int flags);
int old_xstat64(int version, const char *path, struct stat64 *status);
int old_lxstat64(int version, const char *path, struct stat64 *status);
int old_fxstat64(int version, int fd, struct stat64 *status);
int old_fxstatat64(int version, int at, const char *path, struct stat64 *status, int flags);
__asm__(".symver old_xstat,__xstat@" OLD_VERSION);
__asm__(".symver old_lxstat,__lxstat@" OLD_VERSION);
__asm__(".symver old_fxstat,__fxstat@" OLD_VERSION);
__asm__(".symver old_fxstatat,__fxstatat@" OLDER_VERSION);
__asm__(".symver old_xstat64,__xstat64@" OLD_VERSION);
__asm__(".symver old_lxstat64,__lxstat64@" OLD_VERSION);
__asm__(".symver old_fxstat64,__fxstat64@" OLD_VERSION);
__asm__(".symver old_fxstatat64,__fxstatat64@" OLDER_VERSION);
#endif

static char dir[4000];
static void *volatile nowhere = (void *)8;

static const char *in_dir(const char *name) {
    static char path[4][4200];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static void done(const char *name, long long offset, long long length, const char *file) {
    op("POSIX", name, "-", offset, length, in_dir(file));
}

/* Offset that a rename is recorded with: -2 - the first 62 bits of the hash (64-bit FNV-1a) of the new path. */
static long long new_name(const char *file) {
    unsigned long long hash = 0xcbf29ce484222325;
    for (const char *at = in_dir(file); *at != 0; at++) hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
    return -2 - (long long)(hash >> 2);
}

#define STAT(call, file)                                                                                              \
    do {                                                                                                              \
        CHECK((call) == 0);                                                                                           \
        done("stat", -1, 0, file);                                                                                    \
    } while (0)
#define FAILS(call, error, name, offset, file)                                                                        \
    do {                                                                                                              \
        errno = 0;                                                                                                    \
        CHECK((call) == -1 && errno == (error));                                                                      \
        op_failed("POSIX", name, "-", offset, in_dir(file));                                                          \
    } while (0)

static void asking(int fd, int at) {
    struct stat status;
    struct stat64 status64;
    struct statx more;
    STAT(stat(in_dir("file"), &status), "file");
    CHECK(status.st_size == 1000);
    STAT(stat("file", &status), "file");
    STAT(stat64(".//./file", &status64), "file");
    STAT(lstat("link", &status), "link");
    CHECK(S_ISLNK(status.st_mode));
    STAT(lstat64("file", &status64), "file");
    STAT(fstat(fd, &status), "file");
    STAT(fstat64(fd, &status64), "file");
    CHECK(status64.st_size == 1000);
    STAT(fstatat(at, "file", &status, 0), "file");
    STAT(fstatat64(at, "link", &status64, AT_SYMLINK_NOFOLLOW), "link");
    STAT(fstatat(AT_FDCWD, "file", &status, 0), "file");
    STAT(fstatat(fd, "", &status, AT_EMPTY_PATH), "file");
    STAT(statx(AT_FDCWD, in_dir("file"), 0, STATX_SIZE, &more), "file");
    STAT(statx(at, "file", 0, STATX_SIZE, &more), "file");
    STAT(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &more), "file");
    CHECK(more.stx_size == 1000);
#if defined(__x86_64__)
    STAT(old_xstat(1, "file", &status), "file");
    STAT(old_lxstat(1, "link", &status), "link");
    STAT(old_fxstat(1, fd, &status), "file");
    STAT(old_fxstatat(1, at, "file", &status, 0), "file");
    STAT(old_xstat64(1, "file", &status64), "file");
    STAT(old_lxstat64(1, "link", &status64), "link");
    STAT(old_fxstat64(1, fd, &status64), "file");
    STAT(old_fxstatat64(1, at, "file", &status64, 0), "file");
    CHECK(status64.st_size == 1000);
    FAILS(old_xstat(1, "missing", &status), ENOENT, "stat", -1, "missing");
#endif
    FAILS(stat("missing", &status), ENOENT, "stat", -1, "missing");
    FAILS(lstat(in_dir("file/x"), &status), ENOTDIR, "stat", -1, "file/x");
    FAILS(fstatat(at, "missing", &status, 0), ENOENT, "stat", -1, "missing");
    FAILS(statx(at, "missing", 0, STATX_SIZE, &more), ENOENT, "stat", -1, "missing");
    FAILS(fstat(fd, nowhere), EFAULT, "stat", -1, "file");
    /* None of these has a readable name or a file, so none is in the trace. */
    CHECK(stat(nowhere, &status) == -1 && errno == EFAULT);
    CHECK(fstatat(at, nowhere, &status, AT_EMPTY_PATH) == -1 && errno == EFAULT);
    CHECK(statx(at, nowhere, 0x40000000, 0, &more) == -1 && errno == EINVAL);
    CHECK(fstat(999, &status) == -1 && errno == EBADF);
    CHECK(stat("/etc", &status) == 0 && stat("/proc/self/missing", &status) == -1);
    CHECK(fstat(at, &status) == 0);
}

static void sizes(int fd) {
    CHECK(truncate("file", 5000) == 0);
    done("truncate", -1, 5000, "file");
    CHECK(truncate64(in_dir("file"), 6000) == 0);
    done("truncate", -1, 6000, "file");
    CHECK(ftruncate(fd, 3000) == 0);
    done("truncate", -1, 3000, "file");
    CHECK(ftruncate64(fd, 2000) == 0);
    done("truncate", -1, 2000, "file");
    CHECK(raw_size(in_dir("file")) == 2000);
    FAILS(truncate("missing", 1), ENOENT, "truncate", -1, "missing");
    FAILS(ftruncate(fd, -1), EINVAL, "truncate", -1, "file");
    /* Not every file system supports fallocate(2). */
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 8192, 4096) == 0) {
        done("allocate", 8192, 4096, "file");
        CHECK(fallocate64(fd, 0, 1000, 3096) == 0);
        done("allocate", 1000, 3096, "file");
    } else {
        op_failed("POSIX", "allocate", "-", 8192, in_dir("file"));
    }
    FAILS(fallocate(fd, 0, 77, 0), EINVAL, "allocate", 77, "file");
    CHECK(posix_fallocate(fd, 0, 5000) == 0);
    done("allocate", 0, 5000, "file");
    CHECK(posix_fallocate64(fd, 5000, 100) == 0);
    done("allocate", 5000, 100, "file");
    errno = 0;
    CHECK(posix_fallocate(fd, 10, -1) == EINVAL && errno == 0);
    errno = EINVAL;
    op_failed("POSIX", "allocate", "-", 10, in_dir("file"));
    CHECK(raw_size(in_dir("file")) == 5100);
    CHECK(sync_file_range(fd, 100, 4000, SYNC_FILE_RANGE_WRITE) == 0);
    done("sync_range", 100, 4000, "file");
    FAILS(sync_file_range(fd, 100, 0, 0x1000), EINVAL, "sync_range", 100, "file");
}

#define DOES(call, name, file)                                                                                        \
    do {                                                                                                              \
        CHECK((call) == 0);                                                                                           \
        done(name, -1, 0, file);                                                                                      \
    } while (0)

static void attributes(int fd, int at) {
    struct timeval times[2] = {{1, 0}, {2, 0}};
    struct timespec fine[2] = {{1, 0}, {2, 0}};
    struct utimbuf coarse = {1, 2};
    DOES(chmod("file", 0640), "chmod", "file");
    DOES(fchmod(fd, 0600), "chmod", "file");
    DOES(fchmodat(at, "file", 0600, 0), "chmod", "file");
    FAILS(chmod("missing", 0600), ENOENT, "chmod", -1, "missing");
    DOES(chown("file", -1, -1), "chown", "file");
    DOES(lchown("link", -1, -1), "chown", "link");
    DOES(fchown(fd, -1, -1), "chown", "file");
    DOES(fchownat(at, "file", -1, -1, 0), "chown", "file");
    DOES(utime("file", &coarse), "utime", "file");
    DOES(utimes("file", times), "utime", "file");
    DOES(lutimes("link", times), "utime", "link");
    DOES(futimes(fd, times), "utime", "file");
    DOES(futimesat(at, "file", times), "utime", "file");
    DOES(futimens(fd, fine), "utime", "file");
    DOES(utimensat(at, "file", fine, 0), "utime", "file");
    FAILS(utimensat(AT_FDCWD, "missing", fine, 0), ENOENT, "utime", -1, "missing");
    DOES(access("file", R_OK), "access", "file");
    DOES(euidaccess("file", R_OK), "access", "file");
    DOES(eaccess("file", R_OK), "access", "file");
    DOES(faccessat(at, "file", W_OK, 0), "access", "file");
    FAILS(access("missing", F_OK), ENOENT, "access", -1, "missing");
    DOES(link("file", "twin"), "link", "file");
    DOES(linkat(at, "file", AT_FDCWD, "triplet", 0), "link", "file");
    FAILS(link("missing", "other"), ENOENT, "link", -1, "missing");
    /* An unreadable name, and an invalid descriptor. */
    CHECK(chmod(nowhere, 0) == -1 && errno == EFAULT);
    CHECK(fchmod(999, 0) == -1 && errno == EBADF);
    CHECK(unlink("twin") == 0);
    done("unlink", -1, 0, "twin");
    CHECK(unlink("triplet") == 0);
    done("unlink", -1, 0, "triplet");
}

static void names(int at) {
    CHECK(mkdir("sub", 0700) == 0);
    done("mkdir", -1, 0, "sub");
    CHECK(mkdirat(at, "sub/deep", 0700) == 0);
    done("mkdir", -1, 0, "sub/deep");
    FAILS(mkdir("sub", 0700), EEXIST, "mkdir", -1, "sub");
    DIR *list = opendir("sub/");
    CHECK(list != NULL);
    done("opendir", -1, 0, "sub");
    CHECK(closedir(list) == 0);
    errno = 0;
    CHECK(opendir("nothing") == NULL && errno == ENOENT);
    op_failed("POSIX", "opendir", "-", -1, in_dir("nothing"));
    CHECK(rename("file", "sub/one") == 0);
    done("rename", new_name("sub/one"), 0, "file");
    CHECK(renameat(at, "sub/one", AT_FDCWD, "two") == 0);
    done("rename", new_name("two"), 0, "sub/one");
    CHECK(renameat2(at, "two", at, "sub/deep/three", 0) == 0);
    done("rename", new_name("sub/deep/three"), 0, "two");
    FAILS(rename("file", "other"), ENOENT, "rename", -1, "file");
    FAILS(renameat2(at, "sub", at, "link", RENAME_NOREPLACE), EEXIST, "rename", -1, "sub");
    CHECK(unlink("link") == 0);
    done("unlink", -1, 0, "link");
    CHECK(unlinkat(at, "sub/deep/three", 0) == 0);
    done("unlink", -1, 0, "sub/deep/three");
    FAILS(unlink("link"), ENOENT, "unlink", -1, "link");
    FAILS(rmdir("sub"), ENOTEMPTY, "rmdir", -1, "sub");
    CHECK(unlinkat(at, "sub/deep", AT_REMOVEDIR) == 0);
    done("rmdir", -1, 0, "sub/deep");
    CHECK(rmdir("sub") == 0);
    done("rmdir", -1, 0, "sub");
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < sizeof dir && chdir(argv[1]) == 0);
    strcpy(dir, argv[1]);
    struct stat status;
    /* Queried before it exists and before it is opened: still one file. */
    FAILS(stat("file", &status), ENOENT, "stat", -1, "file");
    int fd = open("file", O_CREAT | O_RDWR, 0600);
    CHECK(fd >= 0);
    done("open", -1, 0, "file");
    CHECK(write(fd, dir, 1) == 1);
    done("write", 0, 1, "file");
    CHECK(ftruncate(fd, 1000) == 0);
    done("truncate", -1, 1000, "file");
    CHECK(symlink("file", "link") == 0);
    int at = open(dir, O_RDONLY | O_DIRECTORY);
    CHECK(at >= 0);
    asking(fd, at);
    sizes(fd);
    attributes(fd, at);
    names(at);
    CHECK(pwrite(fd, dir, 1, 9) == 1);
    done("write", 9, 1, "file");
    CHECK(close(at) == 0);
    CHECK(close(fd) == 0);
    done("close", -1, 0, "file");
    /* A device that was first queried still has no position. */
    CHECK(stat("/dev/zero", &status) == 0);
    op("POSIX", "stat", "-", -1, 0, "/dev/zero");
    fd = open("/dev/zero", O_RDONLY);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, "/dev/zero");
    char buffer[10];
    CHECK(read(fd, buffer, 10) == 10);
    op("POSIX", "read", "-", -1, 10, "/dev/zero");
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, "/dev/zero");
    oplog_write();
    return 0;
}
