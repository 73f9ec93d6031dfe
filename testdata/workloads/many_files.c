/* Many files, and calls in random order. Usage: many_files DIRECTORY END FILES CALLS.
 * Opens a file; then FILES new ones, one after another, each with one write of 4 bytes; makes CALLS writes of 4 bytes at random offsets of
 * the first; ends as END says: return (7), or kill (by SIGKILL).
 * Provenance: written for this project. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) { perror(#x); exit(9); } } while (0)

int main(int argc, char **argv) {
    CHECK(argc == 5);
    char path[4096];
    long files = atol(argv[3]), calls = atol(argv[4]);
    snprintf(path, sizeof path, "%s/one", argv[1]);
    int one = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(one >= 0);
    for (long i = 0; i < files; i++) {
        snprintf(path, sizeof path, "%s/a_name_that_is_as_long_as_those_of_restart_files_are_%08ld.dat", argv[1], i);
        int file = open(path, O_CREAT | O_WRONLY, 0600);
        CHECK(file >= 0 && pwrite(file, "abcd", 4, 0) == 4 && close(file) == 0);
        CHECK(unlink(path) == 0);
    }
    for (long i = 0; i < calls; i++)
        CHECK(pwrite(one, "abcd", 4, i * 2654435761L % 1000000) == 4);
    if (strcmp(argv[2], "kill") == 0)
        kill(getpid(), SIGKILL);
    return 7;
}
