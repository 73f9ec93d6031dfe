/* A launcher that confines itself by a seccomp filter, then execs the program that the filter is made for: a dynamically linked program that
 * writes CALLS times 8 bytes to an open file. Exit code 5.
 * Provenance: written for this project.
 *
 *     sandbox run ACTION DIR CALLS      confines itself and execs `sandbox writes`, with LD_PRELOAD from SANDBOX_PRELOAD if set
 *     sandbox filter ACTION             writes the filter to standard output
 *     sandbox writes DIR CALLS
 *
 * ACTION on other system calls: kill, trap, errno or allow. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int is(const char *text, const char *other) { return strcmp(text, other) == 0; }

static unsigned action_of(const char *name) {
    if (is(name, "kill")) return SECCOMP_RET_KILL_PROCESS;
    if (is(name, "trap")) return SECCOMP_RET_TRAP;
    if (is(name, "errno")) return SECCOMP_RET_ERRNO | EPERM;
    return SECCOMP_RET_ALLOW;
}

/* System calls that the dynamic linker and the C library need to start a program, and those of this program. Not prctl. */
static struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_execve), ALLOW(SYS_brk), ALLOW(SYS_mmap), ALLOW(SYS_mprotect), ALLOW(SYS_munmap), ALLOW(SYS_openat),
    ALLOW(SYS_read), ALLOW(SYS_pread64), ALLOW(SYS_close), ALLOW(SYS_newfstatat), ALLOW(SYS_fstat), ALLOW(SYS_faccessat),
    ALLOW(SYS_set_tid_address), ALLOW(SYS_set_robust_list), ALLOW(SYS_prlimit64), ALLOW(SYS_write), ALLOW(SYS_exit_group),
#ifdef SYS_access
    ALLOW(SYS_access),
#endif
#ifdef SYS_arch_prctl
    ALLOW(SYS_arch_prctl),
#endif
#ifdef SYS_rseq
    ALLOW(SYS_rseq),
#endif
    BPF_STMT(BPF_RET | BPF_K, 0),
};
static const unsigned short LENGTH = sizeof filter / sizeof *filter;

static int run(char **argv) {
    struct sock_fprog program = {LENGTH, filter};
    char *preload = getenv("SANDBOX_PRELOAD");
    if (preload != NULL) setenv("LD_PRELOAD", preload, 1);
    char *next[] = {argv[0], "writes", argv[3], argv[4], NULL};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 98;
    execve(argv[0], next, environ);
    return 97;
}

int main(int argc, char **argv) {
    if (argc > 2) filter[LENGTH - 1].k = action_of(argv[2]);
    if (argc == 5 && is(argv[1], "run")) return run(argv);
    if (argc == 3 && is(argv[1], "filter")) return write(1, filter, sizeof filter) == (ssize_t)sizeof filter ? 0 : 96;
    if (argc != 4) return 95;
    char path[4096] = "";
    strncat(path, argv[2], sizeof path - 8);
    strcat(path, "/file");
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    long calls = atol(argv[3]);
    for (long i = 0; i < calls; i++)
        if (write(file, "eight by", 8) != 8) _exit(94);
    _exit(5);
}
