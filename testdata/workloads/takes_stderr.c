/* Gives descriptor 2 to a data file. Usage: takes_stderr WAY DATA STDERR; STDERR is the file of standard error, if it is one.
 * Prints "before" on standard error, replaces descriptor 2 by WAY, writes "data" to it, does more I/O, and ends by
 * _exit(7), so that nothing else is closed. Ways: see main.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) _exit(9); } while (0)
#define FLAGS (O_CREAT | O_TRUNC | O_RDWR)

/* The read end of a pipe. */
enum { READER = 99 };

static int is(const char *way, const char *name) {
    return strcmp(way, name) == 0;
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    const char *way = argv[1], *data = argv[2];
    int of_pipe = is(way, "no_reader") || is(way, "no_room");
    if (of_pipe && strcmp(argv[3], "again") != 0) {
        /* Standard error is a pipe when the next program starts. */
        int ends[2];
        CHECK(pipe(ends) == 0 && dup2(ends[0], READER) == READER && dup2(ends[1], 2) == 2);
        close(ends[0]);
        close(ends[1]);
        execl(argv[0], argv[0], way, data, "again", NULL);
        _exit(8);
    }
    CHECK(write(2, "before\n", 7) == 7);
    int other = open("/dev/zero", O_RDWR);
    CHECK(other > 2);
    if (is(way, "open")) {
        close(2);
        CHECK(open(data, FLAGS, 0600) == 2);
    } else if (is(way, "openat")) {
        close(2);
        CHECK(openat(AT_FDCWD, data, FLAGS, 0600) == 2);
    } else if (is(way, "creat")) {
        close(2);
        CHECK(creat(data, 0600) == 2);
    } else if (is(way, "same_file")) {
        close(2);
        CHECK(open(argv[3], FLAGS) == 2);
    } else if (is(way, "dup")) {
        int fd = open(data, FLAGS, 0600);
        close(2);
        CHECK(dup(fd) == 2);
    } else if (is(way, "dup2")) {
        CHECK(dup2(open(data, FLAGS, 0600), 2) == 2);
    } else if (is(way, "dup3")) {
        CHECK(dup3(open(data, FLAGS, 0600), 2, O_CLOEXEC) == 2);
    } else if (is(way, "fcntl")) {
        int fd = open(data, FLAGS, 0600);
        close(2);
        CHECK(fcntl(fd, F_DUPFD, 0) == 2);
    } else if (is(way, "close_range")) {
        CHECK(syscall(SYS_close_range, 2, 2, 0) == 0);
        CHECK(open(data, FLAGS, 0600) == 2);
    } else if (is(way, "closefrom")) {
        closefrom(2);
        CHECK(open(data, FLAGS, 0600) == 2);
    } else if (is(way, "fclose")) {
        CHECK(fclose(stderr) == 0);
        CHECK(open(data, FLAGS, 0600) == 2);
    } else if (is(way, "fclose_fopen")) {
        CHECK(fclose(stderr) == 0);
        FILE *file = fopen(data, "w");
        CHECK(file && fileno(file) == 2);
    } else if (is(way, "freopen")) {
        CHECK(freopen(data, "w", stderr) && fileno(stderr) == 2);
    } else if (is(way, "freopen_same")) {
        CHECK(freopen(argv[3], "w", stderr) && fileno(stderr) == 2);
    } else if (is(way, "system_calls")) {
        syscall(SYS_close, 2);
        CHECK(syscall(SYS_openat, AT_FDCWD, data, FLAGS, 0600) == 2);
    } else if (is(way, "system_dup3")) {
        CHECK(syscall(SYS_dup3, open(data, FLAGS, 0600), 2, 0) == 2);
    } else if (is(way, "mkstemp")) {
        char name[4096];
        snprintf(name, sizeof name, "%s.XXXXXX", data);
        close(2);
        CHECK(mkstemp(name) == 2 && rename(name, data) == 0);
    } else if (is(way, "reused")) {
        /* A new file may reuse the inode number of the removed one. */
        CHECK(unlink(argv[3]) == 0 && close(2) == 0 && open("/dev/null", O_RDWR) == 2);
        CHECK(dup2(open(data, FLAGS, 0600), 2) == 2);
    } else if (is(way, "restored")) {
        int saved = dup(2), fd = open(data, FLAGS, 0600);
        CHECK(dup2(fd, 2) == 2 && write(2, "data\n", 5) == 5 && dup2(saved, 2) == 2);
    } else if (is(way, "restored_opened")) {
        int saved = dup(2);
        close(2);
        CHECK(open(data, FLAGS, 0600) == 2 && write(2, "data\n", 5) == 5 && dup2(saved, 2) == 2);
    } else if (is(way, "no_reader")) {
        CHECK(close(READER) == 0);
    } else if (is(way, "no_room")) {
        static char block[65536];
        int flags = fcntl(2, F_GETFL);
        CHECK(fcntl(2, F_SETFL, flags | O_NONBLOCK) == 0);
        while (write(2, block, sizeof block) > 0)
            ;
        while (write(2, block, 1) > 0)
            ;
        CHECK(fcntl(2, F_SETFL, flags) == 0);
    } else if (is(way, "limit")) {
        struct rlimit limit = {7, 7};
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    } else {
        CHECK(is(way, "kept"));
    }
    if (strncmp(way, "restored", 8) != 0 && !of_pipe && !is(way, "limit") && !is(way, "kept"))
        CHECK(write(2, "data\n", 5) == 5);
    /* closefrom(3) has closed it. */
    if (fcntl(other, F_GETFD) < 0)
        CHECK((other = open("/dev/zero", O_RDWR)) > 2);
    char byte;
    CHECK(pread(other, &byte, 1, 0) == 1);
    /* The tracer may print messages at a failing exec(3), and at the end. */
    execl("/no/such/program", "program", NULL);
    _exit(7);
}
