/* io_uring through liburing: every operation on files that is recorded, alone and in batches, with completions taken in every way, on rings
 * of several kinds, with registered files and buffers, failing, and some that are invisible to the tracer. With OPERATIONS, two
 * threads have at most that many in flight.
 * Usage: uring DIRECTORY [OPERATIONS] (absolute, canonical, empty). Built with -luring. Log: oplog.h. Exit code 77, with a
 * message, if the kernel refuses to make a ring.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <liburing.h>
#include <sys/stat.h>

enum { MOST = 32, ROUNDS = 3000, READ = 0, WRITE, SYNC, DATA_SYNC, SYNC_RANGE, ALLOCATE, OPEN, CLOSE, NONE };
static const char *const names[] = {"io_uring_read",       "io_uring_write",      "io_uring_sync",
                                    "io_uring_fdatasync",  "io_uring_sync_range", "io_uring_allocate",
                                    "io_uring_open",       "io_uring_close",      NULL};
/* User data of an entry: what to log at its completion. */
struct mark {
    int name;
    long long offset, length; /* Of the result, if that is negative. */
    const char *file;
};
static char path[4200], other[4200];
static char bytes[MOST][4096];
static struct io_uring ring;

static struct io_uring_sqe *entry(struct mark *mark, int name, long long offset, long long length, const char *file) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    CHECK(sqe != NULL);
    *mark = (struct mark){name, offset, length, file};
    return sqe;
}

static void done(const struct io_uring_cqe *cqe) {
    const struct mark *mark = io_uring_cqe_get_data(cqe);
    if (mark == NULL || names[mark->name] == NULL) {
        return;
    }
    if (cqe->res < 0) {
        errno = -cqe->res;
        op_failed("POSIX", names[mark->name], "nonblocking", mark->offset, mark->file);
    } else {
        long long length = mark->length >= 0 ? mark->length : cqe->res;
        op("POSIX", names[mark->name], "nonblocking", mark->offset, length, mark->file);
    }
}

/* Waits for `count` completions, in a different way each time. */
static void collect(int count) {
    static int turn;
    while (count > 0) {
        struct io_uring_cqe *cqe = NULL, *all[MOST];
        struct __kernel_timespec time = {.tv_sec = 5};
        int got = 1;
        switch (turn++ % 4) {
        case 0:
            CHECK(io_uring_wait_cqe(&ring, &cqe) == 0);
            break;
        case 1:
            CHECK(io_uring_wait_cqe_timeout(&ring, &cqe, &time) == 0);
            break;
        case 2:
            CHECK(io_uring_wait_cqes(&ring, &cqe, 1, &time, NULL) == 0);
            break;
        default:
            got = (int)io_uring_peek_batch_cqe(&ring, all, MOST);
            for (int i = 0; i < got; i++) {
                done(all[i]);
            }
            io_uring_cq_advance(&ring, (unsigned)got);
            count -= got;
            continue;
        }
        done(cqe);
        int result = cqe->res;
        io_uring_cqe_seen(&ring, cqe);
        (void)result;
        count--;
    }
}

static void go(struct io_uring_sqe *sqe, struct mark *mark) {
    io_uring_sqe_set_data(sqe, mark);
    CHECK(io_uring_submit(&ring) == 1);
    collect(1);
}

static void alone(int fd) {
    struct mark mark;
    struct iovec pieces[2] = {{bytes[0], 100}, {bytes[1], 50}};
    struct io_uring_sqe *sqe = entry(&mark, WRITE, 0, -1, path);
    io_uring_prep_write(sqe, fd, bytes[0], 4096, 0);
    go(sqe, &mark);
    io_uring_prep_read(sqe = entry(&mark, READ, 4000, -1, path), fd, bytes[1], 4096, 4000);
    go(sqe, &mark);
    io_uring_prep_writev(sqe = entry(&mark, WRITE, 5000, -1, path), fd, pieces, 2, 5000);
    go(sqe, &mark);
    io_uring_prep_readv(sqe = entry(&mark, READ, 5100, -1, path), fd, pieces, 2, 5100);
    go(sqe, &mark);
    io_uring_prep_fsync(sqe = entry(&mark, SYNC, -1, 0, path), fd, 0);
    go(sqe, &mark);
    io_uring_prep_fsync(sqe = entry(&mark, DATA_SYNC, -1, 0, path), fd, IORING_FSYNC_DATASYNC);
    go(sqe, &mark);
    io_uring_prep_sync_file_range(sqe = entry(&mark, SYNC_RANGE, 10, 20, path), fd, 20, 10, 0);
    go(sqe, &mark);
    io_uring_prep_fallocate(sqe = entry(&mark, ALLOCATE, 100, 9000, path), fd, 0, 100, 9000);
    go(sqe, &mark);
    /* At the descriptor's position, which moves. */
    io_uring_prep_write(sqe = entry(&mark, WRITE, -1, -1, path), fd, bytes[0], 10, (unsigned long long)-1);
    go(sqe, &mark);
    CHECK(write(fd, bytes[0], 5) == 5);
    op("POSIX", "write", "-", 10, 5, path);
    /* Not an operation on a file. */
    io_uring_prep_nop(sqe = entry(&mark, NONE, 0, 0, path));
    go(sqe, &mark);
}

