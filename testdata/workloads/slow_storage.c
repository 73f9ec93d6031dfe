/* Loaded behind the tracer: every pread and pwrite takes 2 ms and 1 s for each 50 MB more, as storage far away does, whatever this machine
 * is. Processes do not wait for each other. Provenance: written for this project. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/types.h>
#include <time.h>

#define EACH_NS 2000000LL
#define BYTE_NS 20LL

static void wait_for(long long bytes) {
    long long ns = EACH_NS + (bytes > 0 ? bytes * BYTE_NS : 0);
    struct timespec time = {ns / 1000000000, ns % 1000000000};
    int saved = errno;
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
    errno = saved;
}

#define SLOW(name, buffer)                                                                  \
    ssize_t name(int fd, buffer, size_t count, off64_t offset) {                            \
        static ssize_t (*real)(int, buffer, size_t, off64_t);                               \
        if (!real) {                                                                        \
            real = (ssize_t (*)(int, buffer, size_t, off64_t))dlsym(RTLD_NEXT, #name);      \
        }                                                                                   \
        ssize_t moved = real(fd, data, count, offset);                                      \
        wait_for(moved);                                                                    \
        return moved;                                                                       \
    }

SLOW(pread, void *data)
SLOW(pread64, void *data)
SLOW(pwrite, const void *data)
SLOW(pwrite64, const void *data)
