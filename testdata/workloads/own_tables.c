/* A thread with its own descriptor table replaces the files of numbers that the main thread uses. WAY, how it gets its table:
 *   unshare   unshare(2) with CLONE_FILES; syscall: by syscall(2)
 *   range     close_range(2) with CLOSE_RANGE_UNSHARE; cloexec: also with CLOSE_RANGE_CLOEXEC
 *   inherits  unshare, then a new thread, which shares that table
 *   alone     unshare(2) before there is a second thread: nothing changes
 *   later     close_range(2) with CLOSE_RANGE_CLOEXEC alone: nothing changes either
 * Usage: own_tables DIRECTORY (absolute, canonical, empty) WAY. Log: oplog.h, certain calls. Standard output: the thread's
 * uncertain calls and their bytes.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <linux/close_range.h>
#include <sched.h>
#include <stdint.h>

enum { ROUNDS = 500 };
static char paths[2][4200];
static int fds[2];
static long calls, bytes;
static const char *way;
static pthread_barrier_t together;

static void *writes(void *ignored) {
    (void)ignored;
    /* Swaps the two numbers, in this table only. */
    int spare = dup(fds[0]);
    CHECK(spare >= 0 && dup2(fds[1], fds[0]) == fds[0] && dup3(spare, fds[1], 0) == fds[1]);
    calls += 3;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(write(fds[i & 1], "thread", 6) == 6);
        CHECK(pwrite(fds[i & 1], "at", 2, 0) == 2);
        calls += 2;
        bytes += 8;
    }
    /* Closes them in this table only. */
    CHECK(close(fds[0]) == 0 && close(fds[1]) == 0);
    int opened = open(paths[1], O_RDWR | O_APPEND);
    CHECK(opened == fds[0] && write(opened, "opened", 6) == 6 && close(opened) == 0);
    calls += 5;
    bytes += 6;
    return NULL;
}

static void parts(void) {
    if (strcmp(way, "range") == 0) {
        CHECK(close_range(1000, 2000, CLOSE_RANGE_UNSHARE) == 0);
    } else if (strcmp(way, "cloexec") == 0) {
        CHECK(close_range(3, ~0u, CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC) == 0);
    } else if (strcmp(way, "syscall") == 0) {
        CHECK(syscall(SYS_unshare, CLONE_FILES) == 0);
    } else {
        CHECK(unshare(CLONE_FILES) == 0);
    }
}

static void *thread(void *ignored) {
    parts();
    if (strcmp(way, "inherits") == 0) {
        pthread_t child;
        CHECK(pthread_create(&child, NULL, writes, NULL) == 0 && pthread_join(child, NULL) == 0);
    } else {
        writes(ignored);
    }
    pthread_barrier_wait(&together);
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 3 && strlen(argv[1]) < 4000);
    way = argv[2];
    int changes = strcmp(way, "alone") != 0 && strcmp(way, "later") != 0;
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%d", argv[1], i);
        fds[i] = open(paths[i], O_RDWR | O_CREAT | O_APPEND, 0600);
        CHECK(fds[i] >= 0);
        op("POSIX", "open", "-", -1, 0, paths[i]);
    }
    pthread_t other;
    CHECK(pthread_barrier_init(&together, NULL, 2) == 0);
    if (changes) {
        CHECK(pthread_create(&other, NULL, thread, NULL) == 0);
        pthread_barrier_wait(&together);
    } else if (strcmp(way, "alone") == 0) {
        CHECK(unshare(CLONE_FILES) == 0);
    } else {
        CHECK(close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) == 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        long long at = raw_size(paths[i & 1]);
        CHECK(write(fds[i & 1], "main", 4) == 4);
        op("POSIX", "write", "-", at, 4, paths[i & 1]);
        raw_check(paths[i & 1], at, "main", 4);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(close(fds[i]) == 0);
        op("POSIX", "close", "-", -1, 0, paths[i]);
    }
    if (changes) {
        CHECK(pthread_join(other, NULL) == 0);
    }
    printf("%ld %ld\n", calls, bytes);
    oplog_write();
    return 0;
}
