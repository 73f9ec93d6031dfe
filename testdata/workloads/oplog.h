/* Log of a test program's own operations, one line per operation, which a test compares with the trace.
 * Provenance: written for this project.
 *
 *     OP <pid> <tid> <layer> <operation> <mode> <offset> <length> <path>
 *
 *     FAILED <pid> <tid> <layer> <operation> <mode> <offset> <errno> <path>
 *
 * mode is `-` for the plain form, else as the trace names it (vectored, collective, shared, ordered); offset is -1 where
 * the operation has none. Other lines: `RANK <pid> <rank>`. The log goes to the file $OPLOG.<pid>, to standard output
 * without OPLOG; always by the raw system call, so that logging is no operation that a tracer could see. With UNCHECKED
 * set, raw_check() does nothing, so that strace counts the program's own calls only. */
#ifndef OPLOG_H
#define OPLOG_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    char *text;
    size_t length, room;
    pthread_mutex_t lock;
} oplog = {NULL, 0, 0, PTHREAD_MUTEX_INITIALIZER};

/* Ends the program if something is not as it must be. */
#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: failed: %s (errno %d: %s)\n", __FILE__, __LINE__, #condition, errno,              \
                    strerror(errno));                                                                                 \
            _exit(99);                                                                                                \
        }                                                                                                             \
    } while (0)

/* A system call past the C library: not even syscall(2) is called, which a tracer may see. Answers as that does. */
static inline long raw_system_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result = number;
    __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, result __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(result) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
#else
#error "a system call must be written for this processor"
#endif
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
#define RAW_ARGUMENTS(number, a, b, c, d, e, f, ...)                                                                  \
    raw_system_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define raw_call(...) RAW_ARGUMENTS(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

static inline long own_tid(void) { return raw_call(SYS_gettid); }

__attribute__((format(printf, 1, 2))) static inline void oplog_line(const char *format, ...) {
    char line[4400];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    CHECK(length > 0 && (size_t)length < sizeof line);
    pthread_mutex_lock(&oplog.lock);
    if (oplog.length + (size_t)length > oplog.room) {
        oplog.room = 2 * oplog.room + 65536;
        oplog.text = realloc(oplog.text, oplog.room);
        CHECK(oplog.text != NULL);
    }
    memcpy(oplog.text + oplog.length, line, (size_t)length);
    oplog.length += (size_t)length;
    pthread_mutex_unlock(&oplog.lock);
}

/* Logs an operation of the thread `tid` of this process. */
static inline void op_of(long tid, const char *layer, const char *name, const char *mode, long long offset,
                         long long length, const char *path) {
    oplog_line("OP %d %ld %s %s %s %lld %lld %s\n", (int)getpid(), tid, layer, name, mode, offset, length, path);
}

/* Logs an operation of the calling thread. */
static inline void op(const char *layer, const char *name, const char *mode, long long offset, long long length,
                      const char *path) {
    op_of(own_tid(), layer, name, mode, offset, length, path);
}

/* Logs an operation of the calling thread that failed with errno. */
static inline void op_failed(const char *layer, const char *name, const char *mode, long long offset,
                             const char *path) {
    int error = errno;
    oplog_line("FAILED %d %ld %s %s %s %lld %d %s\n", (int)getpid(), own_tid(), layer, name, mode, offset, error, path);
    errno = error;
}

/* A forked child begins a log of its own. */
static inline void oplog_forget(void) { oplog.length = 0; }

/* Writes the log. */
static inline void oplog_write(void) {
    const char *prefix = getenv("OPLOG");
    long fd = STDOUT_FILENO;
    if (prefix != NULL) {
        char path[4200];
        snprintf(path, sizeof path, "%s.%d", prefix, (int)getpid());
        fd = raw_call(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        CHECK(fd >= 0);
    }
    for (size_t done = 0; done < oplog.length;) {
        long written = raw_call(SYS_write, fd, oplog.text + done, oplog.length - done);
        CHECK(written > 0);
        done += (size_t)written;
    }
    if (prefix != NULL) {
        raw_call(SYS_close, fd);
    }
    oplog.length = 0;
}

/* Checks that the file holds exactly these bytes there, by raw system calls. */
static inline void raw_check(const char *path, long long offset, const void *bytes, size_t length) {
    if (getenv("UNCHECKED") != NULL) {
        return;
    }
    char *found = malloc(length + 1);
    long fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    CHECK(found != NULL && fd >= 0);
    size_t done = 0;
    while (done < length) {
        long got = raw_call(SYS_pread64, fd, found + done, length - done, offset + (long long)done);
        CHECK(got > 0);
        done += (size_t)got;
    }
    CHECK(memcmp(found, bytes, length) == 0);
    raw_call(SYS_close, fd);
    free(found);
}

/* Size of the file, by raw system calls. */
static inline long long raw_size(const char *path) {
    long fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    CHECK(fd >= 0);
    long long size = raw_call(SYS_lseek, fd, 0L, SEEK_END);
    raw_call(SYS_close, fd);
    return size;
}

#endif
