/* A random sequence of operations on C streams, each logged with the position of ftello(3): with buffers of all
 * kinds, in all modes, through functions that the headers inline, and through the descriptor beside the stream.
 * Usage: stdio_random DIRECTORY SEED (absolute, canonical, empty). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <stdio_ext.h>
#include <sys/stat.h>

static unsigned long long state;
static char path[4200];
static FILE *stream;
static int appends, descriptor;
static char buffer[20000], block[300];

static unsigned below(unsigned limit) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % limit;
}

static long long told(void) {
    int before = errno;
    long long at = ftello(stream);
    errno = before;
    return at < 0 ? -1 : at;
}

/* Offset of the next write: in append mode the file's end plus the buffered bytes. */
static long long to_write(void) {
    struct stat stat;
    if (!appends) {
        return told();
    }
    CHECK(raw_call(SYS_fstat, descriptor, &stat) == 0);
    return stat.st_size + (long long)__fpending(stream);
}

static void was(const char *name, long long at, long long length) { op("STDIO", name, "-", at, length, path); }

/* C requires a seek between reading and writing. */
static void turn_to(int next) {
    static int last;
    if (last != 0 && next != 0 && last != next) {
        CHECK(fseeko(stream, 0, SEEK_CUR) == 0);
        was("seek", told(), 0);
    }
    last = next;
}

enum { NEITHER, READING, WRITING };

static void write_something(void) {
    turn_to(WRITING);
    long long at = to_write();
    unsigned n = below(below(8) ? 40 : 10000);
    switch (below(5)) {
    case 0: CHECK(fwrite(buffer, 1, n, stream) == n); break;
    case 1: n = fputc('\n', stream) == '\n'; break;
    case 2: n = putc('x', stream) == 'x'; break;
    case 3:
        n %= 256;
        block[n] = 0;
        CHECK(fputs(block, stream) >= 0);
        block[n] = 'y';
        break;
    case 4: n = (unsigned)fprintf(stream, "%u\n", n); break;
    }
    was("write", at, n);
}

static void read_something(void) {
    turn_to(READING);
    static char *line;
    static size_t room;
    long long at = told(), length = -1;
    unsigned n = below(below(8) ? 40 : 10000);
    switch (below(5)) {
    case 0: length = (long long)fread(buffer, 1, n, stream); break;
    case 1: length = getc(stream) != EOF; break;
    case 2: length = fgets(buffer, (int)n + 2, stream) != NULL ? told() - at : 0; break;
    case 3: length = getline(&line, &room, stream); break;
    case 4: length = fscanf(stream, "%u", &n) >= -1 ? told() - at : 0; break;
    }
    was("read", at, length < 0 ? 0 : length);
}

static void move_somewhere(void) {
    turn_to(NEITHER);
    switch (below(5)) {
    case 0: CHECK(fseek(stream, below(20000), SEEK_SET) == 0); break;
    case 1: CHECK(fseeko(stream, below(100), SEEK_CUR) == 0); break;
    case 2: CHECK(fseeko(stream, 0, SEEK_END) == 0); break;
    case 3: CHECK(fseeko(stream, 0, SEEK_CUR) == 0); break;
    case 4: rewind(stream); break;
    }
    was("seek", told(), 0);
}

/* Reads a byte, pushes it or another byte back, and reads that again. */
static void push_back(void) {
    turn_to(READING);
    long long at = told();
    int byte = getc(stream);
    was("read", at, byte != EOF);
    if (byte != EOF) {
        int other = below(2) ? byte : 'u';
        CHECK(ungetc(other, stream) == other && told() == at && getc(stream) == other);
        was("read", at, 1);
    }
}

/* Inlined from the headers: visible only in the stream. */
static void move_unseen(void) {
    unsigned n = below(3) ? below(30) : below(3) * 4096;
    int reads = (int)below(2);
    turn_to(reads ? READING : WRITING);
    for (unsigned i = 0; i < n; i++) {
        reads ? getc_unlocked(stream) : putc_unlocked('z', stream);
    }
}

static void beside_the_stream(void) {
    int number = fileno(stream);
    turn_to(NEITHER);
    CHECK(number == descriptor);
    CHECK(fflush(stream) == 0);
    was("sync", -1, 0);
    /* Moves the descriptor and restores it at the end: the C library may cache its position. */
    long long was_at = lseek(number, 0, SEEK_CUR), at = below(5000);
    op("POSIX", "seek", "-", was_at, 0, path);
    CHECK(lseek(number, at, SEEK_SET) == at);
    op("POSIX", "seek", "-", at, 0, path);
    if (!appends) {
        CHECK(write(number, buffer, 10) == 10);
        op("POSIX", "write", "-", at, 10, path);
    }
    CHECK(lseek(number, was_at, SEEK_SET) == was_at);
    op("POSIX", "seek", "-", was_at, 0, path);
}

static void run(const char *mode, int buffering, size_t size, int beside) {
    static char own[8192];
    turn_to(NEITHER);
    stream = fopen(path, mode);
    CHECK(stream != NULL);
    was("open", -1, 0);
    appends = *mode == 'a';
    /* Not by fileno(3), after which the tracer would track the stream's position more closely. */
    descriptor = stream->_fileno;
    CHECK(setvbuf(stream, size ? own : NULL, buffering, size) == 0);
    for (int i = 0; i < 300; i++) {
        switch (below(8)) {
        case 0: case 1: case 2: write_something(); break;
        case 3: case 4: read_something(); break;
        case 5: move_somewhere(); break;
        case 6:
            if (below(2)) {
                move_unseen();
            } else {
                push_back();
            }
            break;
        case 7:
            if (beside) {
                beside_the_stream();
            } else {
                CHECK(fflush(stream) == 0);
                was("sync", -1, 0);
            }
            break;
        }
    }
    CHECK(fclose(stream) == 0);
    was("close", -1, 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    state = strtoull(argv[2], NULL, 10) * 77777;
    for (size_t i = 0; i < sizeof buffer; i++) {
        buffer[i] = i % 17 == 16 ? '\n' : i % 5 == 4 ? ' ' : (char)('0' + i % 10);
    }
    memset(block, 'y', sizeof block);
    static const char *const modes[] = {"w+", "r+", "a+", "w+", "r+"};
    static const struct {
        int kind;
        size_t size;
    } buffers[] = {{_IOFBF, 0}, {_IOFBF, 100}, {_IOLBF, 0}, {_IONBF, 0}, {_IOFBF, 8192}};
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned k = 0; k < 5; k++) {
            run(modes[i], buffers[k].kind, buffers[k].size, (i + k) % 3 == 0);
        }
    }
    oplog_write();
    return 0;
}
