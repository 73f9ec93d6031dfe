/* Threads that do I/O at once: on descriptors of their own, with pwrite and pread on one descriptor, and with write and
 * read on one descriptor whose position they share. For the last, every record has the thread and a sequence number,
 * so that the file's content gives the offset of each call; the log is made from this.
 * Usage: threads DIRECTORY [THREADS [RECORDS]]. Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <stdint.h>

enum { MOST_THREADS = 64, LONGEST = 512, READ_LENGTH = 128 };

struct record {
    uint32_t thread, sequence, length, mark;
};

static char dir[4096], shared_path[4200], slots_path[4200], source_path[4200];
static int threads = 4, records = 200;
static int shared_fd, slots_fd, source_fd;
static long tids[MOST_THREADS];
/* Offset of each record of each thread in the shared file; offsets at which each thread has read. */
static long long *where;
static pthread_barrier_t together;

/* Lengths differ between threads and records, so that a wrong order shows in the offsets. */
static uint32_t length_of(int thread, int sequence) {
    return (uint32_t)sizeof(struct record) + (uint32_t)((thread * 37 + sequence * 11) % (LONGEST - 16));
}

static void own_file(int thread) {
    char path[4300], block[LONGEST] = {0};
    snprintf(path, sizeof path, "%s/own.%d", dir, thread);
    int fd = open(path, O_CREAT | O_RDWR, 0644);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    long long at = 0;
    for (int i = 0; i < records; i++) {
        uint32_t length = length_of(thread, i);
        memset(block, 'a' + thread % 26, length);
        CHECK(write(fd, block, length) == (ssize_t)length);
        op("POSIX", "write", "-", at, length, path);
        at += length;
    }
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    op("POSIX", "seek", "-", 0, 0, path);
    for (long long done = 0; done < at;) {
        ssize_t got = read(fd, block, 300);
        CHECK(got > 0 && block[0] == 'a' + thread % 26);
        op("POSIX", "read", "-", done, got, path);
        done += got;
    }
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
}

static void slots(int thread) {
    char block[64];
    for (int i = 0; i < records; i++) {
        long long at = ((long long)i * threads + thread) * 64;
        memset(block, 'A' + thread % 26, sizeof block);
        CHECK(pwrite(slots_fd, block, sizeof block, at) == 64);
        op("POSIX", "write", "-", at, 64, slots_path);
        CHECK(pread(slots_fd, block, sizeof block, at) == 64 && block[63] == 'A' + thread % 26);
        op("POSIX", "read", "-", at, 64, slots_path);
    }
}

static void shared_writes(int thread) {
    union {
        struct record head;
        char bytes[LONGEST];
    } block;
    memset(&block, 0, sizeof block);
    for (int i = 0; i < records; i++) {
        uint32_t length = length_of(thread, i);
        block.head = (struct record){(uint32_t)thread, (uint32_t)i, length, 0xd47ace55};
        CHECK(write(shared_fd, block.bytes, length) == (ssize_t)length);
    }
}

/* Reads at the shared position; the content of the source file gives the offset. */
static void shared_reads(int thread) {
    uint64_t block[READ_LENGTH / 8];
    for (;;) {
        ssize_t got = read(source_fd, block, sizeof block);
        CHECK(got == 0 || (got == READ_LENGTH && block[0] % READ_LENGTH == 0));
        if (got == 0) {
            break;
        }
        op_of(tids[thread], "POSIX", "read", "-", (long long)block[0], got, source_path);
    }
    op_of(tids[thread], "POSIX", "read", "-", (long long)threads * records * READ_LENGTH, 0, source_path);
}

static void *run(void *argument) {
    int thread = (int)(intptr_t)argument;
    tids[thread] = own_tid();
    own_file(thread);
    pthread_barrier_wait(&together);
    slots(thread);
    pthread_barrier_wait(&together);
    shared_writes(thread);
    pthread_barrier_wait(&together);
    shared_reads(thread);
    return NULL;
}

