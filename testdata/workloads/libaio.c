/* Linux asynchronous I/O: every operation, alone and in lists, events taken by one thread and by several, operations that fail
 * at submission and at execution, and some whose results are never fetched.
 * Usage: libaio DIRECTORY (absolute, canonical, empty). Built with -laio; with -DRAW by system calls. Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <libaio.h>
#include <sys/uio.h>

#ifdef RAW
static int answer(long result) { return result < 0 ? -errno : (int)result; }
#define io_setup(events, context) answer(syscall(SYS_io_setup, (long)(events), context))
#define io_submit(context, count, list) answer(syscall(SYS_io_submit, context, (long)(count), list))
#define io_getevents(context, least, most, events, timeout)                                                           \
    answer(syscall(SYS_io_getevents, context, (long)(least), (long)(most), events, timeout))
#define io_pgetevents(context, least, most, events, timeout, mask)                                                    \
    answer(syscall(SYS_io_pgetevents, context, (long)(least), (long)(most), events, timeout, NULL))
#define io_destroy(context) answer(syscall(SYS_io_destroy, context))
#endif

enum { MOST = 16, ROUNDS = 200, BLOCK = 512 };
static char path[4200];
static char bytes[MOST][4096];
static struct iocb blocks[MOST];
static struct iocb *list[MOST];
static io_context_t context;
static struct iovec pieces[2] = {{bytes[0], 100}, {bytes[1], 50}};

/* Logs the operation of an event by its control block. */
static void log_event(const struct io_event *event, const char *file) {
    static const char *const names[] = {"io_submit_read",      "io_submit_write", "io_submit_sync",
                                        "io_submit_fdatasync", NULL,              NULL,
                                        NULL,                  "io_submit_read",  "io_submit_write"};
    const struct iocb *block = event->obj;
    const char *name = names[block->aio_lio_opcode];
    long long offset = strstr(name, "sync") ? -1 : block->u.c.offset;
    if ((long)event->res < 0) {
        errno = (int)-(long)event->res;
        op_failed("POSIX", name, "nonblocking", offset, file);
    } else {
        op("POSIX", name, "nonblocking", offset, (long long)event->res, file);
    }
}

static void collect(int count) {
    struct io_event events[MOST];
    for (int done = 0; done < count;) {
        struct timespec time = {5, 0};
        int got = done % 2 == 0 ? io_getevents(context, 1, count - done, events, NULL)
                                : io_pgetevents(context, 1, count - done, events, &time, NULL);
        CHECK(got > 0);
        for (int i = 0; i < got; i++) {
            log_event(&events[i], path);
        }
        done += got;
    }
}

static void alone(int fd) {
    struct iocb *one = &blocks[0];
    io_prep_pwrite(one, fd, bytes[0], 4096, 0);
    CHECK(io_submit(context, 1, &one) == 1);
    collect(1);
    io_prep_pread(one, fd, bytes[1], 4096, 1000);
    CHECK(io_submit(context, 1, &one) == 1);
    collect(1);
    io_prep_pwritev(one, fd, pieces, 2, 5000);
    CHECK(io_submit(context, 1, &one) == 1);
    collect(1);
    io_prep_preadv(one, fd, pieces, 2, 5100);
    CHECK(io_submit(context, 1, &one) == 1);
    collect(1);
    io_prep_fsync(one, fd);
    CHECK(io_submit(context, 1, &one) == 1);
    collect(1);
    io_prep_fdsync(one, fd);
    CHECK(io_submit(context, 1, &one) == 1);
    collect(1);
}

static void many(int fd) {
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < MOST; i++) {
            list[i] = &blocks[i];
            io_prep_pwrite(list[i], fd, bytes[i], BLOCK + (size_t)i, (turn * MOST + i) * 1000);
        }
        CHECK(io_submit(context, MOST, list) == MOST);
        collect(MOST);
    }
}

static void failing(int fd, int reader) {
    static void *volatile nowhere = (void *)8;
    struct iocb *one = &blocks[0];
    io_prep_pwrite(one, reader, bytes[0], 10, 7);
    CHECK(io_submit(context, 1, &one) == -EBADF);
    errno = EBADF;
    op_failed("POSIX", "io_submit_write", "nonblocking", 7, path);
    io_prep_pread(one, fd, nowhere, 10, 9);
    int submitted = io_submit(context, 1, &one);
    if (submitted == 1) {
        collect(1);
    }
    /* The second block is invalid, so the kernel does not look at the third. */
    list[0] = &blocks[0], list[1] = &blocks[1], list[2] = &blocks[2];
    io_prep_pread(list[0], fd, bytes[0], 10, 0);
    io_prep_pread(list[1], 999, bytes[1], 10, 0);
    io_prep_pread(list[2], fd, bytes[2], 10, 0);
    CHECK(io_submit(context, 3, list) == 1);
    collect(1);
    struct iocb *wrong = nowhere;
    CHECK(io_submit(context, 1, &wrong) == -EFAULT && io_submit(context, 1, (struct iocb **)nowhere) == -EFAULT);
    CHECK(io_submit(context, -1, list) == -EINVAL && io_submit(context, 0, list) == 0);
}

static void *reap(void *argument) {
    int *left = argument;
    while (*left > 0) {
        struct io_event events[4];
        int got = io_getevents(context, 1, 4, events, NULL);
        CHECK(got > 0);
        for (int i = 0; i < got; i++) {
            log_event(&events[i], path);
            /* The memory may be reused, although the submitting thread may still be inside its call. */
            memset(events[i].obj, 0x55, sizeof *events[i].obj);
            free(events[i].obj);
        }
        *left -= got;
    }
    return NULL;
}

static void among_threads(int fd) {
    int left = ROUNDS;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, reap, &left) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct iocb *one = malloc(sizeof *one);
        CHECK(one != NULL);
        io_prep_pwrite(one, fd, bytes[i % MOST], 100, i * 100);
        int got = 0;
        while ((got = io_submit(context, 1, &one)) == -EAGAIN) {
            errno = EAGAIN;
            op_failed("POSIX", "io_submit_write", "nonblocking", i * 100, path);
        }
        CHECK(got == 1);
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < 4000);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    int fd = open(path, O_CREAT | O_RDWR, 0600), reader = open(path, O_RDONLY);
    CHECK(fd >= 0 && reader >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    op("POSIX", "open", "-", -1, 0, path);
    CHECK(io_setup(256, &context) == 0);
    alone(fd);
    many(fd);
    failing(fd, reader);
    among_threads(fd);
    /* Four operations are abandoned with their context, and one is in flight when the program ends. */
    for (int i = 0; i < 4; i++) {
        list[i] = &blocks[i];
        io_prep_pread(list[i], fd, bytes[i], 10, 0);
    }
    CHECK(io_submit(context, 4, list) == 4 && io_destroy(context) == 0);
    context = NULL;
    CHECK(io_setup(8, &context) == 0);
    CHECK(io_submit(context, 1, list) == 1);
    CHECK(close(reader) == 0 && close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
    op("POSIX", "close", "-", -1, 0, path);
    oplog_write();
    return 0;
}
