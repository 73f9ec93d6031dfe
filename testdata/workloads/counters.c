/* Tests exactness of counters, and that they do not grow without bound. No log: the expected numbers are printed.
 * Usage: counters DIRECTORY WAY [COUNT], WAY one of
 *   pattern   reads and writes with known sizes, strides, switches and alignments, on few files, by one thread;
 *             prints the number of reads and writes with known memory, and how many of them are unaligned
 *   many      makes, writes, closes and removes COUNT files with different names; prints the bytes written
 *   threads   COUNT threads one after another, each of which writes ten bytes; prints the bytes written
 *   alive     COUNT threads that write and then live until the end, and a process forked meanwhile
 * Every way but the first ends its line with the peak memory of the process (VmHWM, KiB).
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); perror(""); exit(1); } } while (0)

static char path[4200], memory[1 << 16] __attribute__((aligned(64)));
static long known, unaligned;

/* Memory that begins `off` bytes behind a multiple of 64. */
static char *at(int off) {
    known++;
    unaligned += off % 8 != 0;
    return memory + off;
}

static long peak(void) {
    char line[200];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status) != NULL) {
        sscanf(line, "VmHWM: %ld", &kib);
    }
    fclose(status);
    return kib;
}

static void pattern(const char *directory) {
    snprintf(path, sizeof path, "%s/one", directory);
    int one = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
    snprintf(path, sizeof path, "%s/two", directory);
    int two = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
    CHECK(one >= 0 && two >= 0);
    for (int i = 0; i < 500; i++) {
        CHECK(pwrite(one, at(i % 3), 100 + i % 5, (off_t)i * 4096) == 100 + i % 5);
        CHECK(write(two, at(0), 7) == 7);
        if (i % 10 == 9) {
            CHECK(pread(one, at(1), 50, (off_t)(i - 5) * 4096) == 50);
        }
    }
    CHECK(lseek(two, 0, SEEK_SET) == 0);
    while (read(two, at(4), 1000) > 0) {
    }
    struct iovec parts[] = {{at(8), 10}, {memory + 20, 10}, {memory + 1, 0}};
    unaligned++; /* The second part is at 20. */
    CHECK(writev(two, parts, 3) == 20);
    known++;
    CHECK(preadv(two, parts, 1, 3) == 10);
    /* A sequence of different strides, more than the counters can distinguish. */
    for (int i = 0; i < 100; i++) {
        CHECK(pwrite(two, at(0), 8, 100000 + (off_t)i * i * 8) == 8);
    }
    CHECK(pread(-1, memory, 1, 0) == -1 && pwrite(one, memory, 1, -5) == -1);
    CHECK(open("/dev/shm/there/is/none", O_RDONLY) == -1);
    CHECK(fsync(one) == 0 && close(one) == 0 && close(two) == 0);
    snprintf(path, sizeof path, "%s/stream", directory);
    FILE *stream = fopen(path, "w+");
    CHECK(stream != NULL);
    for (int i = 0; i < 300; i++) {
        CHECK(fwrite(memory, 1, (size_t)(i % 4) + 1, stream) == (size_t)(i % 4) + 1);
    }
    rewind(stream);
    CHECK(fread(memory, 100, 2, stream) == 2 && fseek(stream, 5, SEEK_SET) == 0 && fputc('x', stream) == 'x');
    CHECK(fclose(stream) == 0);
    printf("%ld %ld\n", known, unaligned);
}

static long written;

static void many(const char *directory, long count) {
    for (long i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/a-file-with-a-long-name-%09ld", directory, i);
        int fd = open(path, O_CREAT | O_WRONLY, 0644);
        CHECK(fd >= 0);
        long length = i % 7 + 1;
        CHECK(write(fd, memory, (size_t)length) == length);
        written += length;
        CHECK(close(fd) == 0 && unlink(path) == 0);
    }
}

static int shared;
static pthread_barrier_t all_there, may_end;

static void *writes_ten(void *wait) {
    for (int i = 0; i < 10; i++) {
        CHECK(pwrite(shared, memory, 1, i) == 1);
    }
    if (wait != NULL) {
        pthread_barrier_wait(&all_there);
        pthread_barrier_wait(&may_end);
    }
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc >= 3);
    const char *way = argv[2];
    long count = argc > 3 ? atol(argv[3]) : 0;
    if (strcmp(way, "pattern") == 0) {
        pattern(argv[1]);
        return 0;
    }
    snprintf(path, sizeof path, "%s/shared", argv[1]);
    shared = open(path, O_CREAT | O_WRONLY, 0644);
    CHECK(shared >= 0);
    if (strcmp(way, "many") == 0) {
        many(argv[1], count);
    } else if (strcmp(way, "threads") == 0) {
        for (long i = 0; i < count; i++) {
            pthread_t thread;
            CHECK(pthread_create(&thread, NULL, writes_ten, NULL) == 0 && pthread_join(thread, NULL) == 0);
            written += 10;
        }
    } else if (strcmp(way, "alive") == 0) {
        pthread_t thread;
        pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
        pthread_barrier_init(&may_end, NULL, (unsigned)count + 1);
        for (long i = 0; i < count; i++) {
            CHECK(pthread_create(&thread, NULL, writes_ten, shared > 0 ? &shared : NULL) == 0);
            CHECK(pthread_detach(thread) == 0);
            written += 10;
        }
        pthread_barrier_wait(&all_there);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(pwrite(shared, memory, 3, 100) == 3);
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    } else {
        return 2;
    }
    printf("%ld %ld\n", written, peak());
    return 0;
}
