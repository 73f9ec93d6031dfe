/* One thread writes and reads through a descriptor number while another thread repeatedly replaces its file. The bytes that each file received
 * are known at the end, by its size: each call appends, or moves a shared position.
 * CHANGE, how the number's file changes:
 *   dup2, dup3, fcntl   one of two files is duplicated onto the number (fcntl: close, then F_DUPFD); fclose: fclose(3), then fopen(3)
 *   close               the number is closed, then reused by open(2)
 *   range               as close, by close_range(2)
 * MOVES, calls that move bytes: write, writev, pwrite, read, readv, sendfile, copy, dprintf, mixed; aio (aio_write(3)), submit (io_submit(2)), uring
 * (io_uring_enter(2)), whose descriptors are looked up after the call has begun. Exit code 77 if the kernel makes no context or ring.
 * Usage: racing_descriptors DIRECTORY (absolute, canonical, empty) CHANGE MOVES ROUNDS. Standard output, instead of a log:
 *   FILE BYTES      for each file, bytes written into it, or read from it, by its content
 *   total CALLS BYTES   successful calls, and their bytes
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <aio.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static char paths[3][4200];
static const char *change, *moves;
static long rounds;
static int files[2], target, from = -1;
static atomic_int begun, over;
static FILE *stream;
static long long came_from[2];

/* Size of a file that is read. */
enum { CONTENT = 64 };

static int is(const char *name, const char *wanted) { return strcmp(name, wanted) == 0; }

/* Opens a file, with O_APPEND unless copies inside the kernel, which share a position, are tested. */
static int opened(int which) {
    int copies = is(moves, "sendfile") || is(moves, "copy");
    int fd = open(paths[which], O_RDWR | O_CREAT | (copies ? 0 : O_APPEND), 0600);
    CHECK(fd >= 0);
    return fd;
}

/* Opens a file at the number that was closed; a library may hold the number for a moment. */
static int reopened(int which) {
    int got = opened(which);
    while (got != target) {
        CHECK(close(got) == 0);
        sched_yield();
        got = opened(which);
    }
    return got;
}

