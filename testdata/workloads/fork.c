/* Processes: children that write through a descriptor they inherited and to a file of their own, children that exec this
 * program again (after fork, after vfork, by posix_spawn), several processes that append to one file, a child that moves
 * the position it shares with its parent, and a child that ends without any I/O. Every process logs its own operations.
 * Usage: fork DIRECTORY. Log: oplog.h (set OPLOG: each process has its own file).
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>

enum { CHILDREN = 3, RECORDS = 50 };

extern char **environ;
static char dir[4096];

static const char *in_dir(const char *name, int number) {
    static char path[4200];
    snprintf(path, sizeof path, "%s/%s%d", dir, name, number);
    return path;
}

static void write_file(const char *path, int count) {
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    for (int i = 0; i < count; i++) {
        CHECK(write(fd, &i, sizeof i) == sizeof i);
        op("POSIX", "write", "-", i * (long long)sizeof i, sizeof i, path);
    }
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
}

/* Appends records, of 16 bytes, beside other processes; finds their places from the file's content. */
static void append_records(int number) {
    const char *path = in_dir("append", 0);
    uint64_t record[2] = {(uint64_t)number, 0};
    int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0644);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    for (int i = 0; i < RECORDS; i++) {
        record[1] = (uint64_t)i;
        CHECK(write(fd, record, sizeof record) == sizeof record);
    }
    long raw = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
    long long at = 0;
    int found = 0;
    while (found < RECORDS && raw_call(SYS_pread64, raw, record, sizeof record, at) == sizeof record) {
        if (record[0] == (uint64_t)number) {
            CHECK(record[1] == (uint64_t)found);
            op("POSIX", "write", "-", at, sizeof record, path);
            found++;
        }
        at += (long long)sizeof record;
    }
    CHECK(found == RECORDS);
    raw_call(SYS_close, raw);
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
}

static void child(int number, int inherited) {
    const char *path = in_dir("inherited", 0);
    char block[100];
    oplog_forget();
    memset(block, 'a' + number, sizeof block);
    CHECK(pwrite(inherited, block, sizeof block, 100LL * number) == 100);
    op("POSIX", "write", "-", 100LL * number, 100, path);
    write_file(in_dir("own", number), 10 + number);
    append_records(number);
    oplog_write();
    if (number == 0) {
        _exit(10);
    }
    exit(10 + number);
}

static void await(pid_t pid, int code) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

int main(int argc, char **argv) {
    CHECK(argc >= 2 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    if (argc == 3) {
        write_file(in_dir("exec", atoi(argv[2])), 20);
        oplog_write();
        return 20;
    }
    char path[4200];
    snprintf(path, sizeof path, "%s", in_dir("inherited", 0));
    int inherited = open(path, O_CREAT | O_RDWR, 0644);
    CHECK(inherited >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    CHECK(write(inherited, "parent", 6) == 6);
    op("POSIX", "write", "-", 0, 6, path);
    pid_t pids[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        CHECK((pids[i] = fork()) >= 0);
        if (pids[i] == 0) {
            child(i, inherited);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        await(pids[i], 10 + i);
    }
    char *again[][4] = {{argv[0], argv[1], "1", NULL}, {argv[0], argv[1], "2", NULL}, {argv[0], argv[1], "3", NULL}};
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[0], again[0]);
        _exit(98);
    }
    await(pid, 20);
    pid = vfork();
    if (pid == 0) {
        execve(argv[0], again[1], environ);
        _exit(98);
    }
    await(pid, 20);
    CHECK(posix_spawn(&pid, argv[0], NULL, NULL, again[2], environ) == 0);
    await(pid, 20);
    pid = vfork();
    if (pid == 0) {
        _exit(21);
    }
    await(pid, 21);
    pid = fork();
    if (pid == 0) {
        _exit(22);
    }
    await(pid, 22);
    /* The children's writes had offsets: the shared position is unchanged. */
    CHECK(write(inherited, "after", 5) == 5);
    op("POSIX", "write", "-", 6, 5, path);
    /* A child that moves the shared position moves it for its parent, too. */
    pid = fork();
    if (pid == 0) {
        oplog_forget();
        CHECK(write(inherited, "child's", 7) == 7);
        op("POSIX", "write", "-", 11, 7, path);
        CHECK(lseek(inherited, 1000, SEEK_SET) == 1000);
        op("POSIX", "seek", "-", 1000, 0, path);
        oplog_write();
        exit(23);
    }
    await(pid, 23);
    CHECK(write(inherited, "parent's", 8) == 8);
    op("POSIX", "write", "-", 1000, 8, path);
    CHECK(close(inherited) == 0);
    op("POSIX", "close", "-", -1, 0, path);
    CHECK(raw_size(in_dir("append", 0)) == CHILDREN * RECORDS * 16 && raw_size(path) == 1008);
    oplog_write();
    return 0;
}
