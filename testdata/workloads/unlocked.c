/* Moves bytes of C streams by code that headers inline into the program, and by calls in between. Prints the number of bytes that no
 * call has moved.
 * Usage: unlocked DIRECTORY (absolute, canonical, empty).
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"

#define GET(stream) ((stream)->_IO_read_ptr >= (stream)->_IO_read_end ? __uflow(stream) : (unsigned char)*(stream)->_IO_read_ptr++)
#define PUT(byte, stream)                                                                                             \
    ((stream)->_IO_write_ptr >= (stream)->_IO_write_end ? __overflow(stream, (unsigned char)(byte))                   \
                                                        : (unsigned char)(*(stream)->_IO_write_ptr++ = (char)(byte)))

extern int __uflow(FILE *);
extern int __overflow(FILE *, int);

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < 4000);
    char path[4200], bytes[64];
    long moved = 0;
    for (int append = 0; append < 2; append++) {
        snprintf(path, sizeof path, "%s/file", argv[1]);
        FILE *stream = fopen(path, append ? "a" : "w");
        for (int i = 0; i < 20000; i++, moved++) {
            CHECK(PUT('x', stream) == 'x');
        }
        CHECK(fwrite("0123456789", 1, 10, stream) == 10);
        for (int i = 0; i < 100; i++, moved++) {
            CHECK(PUT('y', stream) == 'y');
        }
        CHECK(fflush(stream) == 0);
        for (int i = 0; i < 7; i++, moved++) {
            CHECK(PUT('z', stream) == 'z');
        }
        CHECK(fclose(stream) == 0);
    }
    FILE *stream = fopen(path, "r");
    for (int i = 0; i < 9000; i++, moved++) {
        CHECK(GET(stream) == 'x');
    }
    CHECK(fread(bytes, 1, 50, stream) == 50);
    for (int i = 0; i < 11; i++, moved++) {
        CHECK(GET(stream) == 'x');
    }
    /* A seek inside the buffer moves nothing. */
    CHECK(fseek(stream, 20, SEEK_CUR) == 0 && fread(bytes, 1, 3, stream) == 3 && ungetc('x', stream) == 'x');
    CHECK(fgetc(stream) == 'x' && fgetc(stream) == 'x');
    while (GET(stream) != EOF) {
        moved++;
    }
    CHECK(fclose(stream) == 0);
    printf("%ld\n", moved);
    return 0;
}
