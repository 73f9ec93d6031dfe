/* Times a loop of small calls and prints nanoseconds per call, of wall-clock and of processor time; the benchmark
 * runs it with and without the tracer.
 * Usage: bench_calls OPERATION COUNT FILE [THREADS [own]]; all threads share one descriptor or stream, or each has
 * one of a file of its own, FILE.<thread> (own).
 *   pwrite, pread   of 1 byte: warms up, then times COUNT calls per thread; prints wall-clock and processor time per call
 *   write, read     at the file position
 *   random          pwrite at random offsets anywhere in 256 MiB; FILE may be /dev/zero
 *   turn            pwrite on 1,000 descriptors of different files, round-robin
 *   open            open and close, a pair counts as a call; reopen: of 1,000 files, round-robin; relative: by a relative name; at: by openat;
 *                   fopen: fopen and fclose; create: of a new file each time, FILE.<call>, never removed
 *   stat            of FILE by its name
 *   lock            fcntl F_SETLK, lock and unlock of a byte, a pair counts as a call
 *   fwrite, fread   of 8 bytes on a C stream; fputc, fgetc of 1 byte
 *   whole           only COUNT pwrites, prints nothing: the caller times the whole process
 *   whole-OPERATION as whole, with another operation
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 64, WARM_UP = 20000 };

enum operation { PWRITE, PREAD, RANDOM, WRITE, READ, TURN, OPEN, LOCK, FWRITE, FREAD, FPUTC, FGETC, REOPEN, RELATIVE, AT, FOPEN, CREATE, STAT };
static const char *const names[] = {"pwrite", "pread", "random", "write", "read", "turn", "open", "lock", "fwrite", "fread", "fputc", "fgetc",
                                    "reopen", "relative", "at", "fopen", "create", "stat"};

enum { TURNS = 1000 };
static int fds[MOST_THREADS], turns[TURNS], threads = 1;
static const char *path;
static enum operation operation;
static FILE *stream;
static long count;
static pthread_barrier_t together;
static struct timespec begun[MOST_THREADS], ended[MOST_THREADS], used[MOST_THREADS][2];

static void failed(void) {
    perror("bench_calls");
    exit(1);
}

/* Opens FILE, or FILE.<number>. */
static int open_file(int number) {
    char name[4200];
    snprintf(name, sizeof name, number < 0 ? "%s" : "%s.%d", path, number);
    int fd = open(name, O_RDWR | O_CREAT, 0644);
    if (fd < 0) {
        failed();
    }
    return fd;
}

/* Random offset within 256 MiB. Marsaglia, "Xorshift RNGs". */
static off_t next_random(void) {
    static __thread uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (off_t)(state & 0xfffffff);
}

static const char *last;
static int directory;
static long created = TURNS;

/* FILE.<number>, valid until the calling thread's next call. */
static const char *own_name(long number) {
    static __thread char name[4200];
    static size_t length;
    char digits[24];
    size_t from = sizeof digits - 1;
    if (name[0] == 0) {
        length = (size_t)snprintf(name, sizeof name - sizeof digits, "%s.", path);
    }
    digits[from] = 0;
    do {
        digits[--from] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(name + length, digits + from, sizeof digits - from);
    return name;
}

static int open_and_close(int at, const char *name, int flags) {
    int opened = openat(at, name, flags, 0644);
    return opened >= 0 && close(opened) == 0;
}

/* Offsets wrap at one megabyte, so that the file stays small and in memory. A separate function, so that callgrind can count it alone. */
__attribute__((noinline)) static void calls(long number, int fd) {
    char bytes[8] = "xxxxxxx";
    struct stat about;
    struct flock lock = {.l_whence = SEEK_SET, .l_len = 1};
    for (long i = 0; i < number; i++) {
        int done = 0;
        switch (operation) {
        case PWRITE: done = pwrite(fd, bytes, 1, i & 0xfffff) == 1; break;
        case PREAD: done = pread(fd, bytes, 1, i & 0xfffff) == 1; break;
        case RANDOM: done = pwrite(fd, bytes, 1, next_random()) == 1; break;
        case WRITE: done = write(fd, bytes, 1) == 1; break;
        case READ: done = read(fd, bytes, 1) == 1; break;
        case TURN: done = pwrite(turns[i % TURNS], bytes, 1, i & 0xfff) == 1; break;
        case OPEN: {
            int opened = open(path, O_RDONLY);
            done = opened >= 0 && close(opened) == 0;
            break;
        }
        case LOCK:
            lock.l_type = F_WRLCK;
            done = fcntl(fd, F_SETLK, &lock) == 0;
            lock.l_type = F_UNLCK;
            done = done && fcntl(fd, F_SETLK, &lock) == 0;
            break;
        case FWRITE: done = fwrite(bytes, 8, 1, stream) == 1; break;
        case FREAD: done = fread(bytes, 8, 1, stream) == 1; break;
        case FPUTC: done = fputc('x', stream) == 'x'; break;
        case FGETC: done = fgetc(stream) != EOF; break;
        case REOPEN: done = open_and_close(AT_FDCWD, own_name(i % TURNS), O_RDONLY); break;
        case RELATIVE: done = open_and_close(AT_FDCWD, last, O_RDONLY); break;
        case AT: done = open_and_close(directory, last, O_RDONLY); break;
        case FOPEN: {
            FILE *opened = fopen(path, "r");
            done = opened != NULL && fclose(opened) == 0;
            break;
        }
        case CREATE: done = open_and_close(AT_FDCWD, own_name(created++), O_RDWR | O_CREAT | O_EXCL); break;
        case STAT: done = stat(path, &about) == 0; break;
        }
        if (!done) {
            failed();
        }
    }
}

static void *run(void *argument) {
    long self = (long)argument;
    calls(WARM_UP, fds[self]);
    pthread_barrier_wait(&together);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used[self][0]);
    clock_gettime(CLOCK_MONOTONIC, &begun[self]);
    calls(count, fds[self]);
    clock_gettime(CLOCK_MONOTONIC, &ended[self]);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used[self][1]);
    return NULL;
}

