/* Writes matrices to a file, then reads each and writes it back, then reads all, without computing in between: the order of
 * MADBench2's I/O. Usage: matrices FILE COUNT BYTES. Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int fd;
static char *matrix;
static long bytes;

static void put(long number) {
    if (pwrite(fd, matrix, bytes, number * bytes) != bytes) {
        exit(1);
    }
}

static void get(long number) {
    if (pread(fd, matrix, bytes, number * bytes) != bytes) {
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    long count = atol(argv[2]);
    bytes = atol(argv[3]);
    matrix = calloc(1, bytes);
    fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (matrix == NULL || fd < 0) {
        return 1;
    }
    for (long i = 0; i < count; i++) {
        put(i);
    }
    for (long i = 0; i < count; i++) {
        get(i);
        put(i);
    }
    for (long i = 0; i < count; i++) {
        get(i);
    }
    return close(fd);
}
