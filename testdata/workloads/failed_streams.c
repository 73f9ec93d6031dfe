/* Calls on C streams that fail: streams that cannot be opened, that are open for the other direction, and whose bytes cannot
 * be written, because the disk is full or a limit is reached, possibly after some bytes.
 * Usage: failed_streams DIRECTORY (absolute, canonical, empty). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include "oplog.h"
#include <signal.h>
#include <sys/resource.h>

static char dir[4000], path[4200], missing[4200];
static char bytes[30000];

static void done(const char *name, long long offset, long long length, const char *file) {
    op("STDIO", name, "-", offset, length, file);
}

/* Checks that the call has failed as expected, and logs it. */
#define FAILS(condition, error, name, offset, file)                                                                   \
    do {                                                                                                              \
        errno = 0;                                                                                                    \
        CHECK(condition);                                                                                             \
        CHECK(errno == (error));                                                                                      \
        op_failed("STDIO", name, "-", offset, file);                                                                  \
    } while (0)

static FILE *opened(const char *file, const char *mode) {
    FILE *stream = fopen(file, mode);
    CHECK(stream != NULL);
    done("open", -1, 0, file);
    return stream;
}

static void closed(FILE *stream, const char *file) {
    CHECK(fclose(stream) == 0);
    done("close", -1, 0, file);
}

static void opens(void) {
    FAILS(fopen("missing", "r") == NULL, ENOENT, "open", -1, missing);
    FAILS(fopen64(missing, "r+") == NULL, ENOENT, "open", -1, missing);
    FAILS(fopen(dir, "w") == NULL, EISDIR, "open", -1, dir);
    FAILS(fopen(path, "x") == NULL, EINVAL, "open", -1, path);
    FAILS(fopen(path, "wx") == NULL, EEXIST, "open", -1, path);
    FILE *stream = opened(path, "r");
    FAILS(freopen(missing, "r", stream) == NULL, ENOENT, "open", -1, missing);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    FAILS(fdopen(fd, "w") == NULL, EINVAL, "open", -1, path);
    CHECK(fdopen(999, "r") == NULL && errno == EBADF);
    errno = 0;
    CHECK(dprintf(fd, "text %d", 7) < 0 && errno == EBADF);
    op_failed("POSIX", "write", "-", 0, path);
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
}

static void wrong_way(void) {
    char *line = NULL;
    size_t room = 0;
    int number = 0;
    FILE *stream = opened(path, "r");
    CHECK(fseek(stream, 3, SEEK_SET) == 0);
    done("seek", 3, 0, path);
    FAILS(fwrite(bytes, 1, 10, stream) == 0, EBADF, "write", 3, path);
    FAILS(fputc('x', stream) == EOF, EBADF, "write", 3, path);
    FAILS(fputs("text", stream) == EOF, EBADF, "write", 3, path);
    FAILS(fprintf(stream, "text %d", (int)room) < 0, EBADF, "write", 3, path);
    FAILS(putw(7, stream) != 0, EBADF, "write", 3, path);
    /* The stream's error flag is set; successful calls are still no failures. */
    CHECK(ferror(stream) && fread(bytes, 1, 4, stream) == 4);
    done("read", 3, 4, path);
    CHECK(fread(bytes, 1, 10, stream) == 3 && feof(stream));
    done("read", 7, 3, path);
    CHECK(fgetc(stream) == EOF);
    done("read", 10, 0, path);
    FAILS(fseek(stream, -5, SEEK_SET) == -1, EINVAL, "seek", -1, path);
    closed(stream, path);
    stream = opened(missing, "w");
    FAILS(fread(bytes, 1, 10, stream) == 0, EBADF, "read", 0, missing);
    clearerr(stream);
    FAILS(fgetc(stream) == EOF, EBADF, "read", 0, missing);
    clearerr(stream);
    FAILS(fgets(bytes, 10, stream) == NULL, EBADF, "read", 0, missing);
    clearerr(stream);
    FAILS(getline(&line, &room, stream) == -1, EBADF, "read", 0, missing);
    clearerr(stream);
    FAILS(fscanf(stream, "%d", &number) == EOF, EBADF, "read", 0, missing);
    FAILS(fgetc(stream) == EOF, EBADF, "read", 0, missing);
    free(line);
    closed(stream, missing);
}

