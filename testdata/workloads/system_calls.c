/* System calls that the program makes itself, through syscall(2): those on files are recorded like other operations, all others
 * must work unchanged, with all of their arguments. The process also ends by one.
 * Usage: system_calls DIRECTORY (absolute, canonical, empty). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <signal.h>

static char path[4200], other[4200];
static char bytes[4096];

static void done(const char *name, const char *mode, long long offset, long long length, const char *file) {
    op("POSIX", name, mode, offset, length, file);
}

static void transfers(long fd) {
    struct iovec pieces[2] = {{bytes, 10}, {bytes + 10, 5}};
    CHECK(syscall(SYS_write, fd, bytes, 1000L) == 1000);
    done("write", "-", 0, 1000, path);
    CHECK(syscall(SYS_pwrite64, fd, bytes, 100L, 5000L) == 100);
    done("write", "-", 5000, 100, path);
    CHECK(syscall(SYS_writev, fd, pieces, 2L) == 15);
    done("write", "vectored", 1000, 15, path);
    CHECK(syscall(SYS_pwritev, fd, pieces, 2L, 70L, 0L) == 15);
    done("write", "vectored", 70, 15, path);
    CHECK(syscall(SYS_pwritev2, fd, pieces, 2L, -1L, -1L, 0L) == 15);
    done("write", "vectored", 1015, 15, path);
    CHECK(syscall(SYS_pwritev2, fd, pieces, 1L, 0L, 0L, (long)RWF_APPEND) == 10);
    done("write", "vectored", 5100, 10, path);
    CHECK(syscall(SYS_lseek, fd, 5L, (long)SEEK_SET) == 5);
    done("seek", "-", 5, 0, path);
    CHECK(syscall(SYS_read, fd, bytes, 20L) == 20);
    done("read", "-", 5, 20, path);
    CHECK(syscall(SYS_pread64, fd, bytes, 20L, 5105L) == 5);
    done("read", "-", 5105, 5, path);
    CHECK(syscall(SYS_readv, fd, pieces, 2L) == 15);
    done("read", "vectored", 25, 15, path);
    CHECK(syscall(SYS_preadv, fd, pieces, 1L, 3L, 0L) == 10);
    done("read", "vectored", 3, 10, path);
    CHECK(syscall(SYS_preadv2, fd, pieces, 2L, 4L, 0L, 0L) == 15);
    done("read", "vectored", 4, 15, path);
    CHECK(syscall(SYS_fsync, fd) == 0);
    done("sync", "-", -1, 0, path);
    CHECK(syscall(SYS_fdatasync, fd) == 0);
    done("fdatasync", "-", -1, 0, path);
    CHECK(syscall(SYS_ftruncate, fd, 9000L) == 0);
    done("truncate", "-", -1, 9000, path);
    if (syscall(SYS_fallocate, fd, 0L, 0L, 9000L) == 0) {
        done("allocate", "-", 0, 9000, path);
    }
}

static void copies(long fd, long to) {
    long long from_at = 100, to_at = 7;
    CHECK(syscall(SYS_copy_file_range, fd, &from_at, to, &to_at, 50L, 0L) == 50);
    done("copy_read", "-", 100, 50, path);
    done("copy_write", "-", 7, 50, other);
    CHECK(syscall(SYS_sendfile, to, fd, &from_at, 30L) == 30);
    done("copy_read", "-", 150, 30, path);
    done("copy_write", "-", 0, 30, other);
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(syscall(SYS_splice, fd, &from_at, (long)ends[1], NULL, 20L, 0L) == 20);
    done("copy_read", "-", 180, 20, path);
    CHECK(syscall(SYS_close, (long)ends[0]) == 0 && syscall(SYS_close, (long)ends[1]) == 0);
}

static void failures(long fd) {
    errno = 0;
    CHECK(syscall(SYS_openat, (long)AT_FDCWD, "missing", (long)O_RDONLY, 0L) == -1 && errno == ENOENT);
    char missing[4300];
    strcpy(missing, path);
    strcpy(strrchr(missing, '/'), "/missing");
    op_failed("POSIX", "open", "-", -1, missing);
    struct open_how how = {.flags = O_RDONLY};
    CHECK(syscall(SYS_openat2, (long)AT_FDCWD, "missing", &how, sizeof how) == -1);
    if (errno == ENOENT) {
        op_failed("POSIX", "open", "-", -1, missing);
    }
    CHECK(syscall(SYS_pread64, fd, bytes, 1L, -7L) == -1 && errno == EINVAL);
    op_failed("POSIX", "read", "-", -1, path);
    CHECK(syscall(SYS_read, 999L, bytes, 1L) == -1 && errno == EBADF);
    CHECK(syscall(511L) == -1 && errno == ENOSYS);
    CHECK(syscall(100000L, 1L, 2L) == -1 && errno == ENOSYS);
    CHECK(syscall(-1L) == -1 && errno == ENOSYS);
}

/* Calls that are passed on, with six arguments, and across a new process. */
static void passed_on(void) {
    CHECK(syscall(SYS_getpid) == getpid());
    char *page = (char *)syscall(SYS_mmap, NULL, 4096L, (long)(PROT_READ | PROT_WRITE),
                                 (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    CHECK(page != MAP_FAILED);
    page[4095] = 'x';
    CHECK(syscall(SYS_munmap, page, 4096L) == 0);
    long child = syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, 0L);
    if (child == 0) {
        raw_call(SYS_exit_group, 7);
    }
    int status = 0;
    CHECK(child > 0 && waitpid((pid_t)child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < 4000 && chdir(argv[1]) == 0);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    snprintf(other, sizeof other, "%s/other", argv[1]);
    long fd = syscall(SYS_openat, (long)AT_FDCWD, path, (long)(O_CREAT | O_RDWR), 0600L);
    CHECK(fd >= 0);
    done("open", "-", -1, 0, path);
    struct open_how how = {.flags = O_CREAT | O_RDWR, .mode = 0600};
    long to = syscall(SYS_openat2, (long)AT_FDCWD, "other", &how, sizeof how);
    if (to < 0) {
        to = syscall(SYS_openat, (long)AT_FDCWD, "other", (long)(O_CREAT | O_RDWR), 0600L);
    }
    CHECK(to >= 0);
    done("open", "-", -1, 0, other);
    transfers(fd);
    copies(fd, to);
    failures(fd);
    passed_on();
#ifdef SYS_open
    long third = syscall(SYS_open, path, (long)O_RDONLY, 0L);
    CHECK(third >= 0);
    done("open", "-", -1, 0, path);
    CHECK(syscall(SYS_dup2, third, 77L) == 77);
    done("dup", "-", -1, 0, path);
    CHECK(syscall(SYS_close, third) == 0);
    done("close", "-", -1, 0, path);
    CHECK(syscall(SYS_close_range, 77L, 77L, 0L) == 0 || close(77) == 0);
#endif
    long copy = syscall(SYS_dup, fd);
    CHECK(copy >= 0);
    done("dup", "-", -1, 0, path);
    CHECK(syscall(SYS_dup3, fd, copy, 0L) == copy);
    done("dup", "-", -1, 0, path);
    long all[3] = {copy, to, fd};
    for (int i = 0; i < 3; i++) {
        CHECK(syscall(SYS_close, all[i]) == 0);
        done("close", "-", -1, 0, i == 1 ? other : path);
    }
    CHECK(syscall(SYS_close, fd) == -1 && errno == EBADF);
    oplog_write();
    syscall(SYS_exit_group, 0L);
    return 1;
}
