/* C streams: every way to open one, block reads and writes of several sizes, every way to move, append mode, and the
 * number of a closed stream's descriptor used again by open(2).
 * Usage: stdio DIRECTORY (absolute, canonical, empty). Log: oplog.h; POSIX lines only for the program's own calls.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"

static char dir[4096];
static char expected[1 << 20];
static char buffer[1 << 18];

static const char *in_dir(const char *name) {
    static char path[2][4200];
    static int turn;
    turn ^= 1;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static void stdio_op(const char *name, long long offset, long long length, const char *file) {
    op("STDIO", name, "-", offset, length, in_dir(file));
}

static FILE *opened(FILE *stream, const char *file) {
    CHECK(stream != NULL);
    stdio_op("open", -1, 0, file);
    return stream;
}

static void closed(FILE *stream, const char *file) {
    CHECK(fclose(stream) == 0);
    stdio_op("close", -1, 0, file);
}

static void put(FILE *stream, long long at, size_t size, size_t count, const char *file) {
    for (size_t i = 0; i < size * count; i++) {
        expected[at + (long long)i] = (char)(at + (long long)(i * 7));
    }
    CHECK(fwrite(expected + at, size, count, stream) == count);
    stdio_op("write", at, (long long)(size * count), file);
}

static void get(FILE *stream, long long at, size_t size, size_t count, size_t really, const char *file) {
    CHECK(fread(buffer, size, count, stream) == really);
    CHECK(memcmp(buffer, expected + at, size * really) == 0);
    stdio_op("read", at, (long long)(size * really), file);
}

static void moved(int result, long long to, const char *file) {
    CHECK(result == 0);
    stdio_op("seek", to, 0, file);
}

/* Sizes below, at and above the buffer of the C library. */
static long long sizes(FILE *stream) {
    static const size_t size[] = {1, 3, 100, 4096, 4095, 4097, 65536, 200000};
    long long at = 0;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        put(stream, at, 1, size[i], "main");
        at += (long long)size[i];
        put(stream, at, size[i] % 50 + 1, 7, "main");
        at += (long long)(size[i] % 50 + 1) * 7;
    }
    return at;
}

static void read_and_move(long long size) {
    FILE *stream = opened(fopen64(in_dir("main"), "r"), "main");
    get(stream, 0, 1, 10, 10, "main");
    get(stream, 10, 8, 1000, 1000, "main");
    moved(fseek(stream, 5, SEEK_SET), 5, "main");
    get(stream, 5, 2, 50, 50, "main");
    moved(fseeko(stream, -10, SEEK_CUR), 95, "main");
    get(stream, 95, 1, 1, 1, "main");
    moved(fseeko64(stream, -100, SEEK_END), size - 100, "main");
    get(stream, size - 100, 1, 4096, 100, "main");
    get(stream, size, 1, 10, 0, "main");
    rewind(stream);
    stdio_op("seek", 0, 0, "main");
    get(stream, 0, 1, 100000, 100000, "main");
    fpos_t here;
    CHECK(fgetpos(stream, &here) == 0);
    get(stream, 100000, 100, 10, 10, "main");
    moved(fsetpos(stream, &here), 100000, "main");
    get(stream, 100000, 1, 200, 200, "main");
    closed(stream, "main");
}

static void append_and_update(void) {
    FILE *stream = opened(fopen(in_dir("log"), "w"), "log");
    put(stream, 0, 1, 100, "log");
    closed(stream, "log");
    stream = opened(fopen(in_dir("log"), "a"), "log");
    put(stream, 100, 1, 50, "log");
    CHECK(fflush(stream) == 0);
    stdio_op("sync", -1, 0, "log");
    put(stream, 150, 1, 25, "log");
    closed(stream, "log");
    stream = opened(fopen(in_dir("log"), "a+"), "log");
    get(stream, 0, 1, 30, 30, "log");
    moved(fseek(stream, 0, SEEK_END), 175, "log");
    put(stream, 175, 5, 5, "log");
    moved(fseek(stream, 0, SEEK_SET), 0, "log");
    get(stream, 0, 1, 200, 200, "log");
    closed(stream, "log");
    stream = opened(fopen(in_dir("log"), "r+"), "log");
    put(stream, 0, 1, 10, "log");
    moved(fseek(stream, 0, SEEK_CUR), 10, "log");
    get(stream, 10, 1, 190, 190, "log");
    closed(stream, "log");
    raw_check(in_dir("log"), 0, expected, 200);
    CHECK(raw_size(in_dir("log")) == 200);
}

static void from_descriptor(void) {
    int fd = open(in_dir("fd"), O_CREAT | O_RDWR, 0644);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, in_dir("fd"));
    CHECK(pwrite(fd, "0123456789", 10, 0) == 10);
    op("POSIX", "write", "-", 0, 10, in_dir("fd"));
    FILE *stream = opened(fdopen(fd, "r+"), "fd");
    memcpy(expected, "0123456789", 10);
    get(stream, 0, 1, 4, 4, "fd");
    closed(stream, "fd");
    /* The number is free and is reused for another file. */
    int again = open(in_dir("next"), O_CREAT | O_RDWR, 0644);
    CHECK(again == fd);
    op("POSIX", "open", "-", -1, 0, in_dir("next"));
    CHECK(write(again, "new file", 8) == 8);
    op("POSIX", "write", "-", 0, 8, in_dir("next"));
    CHECK(close(again) == 0);
    op("POSIX", "close", "-", -1, 0, in_dir("next"));
    raw_check(in_dir("next"), 0, "new file", 8);
}

static void reopened(void) {
    FILE *stream = opened(fopen(in_dir("first"), "w"), "first");
    put(stream, 0, 1, 40, "first");
    stream = freopen(in_dir("second"), "w+", stream);
    CHECK(stream != NULL);
    /* One operation: the open of the second file, which includes the close of the first. */
    stdio_op("open", -1, 0, "second");
    put(stream, 0, 1, 60, "second");
    rewind(stream);
    stdio_op("seek", 0, 0, "second");
    get(stream, 0, 1, 100, 60, "second");
    closed(stream, "second");
    CHECK(raw_size(in_dir("first")) == 40);
    raw_check(in_dir("second"), 0, expected, 60);
}

/* Streams without a file, and failing calls. */
static void not_traced(void) {
    FILE *stream = fmemopen(buffer, 100, "w+");
    CHECK(stream != NULL && fwrite("x", 1, 1, stream) == 1 && fclose(stream) == 0);
    stream = popen("echo hello", "r");
    CHECK(stream != NULL && fread(buffer, 1, 6, stream) == 6 && pclose(stream) == 0);
    stream = fopen("/dev/null", "w");
    CHECK(stream != NULL && fwrite("x", 1, 1, stream) == 1 && fclose(stream) == 0);
    CHECK(fopen(in_dir("missing"), "r") == NULL && errno == ENOENT);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    FILE *stream = opened(fopen(in_dir("main"), "w"), "main");
    long long size = sizes(stream);
    closed(stream, "main");
    raw_check(in_dir("main"), 0, expected, (size_t)size);
    read_and_move(size);
    append_and_update();
    from_descriptor();
    reopened();
    not_traced();
    oplog_write();
    return 0;
}
