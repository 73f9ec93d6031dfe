/* Copies inside the kernel with given offsets and at positions, and descriptors that come from unusual calls: temporary
 * files, memory files, files without a name, openat2.
 * Usage: copies DIRECTORY (absolute, canonical, empty). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include "oplog.h"
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

static char dir[4000];
static char bytes[10000];

static const char *in_dir(const char *name) {
    static char path[4][4200];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static void done(const char *name, long long offset, long long length, const char *path) {
    op("POSIX", name, "-", offset, length, path);
}

static void copied(const char *from, long long from_at, const char *to, long long to_at, long long length) {
    /* Logs both ends of a copy; their order does not matter. */
    if (from != NULL) {
        done("copy_read", from_at, length, in_dir(from));
    }
    if (to != NULL) {
        done("copy_write", to_at, length, in_dir(to));
    }
}

static void copies(int in, int out) {
    off_t from = 100, to = 50;
    loff_t from64 = 300, to64 = 70;
    CHECK(copy_file_range(in, &from, out, &to, 1000, 0) == 1000 && from == 1100 && to == 1050);
    copied("in", 100, "out", 50, 1000);
    CHECK(copy_file_range(in, NULL, out, &to, 10, 0) == 10);
    copied("in", 0, "out", 1050, 10);
    CHECK(copy_file_range(in, &from, out, NULL, 20, 0) == 20);
    copied("in", 1100, "out", 0, 20);
    CHECK(copy_file_range(in, NULL, out, NULL, 30, 0) == 30);
    copied("in", 10, "out", 20, 30);
    CHECK(lseek(in, 0, SEEK_CUR) == 40 && lseek(out, 0, SEEK_CUR) == 50);
    done("seek", 40, 0, in_dir("in"));
    done("seek", 50, 0, in_dir("out"));
    from = 5000;
    CHECK(sendfile(out, in, &from, 100) == 100 && from == 5100);
    copied("in", 5000, "out", 50, 100);
    CHECK(sendfile64(out, in, NULL, 7) == 7);
    copied("in", 40, "out", 150, 7);
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    CHECK(splice(in, &from64, pipes[1], NULL, 500, 0) == 500 && from64 == 800);
    copied("in", 300, NULL, 0, 500);
    CHECK(splice(pipes[0], NULL, out, &to64, 200, 0) == 200 && to64 == 270);
    copied(NULL, 0, "out", 70, 200);
    CHECK(splice(pipes[0], NULL, out, NULL, 300, 0) == 300);
    copied(NULL, 0, "out", 157, 300);
    CHECK(splice(in, NULL, pipes[1], NULL, 3, 0) == 3);
    copied("in", 47, NULL, 0, 3);
    CHECK(sendfile(pipes[1], in, NULL, 2) == 2);
    copied("in", 50, NULL, 0, 2);
    /* Positions are those that the kernel reports. */
    CHECK(write(out, bytes, 1) == 1);
    done("write", 457, 1, in_dir("out"));
    CHECK(read(in, bytes, 1) == 1);
    done("read", 52, 1, in_dir("in"));
    CHECK(copy_file_range(out, NULL, in, NULL, 10, 0) == -1 && errno == EBADF);
    op_failed("POSIX", "copy_read", "-", 458, in_dir("out"));
    op_failed("POSIX", "copy_write", "-", 53, in_dir("in"));
    CHECK(splice(in, NULL, out, NULL, 10, 0) == -1 && errno == EINVAL);
    op_failed("POSIX", "copy_read", "-", 53, in_dir("in"));
    op_failed("POSIX", "copy_write", "-", 458, in_dir("out"));
    CHECK(splice(pipes[0], NULL, pipes[0], NULL, 10, 0) == -1);
    CHECK(close(pipes[0]) == 0 && close(pipes[1]) == 0);
}

