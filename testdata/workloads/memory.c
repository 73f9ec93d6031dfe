/* Reads and writes with known memory alignment, in known numbers.
 * Usage: memory FILE COUNT [wait]: COUNT writes of 100 bytes, a quarter of them from one byte past a page boundary; COUNT reads of
 * 2000 bytes, half of them to 512 bytes past one; one writev whose second buffer is off by three bytes; one getc; then a child writes once, off
 * by one. `wait`: prints a line and waits to be killed instead of ending. Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "failed: %s\n", #what); exit(1); } } while (0)

int main(int argc, char **argv) {
    CHECK(argc >= 3);
    int count = atoi(argv[2]), fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *page = aligned_alloc(4096, 1 << 16);
    CHECK(fd >= 0 && page != NULL);
    memset(page, 1, 1 << 16);
    for (int i = 0; i < count; i++) {
        CHECK(pwrite(fd, page + (i % 4 == 0), 100, i * 100L) == 100);
    }
    CHECK(pwrite(fd, page, 4096, count * 100L) == 4096);
    for (int i = 0; i < count; i++) {
        CHECK(pread(fd, page + (i % 2 == 0 ? 512 : 0), 2000, 0) == 2000);
    }
    struct iovec both[2] = {{page, 8}, {page + 3, 8}};
    CHECK(writev(fd, both, 2) == 16);
    FILE *stream = fopen(argv[1], "r");
    CHECK(stream != NULL && getc(stream) != EOF && fclose(stream) == 0);
    if (argc > 3) {
        puts("waiting");
        fflush(stdout);
        pause();
    }
    pid_t child = fork();
    if (child == 0) {
        CHECK(write(fd, page + 1, 5) == 5);
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    return 0;
}
