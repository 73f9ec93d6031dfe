/* Reads and writes files that were opened with O_SYNC, O_DSYNC, O_DIRECT and O_APPEND, in all ways in which a program can set these flags.
 * Usage: opened_so DIRECTORY. Prints a line for each file and operation: name, operation, and its flags S (sync), D (direct), A
 * (append), or "-" for none.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <libaio.h>
#include <liburing.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)
#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20
#endif
enum { BLOCK = 4096 };

/* From <linux/aio_abi.h>, which conflicts with libaio.h. */
typedef unsigned long aio_context_t;
struct raw_iocb {
    uint64_t data;
    uint32_t key;
    int32_t flags;
    uint16_t opcode;
    int16_t priority;
    uint32_t descriptor;
    uint64_t buffer, bytes;
    int64_t offset;
    uint64_t reserved[2];
};

static char directory[4000], *block;

static int opened(const char *name, int flags) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return open(path, O_RDWR | O_CREAT | flags, 0600);
}

/* Writes and reads through a file that was opened with `flags`. */
static void both(const char *name, int flags, const char *writes, const char *reads) {
    int fd = opened(name, flags);
    if (fd < 0 && flags & O_DIRECT) {
        fprintf(stderr, "O_DIRECT is not to be had here: %s\n", name);
        return;
    }
    CHECK(fd >= 0);
    CHECK(write(fd, block, BLOCK) == BLOCK && pwrite(fd, block, BLOCK, BLOCK) == BLOCK);
    CHECK(pread(fd, block, BLOCK, 0) == BLOCK);
    printf("%s write %s\n%s read %s\n", name, writes, name, reads);
    close(fd);
}

static void put(int fd, int flags) {
    struct iovec piece = {block, BLOCK};
    CHECK(pwritev2(fd, &piece, 1, 0, flags) == BLOCK);
}

/* Flags of single calls, and flags changed by fcntl(2). */
static void calls(void) {
    int fd = opened("calls", 0);
    put(fd, RWF_DSYNC);
    put(fd, RWF_SYNC);
    printf("calls write S\n");
    close(fd);
    fd = opened("call-appends", 0);
    put(fd, RWF_APPEND);
    put(fd, RWF_APPEND | RWF_DSYNC);
    printf("call-appends write A\ncall-appends write SA\n");
    close(fd);
    fd = opened("changed", O_SYNC);
    CHECK(write(fd, block, BLOCK) == BLOCK && fcntl(fd, F_SETFL, O_APPEND) == 0);
    CHECK(write(fd, block, BLOCK) == BLOCK && fcntl(fd, F_SETFL, 0) == 0 && write(fd, block, BLOCK) == BLOCK);
    printf("changed write S\nchanged write SA\n");
    int copy = dup(fd);
    CHECK(fcntl(copy, F_SETFL, O_APPEND) == 0 && write(fd, block, BLOCK) == BLOCK);
    close(copy);
    close(fd);
}

/* C streams and their descriptors. */
static void streams(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s/stream", directory);
    FILE *stream = fopen(path, "a");
    CHECK(stream && fwrite(block, 1, 100, stream) == 100 && fclose(stream) == 0);
    printf("stream write A\n");
    int fd = opened("made", O_DSYNC);
    CHECK((stream = fdopen(fd, "a")) && fwrite(block, 1, 100, stream) == 100 && fflush(stream) == 0);
    CHECK(write(fd, block, 10) == 10 && fclose(stream) == 0);
    printf("made write SA\n");
    fd = opened("printed", O_APPEND);
    CHECK(dprintf(fd, "%d\n", 1) == 2);
    close(fd);
    printf("printed write A\n");
}

/* By system calls, and copies. */
static void others(void) {
    int from = opened("from", 0), to = opened("to", O_DSYNC);
    CHECK(write(from, block, BLOCK) == BLOCK && lseek(from, 0, SEEK_SET) == 0);
    printf("from write -\n");
    off_t at = 0;
    CHECK(sendfile(to, from, &at, BLOCK) == BLOCK);
    printf("from read -\nto write S\n");
    close(from);
    close(to);
    char path[4200];
    snprintf(path, sizeof path, "%s/called", directory);
    long long how[3] = {O_RDWR | O_CREAT | O_DSYNC | O_APPEND, 0600, 0};
    long fd = syscall(SYS_openat2, AT_FDCWD, path, how, sizeof how);
    CHECK(fd >= 0 && syscall(SYS_write, fd, block, BLOCK) == BLOCK);
    close((int)fd);
    printf("called write SA\n");
    fd = opened("set", 0);
    CHECK(syscall(SYS_fcntl, fd, (long)F_SETFL, (long)O_APPEND) == 0 && write((int)fd, block, BLOCK) == BLOCK);
    close((int)fd);
    printf("set write A\n");
}

