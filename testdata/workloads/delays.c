/* Simulates a slow file system: a library preloaded behind the tracer that delays chosen calls, so that the tracer records long durations.
 * Environment: DELAYS, rules separated by ';', each a list of KEY=VALUE separated by ','; the delays of all rules that match add up.
 *   op=write|read|open|sync|stat|lock   which calls (pwrite, writev, ... are writes); needed
 *   us=N  perkib=N       microseconds of delay, and microseconds for each KiB moved
 *   rank=N               only that rank (MPICH's PMI_RANK or Open MPI's OMPI_COMM_WORLD_RANK)
 *   target=I/N/BYTES     only if the offset's stripe of BYTES bytes lies on target I of N
 *   from=MS to=MS        only in this time, counted from the first delayed call of the process
 *   nth=N                only the N-th call that the rest of the rule matches
 *   after=N              only calls after the N-th of them
 *   every=N              only every N-th of them, with a phase that depends on the rank
 * Only files whose path has DELAYS_PATH in it are slow: descriptors of others pass. Provenance: written for this project. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { RULES = 16, DESCRIPTORS = 4096, WRITE = 1, READ, OPEN, SYNC, STAT, LOCK };

struct rule {
    int op, rank, target, targets;
    long us, perkib, stripe, from, to, nth, after, every;
    atomic_long seen;
};

static struct rule rules[RULES];
static int count, me;
static atomic_llong began;
static const char *slow_path;
static atomic_char slow[DESCRIPTORS];

#define NEXT(name) ((__typeof__(&name))next(#name))
static void *next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

static long long now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static int op_of(const char *name) {
    static const char *names[] = {"", "write", "read", "open", "sync", "stat", "lock"};
    for (int i = WRITE; i <= LOCK; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "delays: no operation '%s'\n", name);
    _exit(99);
}

static void one(struct rule *rule, char *text) {
    char *rest = NULL;
    *rule = (struct rule){.rank = -1, .target = -1, .to = -1};
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (!value)
            continue;
        *value++ = 0;
        long number = strtol(value, NULL, 10);
        if (strcmp(word, "op") == 0)
            rule->op = op_of(value);
        else if (strcmp(word, "target") == 0)
            sscanf(value, "%d/%d/%ld", &rule->target, &rule->targets, &rule->stripe);
        else if (strcmp(word, "rank") == 0)
            rule->rank = (int)number;
        else if (strcmp(word, "us") == 0)
            rule->us = number;
        else if (strcmp(word, "perkib") == 0)
            rule->perkib = number;
        else if (strcmp(word, "from") == 0)
            rule->from = number;
        else if (strcmp(word, "to") == 0)
            rule->to = number;
        else if (strcmp(word, "nth") == 0)
            rule->nth = number;
        else if (strcmp(word, "after") == 0)
            rule->after = number;
        else if (strcmp(word, "every") == 0)
            rule->every = number;
    }
}

__attribute__((constructor)) static void read_rules(void) {
    const char *text = getenv("DELAYS"), *rank = getenv("PMI_RANK");
    slow_path = getenv("DELAYS_PATH");
    if (!rank)
        rank = getenv("OMPI_COMM_WORLD_RANK");
    me = rank ? atoi(rank) : 0;
    char *copy = strdup(text ? text : ""), *rest = NULL;
    for (char *word = strtok_r(copy, ";", &rest); word && count < RULES; word = strtok_r(NULL, ";", &rest))
        one(&rules[count++], word);
    free(copy);
}

static void delay(int op, long long offset, long long bytes) {
    long long now = now_us(), none = 0, us = 0;
    atomic_compare_exchange_strong(&began, &none, now);
    long ms = (long)((now - atomic_load(&began)) / 1000);
    for (struct rule *rule = rules; rule < rules + count; rule++) {
        if (rule->op != op || (rule->rank >= 0 && rule->rank != me))
            continue;
        if (ms < rule->from || (rule->to >= 0 && ms >= rule->to))
            continue;
        if (rule->target >= 0 && (offset < 0 || offset / rule->stripe % rule->targets != rule->target))
            continue;
        long number = atomic_fetch_add(&rule->seen, 1) + 1;
        if (number <= rule->after)
            continue;
        if ((rule->nth && number != rule->nth) || (rule->every && (number + me * 37) % rule->every != 0))
            continue;
        us += rule->us + rule->perkib * (bytes > 0 ? bytes : 0) / 1024;
    }
    struct timespec left = {us / 1000000, us % 1000000 * 1000};
    if (us > 0)
        nanosleep(&left, NULL);
}

static int is_slow(int fd) {
    return fd >= 0 && fd < DESCRIPTORS && atomic_load(&slow[fd]);
}

static int path_is_slow(const char *path) {
    return path && slow_path && strstr(path, slow_path) != NULL;
}

/* File position at which a call without an offset will begin. */
static long long position(int fd) {
    return NEXT(lseek)(fd, 0, SEEK_CUR);
}

