/* Threads and processes made by clone(2) without CLONE_SETTLS, which share the main thread's thread-local storage. They write a file of
 * their own while the main thread writes; only the main thread's calls may be recorded. WAY, how the thread is made:
 *   clone, syscall, clone3   by that function, or by syscall(2) with that number
 *   machine                  by machine code of the program, invisible to the tracer
 *   process                  by clone, as a process in the same memory (CLONE_VM without CLONE_THREAD)
 *   vfork                    as a child of vfork(2) that replaces a descriptor by another file and writes there
 * Usage: bare_threads DIRECTORY (absolute, canonical, empty) WAY ROUNDS. Log: oplog.h, only the main thread. Standard output: number
 * of calls that the others have made through functions of the C library.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <linux/sched.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>

static char mine[4200], other[4200];
static int rounds, other_fd;
static atomic_int begun, done;
static _Alignas(64) char stack[256 << 10];

static _Noreturn void goes_on(void) {
    for (;;) {
        raw_system_call(SYS_exit, 0, 0, 0, 0, 0, 0);
    }
}

/* errno is the main thread's, so this code does not use it. */
static int beside(void *ignored) {
    (void)ignored;
    atomic_store(&begun, 1);
    for (int i = 0; i < rounds; i++) {
        write(other_fd, "libc", 4);
        raw_system_call(SYS_write, other_fd, (long)"raw", 3, 0, 0, 0);
    }
    atomic_store(&done, 1);
    goes_on();
}

static void begin_on_stack(void) { beside(NULL); }

#if defined(__x86_64__)
/* clone(2) by machine code; the thread begins in begin_on_stack(). */
static long by_machine_code(unsigned long flags) {
    long result;
    register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
    __asm__ volatile("syscall\n\ttest %0, %0\n\tjnz 1f\n\txor %%ebp, %%ebp\n\tcall *%5\n\t1:"
                     : "=a"(result)
                     : "0"((long)SYS_clone), "D"(flags), "S"(stack + sizeof stack - 64), "d"(0L), "b"(begin_on_stack), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

/* A call of syscall(2) that returns on another stack, to the address that lies there. */
static long by_syscall(long number, long a, long b) {
    void **top = (void **)(stack + sizeof stack - 64);
    long result;
    *top = (void *)begin_on_stack;
    if (number == SYS_clone3) {
        /* The kernel sets the stack pointer to the end of the stack. */
        struct clone_args *arguments = (struct clone_args *)a;
        arguments->stack = (uint64_t)(uintptr_t)stack;
        arguments->stack_size = (uint64_t)((char *)top - stack);
    } else {
        b = (long)top;
    }
    result = syscall(number, a, b, 0L, 0L, 0L, 0L);
    return result;
}
#endif

static int replaces(void) {
    int opened = open(other, O_RDWR | O_CREAT, 0600);
    dup2(opened, other_fd);
    int written = 0;
    for (int i = 0; i < 3; i++) {
        written += write(other_fd, "child", 5) == 5;
    }
    return written;
}

static __attribute__((noinline)) void by_vfork(void) {
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        _exit(replaces());
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

int main(int argc, char **argv) {
    CHECK(argc == 4 && strlen(argv[1]) < 4000);
    snprintf(mine, sizeof mine, "%s/mine", argv[1]);
    snprintf(other, sizeof other, "%s/other", argv[1]);
    const char *way = argv[2];
    rounds = atoi(argv[3]);
    int fd = open(mine, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, mine);
    other_fd = (int)raw_call(SYS_openat, AT_FDCWD, other, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(other_fd >= 0);
    unsigned long thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    long made = 1;
    int calls = rounds;
    if (strcmp(way, "clone") == 0) {
        made = clone(beside, stack + sizeof stack - 64, (int)thread, NULL);
    } else if (strcmp(way, "process") == 0) {
        made = clone(beside, stack + sizeof stack - 64, CLONE_VM | SIGCHLD, NULL);
#if defined(__x86_64__)
    } else if (strcmp(way, "machine") == 0) {
        made = by_machine_code(thread);
    } else if (strcmp(way, "syscall") == 0) {
        made = by_syscall(SYS_clone, (long)thread, 0);
    } else if (strcmp(way, "clone3") == 0) {
        struct clone_args arguments = {.flags = thread};
        made = by_syscall(SYS_clone3, (long)&arguments, sizeof arguments);
        if (made < 0 && errno == ENOSYS) {
            printf("none\n");
            return 0;
        }
#endif
    } else if (strcmp(way, "vfork") == 0) {
        other_fd = fd;
        by_vfork();
        atomic_store(&begun, 1);
        atomic_store(&done, 1);
        calls = 0;
    } else {
        printf("none\n");
        return 0;
    }
    CHECK(made > 0);
    while (!atomic_load(&begun)) {
        sched_yield();
    }
    for (int i = 0; i < rounds; i++) {
        CHECK(write(fd, "mine", 4) == 4);
        op("POSIX", "write", "-", 4LL * i, 4, mine);
        char byte;
        CHECK(pread(fd, &byte, 1, 4LL * i) == 1 && byte == 'm');
        op("POSIX", "read", "-", 4LL * i, 1, mine);
    }
    while (!atomic_load(&done)) {
        sched_yield();
    }
    if (strcmp(way, "process") == 0) {
        CHECK(waitpid((pid_t)made, NULL, 0) == made);
    }
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, mine);
    printf("%d\n", calls);
    fflush(stdout);
    CHECK(raw_size(mine) == 4LL * rounds);
    oplog_write();
    return 0;
}