static void opened(void) {
    struct mark mark = {OPEN, -1, 0, other};
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    io_uring_prep_openat(sqe, AT_FDCWD, other, O_CREAT | O_RDWR, 0600);
    io_uring_sqe_set_data(sqe, &mark);
    CHECK(io_uring_submit_and_wait(&ring, 1) == 1);
    struct io_uring_cqe *cqe = NULL;
    CHECK(io_uring_peek_cqe(&ring, &cqe) == 0 && cqe->res >= 0);
    int fd = cqe->res;
    done(cqe);
    io_uring_cqe_seen(&ring, cqe);
    CHECK(pwrite(fd, "other", 5, 3) == 5);
    op("POSIX", "write", "-", 3, 5, other);
    io_uring_prep_close(sqe = entry(&mark, CLOSE, -1, 0, other), fd);
    go(sqe, &mark);
    /* The number is reused for another file. */
    CHECK(open(path, O_RDONLY) == fd);
    op("POSIX", "open", "-", -1, 0, path);
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
}

static void batches(int fd) {
    static struct mark marks[MOST];
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < MOST; i++) {
            long long at = (turn * MOST + i) * 1000;
            struct io_uring_sqe *sqe = entry(&marks[i], WRITE, at, -1, path);
            io_uring_prep_write(sqe, fd, bytes[i], (unsigned)(100 + i), (unsigned long long)at);
            io_uring_sqe_set_data(sqe, &marks[i]);
        }
        CHECK(io_uring_submit_and_wait(&ring, turn % 2 == 0 ? MOST : 1) == MOST);
        collect(MOST);
    }
    /* One after the other, all with the same user data. */
    for (int i = 0; i < 8; i++) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
        io_uring_prep_write(sqe, fd, bytes[i], 10, (unsigned long long)i * 7);
        io_uring_sqe_set_data(sqe, NULL);
        sqe->flags |= i < 7 ? IOSQE_IO_LINK : 0;
        op("POSIX", names[WRITE], "nonblocking", i * 7, 10, path);
    }
    CHECK(io_uring_submit_and_wait(&ring, 8) == 8);
    collect(8);
}

static void registered(int fd, int second) {
    struct mark mark;
    struct iovec pieces[1] = {{bytes[0], 4096}};
    int files[3] = {-1, fd, -1}, update[2] = {-1, second};
    CHECK(io_uring_register_files(&ring, files, 3) == 0 && io_uring_register_buffers(&ring, pieces, 1) == 0);
    struct io_uring_sqe *sqe = entry(&mark, WRITE, 77, -1, path);
    io_uring_prep_write_fixed(sqe, 1, bytes[0], 33, 77, 0);
    sqe->flags |= IOSQE_FIXED_FILE;
    go(sqe, &mark);
    CHECK(io_uring_register_files_update(&ring, 0, update, 2) == 2);
    io_uring_prep_write(sqe = entry(&mark, WRITE, 5, -1, other), 1, bytes[0], 40, 5);
    sqe->flags |= IOSQE_FIXED_FILE;
    go(sqe, &mark);
    io_uring_prep_read_fixed(sqe = entry(&mark, READ, 7, -1, other), second, bytes[0], 40, 7, 0);
    go(sqe, &mark);
    CHECK(io_uring_unregister_files(&ring) == 0 && io_uring_unregister_buffers(&ring) == 0);
}

