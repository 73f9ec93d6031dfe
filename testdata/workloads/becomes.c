/* A program that does I/O and then calls exec in one of all ways; the new program does I/O, too. Failed attempts come first.
 * Also processes made without fork(3)'s handlers, by clone(2) and by _Fork(3).
 * Usage: becomes DIRECTORY WAY, with WAY one of execve execv execvp execvpe execl execlp execle fexecve execveat syscall
 * threads clone fork; then this program as `becomes DIRECTORY again`. Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

extern char **environ;
static char dir[4096];
static volatile int stop;

static void write_file(const char *name, int count) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    for (int i = 0; i < count; i++) {
        CHECK(write(fd, &i, sizeof i) == sizeof i);
        op("POSIX", "write", "-", i * (long long)sizeof i, sizeof i, path);
    }
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, path);
}

static void *busy(void *unused) {
    (void)unused;
    while (!stop) {
        write_file("thread", 10);
    }
    return NULL;
}

/* Forks without running the C library's handlers. */
static pid_t raw_fork(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

static void await(pid_t pid) {
    int status;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void children(int by_clone) {
    for (int i = 0; i < 3; i++) {
        pid_t pid = by_clone ? raw_fork() : _Fork();
        if (pid == 0) {
            char name[20];
            oplog_forget();
            snprintf(name, sizeof name, "child%d", i);
            write_file(name, 40 + i);
            oplog_write();
            _exit(0);
        }
        write_file("parent", 30);
        await(pid);
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 3 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    const char *way = argv[2];
    if (strcmp(way, "again") == 0) {
        write_file("after", 20);
        oplog_write();
        return 0;
    }
    write_file("before", 100);
    if (strcmp(way, "clone") == 0 || strcmp(way, "fork") == 0) {
        children(strcmp(way, "clone") == 0);
        oplog_write();
        return 0;
    }
    char *const next[] = {argv[0], dir, "again", NULL};
    CHECK(execv("/no/such/program", next) == -1 && errno == ENOENT);
    CHECK(execl("/no/such/program", "x", (char *)NULL) == -1 && errno == ENOENT);
    write_file("between", 50);
    pthread_t thread;
    if (strcmp(way, "threads") == 0) {
        CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
        usleep(2000);
        stop = 1;
        CHECK(pthread_join(thread, NULL) == 0);
        way = "execve";
    }
    oplog_write();
    long self = raw_call(SYS_openat, AT_FDCWD, argv[0], O_RDONLY | O_CLOEXEC, 0);
    if (strcmp(way, "execve") == 0) execve(argv[0], next, environ);
    if (strcmp(way, "execv") == 0) execv(argv[0], next);
    if (strcmp(way, "execvp") == 0) execvp(argv[0], next);
    if (strcmp(way, "execvpe") == 0) execvpe(argv[0], next, environ);
    if (strcmp(way, "execl") == 0) execl(argv[0], argv[0], dir, "again", (char *)NULL);
    if (strcmp(way, "execlp") == 0) execlp(argv[0], argv[0], dir, "again", (char *)NULL);
    if (strcmp(way, "execle") == 0) execle(argv[0], argv[0], dir, "again", (char *)NULL, environ);
    if (strcmp(way, "fexecve") == 0) fexecve((int)self, next, environ);
    if (strcmp(way, "execveat") == 0) syscall(SYS_execveat, AT_FDCWD, argv[0], next, environ, 0);
    if (strcmp(way, "syscall") == 0) syscall(SYS_execve, argv[0], next, environ);
    return 97;
}
