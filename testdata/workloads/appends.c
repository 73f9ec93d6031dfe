/* Writes without an explicit offset: appended regardless of the offset, at the position with or without moving it; and, with "shared",
 * by processes that share an open file description.
 * Usage: appends DIRECTORY [shared] (absolute, canonical, empty). Log: oplog.h, with the places of the bytes if the process writes alone.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20
#endif

static char path[4200];

static void wrote(const char *mode, long long offset, const char *bytes, ssize_t length) {
    CHECK(length == (ssize_t)strlen(bytes));
    op("POSIX", "write", mode, offset, length, path);
    raw_check(path, offset, bytes, (size_t)length);
}

static ssize_t put(int fd, const char *bytes, off_t offset, int flags) {
    struct iovec piece = {(void *)(uintptr_t)bytes, strlen(bytes)};
    return pwritev2(fd, &piece, 1, offset, flags);
}

static void got(int fd, long long offset, int flags) {
    char byte;
    struct iovec piece = {&byte, 1};
    CHECK(preadv2(fd, &piece, 1, offset, flags) == 1);
}

static void alone(const char *directory) {
    snprintf(path, sizeof path, "%s/alone", directory);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    wrote("-", 0, "0123456789", write(fd, "0123456789", 10));
    CHECK(lseek(fd, 2, SEEK_SET) == 2);
    op("POSIX", "seek", "-", 2, 0, path);
    /* Appends and moves the position behind the write. */
    wrote("vectored", 10, "abc", put(fd, "abc", -1, RWF_APPEND));
    wrote("-", 13, "de", write(fd, "de", 2));
    wrote("vectored", 15, "fg", put(fd, "fg", -1, 0));
    /* Appends without moving the position. */
    CHECK(lseek(fd, 3, SEEK_SET) == 3);
    op("POSIX", "seek", "-", 3, 0, path);
    wrote("vectored", 17, "hi", put(fd, "hi", 5, RWF_APPEND));
    wrote("-", 3, "X", write(fd, "X", 1));
    /* Reads do not append. */
    got(fd, 7, RWF_APPEND);
    op("POSIX", "read", "vectored", 7, 1, path);
    got(fd, -1, RWF_APPEND);
    op("POSIX", "read", "vectored", 4, 1, path);
    wrote("-", 5, "Y", write(fd, "Y", 1));
    CHECK(fcntl(fd, F_SETFL, O_APPEND) == 0);
    wrote("-", 19, "jk", pwrite(fd, "jk", 2, 1));
    wrote("-", 21, "lm", write(fd, "lm", 2));
    wrote("vectored", 23, "no", put(fd, "no", 0, 0));
    wrote("vectored", 25, "pq", put(fd, "pq", -1, 0));
    if (put(fd, "rs", 1, RWF_NOAPPEND) == 2) {
        wrote("vectored", 1, "rs", 2);
        wrote("vectored", 27, "tu", put(fd, "tu", -1, RWF_NOAPPEND));
        CHECK(lseek(fd, 4, SEEK_SET) == 4);
        op("POSIX", "seek", "-", 4, 0, path);
        wrote("vectored", 4, "vw", put(fd, "vw", -1, RWF_NOAPPEND));
    }
    CHECK(fcntl(fd, F_SETFL, 0) == 0);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    op("POSIX", "seek", "-", 0, 0, path);
    wrote("-", 0, "z", write(fd, "z", 1));
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
}

static void shared(const char *directory) {
    for (int append = 0; append < 2; append++) {
        snprintf(path, sizeof path, "%s/shared%d", directory, append);
        int fd = open(path, O_WRONLY | O_CREAT | (append ? O_APPEND : 0), 0600);
        CHECK(fd >= 0 && write(fd, "first...", 8) == 8);
        pid_t child = fork();
        for (int i = 0; i < 500; i++) {
            CHECK(write(fd, "shared..", 8) == 8);
        }
        if (child == 0) {
            _exit(0);
        }
        CHECK(waitpid(child, NULL, 0) == child && close(fd) == 0);
    }
    /* Not shared: each process opens the file. */
    snprintf(path, sizeof path, "%s/each", directory);
    pid_t child = fork();
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int i = 0; i < 500; i++) {
        CHECK(write(fd, "shared..", 8) == 8);
    }
    if (child == 0) {
        _exit(0);
    }
    CHECK(waitpid(child, NULL, 0) == child && close(fd) == 0);
}

/* Opens a file at a depth beyond PATH_MAX, one directory at a time. */
static void deep(const char *directory) {
    char part[201];
    memset(part, 'd', 200);
    part[200] = 0;
    int at = open(directory, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 30; i++) {
        CHECK(mkdirat(at, part, 0700) == 0);
        int next = openat(at, part, O_RDONLY | O_DIRECTORY);
        CHECK(next >= 0 && close(at) == 0);
        at = next;
    }
    for (int way = 0; way < 2; way++) {
        CHECK(way == 0 || fchdir(at) == 0);
        int fd = way == 0 ? openat(at, "file", O_RDWR | O_CREAT, 0600) : open("file", O_RDWR);
        CHECK(fd >= 0 && write(fd, "deep", 4) == 4 && close(fd) == 0);
    }
    CHECK(chdir("/") == 0);
    close(at);
}

int main(int argc, char **argv) {
    CHECK(argc >= 2 && strlen(argv[1]) < 4000);
    if (argc == 2) {
        alone(argv[1]);
    } else if (strcmp(argv[2], "shared") == 0) {
        shared(argv[1]);
    } else {
        deep(argv[1]);
    }
    oplog_write();
    return 0;
}