static void full(void) {
    const char *device = "/dev/full";
    if (access(device, W_OK) != 0) {
        op_failed("POSIX", "access", "-", -1, device);
        return;
    }
    op("POSIX", "access", "-", -1, 0, device);
    FILE *stream = opened(device, "w");
    setvbuf(stream, NULL, _IONBF, 0);
    FAILS(fwrite(bytes, 1, 100, stream) == 0, ENOSPC, "write", -1, device);
    FAILS(fputc('x', stream) == EOF, ENOSPC, "write", -1, device);
    FAILS(fputs("text", stream) == EOF, ENOSPC, "write", -1, device);
    FAILS(fprintf(stream, "text %d", 7) < 0, ENOSPC, "write", -1, device);
    closed(stream, device);
    stream = opened(device, "w");
    CHECK(fwrite(bytes, 1, 100, stream) == 100);
    done("write", -1, 100, device);
    FAILS(fflush(stream) == EOF, ENOSPC, "sync", -1, device);
    CHECK(fwrite(bytes, 1, 100, stream) == 100);
    done("write", -1, 100, device);
    FAILS(fclose(stream) == EOF, ENOSPC, "close", -1, device);
}

/* Files are limited to 10,000 bytes. */
static void limited(void) {
    struct rlimit limit, low;
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && getrlimit(RLIMIT_FSIZE, &limit) == 0);
    low = limit;
    low.rlim_cur = 10000;
    FILE *stream = opened(missing, "w");
    setvbuf(stream, NULL, _IONBF, 0);
    CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
    CHECK(fwrite(bytes, 100, 60, stream) == 60);
    done("write", 0, 6000, missing);
    errno = 0;
    CHECK(fwrite(bytes, 300, 20, stream) == 13 && errno == EFBIG && ftello(stream) == 10000);
    done("write", 6000, 4000, missing);
    errno = EFBIG;
    op_failed("STDIO", "write", "-", 10000, missing);
    FAILS(fputs("text", stream) == EOF, EFBIG, "write", 10000, missing);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(fwrite(bytes, 1, 5, stream) == 5);
    done("write", 10000, 5, missing);
    closed(stream, missing);
    /* The same through a buffer, which accepts some bytes before the error. */
    stream = opened(missing, "w");
    setvbuf(stream, NULL, _IOFBF, 4096);
    CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
    CHECK(fwrite(bytes, 1, 9000, stream) == 9000);
    done("write", 0, 9000, missing);
    errno = 0;
    long long before = ftello(stream);
    size_t moved = fwrite(bytes, 1, 20000, stream);
    int error = errno;
    long long after = ftello(stream);
    CHECK(moved < 20000 && error == EFBIG && before == 9000);
    if (after - before > (long long)moved) {
        moved = (size_t)(after - before);
    }
    if (moved > 0) {
        done("write", before, (long long)moved, missing);
    }
    errno = error;
    op_failed("STDIO", "write", "-", before + (long long)moved, missing);
    errno = 0;
    int result = fclose(stream);
    if (result == 0) {
        done("close", -1, 0, missing);
    } else {
        op_failed("STDIO", "close", "-", -1, missing);
    }
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < sizeof dir && chdir(argv[1]) == 0);
    strcpy(dir, argv[1]);
    snprintf(path, sizeof path, "%s/file", dir);
    snprintf(missing, sizeof missing, "%s/missing", dir);
    FILE *stream = opened(path, "w");
    CHECK(fwrite("0123456789", 1, 10, stream) == 10);
    done("write", 0, 10, path);
    closed(stream, path);
    opens();
    wrong_way();
    full();
    limited();
    oplog_write();
    return 0;
}
