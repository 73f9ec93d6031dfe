/* Memory maps of files, whole and in parts, and locks of every kind. Anonymous maps leave no segment.
 * Usage: maps_locks DIRECTORY (absolute, canonical, empty). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include "oplog.h"
#include <sys/file.h>
#include <sys/mman.h>

static char file[4200];

static void done(const char *name, long long offset, long long length) {
    op("POSIX", name, "-", offset, length, file);
}
#define OK(call, name, offset, length)                                                                                \
    do {                                                                                                              \
        CHECK((call) == 0);                                                                                           \
        done(name, offset, length);                                                                                   \
    } while (0)
#define FAILS(call, error, name, offset)                                                                              \
    do {                                                                                                              \
        errno = 0;                                                                                                    \
        CHECK((long)(call) == -1 && errno == (error));                                                                \
        op_failed("POSIX", name, "-", offset, file);                                                                  \
    } while (0)

static void maps(int fd, size_t page) {
    size_t size = 16 * page;
    char *whole = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(whole != MAP_FAILED);
    done("mmap", 0, (long long)size);
    memset(whole, 'm', size);
    OK(msync(whole, size, MS_SYNC), "msync", 0, (long long)size);
    OK(msync(whole + 2 * page, page, MS_ASYNC), "msync", 2 * (long long)page, (long long)page);
    char *part = mmap64(NULL, 100, PROT_READ, MAP_PRIVATE, fd, (off64_t)(3 * page));
    CHECK(part != MAP_FAILED);
    done("mmap", 3 * (long long)page, 100);
    CHECK(part[0] == 'm');
    FAILS(mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 7), EINVAL, "mmap", 7);
    FAILS(mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0), EINVAL, "mmap", 0);
    OK(munmap(part, 100), "munmap", 3 * (long long)page, 100);
    /* In pieces: from the middle, the front, the rest. */
    OK(munmap(whole + 4 * page, 2 * page), "munmap", 4 * (long long)page, 2 * (long long)page);
    OK(munmap(whole, page), "munmap", 0, (long long)page);
    FAILS(munmap(whole + 1, page), EINVAL, "munmap", (long long)page);
    OK(munmap(whole + page, 3 * page), "munmap", (long long)page, 3 * (long long)page);
    /* Another map replaces a part: unmapping that part does not concern the file. */
    char *rest = whole + 6 * page;
    CHECK(mmap(rest, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == rest);
    CHECK(munmap(rest, page) == 0);
    OK(munmap(rest + page, 9 * page), "munmap", 7 * (long long)page, 9 * (long long)page);
    char *plain = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(plain != MAP_FAILED && msync(plain, page, MS_SYNC) == 0 && munmap(plain, page) == 0);
    CHECK(munmap(plain + 1, page) == -1 && errno == EINVAL);
    CHECK(mmap(NULL, page, PROT_READ, MAP_SHARED, 999, 0) == MAP_FAILED && errno == EBADF);
}

