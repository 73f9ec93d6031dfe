/* C streams by character, line, word and format, each function by each of its symbols; standard input and output that are
 * files; temporary files; streams and descriptors mixed; streams without a file, and reuse of their descriptor numbers.
 * Usage: stdio_all DIRECTORY (absolute, canonical, empty), or stdio_all DIRECTORY out to write to standard output, which is
 * the file DIRECTORY/out. Log: oplog.h; POSIX lines only for the program's own calls.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <sys/wait.h>

static char dir[4096];
static FILE *stream;
static char path[4200];
static long long at;
static char text[70000];

static void name(const char *file) { snprintf(path, sizeof path, "%s/%s", dir, file); }

static const char *in_path(const char *file) {
    static char other[4200];
    snprintf(other, sizeof other, "%s/%s", dir, file);
    return other;
}

static void use(FILE *opened, const char *file) {
    stream = opened;
    CHECK(stream != NULL);
    name(file);
    at = 0;
    op("STDIO", "open", "-", -1, 0, path);
}

static void done(void) {
    CHECK(fclose(stream) == 0);
    op("STDIO", "close", "-", -1, 0, path);
}

static void was(const char *what, long long length) {
    op("STDIO", what, "-", at, length, path);
    at += length;
    CHECK(ftello(stream) == at);
}

static void rewound(void) {
    rewind(stream);
    at = 0;
    was("seek", 0);
}

static int list_to(FILE *to, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vfprintf(to, format, list);
    va_end(list);
    return result;
}

static int list_out(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vprintf(format, list);
    va_end(list);
    return result;
}

static int list_to_number(int number, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vdprintf(number, format, list);
    va_end(list);
    return result;
}

static int list_from(FILE *from, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vfscanf(from, format, list);
    va_end(list);
    return result;
}

static int list_in(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vscanf(format, list);
    va_end(list);
    return result;
}

/* Through pointers, so that the compiler does not inline the header's code. */
static int (*volatile const putters[])(int, FILE *) = {fputc, putc, fputc_unlocked, putc_unlocked};
static int (*volatile const getters[])(FILE *) = {fgetc, getc, fgetc_unlocked, getc_unlocked};

static void characters(void) {
    use(fopen(in_path("characters"), "w+"), "characters");
    for (int i = 0; i < 10000; i++) {
        CHECK(putters[i % 4](i & 255, stream) == (i & 255));
        was("write", 1);
    }
    CHECK(putw(0x01020304, stream) == 0);
    was("write", 4);
    CHECK(putw(-1, stream) == 0);
    was("write", 4);
    rewound();
    for (int i = 0; i < 10000; i++) {
        CHECK(getters[i % 4](stream) == (i & 255));
        was("read", 1);
        if (i % 1000 == 7) {
            CHECK(ungetc(i & 255, stream) == (i & 255));
            at--;
            CHECK(ftello(stream) == at);
            CHECK(getc(stream) == (i & 255));
            was("read", 1);
        }
    }
    CHECK(getw(stream) == 0x01020304);
    was("read", 4);
    CHECK(getw(stream) == -1);
    was("read", 4);
    CHECK(getc(stream) == EOF && feof(stream));
    was("read", 0);
    done();
}

static void lines(void) {
    char *line = NULL;
    size_t room = 0;
    use(fopen(in_path("lines"), "w+"), "lines");
    memset(text, 'l', sizeof text - 1);
    for (int i = 0; i < 50; i++) {
        text[i * 100] = 0;
        CHECK(fputs(text, stream) >= 0);
        was("write", i * 100);
        text[i * 100] = 'l';
        CHECK(fputs_unlocked("\n", stream) >= 0);
        was("write", 1);
    }
    CHECK(fwrite("a\0b\nc;d;", 1, 8, stream) == 8);
    was("write", 8);
    rewound();
    for (int i = 0; i < 50; i++) {
        long long length = i * 100 + 1;
        switch (i % 3) {
        case 0: CHECK(fgets(text, sizeof text, stream) == text); break;
        case 1: CHECK(fgets_unlocked(text, 60000, stream) == text); break;
        case 2: CHECK(getline(&line, &room, stream) == length); break;
        }
        CHECK(i % 3 == 2 || (long long)strlen(text) == length);
        was("read", length);
    }
    /* The NUL counts. */
    CHECK(fgets(text, 100, stream) == text && memcmp(text, "a\0b\n", 5) == 0);
    was("read", 4);
    CHECK(getdelim(&line, &room, ';', stream) == 2);
    was("read", 2);
    CHECK(__getdelim(&line, &room, ';', stream) == 2);
    was("read", 2);
    CHECK(getline(&line, &room, stream) == -1);
    was("read", 0);
    CHECK(fgets(text, 100, stream) == NULL);
    was("read", 0);
    rewound();
    CHECK(fgets(text, 1, stream) == text);
    was("read", 0);
    CHECK(fread_unlocked(text, 1, 10, stream) == 10);
    was("read", 10);
    CHECK(fseeko(stream, 0, SEEK_CUR) == 0);
    was("seek", 0);
    CHECK(fwrite_unlocked("0123456789", 2, 5, stream) == 5);
    was("write", 10);
    CHECK(fflush_unlocked(stream) == 0);
    op("STDIO", "sync", "-", -1, 0, path);
    CHECK(fflush(NULL) == 0);
    free(line);
    done();
}

