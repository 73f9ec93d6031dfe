/* POSIX asynchronous I/O: single operations and lists, waited for in every way; one is never waited for.
 * Usage: aio DIRECTORY (absolute, canonical, empty). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include "oplog.h"
#include <aio.h>

static char file[4200];
static char bytes[8][4096];

static void done(const char *name, const char *mode, long long offset, long long length) {
    op("POSIX", name, mode, offset, length, file);
}

static struct aiocb *block(int turn, int fd, long long offset, size_t length, int opcode) {
    static struct aiocb blocks[8];
    memset(&blocks[turn], 0, sizeof blocks[turn]);
    blocks[turn].aio_fildes = fd;
    blocks[turn].aio_buf = bytes[turn];
    blocks[turn].aio_nbytes = length;
    blocks[turn].aio_offset = offset;
    blocks[turn].aio_lio_opcode = opcode;
    return &blocks[turn];
}

static void wait_for(struct aiocb *one) {
    const struct aiocb *list[2] = {NULL, one};
    while (aio_error(one) == EINPROGRESS) {
        CHECK(aio_suspend(list, 2, NULL) == 0 || errno == EINTR || errno == EAGAIN);
    }
}

static void ended(struct aiocb *one, const char *name, long long offset, long long length) {
    wait_for(one);
    CHECK(aio_return(one) == length);
    done(name, "nonblocking", offset, length);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < 4000);
    snprintf(file, sizeof file, "%s/file", argv[1]);
    int fd = open(file, O_CREAT | O_RDWR, 0600), reader = open(file, O_RDONLY);
    CHECK(fd >= 0 && reader >= 0);
    done("open", "-", -1, 0);
    done("open", "-", -1, 0);
    for (int i = 0; i < 8; i++) {
        memset(bytes[i], 'a' + i, sizeof bytes[i]);
    }
    for (int turn = 0; turn < 5; turn++) {
        struct aiocb *one = block(0, fd, 4096 * turn, 4096, 0);
        CHECK(aio_write(one) == 0);
        ended(one, "write", 4096 * turn, 4096);
        one = block(1, fd, 4096 * turn + 1, 100, 0);
        CHECK(aio_read(one) == 0);
        ended(one, "read", 4096 * turn + 1, 100);
    }
    struct aiocb *late = block(2, fd, 5 * 4096 - 10, 100, 0);
    CHECK(aio_read(late) == 0);
    ended(late, "read", 5 * 4096 - 10, 10);
    struct aiocb64 large = {.aio_fildes = fd, .aio_buf = bytes[3], .aio_nbytes = 7, .aio_offset = 1 << 20};
    CHECK(aio_write64(&large) == 0);
    while (aio_error64(&large) == EINPROGRESS) {
        usleep(100);
    }
    CHECK(aio_return64(&large) == 7);
    done("write", "nonblocking", 1 << 20, 7);
    struct aiocb *sync = block(4, fd, 0, 0, 0);
    CHECK(aio_fsync(O_SYNC, sync) == 0);
    ended(sync, "sync", -1, 0);
    CHECK(aio_fsync(O_DSYNC, sync = block(4, fd, 0, 0, 0)) == 0);
    ended(sync, "fdatasync", -1, 0);
    /* Lists, waited for by the call itself and afterwards. */
    struct aiocb *list[4] = {block(0, fd, 0, 1000, LIO_WRITE), NULL, block(1, fd, 2000, 500, LIO_WRITE),
                             block(2, fd, 0, 0, LIO_NOP)};
    CHECK(lio_listio(LIO_WAIT, list, 4, NULL) == 0);
    ended(list[0], "write", 0, 1000);
    ended(list[2], "write", 2000, 500);
    list[0] = block(3, fd, 100, 50, LIO_READ);
    list[2] = block(5, fd, 3000, 60, LIO_WRITE);
    CHECK(lio_listio(LIO_NOWAIT, list, 3, NULL) == 0);
    ended(list[2], "write", 3000, 60);
    ended(list[0], "read", 100, 50);
    /* The descriptor is read-only; the error is reported at completion. */
    struct aiocb *wrong = block(6, reader, 8, 10, 0);
    CHECK(aio_write(wrong) == 0);
    wait_for(wrong);
    CHECK(aio_error(wrong) == EBADF && aio_return(wrong) == -1);
    errno = EBADF;
    op_failed("POSIX", "write", "nonblocking", 8, file);
    wrong = block(6, 999, 8, 10, 0);
    if (aio_read(wrong) == 0) {
        wait_for(wrong);
        CHECK(aio_return(wrong) == -1);
    }
    /* No operation of the list is accepted. */
    wrong = block(6, fd, 8, 10, LIO_WRITE);
    wrong->aio_reqprio = -1;
    CHECK(lio_listio(LIO_NOWAIT, &wrong, 1, NULL) == -1);
    CHECK(aio_error(wrong) == EINVAL && aio_return(wrong) == -1);
    errno = EINVAL;
    op_failed("POSIX", "write", "nonblocking", 8, file);
    /* The result of this one is never fetched: it has no segment, and is counted. */
    struct aiocb *lost = block(7, fd, 0, 10, 0);
    CHECK(aio_read(lost) == 0);
    wait_for(lost);
    CHECK(close(reader) == 0 && close(fd) == 0);
    done("close", "-", -1, 0);
    done("close", "-", -1, 0);
    oplog_write();
    return 0;
}
