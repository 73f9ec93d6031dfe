/* A program that confines itself by seccomp(2) in one of several ways, and goes on writing: system calls that the filter does not
 * allow end the program, fail, or raise a signal. Exit code 5 if everything works as without a tracer.
 * Provenance: written for this project.
 *
 *     confined DIR WAY [CALLS]
 *
 * Writes CALLS times 8 bytes to DIR/before, confines itself, and writes as often to DIR/after, which was opened before. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            static const char failed[] = "failed: " #condition "\n";                                                  \
            (void)!write(2, failed, sizeof failed - 1);                                                               \
            syscall(SYS_exit, 99);                                                                                    \
        }                                                                                                             \
    } while (0)

static long calls = 100;
static int after = -1;
static volatile sig_atomic_t trapped;

static int is(const char *way, const char *name) { return strcmp(way, name) == 0; }

static int file(const char *dir, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int number = open(path, O_WRONLY | O_CREAT, 0666);
    CHECK(number >= 0);
    return number;
}

static void writes(int number) {
    for (long i = 0; i < calls; i++) CHECK(write(number, "eight by", 8) == 8);
}

/* Allows only the system calls that this program makes from here on. */
static void confine(const char *way, unsigned action) {
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    int writes_only = is(way, "file_size");
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(writes_only ? SYS_write : SYS_openat),
        ALLOW(writes_only ? SYS_write : SYS_close),
        /* System calls of the C library for ending and starting threads. */
        ALLOW(is(way, "threads") ? SYS_futex : SYS_write),
        ALLOW(is(way, "threads") ? SYS_madvise : SYS_write),
        ALLOW(is(way, "threads") ? SYS_munmap : SYS_write),
        ALLOW(is(way, "threads") ? SYS_rt_sigprocmask : SYS_write),
        ALLOW(is(way, "forks") ? SYS_clone : SYS_write),
        ALLOW(is(way, "forks") ? SYS_wait4 : SYS_write),
        ALLOW(is(way, "forks") ? SYS_set_robust_list : SYS_write),
        BPF_STMT(BPF_RET | BPF_K, action),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (is(way, "threads"))
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
    else if (is(way, "system_call"))
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    else if (is(way, "prctl_call"))
        CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
    else
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void trap(int signal) {
    (void)signal;
    trapped++;
}

static pthread_barrier_t barrier;

static void *other(void *number) {
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    writes(*(int *)number);
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc >= 3);
    const char *dir = argv[1], *way = argv[2];
    if (argc > 3) calls = atol(argv[3]);
    int before = file(dir, "before");
    after = file(dir, "after");
    /* Makes the tracer allocate its memory here; in the other ways a forked or confined process is the first to. */
    if (!is(way, "child") && !is(way, "first")) writes(before);

    if (is(way, "kill") || is(way, "system_call") || is(way, "prctl_call") || is(way, "first")) {
        confine(way, SECCOMP_RET_KILL_PROCESS);
    } else if (is(way, "errno") || is(way, "nosys")) {
        confine(way, SECCOMP_RET_ERRNO | (is(way, "errno") ? EPERM : ENOSYS));
    } else if (is(way, "trap")) {
        struct sigaction action = {.sa_handler = trap};
        CHECK(sigaction(SIGSYS, &action, NULL) == 0);
        confine(way, SECCOMP_RET_TRAP);
    } else if (is(way, "strict")) {
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
        writes(after);
        /* In strict mode only exit(2) ends a thread, and with it a process of one thread. */
        syscall(SYS_exit, 5);
    } else if (is(way, "no_counter")) {
        /* The processor's time-stamp counter is forbidden, then allowed again. */
        CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
        writes(after);
        CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0);
    } else if (is(way, "opens")) {
        confine(way, SECCOMP_RET_KILL_PROCESS);
        writes(after);
        int late = open("/dev/null", O_WRONLY);
        CHECK(late >= 0);
        writes(late);
        CHECK(close(late) == 0);
        _exit(5);
    } else if (is(way, "asks")) {
        /* Probes what the kernel supports; does not confine. */
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT);
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == -1 && errno == EINVAL);
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == -1 && errno == EFAULT);
        struct sock_fprog none = {0, (struct sock_filter *)dir};
        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none) == -1 && errno == EINVAL);
    } else if (is(way, "signal")) {
        confine(way, SECCOMP_RET_KILL_PROCESS);
        writes(after);
        /* The parent ends the process by SIGTERM. */
        CHECK(write(1, "ready\n", 6) == 6);
        for (;;) write(-1, "", 1);
    } else if (is(way, "threads")) {
        pthread_t thread;
        pthread_barrier_init(&barrier, NULL, 2);
        CHECK(pthread_create(&thread, NULL, other, &before) == 0);
        pthread_barrier_wait(&barrier);
        confine(way, SECCOMP_RET_KILL_PROCESS);
        pthread_barrier_wait(&barrier);
        CHECK(pthread_join(thread, NULL) == 0);
    } else if (is(way, "child")) {
        /* As in browsers: the child is confined, its parent is not. */
        pid_t child = fork();
        if (child == 0) {
            writes(before);
            confine(way, SECCOMP_RET_KILL_PROCESS);
            writes(after);
            _exit(5);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
        calls *= 2;
        writes(before);
        exit(5);
    } else if (is(way, "forks")) {
        confine(way, SECCOMP_RET_KILL_PROCESS);
        pid_t child = fork();
        if (child == 0) {
            writes(after);
            _exit(5);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    } else {
        CHECK(0);
    }
    writes(after);
    if (is(way, "errno")) CHECK(errno == 0 || errno == EPERM);
    if (is(way, "trap")) CHECK(trapped == 0);
    if (is(way, "kill")) exit(5);
    _exit(5);
}
