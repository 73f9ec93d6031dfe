/* Scarce, locked or copied memory. Usage: scarce DIRECTORY WAY [NUMBER].
 * Ways print nothing unless stated, and end by exit(5).
 * used_up: writes, then limits the address space to its present size, uses up the memory of malloc(3), and ends.
 * data_limit: as used_up, with RLIMIT_DATA.
 * limited: limits the address space to 300 MiB and takes 200 MiB of it.
 * fails, fails_from: writes NUMBER2 times; the tracer's allocation NUMBER after that fails, or all from that one on. Sets a
 *   variable of the tracer's library for this, if there is one. NUMBER2 is the fourth argument; the fifth is the way to end:
 *   exit, _exit, exec (a failing one, then exit), fork (the child also exits).
 * lock: prints kB of VmLck and of VmRSS after mlockall(MCL_CURRENT) (current), of MCL_FUTURE (future), or both (both), each
 *   followed by some writes and an allocation of 1 MiB; prints "refused" if any of this fails.
 * forks: with 100 MiB in memory prints "ready" and forks children that end at once, until the test kills the process.
 * packs: NUMBER threads write without end while the process forks 60 children that write; prints the children's calls.
 * poor: a forked child without memory to allocate writes NUMBER times, may allocate again, and ends.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) { perror(#x); exit(9); } } while (0)

static int fd;

static void writes(long count) {
    for (long i = 0; i < count; i++)
        CHECK(pwrite(fd, &i, sizeof i, (i * 2654435761L) % 1000000) == sizeof i);
}

static long status(const char *name) {
    char text[8192], *at;
    int file = open("/proc/self/status", O_RDONLY);
    long length = read(file, text, sizeof text - 1);
    close(file);
    CHECK(length > 0);
    text[length] = 0;
    CHECK((at = strstr(text, name)));
    return atol(at + strlen(name));
}

static void use_up(int kind) {
    struct rlimit limit = {.rlim_cur = (kind == RLIMIT_AS ? status("VmSize:") : status("VmData:")) << 10};
    limit.rlim_max = limit.rlim_cur;
    CHECK(setrlimit(kind, &limit) == 0);
    for (size_t bytes = 1 << 24; bytes > 16; bytes /= 2)
        while (malloc(bytes))
            ;
}

static void fail(long number) {
    long *failing = dlsym(RTLD_DEFAULT, "DXT_TRACER_FAILING_ALLOCATION");
    if (failing)
        *failing = number;
}

static void end(const char *how) {
    if (strcmp(how, "_exit") == 0)
        _exit(5);
    if (strcmp(how, "exec") == 0)
        CHECK(execl("/none", "none", NULL) < 0);
    exit(5);
}

static void *writes_for_ever(void *unused) {
    while (!unused)
        writes(1000);
    return unused;
}

static void lock(const char *what) {
    int flags = strcmp(what, "current") == 0 ? MCL_CURRENT : strcmp(what, "future") == 0 ? MCL_FUTURE : MCL_CURRENT | MCL_FUTURE;
    writes(10);
    char *more;
    if (mlockall(flags) != 0 || !(more = malloc(1 << 20))) {
        printf("refused\n");
        return;
    }
    memset(more, 1, 1 << 20);
    writes(100000);
    CHECK(close(open("another", O_CREAT | O_RDWR, 0644)) == 0);
    printf("%ld %ld\n", status("VmLck:"), status("VmRSS:"));
}

int main(int argc, char **argv) {
    CHECK(argc >= 3 && chdir(argv[1]) == 0);
    const char *way = argv[2];
    long number = argc > 3 ? atol(argv[3]) : 0;
    CHECK((fd = open("file", O_CREAT | O_RDWR, 0644)) >= 0);
    if (strcmp(way, "used_up") == 0 || strcmp(way, "data_limit") == 0) {
        writes(200000);
        use_up(strcmp(way, "used_up") == 0 ? RLIMIT_AS : RLIMIT_DATA);
        writes(200000);
    } else if (strcmp(way, "limited") == 0) {
        struct rlimit limit = {.rlim_cur = 300 << 20, .rlim_max = 300 << 20};
        writes(10);
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        writes(100000);
        CHECK(malloc(200 << 20));
        writes(100000);
    } else if (strncmp(way, "fails", 5) == 0) {
        CHECK(argc > 5);
        fail(strcmp(way, "fails") == 0 ? number : -number);
        writes(atol(argv[4]));
        if (strcmp(argv[5], "fork") == 0) {
            pid_t child = fork();
            if (child == 0) {
                writes(atol(argv[4]));
                exit(5);
            }
            int how;
            CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 5);
        }
        end(argv[5]);
    } else if (strcmp(way, "poor") == 0) {
        writes(10);
        pid_t child = fork();
        if (child == 0) {
            struct rlimit limit;
            CHECK(getrlimit(RLIMIT_DATA, &limit) == 0);
            struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
            CHECK(setrlimit(RLIMIT_DATA, &none) == 0);
            writes(number);
            CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
            exit(5);
        }
        int how;
        CHECK(child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 5);
    } else if (strcmp(way, "lock") == 0) {
        CHECK(argc > 3);
        lock(argv[3]);
    } else if (strcmp(way, "forks") == 0) {
        char *much = malloc(100 << 20);
        memset(much, 1, 100 << 20);
        writes(100000);
        puts("ready");
        fflush(stdout);
        for (;;) {
            pid_t child = fork();
            if (child == 0)
                _exit(0);
            CHECK(child > 0 && waitpid(child, NULL, 0) == child);
        }
    } else if (strcmp(way, "packs") == 0) {
        pthread_t thread;
        for (long i = 0; i < number; i++)
            CHECK(pthread_create(&thread, NULL, writes_for_ever, NULL) == 0);
        for (int i = 0; i < 60; i++) {
            pid_t child = fork();
            if (child == 0) {
                /* A separate file: threads of the parent keep the other one busy. */
                CHECK((fd = open("child", O_CREAT | O_RDWR, 0644)) >= 0);
                writes(5000);
                exit(5);
            }
            int how;
            CHECK(child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 5);
        }
        puts("60 5000");
        fflush(stdout);
        _exit(5);
    }
    exit(5);
}
