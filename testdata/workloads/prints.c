/* Prints lines to standard output, whose reader is slow: a pipe that is read in pauses.
 * Usage: prints LINES BYTES [write|flush|dprintf]. Each line is written by write(2) (default), by printf(3) and fflush(3), or by dprintf(3).
 * Provenance: written for this project. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    long lines = argc > 1 ? atol(argv[1]) : 100, bytes = argc > 2 ? atol(argv[2]) : 4096;
    const char *way = argc > 3 ? argv[3] : "write";
    char *line = malloc(bytes + 1), *buffer = malloc(2 * bytes);
    if (!line || !buffer || setvbuf(stdout, buffer, _IOFBF, 2 * bytes)) {
        return 1;
    }
    memset(line, 'x', bytes);
    line[bytes - 1] = '\n';
    line[bytes] = 0;
    for (long i = 0; i < lines; i++) {
        if (!strcmp(way, "flush")) {
            if (printf("%s", line) != bytes || fflush(stdout)) {
                return 1;
            }
        } else if (!strcmp(way, "dprintf")) {
            if (dprintf(STDOUT_FILENO, "%s", line) != bytes) {
                return 1;
            }
        } else {
            for (long at = 0; at < bytes;) {
                ssize_t got = write(STDOUT_FILENO, line + at, bytes - at);
                if (got <= 0) {
                    return 1;
                }
                at += got;
            }
        }
    }
    free(line);
    return 0;
}
