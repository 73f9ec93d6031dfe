/* A library whose destructor makes calls: preloaded behind the tracer, it runs after the tracer's destructor. LATE_DIR is the directory,
 * LATE_CALLS the number of calls; with LATE_EXIT it ends the process by _exit(2) with that code; with LATE_REGISTERS an on_exit(3) handler does
 * all this: preloaded before the tracer, the handler runs after the trace has been written.
 * Provenance: written for this project. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void work(int status, void *nothing) {
    (void)status, (void)nothing;
    const char *directory = getenv("LATE_DIR"), *calls = getenv("LATE_CALLS"), *end = getenv("LATE_EXIT");
    if (directory == NULL || calls == NULL) {
        return;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/late", directory);
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    for (long i = atol(calls); i > 0; i--) {
        if (write(file, "eight by", 8) != 8) {
            abort();
        }
    }
    if (end != NULL) {
        _exit(atoi(end));
    }
}

__attribute__((destructor)) static void late(void) {
    if (getenv("LATE_REGISTERS") == NULL) {
        work(0, NULL);
    } else if (on_exit(work, NULL) != 0) {
        abort();
    }
}
