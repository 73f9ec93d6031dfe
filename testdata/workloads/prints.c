/* Prints lines to standard output, whose reader is slow: a pipe that is read in pauses. Usage: prints LINES BYTES
 * Each line is written by write(2); every other program that prints through a full pipe waits in the same way.
 * Provenance: written for this project. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    long lines = argc > 1 ? atol(argv[1]) : 100, bytes = argc > 2 ? atol(argv[2]) : 4096;
    char *line = malloc(bytes);
    if (!line) {
        return 1;
    }
    memset(line, 'x', bytes);
    line[bytes - 1] = '\n';
    for (long i = 0; i < lines; i++) {
        for (long at = 0; at < bytes;) {
            ssize_t got = write(STDOUT_FILENO, line + at, bytes - at);
            if (got <= 0) {
                return 1;
            }
            at += got;
        }
    }
    free(line);
    return 0;
}
