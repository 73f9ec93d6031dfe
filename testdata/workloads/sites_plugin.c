/* A library that writes to a file of its caller; see sites.c.
 * Provenance: written for this project. */
#include <unistd.h>

void in_plugin(int fd);

void in_plugin(int fd) {
    for (int i = 0; i < 8; i++) {
        if (pwrite(fd, "plugin", 6, i) < 0) _exit(6); /* at: in_plugin */
    }
}
