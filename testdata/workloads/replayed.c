/* I/O that fio is to replay: two processes that write a file alternately and read it in two nested strides, each with a second thread that
 * reads backwards, and a C stream of its own.
 * Usage: replayed DIRECTORY. Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)

enum { BLOCK = 4096, RANKS = 2, BLOCKS = 64, READS = 15 };

static int shared;

static void *backwards(void *unused) {
    char block[1000];
    for (int i = 40; i > 0; i--) {
        CHECK(pread(shared, block, sizeof block, i * 2000) == sizeof block);
    }
    return unused;
}

static void rank(const char *directory, int rank) {
    char path[4200], block[BLOCK];
    memset(block, 'a' + rank, sizeof block);
    snprintf(path, sizeof path, "%s/shared.dat", directory);
    shared = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(shared >= 0);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(pwrite(shared, block, BLOCK, (off_t)(i * RANKS + rank) * BLOCK) == BLOCK);
    }
    CHECK(ftruncate(shared, BLOCKS * RANKS * BLOCK) == 0);
    for (int i = 0; i < READS; i++) {
        off_t at = rank * BLOCK + (off_t)i * 8 * BLOCK;
        CHECK(pread(shared, block, BLOCK, at) == BLOCK);
        CHECK(pread(shared, block, BLOCK, at + 2 * BLOCK) == BLOCK);
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, backwards, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(close(shared) == 0);
    snprintf(path, sizeof path, "%s/own %d.txt", directory, rank);
    FILE *stream = fopen(path, "w");
    CHECK(stream != NULL);
    for (int i = 0; i < 20; i++) {
        CHECK(fwrite(block, 1, 100, stream) == 100);
    }
    CHECK(fclose(stream) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    for (int i = 0; i < RANKS; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            rank(argv[1], i);
            exit(0);
        }
    }
    for (int i = 0; i < RANKS; i++) {
        int status;
        CHECK(wait(&status) > 0 && status == 0);
    }
    return 0;
}
