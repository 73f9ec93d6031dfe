/* Reads of 4,096 bytes at p and p + 8,192, with a period of 32,768, and 1 ms of work between two of them; with posix_fadvise(2) CALLS_AHEAD
 * calls ahead, or none. Before each read it asks mincore(2) if the page is cached; prints how often it was not.
 * The work of CALLS_AHEAD calls must take at least as long as storage: on slow machines the work continues until the page is cached, but for
 * no more than 2 s in total.
 * Usage: foreseen FILE READS CALLS_AHEAD. Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)

enum { LENGTH = 4096, GAP = 8192, PERIOD = 32768, MILLISECOND = 1000 * 1000 };

static off_t place(long number) {
    return number / 2 * PERIOD + number % 2 * GAP;
}

static void work(void) {
    struct timespec time = {0, MILLISECOND};
    CHECK(nanosleep(&time, NULL) == 0);
}

static int there(char *map, long number) {
    unsigned char page;
    CHECK(mincore(map + place(number), LENGTH, &page) == 0);
    return page & 1;
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    long reads = atol(argv[2]), ahead = atol(argv[3]), foreseen = 1, waited = 0, more = 2000;
    int file = open(argv[1], O_RDONLY);
    CHECK(file >= 0);
    char *map = mmap(NULL, (size_t)place(reads), PROT_READ, MAP_SHARED, file, 0), buffer[LENGTH];
    CHECK(map != MAP_FAILED);
    /* Turns off the kernel's own read-ahead. */
    CHECK(posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM) == 0);
    for (long i = 0; i < reads; i++) {
        for (; ahead > 0 && i >= ahead && !there(map, i) && more > 0; more--) {
            work();
        }
        waited += !there(map, i);
        for (; ahead > 0 && foreseen <= i + ahead && foreseen < reads; foreseen++) {
            CHECK(posix_fadvise(file, place(foreseen), LENGTH, POSIX_FADV_WILLNEED) == 0);
        }
        CHECK(pread(file, buffer, LENGTH, place(i)) == LENGTH);
        work();
    }
    printf("%ld\n", waited);
    return 0;
}