static void *changes(void *ignored) {
    (void)ignored;
    while (!atomic_load(&begun)) {
        sched_yield();
    }
    for (long i = 0; !atomic_load(&over); i++) {
        int which = (int)(i & 1);
        if (is(change, "dup2")) {
            CHECK(dup2(files[which], target) == target);
        } else if (is(change, "dup3")) {
            CHECK(dup3(files[which], target, O_CLOEXEC) == target);
        } else if (is(change, "fcntl")) {
            CHECK(close(target) == 0 && fcntl(files[which], F_DUPFD, target) == target);
        } else if (is(change, "close")) {
            CHECK(close(target) == 0 && reopened(which) == target);
        } else if (is(change, "range")) {
            CHECK(close_range((unsigned)target, (unsigned)target, 0) == 0 && reopened(which) == target);
        } else if (is(change, "fclose")) {
            CHECK(fclose(stream) == 0);
            FILE *again = fopen(paths[which], "a+");
            while (again != NULL && fileno(again) != target) {
                CHECK(fclose(again) == 0);
                sched_yield();
                again = fopen(paths[which], "a+");
            }
            CHECK(again != NULL);
            stream = again;
        } else {
            CHECK(0);
        }
        if ((i & 7) == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static aio_context_t context;
static struct {
    long fd;
    struct io_uring_params about;
    char *memory;
    struct io_uring_sqe *entries;
} ring;

/* Makes the context or ring; false if the kernel refuses. */
static int makes_queue(void) {
    if (is(moves, "submit")) {
        return syscall(SYS_io_setup, 1L, &context) == 0;
    }
    if (!is(moves, "uring")) {
        return 1;
    }
    ring.fd = syscall(SYS_io_uring_setup, 1L, &ring.about);
    if (ring.fd < 0) {
        return 0;
    }
    size_t bytes = ring.about.cq_off.cqes + ring.about.cq_entries * sizeof(struct io_uring_cqe) + 4096;
    int access = PROT_READ | PROT_WRITE;
    ring.memory = mmap(NULL, bytes, access, MAP_SHARED, (int)ring.fd, IORING_OFF_SQ_RING);
    ring.entries = mmap(NULL, 4096, access, MAP_SHARED, (int)ring.fd, IORING_OFF_SQES);
    CHECK(ring.memory != MAP_FAILED && ring.entries != MAP_FAILED);
    return 1;
}

static unsigned *word(unsigned offset) { return (unsigned *)(ring.memory + offset); }

static ssize_t result(long answer) {
    errno = answer < 0 ? (int)-answer : errno;
    return answer < 0 ? -1 : (ssize_t)answer;
}

/* Begins an operation and waits for it. */
static ssize_t asynchronous(const char *by, void *bytes, size_t length) {
    if (is(by, "aio")) {
        struct aiocb block = {.aio_fildes = target, .aio_buf = bytes, .aio_nbytes = length};
        const struct aiocb *const list[] = {&block};
        if (aio_write(&block) != 0) {
            return -1;
        }
        while (aio_error(&block) == EINPROGRESS) {
            aio_suspend(list, 1, NULL);
        }
        int error = aio_error(&block);
        ssize_t got = aio_return(&block);
        return error != 0 ? result(-error) : got;
    }
    if (is(by, "submit")) {
        struct iocb block = {.aio_lio_opcode = IOCB_CMD_PWRITE,
                             .aio_fildes = (unsigned)target,
                             .aio_buf = (uintptr_t)bytes,
                             .aio_nbytes = length};
        struct iocb *list[] = {&block};
        struct io_event event;
        if (syscall(SYS_io_submit, context, 1L, list) != 1) {
            return -1;
        }
        CHECK(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL) == 1);
        return result((long)event.res);
    }
    unsigned *tail = word(ring.about.sq_off.tail), *head = word(ring.about.cq_off.head);
    unsigned place = *tail & *word(ring.about.sq_off.ring_mask);
    ring.entries[place] = (struct io_uring_sqe){
        .opcode = IORING_OP_WRITE, .fd = target, .addr = (uintptr_t)bytes, .len = (unsigned)length, .user_data = 7};
    word(ring.about.sq_off.array)[place] = place;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    CHECK(syscall(SYS_io_uring_enter, ring.fd, 1L, 1L, (long)IORING_ENTER_GETEVENTS, NULL, 0L) == 1);
    struct io_uring_cqe *ends = (struct io_uring_cqe *)(ring.memory + ring.about.cq_off.cqes);
    long answer = ends[*head & *word(ring.about.cq_off.ring_mask)].res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return result(answer);
}

static ssize_t moved(const char *by, long round) {
    char bytes[16] = "0123456789abcde";
    size_t length = 1 + (size_t)(round % 13);
    struct iovec pieces[2] = {{bytes, length}, {bytes, 2}};
    off_t start = 0;
    if (is(by, "write")) {
        return write(target, bytes, length);
    }
    if (is(by, "writev")) {
        return writev(target, pieces, 2);
    }
    if (is(by, "pwrite")) {
        return pwrite(target, bytes, length, 3 * round);
    }
    if (is(by, "read") || is(by, "readv")) {
        ssize_t got = is(by, "read") ? pread(target, bytes, length, 0) : preadv(target, pieces, 2, 0);
        came_from[bytes[0] == 'b'] += got > 0 ? got : 0;
        return got;
    }
    if (is(by, "sendfile")) {
        return sendfile(target, from, &start, length);
    }
    if (is(by, "copy")) {
        return copy_file_range(from, &start, target, NULL, length, 0);
    }
    if (is(by, "aio") || is(by, "submit") || is(by, "uring")) {
        return asynchronous(by, bytes, length);
    }
    CHECK(is(by, "dprintf"));
    return dprintf(target, "%.*s", (int)length, bytes);
}

int main(int argc, char **argv) {
    CHECK(argc == 5 && strlen(argv[1]) < 4000);
    for (int i = 0; i < 3; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", argv[1], i == 0 ? "first" : i == 1 ? "second" : "source");
    }
    change = argv[2];
    moves = argv[3];
    rounds = atol(argv[4]);
    if (!makes_queue()) {
        printf("%s: %s\n", moves, strerror(errno));
        return 77;
    }
    long raw = raw_call(SYS_openat, AT_FDCWD, paths[2], O_RDWR | O_CREAT, 0600);
    CHECK(raw >= 0 && raw_call(SYS_write, raw, "what is copied: more than any round wants", 41) == 41 && raw_call(SYS_close, raw) == 0);
    CHECK((from = open(paths[2], O_RDONLY)) >= 0);
    int reads = is(moves, "read") || is(moves, "readv");
    for (int i = 0; i < 2 && reads; i++) {
        char content[CONTENT];
        memset(content, "ab"[i], sizeof content);
        raw = raw_call(SYS_openat, AT_FDCWD, paths[i], O_RDWR | O_CREAT, 0600);
        CHECK(raw >= 0 && raw_call(SYS_write, raw, content, CONTENT) == CONTENT && raw_call(SYS_close, raw) == 0);
    }
    files[0] = opened(0);
    files[1] = opened(1);
    if (is(change, "fclose")) {
        stream = fopen(paths[0], "a+");
        CHECK(stream != NULL);
        target = fileno(stream);
    } else {
        CHECK((target = dup(files[0])) >= 0);
    }
    static const char *const kinds[] = {"write", "writev", "pwrite", "dprintf"};
    pthread_t other;
    CHECK(pthread_create(&other, NULL, changes, NULL) == 0);
    long calls = 0;
    long long bytes = 0;
    atomic_store(&begun, 1);
    for (long i = 0; i < rounds; i++) {
        ssize_t got = moved(is(moves, "mixed") ? kinds[i & 3] : moves, i);
        CHECK(got >= 0 || errno == EBADF);
        calls += got >= 0;
        bytes += got >= 0 ? got : 0;
    }
    atomic_store(&over, 1);
    CHECK(pthread_join(other, NULL) == 0);
    /* Calls from here on have a certain file. */
    for (int i = 0; i < 2; i++) {
        CHECK(write(files[i], "later", 5) == 5);
    }
    for (int i = 0; i < 2; i++) {
        printf("%s %lld\n", paths[i], reads ? came_from[i] + 5 : raw_size(paths[i]));
    }
    printf("total %ld %lld\n", calls + 2, bytes + 10);
    return 0;
}
