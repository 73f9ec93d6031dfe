/* Signal handlers that write, and that leave the interrupted call by siglongjmp(3), at any moment.
 * Provenance: written for this project.
 *
 *     jumps DIR WAY CALLS
 *
 * WAY: `writes`, the handler writes; `jumps`, it jumps; `both`; `far`, it jumps out of a deep recursion; `stack`, as `both` on an
 * alternate stack; `execs`, it jumps, mostly out of a failing execv(3), while a thread writes in place of the handler; `opens`, it opens, writes
 * and closes; `coroutines`, no signals, calls are made on stacks of the program's own.
 * Prints four numbers: calls begun and calls returned, in the program and in the handler. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            perror(#condition);                                                                                       \
            _exit(99);                                                                                                \
        }                                                                                                             \
    } while (0)

static volatile long begun, returned, handled_begun, handled_returned, jumped;
static volatile sig_atomic_t may_jump;
static int to_main, to_handler;
static int writes, jumps, opens, deep;
static char other[4096];
static sigjmp_buf back;

static void handler(int signal) {
    (void)signal;
    if (writes) {
        handled_begun++;
        CHECK(pwrite(to_handler, "h", 1, 0) == 1);
        handled_returned++;
    }
    if (opens) {
        handled_begun++;
        int file = open(other, O_WRONLY | O_CREAT, 0666);
        CHECK(file >= 0);
        CHECK(pwrite(file, "o", 1, 0) == 1);
        handled_returned++;
        CHECK(close(file) == 0);
    }
    if (jumps && may_jump) {
        jumped++;
        siglongjmp(back, 1);
    }
}

static void one(void) {
    begun++;
    CHECK(pwrite(to_main, "m", 1, begun % 4096) == 1);
    returned++;
}

/* Each step has a frame of some size. */
static __attribute__((noinline)) void recurse(int depth) {
    volatile char room[512];
    room[depth % 512] = 1;
    if (depth > 0)
        recurse(depth - 1);
    else
        one();
    room[0]++;
}

static volatile int stop;

static void *beside(void *unused) {
    while (!stop) {
        handled_begun++;
        CHECK(pwrite(to_handler, "h", 1, 0) == 1);
        handled_returned++;
    }
    return unused;
}

static ucontext_t of_main, of_other;
static volatile long left;

static void elsewhere(void) {
    for (;;) {
        one();
        left--;
        CHECK(swapcontext(&of_other, &of_main) == 0);
    }
}

static void coroutines(long calls) {
    static char stacks[2][65536];
    for (int turn = 0; turn < 2; turn++) {
        CHECK(getcontext(&of_other) == 0);
        of_other.uc_stack.ss_sp = stacks[turn];
        of_other.uc_stack.ss_size = sizeof stacks[turn];
        makecontext(&of_other, elsewhere, 0);
        for (left = calls; left > 0;) {
            CHECK(swapcontext(&of_main, &of_other) == 0);
            one();
        }
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    char path[4096];
    const char *way = argv[2];
    long calls = atol(argv[3]);
    int execs = strcmp(way, "execs") == 0;
    writes = strcmp(way, "jumps") != 0 && strcmp(way, "opens") != 0 && !execs;
    opens = strcmp(way, "opens") == 0;
    jumps = strcmp(way, "writes") != 0 && !opens;
    deep = strcmp(way, "far") == 0 ? 40 : 0;
    snprintf(path, sizeof path, "%s/main", argv[1]);
    CHECK((to_main = open(path, O_WRONLY | O_CREAT, 0666)) >= 0);
    snprintf(path, sizeof path, "%s/handler", argv[1]);
    CHECK((to_handler = open(path, O_WRONLY | O_CREAT, 0666)) >= 0);
    snprintf(other, sizeof other, "%s/opened", argv[1]);

    if (strcmp(way, "coroutines") == 0) {
        coroutines(calls);
    } else {
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
        if (strcmp(way, "stack") == 0) {
            stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
            CHECK(sigaltstack(&stack, NULL) == 0);
            action.sa_flags |= SA_ONSTACK;
        }
        CHECK(sigaction(SIGALRM, &action, NULL) == 0);
        int interval = execs ? 1500 : 60;
        struct itimerval often = {{0, interval}, {0, interval}}, never = {{0, 0}, {0, 0}};
        pthread_t thread;
        if (execs) {
            sigset_t all, before;
            sigfillset(&all);
            CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
            CHECK(pthread_create(&thread, NULL, beside, NULL) == 0);
            CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
        }
        CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
        /* A jump that restores the signal mask admits the next signal while the thread is still on the handler's stack. On a small signal stack,
         * handlers would pile up; there the mask is restored after the jump. */
        sigset_t alarms;
        sigemptyset(&alarms);
        sigaddset(&alarms, SIGALRM);
        sigsetjmp(back, strcmp(way, "stack") != 0);
        CHECK(pthread_sigmask(SIG_UNBLOCK, &alarms, NULL) == 0);
        may_jump = 1;
        while (returned < calls) {
            recurse(deep);
            if (execs) CHECK(execl("/no/such/program", "none", (char *)NULL) == -1);
        }
        may_jump = 0;
        CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
        usleep(1000);
        signal(SIGALRM, SIG_IGN);
        stop = 1;
        if (execs) CHECK(pthread_join(thread, NULL) == 0);
    }
    printf("%ld %ld %ld %ld %ld\n", begun, returned, handled_begun, handled_returned, jumped);
    fflush(stdout);
    return 5;
}