/* Writes a little and closes; `path` is the kernel's name of the descriptor. */
static void use(int fd, int told) {
    char path[4200] = {0}, link[64];
    CHECK(fd >= 0);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    CHECK(readlink(link, path, sizeof path - 1) > 0);
    if (told) {
        done("open", -1, 0, path);
    }
    CHECK(write(fd, "12345", 5) == 5);
    done("write", 0, 5, path);
    CHECK(pwrite(fd, "x", 1, 77) == 1);
    done("write", 77, 1, path);
    CHECK(write(fd, "67", 2) == 2);
    done("write", 5, 2, path);
    CHECK(close(fd) == 0);
    done("close", -1, 0, path);
}

static void unusual(void) {
    char names[8][64] = {"aXXXXXX", "bXXXXXX", "cXXXXXX", "dXXXXXX", "eXXXXXX.x", "fXXXXXX.x", "gXXXXXX.x", "hXXXXXX.x"};
    use(mkstemp(names[0]), 1);
    use(mkstemp64(names[1]), 1);
    use(mkostemp(names[2], O_CLOEXEC), 1);
    use(mkostemp64(names[3], O_CLOEXEC), 1);
    use(mkstemps(names[4], 2), 1);
    use(mkstemps64(names[5], 2), 1);
    use(mkostemps(names[6], 2, O_CLOEXEC), 1);
    use(mkostemps64(names[7], 2, O_CLOEXEC), 1);
    char wrong[] = "missing/XXXXXX";
    CHECK(mkstemp(wrong) == -1 && errno == ENOENT);
    op_failed("POSIX", "open", "-", -1, in_dir(wrong));
    /* The tracer did not see these being opened: it looks them up at first use. */
    use(memfd_create("memory", 0), 0);
    struct open_how how = {.flags = O_CREAT | O_RDWR, .mode = 0600};
    long fd = raw_call(SYS_openat2, AT_FDCWD, "how", &how, sizeof how);
    if (fd >= 0) {
        use((int)fd, 0);
    }
    use((int)raw_call(SYS_openat, AT_FDCWD, "raw", O_CREAT | O_RDWR, 0600), 0);
    int nameless = open(".", O_TMPFILE | O_RDWR, 0600);
    if (nameless >= 0) {
        use(nameless, 1);
    } else {
        op_failed("POSIX", "open", "-", -1, dir);
    }
}

/* Descriptor numbers closed in bulk are new files when they are reused. */
static void in_bulk(void) {
    const char *names[] = {"one", "two", "three"};
    for (int turn = 0; turn < 3; turn++) {
        int fd = open(names[turn], O_CREAT | O_RDWR, 0600);
        CHECK(fd >= 0 && fd < 300);
        done("open", -1, 0, in_dir(names[turn]));
        CHECK(fcntl(fd, F_DUPFD, 300) == 300);
        done("dup", -1, 0, in_dir(names[turn]));
        CHECK(write(300, bytes, 10) == 10);
        done("write", 0, 10, in_dir(names[turn]));
        CHECK(close(fd) == 0);
        done("close", -1, 0, in_dir(names[turn]));
        if (turn == 0) {
            closefrom(300);
        } else {
            CHECK(close_range(300, 400, 0) == 0);
        }
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < sizeof dir && chdir(argv[1]) == 0);
    strcpy(dir, argv[1]);
    int in = open(in_dir("in"), O_CREAT | O_RDWR, 0600), out = open(in_dir("out"), O_CREAT | O_WRONLY, 0600);
    CHECK(in >= 0 && out >= 0);
    done("open", -1, 0, in_dir("in"));
    done("open", -1, 0, in_dir("out"));
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i % 251);
    }
    CHECK(pwrite(in, bytes, sizeof bytes, 0) == sizeof bytes);
    done("write", 0, sizeof bytes, in_dir("in"));
    copies(in, out);
    CHECK(close(in) == 0 && close(out) == 0);
    done("close", -1, 0, in_dir("in"));
    done("close", -1, 0, in_dir("out"));
    raw_check(in_dir("out"), 50, bytes + 5000, 20);
    unusual();
    in_bulk();
    oplog_write();
    return 0;
}