static double seconds(const struct timespec *t) { return (double)t->tv_sec + (double)t->tv_nsec * 1e-9; }

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: bench_calls [whole-]pwrite|pread|random|write|read|turn|open|lock|fwrite|fread|fputc|fgetc|reopen|relative|at|fopen|create|stat COUNT FILE [THREADS [own]]\n");
        return 2;
    }
    int whole = strncmp(argv[1], "whole", 5) == 0;
    const char *name = argv[1] + (whole ? strcspn(argv[1], "-") : 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        operation = strcmp(name + (*name == '-'), names[i]) == 0 ? (enum operation)i : operation;
    }
    count = atol(argv[2]);
    threads = argc > 4 ? atoi(argv[4]) : 1;
    path = argv[3];
    int own = argc > 5 && strcmp(argv[5], "own") == 0;
    /* Streams read on without wrapping. */
    off_t size = (operation >= FREAD && operation <= FGETC) || operation == READ ? 8 * (count + WARM_UP) * threads : 1 << 20;
    if (count < 1 || threads < 1 || threads > MOST_THREADS) {
        failed();
    }
    for (int i = 0; i < threads; i++) {
        fds[i] = i > 0 && !own ? fds[0] : open_file(own ? i : -1);
        if (operation != RANDOM && ftruncate(fds[i], size) != 0) {
            failed();
        }
    }
    if (operation == OPEN) {
        close(open_file(-1));
    }
    if (operation == TURN) {
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
            limit.rlim_cur = limit.rlim_max;
            setrlimit(RLIMIT_NOFILE, &limit);
        }
        for (int i = 0; i < TURNS; i++) {
            turns[i] = open_file(i);
        }
    }
    if (operation == REOPEN) {
        for (int i = 0; i < TURNS; i++) {
            close(open_file(i));
        }
    }
    if (operation == RELATIVE || operation == AT) {
        char *parent = strdup(path);
        char *slash = parent == NULL ? NULL : strrchr(parent, '/');
        if (slash == NULL) {
            failed();
        }
        *slash = 0;
        last = path + (slash - parent) + 1;
        directory = open(parent, O_RDONLY | O_DIRECTORY);
        if (directory < 0 || (operation == RELATIVE && chdir(parent) != 0)) {
            failed();
        }
    }
    if (operation >= FWRITE && operation <= FGETC && (stream = fopen(argv[3], operation == FREAD || operation == FGETC ? "r" : "w")) == NULL) {
        failed();
    }
    if (whole) {
        calls(count, fds[0]);
        return 0;
    }
    pthread_t handles[MOST_THREADS];
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (long i = 1; i < threads; i++) {
        pthread_create(&handles[i], NULL, run, (void *)i);
    }
    run((void *)0);
    double first = seconds(&begun[0]), last = seconds(&ended[0]), cpu = seconds(&used[0][1]) - seconds(&used[0][0]);
    for (long i = 1; i < threads; i++) {
        pthread_join(handles[i], NULL);
        first = seconds(&begun[i]) < first ? seconds(&begun[i]) : first;
        last = seconds(&ended[i]) > last ? seconds(&ended[i]) : last;
        cpu += seconds(&used[i][1]) - seconds(&used[i][0]);
    }
    /* Time per call of one thread, while the other threads work. */
    printf("%.2f %.2f\n", (last - first) * 1e9 / (double)count, cpu * 1e9 / (double)count / threads);
    return 0;
}
