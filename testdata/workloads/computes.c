/* CALLS writes of 64 KiB to FILE, with MICROSECONDS of computing (time on the processor) after each.
 * Usage: computes FILE CALLS MICROSECONDS. Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long used(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    static char bytes[64 << 10];
    long calls = atol(argv[2]), nanoseconds = atol(argv[3]) * 1000;
    int file = open(argv[1], O_CREAT | O_RDWR, 0600);
    if (file < 0) return 1;
    for (long i = 0; i < calls; i++) {
        if (pwrite(file, bytes, sizeof bytes, i * (long)sizeof bytes) != sizeof bytes) return 1;
        for (long until = used() + nanoseconds; used() < until;) {}
    }
    return close(file) != 0;
}
