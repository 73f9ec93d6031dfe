/* io_uring by raw system calls and the program's own mappings: operations in queues that wrap many times, registered files, entries
 * submitted by machine code, invisible to the tracer, and a ring that is still open at the end.
 * Usage: uring_raw DIRECTORY (absolute, canonical, empty). Log: oplog.h. Exit code 77, with a message, if the
 * kernel refuses to make a ring.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <linux/io_uring.h>
#include <sys/mman.h>

static char path[4200];
static char bytes[4096];

static struct ring {
    long fd;
    struct io_uring_params about;
    char *memory;
    struct io_uring_sqe *entries;
    size_t memory_bytes, entry_bytes;
} rings[2];

static unsigned *word(struct ring *ring, unsigned offset) { return (unsigned *)(ring->memory + offset); }

static int set_up(struct ring *ring, unsigned entries, unsigned flags) {
    memset(&ring->about, 0, sizeof ring->about);
    ring->about.flags = flags;
    ring->fd = syscall(SYS_io_uring_setup, (long)entries, &ring->about);
    if (ring->fd < 0) {
        return -errno;
    }
    CHECK(ring->about.features & IORING_FEAT_SINGLE_MMAP);
    ring->memory_bytes =
        ring->about.cq_off.cqes + ring->about.cq_entries * sizeof(struct io_uring_cqe) + ring->about.sq_entries * 4;
    ring->entry_bytes = ring->about.sq_entries * sizeof(struct io_uring_sqe);
    ring->memory = mmap(NULL, ring->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, (int)ring->fd,
                        IORING_OFF_SQ_RING);
    ring->entries = mmap(NULL, ring->entry_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, (int)ring->fd,
                         IORING_OFF_SQES);
    CHECK(ring->memory != MAP_FAILED && ring->entries != MAP_FAILED);
    return 0;
}

static void tear_down(struct ring *ring) {
    CHECK(munmap(ring->memory, ring->memory_bytes) == 0 && munmap(ring->entries, ring->entry_bytes) == 0);
    CHECK(syscall(SYS_close, ring->fd) == 0);
    /* No mapping of the ring may be left in the address space. */
    char line[400];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        CHECK(strstr(line, "io_uring") == NULL);
    }
    CHECK(maps != NULL && fclose(maps) == 0);
}

/* Puts an entry into the queue, at an index other than the tail's. */
static void put(struct ring *ring, const struct io_uring_sqe *entry) {
    unsigned *tail = word(ring, ring->about.sq_off.tail), mask = ring->about.sq_entries - 1;
    unsigned place = (*tail + 3) & mask;
    ring->entries[place] = *entry;
    word(ring, ring->about.sq_off.array)[*tail & mask] = place;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
}

/* Takes a completion, waiting for it if necessary. */
static struct io_uring_cqe take(struct ring *ring) {
    unsigned *head = word(ring, ring->about.cq_off.head);
    while (__atomic_load_n(word(ring, ring->about.cq_off.tail), __ATOMIC_ACQUIRE) == *head) {
        CHECK(syscall(SYS_io_uring_enter, ring->fd, 0L, 1L, (long)IORING_ENTER_GETEVENTS, NULL, 0L) == 0);
    }
    struct io_uring_cqe *all = (struct io_uring_cqe *)(ring->memory + ring->about.cq_off.cqes);
    struct io_uring_cqe found = all[*head & (ring->about.cq_entries - 1)];
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return found;
}

static long enter(struct ring *ring, unsigned count) {
    return syscall(SYS_io_uring_enter, ring->fd, (long)count, (long)count, (long)IORING_ENTER_GETEVENTS, NULL, 0L);
}

static struct io_uring_sqe writing(int fd, unsigned length, unsigned long long offset) {
    struct io_uring_sqe entry = {.opcode = IORING_OP_WRITE, .fd = fd, .off = offset, .len = length};
    entry.addr = (unsigned long long)(unsigned long)bytes;
    entry.user_data = offset;
    return entry;
}

static void go(struct ring *ring, const struct io_uring_sqe *entry, const char *name, long long offset) {
    put(ring, entry);
    CHECK(enter(ring, 1) == 1);
    struct io_uring_cqe done = take(ring);
    CHECK(done.user_data == entry->user_data);
    if (done.res < 0) {
        errno = -done.res;
        op_failed("POSIX", name, "nonblocking", offset, path);
    } else {
        op("POSIX", name, "nonblocking", offset, done.res, path);
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < 4000);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    struct ring *ring = &rings[0];
    int result = set_up(ring, 8, 0);
    if (result == -ENOSYS || result == -EPERM || result == -EACCES) {
        fprintf(stderr, "io_uring_setup: %s\n", strerror(-result));
        return 77;
    }
    CHECK(result == 0);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    for (unsigned i = 0; i < 100; i++) {
        struct io_uring_sqe entry = writing(fd, 10 + i, i * 100);
        go(ring, &entry, "io_uring_write", i * 100);
        entry.opcode = i % 2 == 0 ? IORING_OP_READ : IORING_OP_READ_FIXED;
        entry.user_data = 7;
        go(ring, &entry, "io_uring_read", i * 100);
    }
    /* More entries are ready than are submitted. */
    for (unsigned i = 0; i < 6; i++) {
        struct io_uring_sqe entry = writing(fd, 10, 5000 + i);
        put(ring, &entry);
    }
    CHECK(enter(ring, 2) == 2 && enter(ring, 4) == 4);
    for (unsigned i = 0; i < 6; i++) {
        op("POSIX", "io_uring_write", "nonblocking", (long long)take(ring).user_data, 10, path);
    }
    int files[2] = {-1, fd};
    CHECK(syscall(SYS_io_uring_register, ring->fd, (long)IORING_REGISTER_FILES, files, 2L) == 0);
    struct io_uring_sqe entry = writing(1, 20, 6000);
    entry.flags = IOSQE_FIXED_FILE;
    go(ring, &entry, "io_uring_write", 6000);
    struct io_uring_files_update update = {.offset = 0, .fds = (unsigned long long)(unsigned long)&files[1]};
    CHECK(syscall(SYS_io_uring_register, ring->fd, (long)IORING_REGISTER_FILES_UPDATE, &update, 1L) == 1);
    entry.fd = 0;
    go(ring, &entry, "io_uring_write", 6000);
    /* Three entries submitted without a wrapped function. */
    for (unsigned i = 0; i < 3; i++) {
        entry = writing(fd, 30, i);
        put(ring, &entry);
    }
    CHECK(raw_call(SYS_io_uring_enter, ring->fd, 3, 3, IORING_ENTER_GETEVENTS) == 3);
    for (int i = 0; i < 3; i++) {
        take(ring);
    }
    entry = writing(fd, 40, 7000);
    go(ring, &entry, "io_uring_write", 7000);
    tear_down(ring);
    ring = &rings[1];
    CHECK(set_up(ring, 4, 0) == 0);
    entry = writing(fd, 50, 8000);
    go(ring, &entry, "io_uring_write", 8000);
    put(ring, &entry);
    CHECK(raw_call(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS) == 1);
    CHECK(syscall(SYS_io_uring_enter, 999L, 1L, 0L, 0L, NULL, 0L) == -1 && errno == EBADF);
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
    oplog_write();
    return 0;
}
