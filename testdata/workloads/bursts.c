/* Writes 1 to 512 bytes at a time in bursts at full speed: for each number N on standard input, N times with each of two threads, then
 * prints "done". Closes its file at the end of the input. Provenance: written for this project. */
#include "oplog.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 2 };

static int calls, fd;
static pthread_barrier_t begin, end;

static void *write_all(void *thread) {
    char bytes[512] = {0};
    long before = 0;
    for (;;) {
        pthread_barrier_wait(&begin);
        if (calls == 0) return NULL;
        for (long i = before; i < before + calls; i++) {
            if (pwrite(fd, bytes, 1 + i % 512, ((long)(size_t)thread * 60000 + i) * 512 % (1 << 20)) < 0) abort();
        }
        before += calls;
        pthread_barrier_wait(&end);
    }
}

/* Reads a number and its end of line, by calls that are not recorded, as syscall(2) would be if it waits; 0 at the end. */
static int number(void) {
    int n = 0;
    for (char c; raw_call(SYS_read, 0, &c, 1) == 1 && c != '\n';) n = 10 * n + c - '0';
    return n;
}

int main(void) {
    pthread_t threads[THREADS];
    fd = open("data/live.dat", O_CREAT | O_RDWR, 0600);
    if (fd < 0) return 1;
    pthread_barrier_init(&begin, NULL, THREADS + 1);
    pthread_barrier_init(&end, NULL, THREADS + 1);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, write_all, (void *)i);
    while ((calls = number()) > 0) {
        pthread_barrier_wait(&begin);
        pthread_barrier_wait(&end);
        if (raw_call(SYS_write, 1, "done\n", 5) != 5) return 1;
    }
    pthread_barrier_wait(&begin);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    close(fd);
    return 0;
}