static long long total(const struct iovec *parts, int n) {
    long long sum = 0;
    for (int i = 0; i < n; i++)
        sum += (long long)parts[i].iov_len;
    return sum;
}

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < DESCRIPTORS)
        atomic_store(&slow[fd], (char)path_is_slow(path));
    return fd;
}

#define OPENS(name)                                                  \
    int name(const char *path, int flags, ...) {                     \
        va_list list;                                                \
        va_start(list, flags);                                       \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; \
        va_end(list);                                                \
        if (path_is_slow(path))                                      \
            delay(OPEN, -1, 0);                                      \
        return opened(NEXT(name)(path, flags, mode), path);          \
    }
OPENS(open)
OPENS(open64)

#define MOVES(name, op, type, result, offset, bytes, params, ...)    \
    result name params {                                             \
        if (is_slow(fd))                                             \
            delay(op, offset, bytes);                                \
        return NEXT(name)(__VA_ARGS__);                              \
    }
#define PLAIN(name, op, buffer) MOVES(name, op, , ssize_t, position(fd), (long long)n, (int fd, buffer p, size_t n), fd, p, n)
#define AT(name, op, buffer) MOVES(name, op, , ssize_t, at, (long long)n, (int fd, buffer p, size_t n, off_t at), fd, p, n, at)
#define PARTS(name, op) MOVES(name, op, , ssize_t, position(fd), total(p, n), (int fd, const struct iovec *p, int n), fd, p, n)
#define PARTS_AT(name, op) MOVES(name, op, , ssize_t, at, total(p, n), (int fd, const struct iovec *p, int n, off_t at), fd, p, n, at)
PLAIN(write, WRITE, const void *)
PLAIN(read, READ, void *)
AT(pwrite, WRITE, const void *)
AT(pwrite64, WRITE, const void *)
AT(pread, READ, void *)
AT(pread64, READ, void *)
PARTS(writev, WRITE)
PARTS(readv, READ)
PARTS_AT(pwritev, WRITE)
PARTS_AT(pwritev64, WRITE)
PARTS_AT(preadv, READ)
PARTS_AT(preadv64, READ)
MOVES(fsync, SYNC, , int, -1, 0, (int fd), fd)
MOVES(fdatasync, SYNC, , int, -1, 0, (int fd), fd)

int stat(const char *path, struct stat *into) {
    if (path_is_slow(path))
        delay(STAT, -1, 0);
    return NEXT(stat)(path, into);
}

int close(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS)
        atomic_store(&slow[fd], 0);
    return NEXT(close)(fd);
}

/* C streams bypass the wrapped write(2), so their flushes are delayed instead. */
int fflush(FILE *stream) {
    if (stream && is_slow(fileno(stream)))
        delay(SYNC, -1, 0);
    return NEXT(fflush)(stream);
}

FILE *fopen(const char *path, const char *mode) {
    FILE *stream = NEXT(fopen)(path, mode);
    if (path_is_slow(path))
        delay(OPEN, -1, 0);
    if (stream)
        opened(fileno(stream), path);
    return stream;
}
