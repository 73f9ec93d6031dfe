/* A program that loads itself as a library, in four ways (dlopen(3): plainly, RTLD_LOCAL, RTLD_GLOBAL, RTLD_DEEPBIND), and has
 * it write files. Calls of a library loaded with RTLD_DEEPBIND are invisible to preloaded libraries: they are not in the
 * log, and only checked to work. Usage: plugin DIRECTORY LIBRARY, with LIBRARY this source built with -shared -DPLUGIN.
 * Log: oplog.h. Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <dlfcn.h>

#ifdef PLUGIN
int write_file(const char *path, int count) {
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    if (fd < 0) return -1;
    for (int i = 0; i < count; i++) {
        if (pwrite(fd, &i, sizeof i, i * (off_t)sizeof i) != sizeof i) return -1;
    }
    FILE *stream = fdopen(fd, "w");
    return stream == NULL ? -1 : fclose(stream);
}
#else
int main(int argc, char **argv) {
    CHECK(argc == 3);
    const int ways[] = {RTLD_NOW, RTLD_LAZY | RTLD_LOCAL, RTLD_LAZY | RTLD_GLOBAL, RTLD_NOW | RTLD_DEEPBIND};
    char path[4200], library[4200];
    for (int way = 0; way < 4; way++) {
        /* Each way loads its own copy: a loaded library keeps its mode. */
        snprintf(library, sizeof library, "%s.%d", argv[2], way);
        CHECK(link(argv[2], library) == 0 || errno == EEXIST);
        void *handle = dlopen(library, ways[way]);
        CHECK(handle != NULL);
        int (*write_file)(const char *, int) = (int (*)(const char *, int))dlsym(handle, "write_file");
        CHECK(write_file != NULL);
        snprintf(path, sizeof path, "%s/way%d", argv[1], way);
        CHECK(write_file(path, 20) == 0);
        CHECK(raw_size(path) == 80);
        for (int i = -1; way < 3 && i <= 20; i++) {
            if (i < 0) op("POSIX", "open", "-", -1, 0, path);
            else if (i < 20) op("POSIX", "write", "-", i * 4, 4, path);
            else {
                op("STDIO", "open", "-", -1, 0, path);
                op("STDIO", "close", "-", -1, 0, path);
            }
        }
    }
    oplog_write();
    return 0;
}
#endif
