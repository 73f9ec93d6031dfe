/* Threads that read and write, each its own file, and report progress through a pipe: a test kills them at any moment and
 * knows which calls must be recorded.
 * Usage: progress DIRECTORY THREADS CALLS. Thread t opens DIRECTORY/t<t>; its call i transfers 1 + (7 i + t) mod 500 bytes at
 * offset (4099 i) mod 2^20 and is a pread if i mod 3 is 2, else a pwrite. After each call (the open first) it writes two
 * 32-bit numbers to standard output: t, and the number of its completed calls.
 * Provenance: written for this project. */
#include "oplog.h"
#include <stdint.h>

static const char *dir;
static uint32_t calls;

static void tell(uint32_t thread, uint32_t completed) {
    uint32_t record[2] = {thread, completed};
    CHECK(raw_call(SYS_write, STDOUT_FILENO, record, sizeof record) == sizeof record);
}

static void *work(void *argument) {
    uint32_t t = (uint32_t)(uintptr_t)argument;
    char path[4200], data[512] = {0};
    snprintf(path, sizeof path, "%s/t%u", dir, t);
    int fd = open(path, O_CREAT | O_RDWR, 0644);
    CHECK(fd >= 0);
    tell(t, 1);
    for (uint32_t i = 0; i < calls; i++) {
        size_t length = 1 + (7 * i + t) % 500;
        off_t offset = 4099 * (off_t)i % (1 << 20);
        CHECK((i % 3 == 2 ? pread(fd, data, length, offset) : pwrite(fd, data, length, offset)) >= 0);
        tell(t, i + 2);
    }
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    dir = argv[1];
    uint32_t threads = (uint32_t)atoi(argv[2]);
    calls = (uint32_t)atol(argv[3]);
    pthread_t others[64];
    CHECK(threads >= 1 && threads <= 64);
    /* Extends the file, so that reads are never short. */
    for (uint32_t t = 0; t < threads; t++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/t%u", dir, t);
        long fd = raw_call(SYS_openat, AT_FDCWD, path, O_CREAT | O_RDWR, 0644);
        CHECK(fd >= 0 && raw_call(SYS_ftruncate, fd, (off_t)2 << 20) == 0 && raw_call(SYS_close, fd) == 0);
    }
    for (uint32_t t = 1; t < threads; t++) CHECK(pthread_create(&others[t], NULL, work, (void *)(uintptr_t)t) == 0);
    work(NULL);
    for (uint32_t t = 1; t < threads; t++) CHECK(pthread_join(others[t], NULL) == 0);
    return 0;
}
