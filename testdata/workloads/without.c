/* Runs a program in which one system call fails with ERRNO, as on old kernels and in containers.
 * Usage: without CALL ERRNO PROGRAM [ARGUMENT...]; the program gets PRELOAD as LD_PRELOAD.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

static const struct { const char *name; unsigned number; } calls[] = {
    {"membarrier", SYS_membarrier}, {"madvise", SYS_madvise},     {"openat2", SYS_openat2}, {"renameat2", SYS_renameat2},
    {"linkat", SYS_linkat},         {"fallocate", SYS_fallocate}, {"fstatfs", SYS_fstatfs}, {"sched_yield", SYS_sched_yield},
    {"readlinkat", SYS_readlinkat}, {"rt_sigtimedwait", SYS_rt_sigtimedwait}, {"statx", SYS_statx},
};

int main(int argc, char **argv) {
    if (argc < 4) return 97;
    int error = strcmp(argv[2], "ENOSYS") == 0 ? ENOSYS : strcmp(argv[2], "EINVAL") == 0 ? EINVAL : EPERM;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(argv[1], calls[i].name) != 0) continue;
        struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 96;
        setenv("LD_PRELOAD", getenv("PRELOAD"), 1);
        execv(argv[3], argv + 3);
        return 95;
    }
    return 94;
}
