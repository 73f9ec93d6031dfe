/* Writers that are active while the process ends. Each counts its calls in shared memory before and after: the number of recorded calls
 * must lie between both counts.
 * Usage: ends DIRECTORY COUNTS KIND WAY SEED. COUNTS is a file of pairs of 64-bit numbers, begun and returned, one pair per writer.
 * Writer s writes 8 bytes at a time to DIRECTORY/t<s>, its call i at offset 8 i. KIND: threads, forks (a loop of children, each of
 * which ends in the same way), exec (writers after an exec), ranks. WAY: exit, _exit, quick_exit, sigterm,
 * sigkill, abort, segv, sigpipe, sigalrm, sigxfsz, machine_code (the system call itself), exec, failed_exec, finalize, join (writers
 * continue during exit, and are joined at its very end). The time of the end is drawn from SEED. More kinds: confined: some time after
 * threads have begun, the process confines itself by a seccomp(2) filter that refuses the system calls of a tracer; chroot: changes its
 * root directory to DIRECTORY; mounts: mounts an empty file system over DXT_OUTPUT_DIR in a private mount namespace; vforks: another thread
 * makes children by vfork(2) that write to DIRECTORY/v (not counted), and exec another program or end. After MPI_Abort, a destructor of
 * each rank is one more writer.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include "oplog.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

enum { SLOTS = 256 };
struct count { _Atomic uint64_t begun, returned; };
static struct count *counts;
static const char *dir, *way, *self, *counts_path;
static uint64_t seed;
static _Atomic int stop, started;
static pthread_t writers[8];
static int writer_count, base;

static uint64_t draw(uint64_t below) {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t z = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

static void nap(uint64_t us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&time, &time) != 0) {}
}

static void *work(void *argument) {
    int slot = (int)(intptr_t)argument;
    struct count *count = &counts[slot];
    char path[4200];
    snprintf(path, sizeof path, "%s/t%d", dir, slot);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    started++;
    for (uint64_t i = 0; !stop; i++) {
        count->begun++;
        CHECK(pwrite(fd, &i, 8, (off_t)(8 * i)) == 8);
        count->returned++;
    }
    return NULL;
}

/* Only termination is checked. */
static void *vforks(void *unused) {
    char path[4200];
    snprintf(path, sizeof path, "%s/v", dir);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    started++;
    for (volatile int i = 0; !stop; i++) {
        pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            if (pwrite(fd, "v", 1, 0) != 1) _exit(9);
            if (i % 2 == 0) execl("/bin/true", "true", (char *)NULL);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    return unused;
}

static void start(int first, int threads) {
    started = 0;
    writer_count = threads;
    for (int t = 0; t < threads; t++)
        CHECK(pthread_create(&writers[t], NULL, work, (void *)(intptr_t)(first + t)) == 0);
    while (started < threads) nap(100);
}

static void join(void) {
    stop = 1;
    for (int t = 0; t < writer_count; t++) CHECK(pthread_join(writers[t], NULL) == 0);
    writer_count = 0;
}

/* A custom stream's write function, which runs when the C library flushes streams at exit, after all destructors. */
static ssize_t last(void *cookie, const char *data, size_t length) {
    (void)cookie, (void)data;
    nap(draw(3000));
    join();
    return (ssize_t)length;
}

/* System calls that a tracer makes, but neither this program nor the C library. */
static void confine(void) {
#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_fallocate),
        REFUSE(SYS_ftruncate),
        REFUSE(SYS_renameat2),
        REFUSE(SYS_membarrier),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0);
}