static void formats(void) {
    int number;
    double real;
    char word[100];
    use(fopen(in_path("formats"), "w+"), "formats");
    CHECK(fprintf(stream, "%d %.3f %s %Lg\n", 42, 3.25, "word", 1.5L) == 18);
    was("write", 18);
    CHECK(list_to(stream, "%s %d %g\n", "list", 1, 0.5) == 11);
    was("write", 11);
    int length = fprintf(stream, "%d %d %d %d %d %d %d %d %f %f %f %f %f %f %f %f %f %s\n", 1, 2, 3, 4, 5, 6, 7, 8, 1.0,
                         2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, "more than there are registers");
    CHECK(length == 127);
    was("write", length);
    length = fprintf(stream, "%60000d\n", 5);
    CHECK(length == 60001);
    was("write", length);
    rewound();
    CHECK(fscanf(stream, "%d %lf", &number, &real) == 2 && number == 42 && real == 3.25);
    was("read", 8);
    CHECK(list_from(stream, "%99s %99s", word, text) == 2 && strcmp(word, "word") == 0 && strcmp(text, "1.5") == 0);
    was("read", 9);
    CHECK(fscanf(stream, "%99s%d", word, &number) == 2 && strcmp(word, "list") == 0 && number == 1);
    was("read", 7);
    CHECK(fscanf(stream, "%99[a-z]", word) == 0);
    was("read", 0);
    CHECK(fseek(stream, 0, SEEK_END) == 0);
    at = length + 18 + 11 + 127;
    was("seek", 0);
    CHECK(fscanf(stream, "%d", &number) == EOF);
    was("read", 0);
    done();
}

/* Standard output and input as files. */
static void standard(void) {
    use(freopen(in_path("standard"), "w", stdout), "standard");
    CHECK(puts("a line") >= 0);
    was("write", 7);
    CHECK(putchar('c') == 'c');
    was("write", 1);
    CHECK(putchar_unlocked('d') == 'd');
#ifdef __OPTIMIZE__
    at++; /* Inlined from the header: invisible to the tracer. */
#else
    was("write", 1);
#endif
    CHECK(printf("%d and %s\n", 7, "eight") == 12);
    was("write", 12);
    CHECK(list_out("%g\n", 0.25) == 5);
    was("write", 5);
    done();
    use(freopen(in_path("standard"), "r", stdin), "standard");
    int number;
    CHECK(getchar() == 'a');
    was("read", 1);
    CHECK(scanf("%99s", text) == 1 && strcmp(text, "line") == 0);
    was("read", 5);
    CHECK(list_in("%99s%d", text, &number) == 1 && strcmp(text, "cd7") == 0);
    was("read", 5);
    done();
}

static void redirected(void) {
    stream = stdout;
    name("out");
    for (int i = 0; i < 3000; i++) {
        CHECK(printf("%d\n", i % 10) == 2);
        was("write", 2);
        CHECK(putchar('x') == 'x');
        was("write", 1);
        CHECK(puts("string") >= 0);
        was("write", 7);
        CHECK(fwrite("12345678", 1, 8, stdout) == 8);
        was("write", 8);
        if (i == 1000) {
            /* Another process writes behind the flushed bytes. */
            CHECK(fflush(stdout) == 0);
            op("STDIO", "sync", "-", -1, 0, path);
            CHECK(system("echo between") == 0);
            at += 8;
        }
    }
}