/* io_submit(2) with flags of pwritev2(2), by operation. */
static void kernel_calls(void) {
    aio_context_t context = 0;
    struct io_event event;
    CHECK(syscall(SYS_io_setup, 4, &context) == 0);
    static const struct { const char *name; int opened, flags; const char *letters; } all[] = {
        {"kernel-dsync", 0, RWF_DSYNC, "S"},
        {"kernel-sync", O_APPEND, RWF_SYNC, "SA"},
        {"kernel-appends", 0, RWF_APPEND, "A"},
        {"kernel-both", 0, RWF_APPEND | RWF_DSYNC, "SA"},
        {"kernel-stays", O_APPEND, RWF_NOAPPEND, "-"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int fd = opened(all[i].name, all[i].opened);
        struct raw_iocb one = {.opcode = 1, .descriptor = (unsigned)fd, .buffer = (uint64_t)block, .bytes = BLOCK, .flags = all[i].flags};
        struct raw_iocb *list = &one;
        if (syscall(SYS_io_submit, context, 1L, &list) == 1) {
            CHECK(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL) == 1 && event.res == BLOCK);
            printf("%s write %s\n", all[i].name, all[i].letters);
        }
        close(fd);
    }
    CHECK(syscall(SYS_io_destroy, context) == 0);
}

/* Asynchronous operations. */
static void asynchronous(void) {
    int fd = opened("aio", O_SYNC);
    struct aiocb one = {.aio_fildes = fd, .aio_buf = block, .aio_nbytes = BLOCK};
    const struct aiocb *list = &one;
    CHECK(aio_write(&one) == 0 && aio_suspend(&list, 1, NULL) == 0 && aio_return(&one) == BLOCK);
    CHECK(aio_read(&one) == 0 && aio_suspend(&list, 1, NULL) == 0 && aio_return(&one) == BLOCK);
    printf("aio write S\naio read -\n");
    close(fd);

    fd = opened("kernel", O_APPEND);
    io_context_t context = NULL;
    struct iocb block_of, *blocks = &block_of;
    struct io_event event;
    io_prep_pwrite(&block_of, fd, block, BLOCK, 0);
    CHECK(io_setup(4, &context) == 0 && io_submit(context, 1, &blocks) == 1);
    CHECK(io_getevents(context, 1, 1, &event, NULL) == 1 && io_destroy(context) == 0);
    printf("kernel write A\n");
    close(fd);
    kernel_calls();

    struct io_uring ring;
    if (io_uring_queue_init(4, &ring, 0) != 0) {
        fprintf(stderr, "no io_uring here\n");
        return;
    }
    int registered = opened("registered", O_DSYNC), plain = opened("ring", 0);
    CHECK(io_uring_register_files(&ring, &registered, 1) == 0);
    for (int turn = 0; turn < 2; turn++) {
        struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
        io_uring_prep_write(entry, turn ? plain : 0, block, BLOCK, 0);
        if (turn)
            entry->rw_flags = RWF_DSYNC;
        else
            io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
        struct io_uring_cqe *done;
        CHECK(io_uring_submit(&ring) == 1 && io_uring_wait_cqe(&ring, &done) == 0 && done->res == BLOCK);
        io_uring_cqe_seen(&ring, done);
    }
    printf("registered write S\nring write S\n");
    io_uring_queue_exit(&ring);
    close(registered);
    close(plain);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && posix_memalign((void **)&block, BLOCK, BLOCK) == 0);
    snprintf(directory, sizeof directory, "%s", argv[1]);
    memset(block, 'x', BLOCK);
    both("plain", 0, "-", "-");
    both("sync", O_SYNC, "S", "-");
    both("dsync", O_DSYNC, "S", "-");
    both("append", O_APPEND, "A", "-");
    both("direct", O_DIRECT, "D", "D");
    both("all", O_SYNC | O_DIRECT | O_APPEND, "SDA", "D");
    calls();
    streams();
    others();
    asynchronous();
    return 0;
}
