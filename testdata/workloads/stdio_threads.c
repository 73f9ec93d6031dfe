/* Threads on one C stream: each writes records that name the thread, then each reads words that contain their offset.
 * Usage: stdio_threads DIRECTORY THREADS RECORDS (absolute, canonical, empty). Log: oplog.h; the writes are logged with offsets
 * found in the file.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"

enum { MOST_THREADS = 64 };

static char path[4200];
static FILE *stream;
static int threads;
static long records, tids[MOST_THREADS];
static pthread_barrier_t together;

static void done(const char *name) { op("STDIO", name, "-", -1, 0, path); }

static void write_records(long self) {
    char line[200];
    for (long i = 0; i < records; i++) {
        int length = snprintf(line, sizeof line, "%ld %ld %0*d\n", self, i, (int)((self * 31 + i * 7) % 100) + 1, 0);
        switch (i % 3) {
        case 0: CHECK(fwrite(line, 1, (size_t)length, stream) == (size_t)length); break;
        case 1: CHECK(fputs(line, stream) >= 0); break;
        case 2: CHECK(fprintf(stream, "%s", line) == length); break;
        }
    }
}

static void read_words(void) {
    for (;;) {
        long long word;
        size_t items = fread(&word, sizeof word, 1, stream);
        if (items == 0) {
            break;
        }
        op("STDIO", "read", "-", word, sizeof word, path);
    }
    op("STDIO", "read", "-", 8 * records * threads, 0, path);
}

static void *run(void *argument) {
    long self = (long)argument;
    tids[self] = own_tid();
    pthread_barrier_wait(&together);
    write_records(self);
    pthread_barrier_wait(&together);
    /* The first thread prepares the file to read. */
    pthread_barrier_wait(&together);
    read_words();
    return NULL;
}

/* Logs the places of the records. */
static void log_writes(const char *dir) {
    char *line = NULL;
    size_t room = 0;
    long long at = 0;
    char other[4200];
    snprintf(other, sizeof other, "%s/written", dir);
    CHECK(rename(path, other) == 0);
    /* Reads through a memory stream on a copy of the bytes, which is no file. */
    long long size = raw_size(other);
    char *bytes = malloc((size_t)size);
    long fd = raw_call(SYS_openat, AT_FDCWD, other, O_RDONLY, 0);
    CHECK(bytes != NULL && raw_call(SYS_read, fd, bytes, size) == size);
    raw_call(SYS_close, fd);
    FILE *memory = fmemopen(bytes, (size_t)size, "r");
    long length, self;
    while ((length = getline(&line, &room, memory)) > 0) {
        CHECK(sscanf(line, "%ld", &self) == 1 && self < threads);
        op_of(tids[self], "STDIO", "write", "-", at, length, path);
        at += length;
    }
    CHECK(at == size);
    fclose(memory);
    free(line);
    free(bytes);
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    threads = atoi(argv[2]);
    records = atol(argv[3]);
    CHECK(threads > 0 && threads <= MOST_THREADS);
    stream = fopen(path, "w");
    CHECK(stream != NULL);
    done("open");
    pthread_t handles[MOST_THREADS];
    CHECK(pthread_barrier_init(&together, NULL, (unsigned)threads + 1) == 0);
    for (long i = 0; i < threads; i++) {
        CHECK(pthread_create(&handles[i], NULL, run, (void *)i) == 0);
    }
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    CHECK(fclose(stream) == 0);
    done("close");
    log_writes(argv[1]);
    long fd = raw_call(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (long long i = 0; i < records * threads; i++) {
        long long word = 8 * i;
        CHECK(raw_call(SYS_write, fd, &word, sizeof word) == sizeof word);
    }
    raw_call(SYS_close, fd);
    stream = fopen(path, "r");
    CHECK(stream != NULL);
    done("open");
    pthread_barrier_wait(&together);
    for (long i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
    }
    CHECK(fclose(stream) == 0);
    done("close");
    oplog_write();
    return 0;
}
