/* CALLS writes of 512 bytes to FILE, RATE per second (0: at full speed); prints the seconds taken.
 * Usage: paced RATE CALLS FILE. Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    double rate = atof(argv[1]), begun = now();
    long calls = atol(argv[2]);
    static char bytes[512];
    int file = open(argv[3], O_CREAT | O_RDWR, 0600);
    if (file < 0) return 1;
    for (long i = 0; i < calls; i++) {
        /* Synchronizes with the clock about every millisecond. */
        if (rate > 0) {
            double ahead = begun + (double)i / rate - now();
            if (ahead > 0.001) usleep((useconds_t)(ahead * 1e6));
        }
        if (pwrite(file, bytes, sizeof bytes, i % 2048 * 512) != sizeof bytes) return 1;
    }
    printf("%.6f\n", now() - begun);
    return close(file);
}
