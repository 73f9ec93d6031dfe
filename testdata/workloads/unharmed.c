/* Prints everything that a preloaded library could disturb: descriptor numbers, return values and errno of successful
 * and failing calls, errno values that calls preserve, signal mask and handlers, the environment, limits, and the
 * exit code (42). The output with a tracer and without must be the same, byte for byte.
 * Usage: unharmed DIRECTORY. Provenance: written for this project. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOW(call)                                                                                                    \
    do {                                                                                                              \
        errno = 77;                                                                                                   \
        long result = (long)(call);                                                                                   \
        int error = errno;                                                                                            \
        printf("%s = %ld errno %d\n", #call, result, error);                                                          \
    } while (0)

static char buffer[100];
/* Invalid arguments, hidden from the compiler. */
static void *volatile nowhere = (void *)8;
static volatile int less_than_none = -1;

static void signals(void) {
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0) {
            int kind = action.sa_handler == SIG_DFL ? 0 : action.sa_handler == SIG_IGN ? 1 : 2;
            printf("signal %d: blocked %d, action %d\n", number, sigismember(&mask, number), kind);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 2 || chdir(argv[1]) != 0) {
        return 1;
    }
    struct iovec pieces[2] = {{buffer, 10}, {buffer + 10, 20}};
    struct iovec wrong = {nowhere, 20};
    SHOW(open("file", O_CREAT | O_RDWR, 0640));
    SHOW(open("missing", O_RDONLY));
    SHOW(open("", O_RDONLY));
    SHOW(open("file", O_CREAT | O_EXCL | O_RDWR, 0600));
    SHOW(open(".", O_WRONLY));
    SHOW(openat(77, "x", O_RDONLY));
    SHOW(creat("/nowhere/at/all", 0600));
    SHOW(write(3, "0123456789", 10));
    SHOW(pwrite(3, "abc", 3, 4096));
    SHOW(pwrite(3, "abc", 3, -5));
    SHOW(write(3, nowhere, 10));
    SHOW(writev(3, pieces, 2));
    SHOW(writev(3, &wrong, 1));
    SHOW(writev(3, pieces, less_than_none));
    SHOW(pwritev2(3, pieces, 2, 50, 0));
    SHOW(pwritev2(3, pieces, 2, 50, 0x40000000));
    SHOW(preadv(3, pieces, 2, 0));
    SHOW(lseek(3, 5, SEEK_SET));
    SHOW(lseek(3, -50000, SEEK_CUR));
    SHOW(lseek(3, 0, 99));
    SHOW(lseek(3, 0, SEEK_CUR));
    SHOW(read(3, buffer, 3));
    SHOW(read(3, nowhere, 3));
    SHOW(read(99, buffer, 3));
    SHOW(pread(3, buffer, 100, 1 << 20));
    SHOW(dup(3));
    SHOW(dup2(3, 20));
    SHOW(dup2(3, 3));
    SHOW(dup2(99, 21));
    SHOW(dup3(3, 3, 0));
    SHOW(dup3(3, 22, O_CLOEXEC));
    SHOW(fcntl(22, F_GETFD));
    SHOW(fcntl(3, F_DUPFD, 30));
    SHOW(fcntl(3, F_DUPFD_CLOEXEC, 31));
    SHOW(fcntl(3, F_DUPFD, -1));
    SHOW(fcntl(3, F_GETFL) & O_ACCMODE);
    struct stat about;
    struct flock lock = {.l_type = F_WRLCK, .l_len = 10};
    off_t from = 0;
    SHOW(stat("file", &about));
    SHOW(stat("missing", &about));
    SHOW(stat(nowhere, &about));
    SHOW(lstat("file", nowhere));
    SHOW(fstat(3, &about));
    SHOW(fstat(99, &about));
    SHOW(fstatat(3, "", &about, AT_EMPTY_PATH));
    SHOW(fstatat(99, "x", &about, 0));
    SHOW(truncate("file", 5000));
    SHOW(ftruncate(3, -1));
    SHOW(posix_fallocate(3, 0, 4096));
    SHOW(posix_fallocate(3, 0, -1));
    SHOW(fallocate(99, 0, 0, 1));
    SHOW(sync_file_range(3, 0, 10, 0x1000));
    SHOW(mkdir("sub", 0700));
    SHOW(mkdir("sub", 0700));
    SHOW(rename("file", "sub/file"));
    SHOW(renameat(AT_FDCWD, "sub/file", AT_FDCWD, "file"));
    SHOW(rename("missing", "other"));
    SHOW(unlink("missing"));
    SHOW(rmdir("sub"));
    SHOW(rmdir("sub"));
    SHOW(flock(3, LOCK_EX));
    SHOW(flock(99, LOCK_EX));
    SHOW(fcntl(3, F_SETLK, &lock));
    SHOW(fcntl(3, F_SETLK, nowhere));
    SHOW(fcntl(99, F_SETLK, &lock));
    SHOW(lockf(3, F_TLOCK, 5));
    SHOW(lockf(3, 77, 5));
    SHOW(copy_file_range(3, &from, 3, nowhere, 10, 0));
    SHOW(copy_file_range(99, &from, 3, NULL, 10, 0));
    SHOW(sendfile(3, 99, NULL, 10));
    SHOW(splice(3, NULL, 3, NULL, 10, 0));
    SHOW(mmap(NULL, 4096, PROT_READ, MAP_SHARED, 99, 0) == MAP_FAILED);
    SHOW(mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 1) == MAP_FAILED);
    char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
    SHOW(map != MAP_FAILED);
    SHOW(msync(map, 8192, MS_SYNC));
    SHOW(msync(map, 8192, 77));
    SHOW(munmap(map, 4096));
    SHOW(msync(map, 8192, MS_SYNC));
    SHOW(munmap(map + 1, 1));
    SHOW(munmap(map + 4096, 4096));
    char template[] = "nothing";
    SHOW(mkstemp(template));
    SHOW(fsync(3));
    SHOW(fdatasync(99));
    SHOW(close(4));
    SHOW(close(4));
    SHOW(open("second", O_CREAT | O_WRONLY, 0600));
    SHOW(read(4, buffer, 1));
    SHOW(open("/dev/null", O_RDWR));
    SHOW(open(".", O_RDONLY | O_DIRECTORY));
    SHOW(read(6, buffer, 10));
    errno = 77;
    FILE *stream = fopen("stream", "w+");
    printf("fopen: %d errno %d\n", stream != NULL, errno);
    SHOW(fileno(stream));
    SHOW(fwrite("hello", 1, 5, stream));
    SHOW(fseek(stream, 1, SEEK_SET));
    SHOW(fseek(stream, -9, SEEK_SET));
    SHOW(fread(buffer, 1, 10, stream));
    SHOW(feof(stream) != 0);
    SHOW(ftell(stream));
    SHOW(fflush(stream));
    SHOW(fclose(stream));
    errno = 77;
    printf("fopen: %d", fopen("missing", "r") != NULL);
    printf(" errno %d\n", errno);
    printf("fopen: %d", fopen("file", "nonsense") != NULL);
    printf(" errno %d\n", errno);
    struct stat status;
    if (stat("file", &status) == 0) {
        printf("mode %o size %ld\n", status.st_mode, (long)status.st_size);
    }
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("descriptors %ld\n", (long)limit.rlim_cur);
    signals();
    printf("umask %o\n", umask(0));
    fflush(stdout);
    /* Closes standard output: the process must still end without messages. */
    SHOW(close(STDIN_FILENO));
    fflush(stdout);
    exit(42);
}