static void failing(int fd, int reader) {
    struct mark mark, second;
    struct io_uring_sqe *sqe = entry(&mark, WRITE, 9, -1, path);
    io_uring_prep_write(sqe, reader, bytes[0], 10, 9);
    go(sqe, &mark);
    io_uring_prep_read(sqe = entry(&mark, READ, 9, -1, path), fd, (void *)8, 10, 9);
    go(sqe, &mark);
    /* Operations linked behind a failed one are cancelled. */
    io_uring_prep_read(sqe = entry(&mark, READ, 19, -1, path), fd, (void *)8, 10, 19);
    sqe->flags |= IOSQE_IO_LINK;
    io_uring_sqe_set_data(sqe, &mark);
    io_uring_prep_write(sqe = entry(&second, WRITE, 29, -1, path), fd, bytes[0], 10, 29);
    io_uring_sqe_set_data(sqe, &second);
    CHECK(io_uring_submit(&ring) == 2);
    collect(2);
    /* Not recorded: another kind of operation, and one without a completion if it succeeds. */
    static struct statx about;
    io_uring_prep_statx(sqe = entry(&mark, NONE, 0, 0, path), AT_FDCWD, path, 0, STATX_SIZE, &about);
    go(sqe, &mark);
    io_uring_prep_fsync(sqe = entry(&mark, NONE, 0, 0, path), fd, 0);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    CHECK(io_uring_submit(&ring) == 1);
}

/* Many more operations than the queues hold, so that they wrap. */
static void around(int fd, unsigned flags) {
    struct io_uring kept = ring;
    if (io_uring_queue_init(8, &ring, flags) != 0) {
        CHECK(flags != 0);
        ring = kept;
        return;
    }
    static struct mark marks[8];
    for (int i = 0; i < 500; i += 4) {
        for (int j = 0; j < 4; j++) {
            struct io_uring_sqe *sqe = entry(&marks[j], READ, i + j, -1, path);
            io_uring_prep_read(sqe, fd, bytes[j], 20, (unsigned long long)(i + j));
            io_uring_sqe_set_data(sqe, &marks[j]);
        }
        /* The kernel's thread may take some before liburing counts them. */
        int submitted_now = io_uring_submit(&ring);
        CHECK(submitted_now == 4 || (flags & IORING_SETUP_SQPOLL && submitted_now >= 0));
        collect(4);
    }
    io_uring_queue_exit(&ring);
    ring = kept;
}

static int submitted, reaped;

static void *reap(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        struct io_uring_cqe *cqe = NULL;
        CHECK(io_uring_wait_cqe(&ring, &cqe) == 0);
        struct mark *mark = io_uring_cqe_get_data(cqe);
        done(cqe);
        io_uring_cqe_seen(&ring, cqe);
        free(mark);
        __atomic_add_fetch(&reaped, 1, __ATOMIC_RELEASE);
    }
    return argument;
}

/* One thread submits and another takes the completions, with at most `most` operations in flight. */
static void among_threads(int fd, int most) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, reap, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        while (submitted - __atomic_load_n(&reaped, __ATOMIC_ACQUIRE) >= most) {
            usleep(100);
        }
        submitted++;
        struct mark *mark = malloc(sizeof *mark);
        CHECK(mark != NULL);
        struct io_uring_sqe *sqe = entry(mark, WRITE, i * 10, -1, path);
        io_uring_prep_write(sqe, fd, bytes[0], (unsigned)(1 + i % 10), (unsigned long long)i * 10);
        io_uring_sqe_set_data(sqe, mark);
        int got = 0;
        while ((got = io_uring_submit(&ring)) == -EBUSY || got == -EAGAIN) {
        }
        CHECK(got == 1);
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc >= 2 && strlen(argv[1]) < 4000);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    snprintf(other, sizeof other, "%s/other", argv[1]);
    int result = io_uring_queue_init(64, &ring, 0);
    if (result == -ENOSYS || result == -EPERM || result == -EACCES) {
        fprintf(stderr, "io_uring_queue_init: %s\n", strerror(-result));
        return 77;
    }
    CHECK(result == 0);
    int fd = open(path, O_CREAT | O_RDWR, 0600), reader = open(path, O_RDONLY);
    CHECK(fd >= 0 && reader >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    op("POSIX", "open", "-", -1, 0, path);
    if (argc > 2) {
        among_threads(fd, atoi(argv[2]));
    } else {
        alone(fd);
        opened();
        batches(fd);
        int second = open(other, O_RDWR);
        CHECK(second >= 0);
        op("POSIX", "open", "-", -1, 0, other);
        registered(fd, second);
        CHECK(close(second) == 0);
        op("POSIX", "close", "-", -1, 0, other);
        failing(fd, reader);
        around(fd, 0);
        around(fd, IORING_SETUP_SQPOLL);
        around(fd, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
    }
    io_uring_queue_exit(&ring);
    CHECK(close(reader) == 0 && close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
    op("POSIX", "close", "-", -1, 0, path);
    oplog_write();
    return 0;
}