static void hide_output(void) {
    CHECK(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    CHECK(mount("none", getenv("DXT_OUTPUT_DIR"), "tmpfs", 0, NULL) == 0);
}

static void become(const char *program) {
    char number[32];
    snprintf(number, sizeof number, "%d", base + 4);
    execl(program, "ends", dir, counts_path, "second", number, "1", (char *)NULL);
}

#ifdef WITH_MPI
static int late = -1;

static __attribute__((destructor)) void after_abort(void) {
    struct count *count = &counts[base + 5];
    for (uint64_t i = 0; late >= 0 && i < 50; i++) {
        count->begun++;
        CHECK(pwrite(late, &i, 8, (off_t)(8 * i)) == 8);
        count->returned++;
    }
}
#endif

static void end(void) {
    nap(draw(20000));
    if (strcmp(way, "join") == 0) {
        FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = last});
        CHECK(stream != NULL && fputs("x", stream) >= 0);
        exit(0);
    }
    if (strcmp(way, "exit") == 0) exit(0);
    if (strcmp(way, "_exit") == 0) _exit(0);
    if (strcmp(way, "quick_exit") == 0) quick_exit(0);
    if (strcmp(way, "sigterm") == 0) kill(getpid(), SIGTERM);
    if (strcmp(way, "sigkill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(way, "segv") == 0) *(volatile int *)(intptr_t)draw(16) = 1;
    if (strcmp(way, "sigpipe") == 0) {
        int ends[2];
        CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
        /* A child that another thread is forking may hold the other end for a moment. */
        while (write(ends[1], "x", 1) > 0) {
        }
    }
    if (strcmp(way, "sigalrm") == 0) {
        struct itimerval soon = {.it_value = {0, 1 + (long)draw(2000)}};
        CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    }
    if (strcmp(way, "sigxfsz") == 0) {
        struct rlimit least = {0, RLIM_INFINITY};
        /* Python and what it starts ignore the signal. */
        signal(SIGXFSZ, SIG_DFL);
        CHECK(setrlimit(RLIMIT_FSIZE, &least) == 0);
    }
    if (strcmp(way, "machine_code") == 0) raw_call(SYS_exit_group, 0, 0, 0, 0);
    if (strcmp(way, "exec") == 0) become(self);
    if (strcmp(way, "failed_exec") == 0) {
        become("/no/such/program");
        nap(draw(10000));
        become("/dev/null");
        nap(draw(10000));
        join();
        exit(0);
    }
#ifdef WITH_MPI
    if (strcmp(way, "finalize") == 0) {
        MPI_Finalize();
        nap(draw(10000));
        join();
        exit(0);
    }
    if (strcmp(way, "abort") == 0) {
        char path[4200];
        snprintf(path, sizeof path, "%s/t%d", dir, base + 5);
        CHECK((late = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644)) >= 0);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
#endif
    if (strcmp(way, "abort") == 0) abort();
    nap(5000000);
    abort();
}

int main(int argc, char **argv) {
    CHECK(argc == 6);
    dir = argv[1];
    counts_path = argv[2];
    self = "/proc/self/exe";
    long fd = raw_call(SYS_openat, AT_FDCWD, counts_path, O_RDWR, 0);
    CHECK(fd >= 0);
    counts = mmap(NULL, SLOTS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
    CHECK(counts != MAP_FAILED && raw_call(SYS_close, fd) == 0);
    const char *kind = argv[3];
    seed = strtoull(argv[5], NULL, 10);
    if (strcmp(kind, "second") == 0) {
        start(atoi(argv[4]), 2);
        nap(3000);
        join();
        return 0;
    }
    way = argv[4];
    if (strcmp(kind, "vforks") == 0) {
        start(0, 3);
        CHECK(pthread_create(&writers[writer_count++], NULL, vforks, NULL) == 0);
        while (started < writer_count) nap(100);
        end();
    }
    if (strcmp(kind, "threads") == 0) {
        start(0, 4);
        end();
    }
    const char *const kinds[] = {"confined", "chroot", "mounts"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(kind, kinds[i]) != 0) continue;
        start(0, 3);
        nap(draw(5000));
        if (i == 0) confine();
        if (i == 1) CHECK(chroot(dir) == 0);
        if (i == 2) hide_output();
        end();
    }
    if (strcmp(kind, "exec") == 0) {
        /* One writer in the first program, two in the second, which ends by itself. */
        if (strcmp(way, "exec") != 0) {
            start(0, 1);
            nap(draw(3000));
            join();
            base = 0;
            char again[32];
            snprintf(again, sizeof again, "%llu", (unsigned long long)draw(1000000));
            execl(self, "ends", dir, counts_path, "after", way, again, (char *)NULL);
        }
        start(0, 3);
        end();
    }
    if (strcmp(kind, "after") == 0) {
        base = 40;
        start(1, 3);
        end();
    }
    if (strcmp(kind, "forks") == 0) {
        start(0, 2);
        for (int child = 0; child < 5; child++) {
            seed += 77;
            pid_t pid = fork();
            CHECK(pid >= 0);
            if (pid == 0) {
                base = 10 + child * 10;
                start(base, 2);
                end();
            }
            int status;
            if (child % 2 == 0) waitpid(pid, &status, 0);
        }
        base = 4;
        while (wait(NULL) > 0) {}
        end();
    }
#ifdef WITH_MPI
    if (strcmp(kind, "ranks") == 0) {
        int rank, provided;
        CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        base = rank * 20;
        seed += (uint64_t)rank * 1000;
        start(base, 2);
        end();
    }
#endif
    return 98;
}