/* Maps that move, grow and shrink: later munmap and msync use their new places. */
static void moved(int fd, size_t page) {
    char *map = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);
    CHECK(map != MAP_FAILED);
    long long at = (long long)page;
    done("mmap", at, 4 * at);
    /* Shrinks in place; grows, maybe elsewhere. */
    CHECK(mremap(map, 4 * page, 2 * page, 0) == map);
    done("mremap", at, 2 * at);
    CHECK(munmap(map + 2 * page, 2 * page) == 0);
    map = mremap(map, 2 * page, 6 * page, MREMAP_MAYMOVE);
    CHECK(map != MAP_FAILED);
    done("mremap", at, 6 * at);
    OK(msync(map + 5 * page, page, MS_SYNC), "msync", 6 * at, at);
    /* Moves a part over another map, which is then gone. */
    char *other = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(other != MAP_FAILED);
    done("mmap", 0, 2 * at);
    CHECK(mremap(map + 4 * page, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
    done("mremap", 5 * at, 2 * at);
    OK(munmap(other, page), "munmap", 5 * at, at);
    OK(munmap(other + page, page), "munmap", 6 * at, at);
    /* Duplicates the map: both exist. */
    char *again = mremap(map, 0, page, MREMAP_MAYMOVE);
    CHECK(again != MAP_FAILED && again != map);
    done("mremap", at, at);
    OK(munmap(again, page), "munmap", at, at);
    FAILS(mremap(map, page, page, 64), EINVAL, "mremap", at);
    OK(munmap(map, 4 * page), "munmap", at, 4 * at);
    char *plain = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(plain != MAP_FAILED);
    plain = mremap(plain, page, 3 * page, MREMAP_MAYMOVE);
    CHECK(plain != MAP_FAILED && munmap(plain, 3 * page) == 0);
    CHECK(mremap(NULL, page, page, MREMAP_MAYMOVE) == MAP_FAILED);
}

static void locks(int fd, int reader) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 50};
    OK(fcntl(fd, F_SETLK, &lock), "lock", 100, 50);
    lock.l_type = F_RDLCK;
    OK(fcntl(fd, F_SETLKW, &lock), "lock", 100, 50);
    struct flock asked = lock;
    CHECK(fcntl(fd, F_GETLK, &asked) == 0);
    lock.l_type = F_UNLCK;
    OK(fcntl(fd, F_SETLK, &lock), "unlock", 100, 50);
    CHECK(lseek(fd, 1000, SEEK_SET) == 1000);
    done("seek", 1000, 0);
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = -10, .l_len = 0};
    OK(fcntl(fd, F_SETLK, &lock), "lock", 990, 0);
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -5, .l_len = 20};
    OK(fcntl64(fd, F_SETLK, &lock), "lock", (long long)raw_size(file) - 5, 20);
    lock = (struct flock){.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
    OK(fcntl(fd, F_SETLK, &lock), "unlock", 0, 0);
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 500, .l_len = -100};
    OK(fcntl(fd, F_SETLK, &lock), "lock", 400, 100);
    lock.l_type = F_UNLCK;
    OK(fcntl(fd, F_SETLK, &lock), "unlock", 400, 100);
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};
    OK(fcntl(fd, F_OFD_SETLK, &lock), "lock", 0, 10);
    FAILS(fcntl(reader, F_OFD_SETLK, &lock), EBADF, "lock", 0);
    lock.l_type = F_RDLCK;
    FAILS(fcntl(reader, F_OFD_SETLK, &lock), EAGAIN, "lock", 0);
    lock.l_type = F_UNLCK;
    OK(fcntl(fd, F_OFD_SETLKW, &lock), "unlock", 0, 10);
    static void *volatile nowhere = (void *)8;
    CHECK(fcntl(fd, F_SETLK, nowhere) == -1 && errno == EFAULT);
    OK(lockf(fd, F_LOCK, 30), "lock", 1000, 30);
    OK(lockf(fd, F_TEST, 30) == 0 && lockf64(fd, F_TLOCK, -20) ? -1 : 0, "lock", 980, 20);
    OK(lockf(fd, F_ULOCK, 0), "unlock", 1000, 0);
    OK(flock(fd, LOCK_EX), "lock", 0, 0);
    FAILS(flock(reader, LOCK_SH | LOCK_NB), EAGAIN, "lock", 0);
    OK(flock(fd, LOCK_UN), "unlock", 0, 0);
    CHECK(flock(999, LOCK_SH) == -1 && errno == EBADF);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < 4000);
    snprintf(file, sizeof file, "%s/file", argv[1]);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = open(file, O_CREAT | O_RDWR, 0600);
    CHECK(fd >= 0);
    done("open", -1, 0);
    OK(ftruncate(fd, (off_t)(16 * page)), "truncate", -1, 16 * (long long)page);
    int reader = open(file, O_RDONLY);
    CHECK(reader >= 0);
    done("open", -1, 0);
    maps(fd, page);
    moved(fd, page);
    locks(fd, reader);
    OK(close(reader), "close", -1, 0);
    OK(close(fd), "close", -1, 0);
    oplog_write();
    return 0;
}
