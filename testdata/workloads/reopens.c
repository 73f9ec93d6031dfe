/* Opens files by names whose meaning changes in between, and logs each open with the kernel's name of the open file,
 * queried by raw system calls.
 * Usage: reopens DIRECTORY (absolute, canonical, empty). Log: oplog.h; only opens.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *root;

/* Path of a name in the directory; valid for four calls. */
__attribute__((format(printf, 1, 2))) static const char *in(const char *format, ...) {
    static __thread char names[4][4200];
    static __thread int turn;
    char *name = names[turn++ % 4];
    int length = snprintf(name, 4200, "%s/", root);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name + length, (size_t)(4200 - length), format, arguments);
    va_end(arguments);
    return name;
}

/* Logs the open of `fd`, with the kernel's name. */
static void opened(int fd, const char *layer) {
    char link[64], name[4200] = "";
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    CHECK(fd >= 0 && raw_call(SYS_readlinkat, AT_FDCWD, link, name, sizeof name - 1) > 0);
    op(layer, "open", "-", -1, 0, name);
}

static void reopen_at(int at, const char *name) {
    for (int i = 0; i < 3; i++) {
        int fd = openat(at, name, O_RDONLY);
        opened(fd, "POSIX");
        CHECK(close(fd) == 0);
        FILE *stream = at == AT_FDCWD ? fopen(name, "r") : NULL;
        if (stream != NULL) {
            opened(fileno(stream), "STDIO");
            fclose(stream);
        }
    }
}

static void reopen(const char *name) { reopen_at(AT_FDCWD, name); }

static void make(const char *name) {
    int fd = creat(name, 0600);
    opened(fd, "POSIX");
    CHECK(write(fd, "x", 1) == 1 && close(fd) == 0);
}

static void links(void) {
    make(in("a"));
    reopen(in("a"));
    CHECK(link(in("a"), in("b")) == 0);
    reopen(in("b"));
    CHECK(symlink("a", in("s")) == 0);
    reopen(in("s"));
    /* The link now leads to the same inode by another name. */
    CHECK(symlink("b", in("t")) == 0 && rename(in("t"), in("s")) == 0);
    reopen(in("s"));
    /* The name becomes a link to its renamed file. */
    CHECK(rename(in("a"), in("c")) == 0 && symlink("c", in("a")) == 0);
    reopen(in("a"));
    CHECK(unlink(in("a")) == 0 && rename(in("c"), in("a")) == 0);
    reopen(in("a"));
    /* A file with one name, and a link whose target is renamed: by a system call, and by functions. */
    make(in("one"));
    CHECK(symlink("one", in("l")) == 0);
    reopen(in("l"));
    CHECK(syscall(SYS_renameat2, AT_FDCWD, in("one"), AT_FDCWD, in("two"), 0) == 0);
    CHECK(unlink(in("l")) == 0 && symlinkat("two", AT_FDCWD, in("l")) == 0);
    reopen(in("l"));
    CHECK(renameat(AT_FDCWD, in("two"), AT_FDCWD, in("one")) == 0 && symlink("one", in("two")) == 0);
    reopen(in("l"));
    reopen(in("two"));
}

static void directories(void) {
    CHECK(mkdir(in("d"), 0700) == 0 && mkdir(in("d/e"), 0700) == 0);
    make(in("d/e/f"));
    int at = open(in("d/e"), O_RDONLY | O_DIRECTORY);
    reopen(in("d/e/f"));
    reopen_at(at, "f");
    reopen_at(at, "../e/./f");
    CHECK(rename(in("d"), in("g")) == 0 && symlink("g", in("d")) == 0);
    reopen(in("d/e/f"));
    reopen_at(at, "f");
    reopen_at(at, "../e/f");
    /* A directory replaces the link. */
    CHECK(unlink(in("d")) == 0 && mkdir(in("d"), 0700) == 0 && mkdir(in("d/e"), 0700) == 0);
    CHECK(link(in("g/e/f"), in("d/e/f")) == 0);
    reopen(in("d/e/f"));
    reopen_at(at, "f");
    close(at);
    /* `..` behind a link: its literal and its real meaning differ, but are the same inode. */
    CHECK(mkdir(in("p"), 0700) == 0 && mkdir(in("p/q"), 0700) == 0 && symlink("p/q", in("w")) == 0);
    make(in("h"));
    CHECK(link(in("h"), in("p/h")) == 0);
    reopen(in("h"));
    reopen(in("w/../h"));
    reopen(in("p/../h"));
    reopen(in("/.//p/./h"));
}

