/* Writes N times 1 to 512 bytes with each of T threads, then waits until FILE exists, if it is named; with `die`, it is then killed. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/syscall.h>

static int calls, fd;

static void *write_all(void *thread) {
    char bytes[512] = {0};
    for (int i = 0; i < calls; i++) {
        if (pwrite(fd, bytes, 1 + i % 512, ((long)(size_t)thread * calls + i) * 512 % (1 << 20)) < 0) abort();
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[64];
    calls = atoi(argv[1]);
    int count = atoi(argv[2]);
    fd = open("data/live.dat", O_CREAT | O_RDWR, 0600);
    if (fd < 0) return 1;
    for (long i = 0; i < count; i++) pthread_create(&threads[i], NULL, write_all, (void *)i);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    close(fd);
    if (argc > 3) while (syscall(SYS_faccessat, AT_FDCWD, argv[3], F_OK) != 0) usleep(1000); /* Not recorded. */
    if (argc > 4 && strcmp(argv[4], "die") == 0) kill(getpid(), SIGKILL);
    return 0;
}
