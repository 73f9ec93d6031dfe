/* C streams of wide characters, in UTF-8: characters of one to four bytes, lines and formats, read, written, appended and put
 * back, also on standard input and output. Usage: wide DIRECTORY < DIRECTORY/out.in > DIRECTORY/out (absolute, canonical);
 * the input holds a character of two bytes, a blank and a number. Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <locale.h>
#include <wchar.h>

static char path[4200], in[4200], out[4200];
static long long at;
static const wchar_t text[] = L"a\u00e4\u20ac\U0001F600z\n"; /* 1, 2, 3, 4, 1 and 1 bytes in UTF-8. */

static void done(const char *name, long long offset, long long length, const char *file) {
    op("STDIO", name, "-", offset, length, file);
}

/* A call that moves `bytes` from the end of the previous one. */
#define MOVES(condition, name, bytes)                                                                                 \
    do {                                                                                                              \
        CHECK(condition);                                                                                             \
        done(name, at, bytes, path);                                                                                  \
        at += (bytes);                                                                                                \
    } while (0)

static FILE *opened(const char *mode) {
    FILE *stream = fopen(path, mode);
    CHECK(stream != NULL);
    done("open", -1, 0, path);
    at = 0;
    return stream;
}

static void closed(FILE *stream) {
    CHECK(fclose(stream) == 0);
    done("close", -1, 0, path);
}

static int listed_print(FILE *stream, const wchar_t *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vfwprintf(stream, format, list);
    va_end(list);
    return result;
}

static int listed_scan(FILE *stream, const wchar_t *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vfwscanf(stream, format, list);
    va_end(list);
    return result;
}

static void writes(void) {
    static const int bytes[] = {1, 2, 3, 4, 1, 1};
    FILE *stream = opened("w");
    for (int i = 0; i < 6; i++) {
        MOVES(fputwc(text[i], stream) == (wint_t)text[i], "write", bytes[i]);
        MOVES(putwc(text[i], stream) == (wint_t)text[i], "write", bytes[i]);
        MOVES(fputwc_unlocked(text[i], stream) == (wint_t)text[i], "write", bytes[i]);
        MOVES(putwc_unlocked(text[i], stream) == (wint_t)text[i], "write", bytes[i]);
    }
    for (int i = 0; i < 1000; i++) {
        MOVES(fputws(text, stream) >= 0, "write", 12);
    }
    MOVES(fputws_unlocked(text, stream) >= 0, "write", 12);
    MOVES(fwprintf(stream, L"%d \u20ac %ls", 1234, L"\u00e4") == 8, "write", 4 + 1 + 3 + 1 + 2);
    MOVES(listed_print(stream, L"%lc", L'\u20ac') == 1, "write", 3);
    closed(stream);
    stream = opened("a");
    at = raw_size(path);
    MOVES(fputws(text, stream) >= 0, "write", 12);
    MOVES(fputwc(L'\u20ac', stream) == L'\u20ac', "write", 3);
    closed(stream);
}

static void reads(void) {
    static const int bytes[] = {1, 2, 3, 4, 1, 1};
    wchar_t line[100], word[100];
    int number = 0;
    FILE *stream = opened("r");
    for (int i = 0; i < 6; i++) {
        MOVES(fgetwc(stream) == (wint_t)text[i], "read", bytes[i]);
        CHECK(ungetwc((wint_t)text[i], stream) == (wint_t)text[i]);
        at -= bytes[i];
        MOVES(getwc(stream) == (wint_t)text[i], "read", bytes[i]);
        MOVES(fgetwc_unlocked(stream) == (wint_t)text[i], "read", bytes[i]);
        MOVES(getwc_unlocked(stream) == (wint_t)text[i], "read", bytes[i]);
        MOVES(fgetwc(stream) == (wint_t)text[i], "read", bytes[i]);
    }
    for (int i = 0; i < 1000; i++) {
        MOVES(fgetws(line, 100, stream) == line && wcscmp(line, text) == 0, "read", 12);
    }
    MOVES(fgetws_unlocked(line, 4, stream) == line && wcslen(line) == 3, "read", 6);
    MOVES(fwscanf(stream, L"%ls", word) == 1 && wcslen(word) == 2, "read", 5);
    MOVES(listed_scan(stream, L"%d", &number) == 1 && number == 1234, "read", 5);
    MOVES(fgetws(line, 100, stream) == line, "read", 1 + 3 + 1 + 2 + 3 + 12);
    MOVES(fgetwc(stream) == L'\u20ac', "read", 3);
    MOVES(fgetwc(stream) == WEOF && feof(stream), "read", 0);
    MOVES(fgetws(line, 100, stream) == NULL, "read", 0);
    CHECK(fseek(stream, 12, SEEK_SET) == 0);
    done("seek", 12, 0, path);
    at = 12;
    MOVES(fgetwc(stream) != WEOF, "read", 3);
    errno = 0;
    CHECK(fputwc(L'x', stream) == WEOF && errno == EBADF);
    op_failed("STDIO", "write", "-", at, path);
    closed(stream);
}

static void standard(void) {
    int number = 0;
    wint_t character = getwchar();
    CHECK(character == L'\u00e4');
    done("read", 0, 2, in);
    CHECK(wscanf(L"%d", &number) == 1 && number == 12);
    done("read", 2, 3, in);
    CHECK(getwchar_unlocked() == L'\n');
    done("read", 5, 1, in);
    CHECK(putwchar(L'\u20ac') != WEOF);
    done("write", 0, 3, out);
    CHECK(putwchar_unlocked(L'\u00e4') != WEOF);
    done("write", 3, 2, out);
    CHECK(wprintf(L"%d\n", 77) == 3);
    done("write", 5, 3, out);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < 4000 && setlocale(LC_ALL, "C.UTF-8") != NULL);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    snprintf(in, sizeof in, "%s/out.in", argv[1]);
    snprintf(out, sizeof out, "%s/out", argv[1]);
    writes();
    reads();
    standard();
    oplog_write();
    return 0;
}