static void working_directories(void) {
    CHECK(mkdir(in("x"), 0700) == 0 && mkdir(in("y"), 0700) == 0);
    make(in("x/f"));
    CHECK(link(in("x/f"), in("y/f")) == 0);
    int y = open(in("y"), O_RDONLY | O_DIRECTORY);
    CHECK(chdir(in("x")) == 0);
    reopen("f");
    CHECK(fchdir(y) == 0);
    reopen("f");
    reopen("../x/f");
    /* By a raw system call. */
    CHECK(raw_call(SYS_chdir, in("x")) == 0);
    reopen("f");
    CHECK(rename(in("x"), in("z")) == 0);
    reopen("f");
    reopen("./f");
    CHECK(chdir("/") == 0);
    close(y);
}

/* Deletes and recreates a file, which may reuse the inode number. */
static void again(void) {
    for (int i = 0; i < 20; i++) {
        make(in("again"));
        reopen(in("again"));
        CHECK(unlink(in("again")) == 0);
        CHECK(symlink(i % 2 ? "odd" : "even", in("again")) == 0);
        make(in("again"));
        reopen(in("again"));
        CHECK(unlink(in("again")) == 0 && unlink(in(i % 2 ? "odd" : "even")) == 0);
    }
}

/* Names that exist only in proc(5). */
static void nameless(void) {
    char name[64];
    make(in("m"));
    CHECK(link(in("m"), in("n")) == 0);
    int m = open(in("m"), O_RDONLY), n = open(in("n"), O_RDONLY);
    opened(m, "POSIX");
    opened(n, "POSIX");
    snprintf(name, sizeof name, "/proc/self/fd/%d", m);
    reopen(name);
    CHECK(dup2(n, m) == m);
    reopen(name);
    CHECK(unlink(in("n")) == 0 && unlink(in("m")) == 0);
    reopen(name);
    close(m);
    close(n);
    int memory = memfd_create("memory", 0);
    snprintf(name, sizeof name, "/dev/fd/%d", memory);
    reopen(name);
    close(memory);
    int temporary = open(root, O_TMPFILE | O_RDWR, 0600);
    if (temporary >= 0) {
        opened(temporary, "POSIX");
        snprintf(name, sizeof name, "/proc/self/fd/%d", temporary);
        reopen(name);
        CHECK(linkat(AT_FDCWD, name, AT_FDCWD, in("named"), AT_SYMLINK_FOLLOW) == 0);
        reopen(in("named"));
        reopen(name);
        close(temporary);
    }
    char template[4200];
    for (int i = 0; i < 3; i++) {
        snprintf(template, sizeof template, "%s", in("tXXXXXX"));
        int fd = mkstemp(template);
        opened(fd, "POSIX");
        close(fd);
        reopen(template);
    }
    FILE *stream = tmpfile();
    opened(fileno(stream), "STDIO");
    stream = freopen(in("named2"), "w", stream);
    opened(fileno(stream), "STDIO");
    fclose(stream);
}

/* Other processes change a name. */
static void children(void) {
    CHECK(mkdir(in("k"), 0700) == 0);
    make(in("k/f"));
    reopen(in("k/f"));
    pid_t child = fork();
    if (child == 0) {
        _exit(rename(in("k"), in("j")) == 0 && symlink("j", in("k")) == 0 ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    reopen(in("k/f"));
    char command[9000];
    snprintf(command, sizeof command, "cd '%s' && rm k && mv j k && mv k/f k/g && ln -s g k/f", root);
    CHECK(system(command) == 0);
    reopen(in("k/f"));
    reopen(in("k/g"));
}

static void *thread(void *ignored) {
    /* A thread with its own working directory and root. */
    CHECK(unshare(CLONE_FS) == 0 && chdir(in("v")) == 0);
    reopen("f");
    return ignored;
}

static void namespaces(void) {
    CHECK(mkdir(in("u"), 0700) == 0 && mkdir(in("v"), 0700) == 0);
    make(in("u/f"));
    CHECK(link(in("u/f"), in("v/f")) == 0 && chdir(in("u")) == 0);
    reopen("f");
    pthread_t other;
    CHECK(pthread_create(&other, NULL, thread, NULL) == 0 && pthread_join(other, NULL) == 0);
    reopen("f");
    CHECK(chdir("/") == 0);
    int u = open(in("u"), O_RDONLY | O_DIRECTORY);
    reopen_at(u, "f");
    /* Needs privileges; skipped without. */
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
        CHECK(mount(in("u"), in("v"), NULL, MS_BIND, NULL) == 0);
        int v = open(in("v"), O_RDONLY | O_DIRECTORY);
        for (int i = 0; i < 3; i++) {
            reopen(in("v/f"));
            reopen_at(v, "f");
            reopen_at(u, "f");
        }
        close(v);
        CHECK(umount2(in("v"), MNT_DETACH) == 0);
        reopen(in("v/f"));
    }
    close(u);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < 4000);
    root = argv[1];
    /* Each part runs twice, so that the tracer knows the names from the first time. */
    links();
    directories();
    working_directories();
    again();
    nameless();
    children();
    namespaces();
    oplog_write();
    return 0;
}
