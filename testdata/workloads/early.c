/* A library whose constructor does I/O before the constructor of a library preloaded in front of it has run.
 * Provenance: written for this project.
 *
 * With EARLY_DIR set, its constructor writes EARLY_CALLS times 8 bytes to EARLY_DIR/early, changes the environment, and leaves the
 * file open; its destructor closes it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int file = -1;
static FILE *stream;

__attribute__((constructor)) static void early(void) {
    const char *dir = getenv("EARLY_DIR"), *calls = getenv("EARLY_CALLS");
    if (dir == NULL || calls == NULL) return;
    char path[4096];
    setenv("EARLY_ENVIRONMENT", "is somewhere else from here on", 1);
    snprintf(path, sizeof path, "%s/early", dir);
    file = open(path, O_WRONLY | O_CREAT, 0666);
    for (int i = atoi(calls); i > 0; i--)
        if (write(file, "early on", 8) != 8) _exit(90);
    snprintf(path, sizeof path, "%s/stream", dir);
    stream = fopen(path, "w");
    for (int i = atoi(calls); i > 0; i--)
        if (fwrite("early on", 8, 1, stream) != 1) _exit(91);
    if (fclose(stream) != 0) _exit(92);
}
