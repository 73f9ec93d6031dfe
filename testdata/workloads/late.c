/* A library whose destructor makes calls: preloaded behind the tracer, it comes behind the tracer's own. LATE_DIR says where, LATE_CALLS how
 * many; with LATE_EXIT it ends the process by _exit(2) of that number; with LATE_REGISTERS it leaves all that to on_exit(3): preloaded before
 * the tracer, that comes when the trace has been written.
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