/* Operations on the descriptor affect the stream. */
static void mixed(void) {
    use(fopen(in_path("mixed"), "w+"), "mixed");
    int number = fileno(stream);
    CHECK(fprintf(stream, "stream %d\n", 1) == 9);
    was("write", 9);
    CHECK(fflush(stream) == 0);
    op("STDIO", "sync", "-", -1, 0, path);
    CHECK(write(number, "by number\n", 10) == 10);
    op("POSIX", "write", "-", 9, 10, path);
    at = 19;
    CHECK(fprintf(stream, "stream %d\n", 2) == 9);
    was("write", 9);
    CHECK(fflush(stream) == 0);
    op("STDIO", "sync", "-", -1, 0, path);
    CHECK(dprintf(number, "%s %d\n", "formatted", 3) == 12);
    op("POSIX", "write", "-", 28, 12, path);
    CHECK(list_to_number(number, "%d\n", 77) == 3);
    op("POSIX", "write", "-", 40, 3, path);
    CHECK(lseek(number, 9, SEEK_SET) == 9);
    op("POSIX", "seek", "-", 9, 0, path);
    at = 9;
    CHECK(fgetc(stream) == 'b');
    was("read", 1);
    /* The stream has read everything; the descriptor is at the end. */
    CHECK(read(number, text, 10) == 0);
    op("POSIX", "read", "-", 43, 0, path);
    CHECK(fgets(text, 100, stream) == text && strcmp(text, "y number\n") == 0);
    was("read", 9);
    done();
    raw_check(path, 0, "stream 1\nby number\nstream 2\nformatted 3\n77\n", 43);

    name("given");
    number = open(path, O_CREAT | O_RDWR, 0644);
    op("POSIX", "open", "-", -1, 0, path);
    CHECK(write(number, "0123456789", 10) == 10);
    op("POSIX", "write", "-", 0, 10, path);
    use(fdopen(number, "r+"), "given");
    at = 10;
    CHECK(fputs("abc", stream) >= 0);
    was("write", 3);
    /* Another file under the same number. */
    use(freopen(in_path("other"), "w+", stream), "other");
    CHECK(fputs("defg", stream) >= 0);
    was("write", 4);
    /* The same file in another mode. */
    use(freopen(NULL, "r", stream), "other");
    CHECK(fgetc(stream) == 'd');
    was("read", 1);
    done();
    raw_check(in_path("given"), 0, "0123456789abc", 13);
}

/* A child that inherits the stream moves the shared position. */
static void forked(void) {
    use(fopen(in_path("forked"), "w"), "forked");
    for (int i = 0; i < 3; i++) {
        CHECK(fputs("parent", stream) >= 0);
        was("write", 6);
        CHECK(fflush(stream) == 0);
        op("STDIO", "sync", "-", -1, 0, path);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(fputs("child", stream) >= 0 && fflush(stream) == 0);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        at += 5;
    }
    done();
    raw_check(path, 0, "parentchildparentchildparentchild", 33);
}

static void temporary(void) {
    char link[64];
    stream = tmpfile();
    CHECK(stream != NULL);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(stream));
    long length = readlink(link, path, sizeof path - 1);
    CHECK(length > 0);
    path[length] = 0;
    op("STDIO", "open", "-", -1, 0, path);
    at = 0;
    CHECK(fputs("temporary", stream) >= 0);
    was("write", 9);
    done();
}

/* Streams without a file are not recorded, and the next file with their descriptor number is recognized. */
static void not_files(void) {
    char *memory = NULL;
    size_t size = 0;
    for (int i = 0; i < 3; i++) {
        FILE *other = fmemopen(text, 100, "w+");
        CHECK(other != NULL && fputs("x", other) >= 0 && fprintf(other, "%d", i) == 1 && fclose(other) == 0);
        other = open_memstream(&memory, &size);
        CHECK(other != NULL && fputc('x', other) == 'x' && fclose(other) == 0 && size == 1);
        free(memory);
        other = popen("cat > /dev/null", "w");
        int number = fileno(other);
        CHECK(other != NULL && fputs("to a pipe", other) >= 0 && pclose(other) == 0);
        char file[32];
        snprintf(file, sizeof file, "after%d", i);
        name(file);
        long opened = raw_call(SYS_openat, AT_FDCWD, path, O_CREAT | O_RDWR, 0644);
        CHECK(opened >= 0);
        if (opened != number) {
            /* By raw system calls, so that the tracer must look up the number's new file itself. */
            CHECK(raw_call(SYS_dup3, opened, number, 0) == number && raw_call(SYS_close, opened) == 0);
        }
        CHECK(write(number, "text", 4) == 4);
        op("POSIX", "write", "-", 0, 4, path);
        CHECK(close(number) == 0);
        op("POSIX", "close", "-", -1, 0, path);
        /* popen after a file with the same number. */
        other = popen("echo text", "r");
        CHECK(other != NULL && fgets(text, 100, other) == text && pclose(other) == 0);
    }
    CHECK(fcloseall() == 0);
}

int main(int argc, char **argv) {
    CHECK(argc >= 2 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    if (argc > 2) {
        redirected();
    } else {
        characters();
        lines();
        formats();
        mixed();
        forked();
        temporary();
        standard();
        not_files();
    }
    oplog_write();
    return 0;
}