/* Reads the shared file by raw system calls and finds every record in it. */
static void find_records(void) {
    long long size = raw_size(shared_path), at = 0;
    char *content = malloc((size_t)size + sizeof(struct record));
    long fd = raw_call(SYS_openat, AT_FDCWD, shared_path, O_RDONLY, 0);
    CHECK(content != NULL && fd >= 0);
    for (long long done = 0; done < size;) {
        long got = raw_call(SYS_pread64, fd, content + done, size - done, done);
        CHECK(got > 0);
        done += got;
    }
    raw_call(SYS_close, fd);
    while (at < size) {
        struct record head;
        memcpy(&head, content + at, sizeof head);
        CHECK(head.mark == 0xd47ace55 && head.thread < (uint32_t)threads && head.sequence < (uint32_t)records);
        CHECK(head.length == length_of((int)head.thread, (int)head.sequence));
        CHECK(where[head.thread * (uint32_t)records + head.sequence] == -1);
        where[head.thread * (uint32_t)records + head.sequence] = at;
        at += head.length;
    }
    CHECK(at == size);
    for (int i = 0; i < threads * records; i++) {
        CHECK(where[i] >= 0);
        op_of(tids[i / records], "POSIX", "write", "-", where[i], length_of(i / records, i % records), shared_path);
    }
    free(content);
}

/* Fills the source file, by raw system calls, with blocks that begin with their own offset. */
static void make_source(void) {
    long fd = raw_call(SYS_openat, AT_FDCWD, source_path, O_CREAT | O_WRONLY, 0644);
    CHECK(fd >= 0);
    for (long long i = 0; i < (long long)threads * records; i++) {
        uint64_t block[READ_LENGTH / 8] = {(uint64_t)(i * READ_LENGTH)};
        CHECK(raw_call(SYS_write, fd, block, sizeof block) == READ_LENGTH);
    }
    raw_call(SYS_close, fd);
}

int main(int argc, char **argv) {
    CHECK(argc >= 2 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    threads = argc > 2 ? atoi(argv[2]) : threads;
    records = argc > 3 ? atoi(argv[3]) : records;
    CHECK(threads > 0 && threads <= MOST_THREADS && records > 0);
    where = malloc(sizeof *where * (size_t)(threads * records));
    CHECK(where != NULL);
    memset(where, 0xff, sizeof *where * (size_t)(threads * records));
    snprintf(shared_path, sizeof shared_path, "%s/shared", dir);
    snprintf(slots_path, sizeof slots_path, "%s/slots", dir);
    snprintf(source_path, sizeof source_path, "%s/source", dir);
    make_source();
    CHECK((shared_fd = open(shared_path, O_CREAT | O_RDWR, 0644)) >= 0);
    op("POSIX", "open", "-", -1, 0, shared_path);
    CHECK((slots_fd = open(slots_path, O_CREAT | O_RDWR, 0644)) >= 0);
    op("POSIX", "open", "-", -1, 0, slots_path);
    CHECK((source_fd = open(source_path, O_RDONLY)) >= 0);
    op("POSIX", "open", "-", -1, 0, source_path);
    pthread_t handles[MOST_THREADS];
    CHECK(pthread_barrier_init(&together, NULL, (unsigned)threads) == 0);
    for (int i = 0; i < threads; i++) {
        CHECK(pthread_create(&handles[i], NULL, run, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < threads; i++) {
        CHECK(pthread_join(handles[i], NULL) == 0);
    }
    find_records();
    CHECK(close(shared_fd) == 0);
    op("POSIX", "close", "-", -1, 0, shared_path);
    CHECK(close(slots_fd) == 0);
    op("POSIX", "close", "-", -1, 0, slots_path);
    CHECK(close(source_fd) == 0);
    op("POSIX", "close", "-", -1, 0, source_path);
    oplog_write();
    return 0;
}
