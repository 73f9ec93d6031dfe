/* Times a loop of one-byte calls and prints nanoseconds per call, by the wall clock and of processor time; the benchmark
 * runs it with and without the tracer.
 * Usage: bench_calls OPERATION COUNT FILE [THREADS], OPERATION pwrite, pread or whole; all threads use one descriptor.
 *   pwrite, pread   warms up, then times COUNT calls per thread, prints what a thread waits for a call and what it uses
 *   whole           COUNT pwrites, nothing else, prints nothing: its caller times the whole process
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 64, WARM_UP = 20000 };

static int fd, reading, threads = 1;
static long count;
static pthread_barrier_t together;
static struct timespec begun[MOST_THREADS], ended[MOST_THREADS], used[MOST_THREADS][2];

/* Offsets go round a megabyte, so that the file stays small and in memory. By its name, callgrind can count this alone. */
__attribute__((noinline)) static void calls(long number) {
    char byte = 'x';
    for (long i = 0; i < number; i++) {
        off_t at = i & 0xfffff;
        ssize_t done = reading ? pread(fd, &byte, 1, at) : pwrite(fd, &byte, 1, at);
        if (done != 1) {
            perror("bench_calls");
            exit(1);
        }
    }
}

static void *run(void *argument) {
    long self = (long)argument;
    calls(WARM_UP);
    pthread_barrier_wait(&together);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used[self][0]);
    clock_gettime(CLOCK_MONOTONIC, &begun[self]);
    calls(count);
    clock_gettime(CLOCK_MONOTONIC, &ended[self]);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used[self][1]);
    return NULL;
}

static double seconds(const struct timespec *t) { return (double)t->tv_sec + (double)t->tv_nsec * 1e-9; }

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: bench_calls pwrite|pread|whole COUNT FILE [THREADS]\n");
        return 2;
    }
    reading = strcmp(argv[1], "pread") == 0;
    count = atol(argv[2]);
    threads = argc > 4 ? atoi(argv[4]) : 1;
    fd = open(argv[3], O_RDWR | O_CREAT, 0644);
    if (fd < 0 || count < 1 || threads < 1 || threads > MOST_THREADS || ftruncate(fd, 1 << 20) != 0) {
        perror("bench_calls");
        return 1;
    }
    if (strcmp(argv[1], "whole") == 0) {
        calls(count);
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
    /* Per call of one thread: what a thread waits for its calls, the others working beside it. */
    printf("%.2f %.2f\n", (last - first) * 1e9 / (double)count, cpu * 1e9 / (double)count / threads);
    return 0;
}
