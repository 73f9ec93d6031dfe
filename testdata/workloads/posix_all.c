/* Every POSIX data call that the tracer records, each with its 64-bit and fortified names, on files whose content
 * is checked; and directories, pipes, sockets, memory and failing calls, which must leave no segment.
 * Usage: posix_all DIRECTORY (absolute, canonical, empty). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* Fortified variants of open and read (_FORTIFY_SOURCE); called by name, so that every build uses them. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);
ssize_t __read_chk(int fd, void *buffer, size_t length, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t length, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t length, off64_t offset, size_t room);

static char dir[4096];
static char buffer[8192];
/* Expected final content of the main file. */
static char expected[65536];
/* Hides lengths and flags from the compiler, so that a fortified build checks at run time. */
static volatile size_t unknown_length = 512;
static volatile int unknown_flags = O_RDONLY;

static const char *in_dir(const char *name) {
    static char path[4][4200];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static void posix_op(const char *name, long long offset, long long length, const char *file) {
    op("POSIX", name, "-", offset, length, in_dir(file));
}

static void vectored(const char *name, long long offset, long long length, const char *file) {
    op("POSIX", name, "vectored", offset, length, in_dir(file));
}

/* Fills `length` bytes of the buffer with a unique pattern and notes their expected place in the main file. */
static const char *pattern(long long offset, size_t length) {
    static unsigned seed = 1;
    for (size_t i = 0; i < length; i++) {
        seed = seed * 1103515245u + 12345u;
        buffer[i] = (char)(seed >> 16);
    }
    memcpy(expected + offset, buffer, length);
    return buffer;
}

static int opened(int fd, const char *file) {
    CHECK(fd >= 0);
    posix_op("open", -1, 0, file);
    return fd;
}

static void closed(int fd, const char *file) {
    CHECK(close(fd) == 0);
    posix_op("close", -1, 0, file);
}

/* Every way to open; each descriptor then writes or reads a little, so that the tracer must know its file. */
static void ways_to_open(void) {
    int at = open(dir, O_RDONLY | O_DIRECTORY);
    CHECK(at >= 0);
    int fds[8];
    fds[0] = opened(open(in_dir("o0"), O_CREAT | O_RDWR, 0644), "o0");
    fds[1] = opened(open64(in_dir("o1"), O_CREAT | O_RDWR, 0644), "o1");
    fds[2] = opened(openat(at, "o2", O_CREAT | O_RDWR, 0644), "o2");
    fds[3] = opened(openat64(at, "o3", O_CREAT | O_RDWR, 0644), "o3");
    fds[4] = opened(creat(in_dir("o4"), 0644), "o4");
    fds[5] = opened(creat64(in_dir("o5"), 0644), "o5");
    CHECK(chdir(dir) == 0);
    fds[6] = opened(open("o6", O_CREAT | O_WRONLY | O_TRUNC, 0600), "o6");
    fds[7] = opened(openat(AT_FDCWD, "./o7", O_CREAT | O_WRONLY | O_EXCL, 0600), "o7");
    for (int i = 0; i < 8; i++) {
        char file[3] = {'o', (char)('0' + i), 0};
        CHECK(write(fds[i], "0123456789", (size_t)(i + 1)) == i + 1);
        posix_op("write", 0, i + 1, file);
        closed(fds[i], file);
        raw_check(in_dir(file), 0, "0123456789", (size_t)(i + 1));
    }
    fds[0] = opened(__open_2(in_dir("o3"), unknown_flags), "o3");
    fds[1] = opened(__open64_2(in_dir("o3"), unknown_flags), "o3");
    fds[2] = opened(__openat_2(at, "o3", unknown_flags), "o3");
    fds[3] = opened(__openat64_2(at, "o3", unknown_flags), "o3");
    fds[4] = opened(open(in_dir("o3"), unknown_flags), "o3");
    fds[5] = opened(openat(at, "../o3" + 3, unknown_flags), "o3");
    for (int i = 0; i < 6; i++) {
        CHECK(read(fds[i], buffer, 3) == 3 && memcmp(buffer, "012", 3) == 0);
        posix_op("read", 0, 3, "o3");
        closed(fds[i], "o3");
    }
    /* One file opened by a symbolic link and through "..": one name in the trace. */
    CHECK(symlink("o2", "link") == 0 && mkdir("sub", 0755) == 0);
    posix_op("mkdir", -1, 0, "sub");
    fds[0] = opened(open("link", O_RDONLY), "o2");
    fds[1] = opened(open("sub/../o2", O_RDONLY), "o2");
    CHECK(pread(fds[0], buffer, 2, 1) == 2);
    posix_op("read", 1, 2, "o2");
    closed(fds[0], "o2");
    closed(fds[1], "o2");
    CHECK(close(at) == 0);
}

/* Every way to write: positional, sequential, vectored; offsets and positions must come out right. */
static void ways_to_write(int fd) {
    struct iovec two[2] = {{buffer, 300}, {buffer + 300, 212}};
    long long at = 0;
    CHECK(write(fd, pattern(at, 1000), 1000) == 1000);
    posix_op("write", at, 1000, "main");
    at += 1000;
    CHECK(write(fd, pattern(at, 24), 24) == 24);
    posix_op("write", at, 24, "main");
    at += 24;
    pattern(at, 512);
    CHECK(writev(fd, two, 2) == 512);
    vectored("write", at, 512, "main");
    at += 512;
    CHECK(pwrite(fd, pattern(4096, 100), 100, 4096) == 100);
    posix_op("write", 4096, 100, "main");
    CHECK(pwrite64(fd, pattern(8192, 4096), 4096, 8192) == 4096);
    posix_op("write", 8192, 4096, "main");
    pattern(16384, 512);
    CHECK(pwritev(fd, two, 2, 16384) == 512);
    vectored("write", 16384, 512, "main");
    pattern(16384 + 512, 512);
    CHECK(pwritev64(fd, two, 2, 16384 + 512) == 512);
    vectored("write", 16384 + 512, 512, "main");
    pattern(20000, 300);
    CHECK(pwritev2(fd, two, 1, 20000, 0) == 300);
    vectored("write", 20000, 300, "main");
    pattern(21000, 512);
    CHECK(pwritev64v2(fd, two, 2, 21000, 0) == 512);
    vectored("write", 21000, 512, "main");
    /* Offset -1 means: at the position, and move it. */
    pattern(at, 512);
    CHECK(pwritev2(fd, two, 2, -1, 0) == 512);
    vectored("write", at, 512, "main");
    at += 512;
    CHECK(lseek(fd, 0, SEEK_CUR) == at);
    posix_op("seek", at, 0, "main");
    CHECK(lseek(fd, 30000, SEEK_SET) == 30000);
    posix_op("seek", 30000, 0, "main");
    CHECK(write(fd, pattern(30000, 7), 7) == 7);
    posix_op("write", 30000, 7, "main");
    CHECK(lseek64(fd, -1007, SEEK_CUR) == 29000);
    posix_op("seek", 29000, 0, "main");
    CHECK(write(fd, pattern(29000, 1), 1) == 1);
    posix_op("write", 29000, 1, "main");
    CHECK(lseek64(fd, -7, SEEK_END) == 30000);
    posix_op("seek", 30000, 0, "main");
    CHECK(write(fd, pattern(30000, 100), 100) == 100);
    posix_op("write", 30000, 100, "main");
    CHECK(write(fd, buffer, 0) == 0);
    posix_op("write", 30100, 0, "main");
    CHECK(fsync(fd) == 0);
    posix_op("sync", -1, 0, "main");
    CHECK(fdatasync(fd) == 0);
    posix_op("fdatasync", -1, 0, "main");
}

static void ways_to_read(int fd) {
    struct iovec two[2] = {{buffer, 300}, {buffer + 300, 212}};
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    posix_op("seek", 0, 0, "main");
    CHECK(read(fd, buffer, 1000) == 1000 && memcmp(buffer, expected, 1000) == 0);
    posix_op("read", 0, 1000, "main");
    CHECK(readv(fd, two, 2) == 512 && memcmp(buffer, expected + 1000, 512) == 0);
    vectored("read", 1000, 512, "main");
    CHECK(read(fd, buffer, unknown_length) == 512 && memcmp(buffer, expected + 1512, 512) == 0);
    posix_op("read", 1512, 512, "main");
    CHECK(__read_chk(fd, buffer, 100, sizeof buffer) == 100 && memcmp(buffer, expected + 2024, 100) == 0);
    posix_op("read", 2024, 100, "main");
    CHECK(pread(fd, buffer, unknown_length, 8192) == 512 && memcmp(buffer, expected + 8192, 512) == 0);
    posix_op("read", 8192, 512, "main");
    CHECK(pread64(fd, buffer, unknown_length, 8192) == 512 && memcmp(buffer, expected + 8192, 512) == 0);
    posix_op("read", 8192, 512, "main");
    CHECK(__pread_chk(fd, buffer, 10, 9000, sizeof buffer) == 10 && memcmp(buffer, expected + 9000, 10) == 0);
    posix_op("read", 9000, 10, "main");
    CHECK(__pread64_chk(fd, buffer, 11, 9010, sizeof buffer) == 11 && memcmp(buffer, expected + 9010, 11) == 0);
    posix_op("read", 9010, 11, "main");
    CHECK(preadv(fd, two, 2, 16384) == 512 && memcmp(buffer, expected + 16384, 512) == 0);
    vectored("read", 16384, 512, "main");
    CHECK(preadv64(fd, two, 2, 16896) == 512 && memcmp(buffer, expected + 16896, 512) == 0);
    vectored("read", 16896, 512, "main");
    CHECK(preadv2(fd, two, 2, 21000, 0) == 512 && memcmp(buffer, expected + 21000, 512) == 0);
    vectored("read", 21000, 512, "main");
    CHECK(preadv64v2(fd, two, 1, 20000, 0) == 300 && memcmp(buffer, expected + 20000, 300) == 0);
    vectored("read", 20000, 300, "main");
    CHECK(preadv2(fd, two, 1, -1, 0) == 300);
    vectored("read", 2124, 300, "main");
    /* At the end of the file, the bytes transferred count, not those requested. */
    CHECK(pread(fd, buffer, 4096, 30000) == 100 && memcmp(buffer, expected + 30000, 100) == 0);
    posix_op("read", 30000, 100, "main");
    CHECK(pread(fd, buffer, 4096, 1 << 20) == 0);
    posix_op("read", 1 << 20, 0, "main");
    CHECK(lseek(fd, -50, SEEK_END) == 30050);
    posix_op("seek", 30050, 0, "main");
    CHECK(read(fd, buffer, sizeof buffer) == 50);
    posix_op("read", 30050, 50, "main");
    CHECK(read(fd, buffer, sizeof buffer) == 0);
    posix_op("read", 30100, 0, "main");
}

/* Duplicated descriptors share their position; a second open of the same file does not. */
static void duplicates(int fd) {
    int other = opened(open(in_dir("main"), O_RDONLY), "main");
    CHECK(lseek(fd, 100, SEEK_SET) == 100);
    posix_op("seek", 100, 0, "main");
    int copies[5];
    copies[0] = dup(fd);
    CHECK(copies[0] >= 0);
    posix_op("dup", -1, 0, "main");
    copies[1] = dup2(fd, 200);
    CHECK(copies[1] == 200);
    posix_op("dup", -1, 0, "main");
    copies[2] = dup3(fd, 201, O_CLOEXEC);
    CHECK(copies[2] == 201);
    posix_op("dup", -1, 0, "main");
    copies[3] = fcntl(fd, F_DUPFD, 202);
    CHECK(copies[3] == 202);
    posix_op("dup", -1, 0, "main");
    copies[4] = fcntl(fd, F_DUPFD_CLOEXEC, 203);
    CHECK(copies[4] == 203);
    posix_op("dup", -1, 0, "main");
    long long at = 100;
    for (int i = 0; i < 5; i++) {
        CHECK(read(copies[i], buffer, 10) == 10 && memcmp(buffer, expected + at, 10) == 0);
        posix_op("read", at, 10, "main");
        at += 10;
    }
    CHECK(read(other, buffer, 20) == 20 && memcmp(buffer, expected, 20) == 0);
    posix_op("read", 0, 20, "main");
    /* dup2 onto an open descriptor of another file: the number now means the other file. */
    CHECK(dup2(copies[0], other) == other);
    posix_op("dup", -1, 0, "main");
    CHECK(read(other, buffer, 20) == 20 && memcmp(buffer, expected + at, 20) == 0);
    posix_op("read", at, 20, "main");
    at += 20;
    for (int i = 0; i < 5; i++) {
        closed(copies[i], "main");
    }
    CHECK(read(fd, buffer, 5) == 5 && memcmp(buffer, expected + at, 5) == 0);
    posix_op("read", at, 5, "main");
    closed(other, "main");
}

/* With O_APPEND a write begins at the end of the file, regardless of the position. */
static void append(void) {
    int fd = opened(open(in_dir("log"), O_CREAT | O_RDWR | O_APPEND, 0644), "log");
    int writer = opened(open(in_dir("log"), O_WRONLY), "log");
    CHECK(write(fd, "aaaa", 4) == 4);
    posix_op("write", 0, 4, "log");
    CHECK(pwrite(writer, "bbbbbbbb", 8, 4) == 8);
    posix_op("write", 4, 8, "log");
    CHECK(write(fd, "cc", 2) == 2);
    posix_op("write", 12, 2, "log");
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    posix_op("seek", 0, 0, "log");
    CHECK(read(fd, buffer, 3) == 3);
    posix_op("read", 0, 3, "log");
    struct iovec one = {(void *)"ddd", 3};
    CHECK(writev(fd, &one, 1) == 3);
    vectored("write", 14, 3, "log");
    CHECK(read(fd, buffer, 10) == 0);
    posix_op("read", 17, 0, "log");
    /* Linux appends in pwrite too, whatever the offset says (pwrite(2), BUGS). */
    CHECK(pwrite(fd, "ee", 2, 0) == 2);
    posix_op("write", 17, 2, "log");
    CHECK(pwritev2(writer, &one, 1, 0, RWF_APPEND) == 3);
    vectored("write", 19, 3, "log");
    closed(writer, "log");
    closed(fd, "log");
    raw_check(in_dir("log"), 0, "aaaabbbbbbbbccdddeeddd", 22);
}

/* A reused number must mean the new file. */
static void reuse(void) {
    for (int i = 0; i < 20; i++) {
        char file[3] = {'r', (char)('a' + i), 0};
        int fd = opened(open(in_dir(file), O_CREAT | O_RDWR, 0644), file);
        CHECK(write(fd, file, 2) == 2);
        posix_op("write", 0, 2, file);
        closed(fd, file);
    }
}

/* A file keeps the name by which it was opened, also after it is renamed or removed. */
static void removed(void) {
    int fd = opened(open(in_dir("gone"), O_CREAT | O_RDWR, 0644), "gone");
    CHECK(unlink(in_dir("gone")) == 0);
    posix_op("unlink", -1, 0, "gone");
    CHECK(write(fd, "still here", 10) == 10);
    posix_op("write", 0, 10, "gone");
    closed(fd, "gone");
}

/* None of this is an operation on a file. */
static void not_traced(void) {
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1 && read(ends[0], buffer, 1) == 1);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(write(ends[1], "xy", 2) == 2 && read(ends[0], buffer, 2) == 2);
    int copy = dup(ends[0]);
    CHECK(copy >= 0 && close(copy) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
    DIR *list = opendir(dir);
    op("POSIX", "opendir", "-", -1, 0, dir);
    CHECK(list != NULL && readdir(list) != NULL && closedir(list) == 0);
    int null = open("/dev/null", O_WRONLY);
    CHECK(null >= 0 && write(null, "x", 1) == 1 && close(null) == 0);
    int self = open("/proc/self/stat", O_RDONLY);
    CHECK(self >= 0 && read(self, buffer, 10) == 10 && close(self) == 0);
    /* Failing calls. */
    CHECK(open(in_dir("missing"), O_RDONLY) == -1 && errno == ENOENT);
    CHECK(read(-1, buffer, 1) == -1 && errno == EBADF);
    CHECK(close(999) == -1 && errno == EBADF);
    CHECK(pwrite(998, buffer, 1, 0) == -1 && errno == EBADF);
    CHECK(lseek(-1, 0, SEEK_SET) == -1 && errno == EBADF);
    CHECK(dup(-1) == -1 && errno == EBADF);
    CHECK(fsync(-1) == -1 && errno == EBADF);
}

/* A character device has no offset if the call has none. */
static void device(void) {
    int fd = open("/dev/zero", O_RDWR);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, "/dev/zero");
    CHECK(read(fd, buffer, 100) == 100);
    op("POSIX", "read", "-", -1, 100, "/dev/zero");
    CHECK(pwrite(fd, buffer, 50, 4096) == 50);
    op("POSIX", "write", "-", 4096, 50, "/dev/zero");
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, "/dev/zero");
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    ways_to_open();
    int fd = opened(open(in_dir("main"), O_CREAT | O_RDWR | O_TRUNC, 0644), "main");
    ways_to_write(fd);
    ways_to_read(fd);
    raw_check(in_dir("main"), 0, expected, 30100);
    CHECK(raw_size(in_dir("main")) == 30100);
    duplicates(fd);
    closed(fd, "main");
    append();
    reuse();
    removed();
    not_traced();
    device();
    oplog_write();
    return 0;
}
