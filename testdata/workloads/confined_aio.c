/* io_submit(2) in a process that confines itself by seccomp(2), with a second thread if THREADS is not 0: ten operations before; behind the
 * filter ninety, and one that fails with EBADF. The filter ends the process on any other system call.
 * Usage: confined_aio DIRECTORY THREADS. Exit code 5 if everything works as without a tracer.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); _exit(99); } } while (0)
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
enum { BLOCK = 4096, PER_CALL = 2 };

static aio_context_t context;
static char buffer[BLOCK];

static void *idle(void *nothing) {
    for (;;)
        pause();
    return nothing;
}

static void pairs(int fd, int from, int to) {
    struct iocb blocks[PER_CALL], *list[PER_CALL];
    struct io_event events[PER_CALL];
    for (int at = from; at < to; at += PER_CALL) {
        memset(blocks, 0, sizeof blocks);
        for (int i = 0; i < PER_CALL; i++) {
            list[i] = &blocks[i];
            blocks[i] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = (unsigned)fd, .aio_buf = (unsigned long)buffer,
                                      .aio_nbytes = BLOCK, .aio_offset = (at + i) * BLOCK};
        }
        CHECK(syscall(SYS_io_submit, context, (long)PER_CALL, list) == PER_CALL);
        CHECK(syscall(SYS_io_getevents, context, (long)PER_CALL, (long)PER_CALL, events, NULL) == PER_CALL && events[0].res == BLOCK);
    }
}

int main(int argc, char **argv) {
    char path[4200];
    pthread_t thread;
    CHECK(argc == 3);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    int fd = open(path, O_CREAT | O_RDWR, 0644), reader = open(path, O_RDONLY);
    CHECK(fd >= 0 && reader >= 0 && syscall(SYS_io_setup, 8, &context) == 0);
    if (atoi(argv[2]))
        CHECK(pthread_create(&thread, NULL, idle, NULL) == 0);
    pairs(fd, 0, 10);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_io_submit), ALLOW(SYS_io_getevents), ALLOW(SYS_exit_group), ALLOW(SYS_write),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    pairs(fd, 10, 100);
    struct iocb wrong = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = (unsigned)reader, .aio_buf = (unsigned long)buffer, .aio_nbytes = 1};
    struct iocb *list = &wrong;
    CHECK(syscall(SYS_io_submit, context, 1L, &list) == -1 && errno == EBADF);
    /* Cannot be distinguished from an invalid context. */
    wrong.aio_reserved2 = 1;
    CHECK(syscall(SYS_io_submit, context, 1L, &list) == -1 && errno == EINVAL);
    _exit(5);
}
