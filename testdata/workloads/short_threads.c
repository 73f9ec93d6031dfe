/* Many short-lived threads, each of which opens, writes, reads and stats its own file: for sanitizers.
 * Provenance: written for this project.
 *
 *     short_threads DIR */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dir;

static void *work(void *number) {
    char path[4096], bytes[8];
    struct stat about;
    snprintf(path, sizeof path, "%s/%ld", dir, (long)number);
    int file = open(path, O_CREAT | O_RDWR, 0600);
    long done = 0;
    for (int i = 0; i < 20; i++) done += write(file, "eight by", 8);
    done += pread(file, bytes, 8, 0);
    if (fstat(file, &about) != 0 || close(file) != 0 || access("/no/such/file", F_OK) == 0) done = 0;
    FILE *stream = fopen(path, "a");
    if (stream == NULL || fputs("a line\n", stream) < 0 || fclose(stream) != 0 || stat(path, &about) != 0) done = 0;
    return (void *)done;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    dir = argv[1];
    for (long round = 0; round < 40; round++) {
        pthread_t threads[8];
        for (long i = 0; i < 8; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)(round * 8 + i)) != 0) return 3;
        for (int i = 0; i < 8; i++) {
            void *done = NULL;
            if (pthread_join(threads[i], &done) != 0 || (long)done != 168) return 4;
        }
    }
    return 0;
}
