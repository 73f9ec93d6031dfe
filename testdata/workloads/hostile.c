/* Programs with unusual behaviour, one kind per WAY; all do some I/O, log it, and end with exit code 5.
 * Usage: hostile DIRECTORY WAY, WAY one of
 *   few_descriptors   opens files until there is no descriptor left (RLIMIT_NOFILE 40), then goes on with the open ones
 *   high_descriptors  descriptors above 65,536 (RLIMIT_NOFILE 1,000,000, or as allowed)
 *   close_all         closes every descriptor up to the limit, including standard ones and those of libraries, and opens new ones
 *   small_files       RLIMIT_FSIZE of 64 KiB, which it reaches, SIGXFSZ ignored
 *   chroot            changes its root directory (if it may) to DIRECTORY
 *   no_environment    clears its environment
 *   no_output         removes the directory that DXT_OUTPUT_DIR names
 *   threads           10,000 threads, one after another
 *   handler           a signal handler that writes, 5,000 times, at any moment of the main program's own writes
 *   forks             forks 200 times while two threads write
 * Log: oplog.h. Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

static char dir[4096];
static char path[4200];

static const char *in_dir(const char *name) {
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int open_logged(const char *name) {
    int fd = open(in_dir(name), O_CREAT | O_RDWR, 0644);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    return fd;
}

static void write_logged(int fd, const char *name, long long offset) {
    CHECK(pwrite(fd, "hostile!", 8, offset) == 8);
    op("POSIX", "write", "-", offset, 8, in_dir(name));
}

static void close_logged(int fd, const char *name) {
    CHECK(close(fd) == 0);
    op("POSIX", "close", "-", -1, 0, in_dir(name));
}

static void some_io(const char *name, int count) {
    int fd = open_logged(name);
    for (int i = 0; i < count; i++) write_logged(fd, name, i * 8LL);
    close_logged(fd, name);
}

static void limit(int resource, rlim_t value) {
    struct rlimit both;
    CHECK(getrlimit(resource, &both) == 0);
    both.rlim_cur = value < both.rlim_max ? value : both.rlim_max;
    if (resource == RLIMIT_NOFILE && value > both.rlim_max) {
        struct rlimit more = {value, value};
        if (setrlimit(resource, &more) == 0) return;
    }
    CHECK(setrlimit(resource, &both) == 0);
}

static void few_descriptors(void) {
    limit(RLIMIT_NOFILE, 40);
    int fds[64], count = 0;
    for (;;) {
        int fd = open(in_dir("many"), O_CREAT | O_RDWR, 0644);
        if (fd < 0) break;
        op("POSIX", "open", "-", -1, 0, path);
        fds[count++] = fd;
    }
    CHECK(errno == EMFILE && count > 20);
    op_failed("POSIX", "open", "-", -1, path);
    for (int i = 0; i < 3000; i++) write_logged(fds[i % count], "many", i * 8LL);
    for (int i = 0; i < count; i++) close_logged(fds[i], "many");
}

static void high_descriptors(void) {
    limit(RLIMIT_NOFILE, 1000000);
    struct rlimit now;
    CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0);
    int fd = open_logged("high");
    const int numbers[] = {1000, 65535, 65536, 70000, 500000, 999999};
    for (int i = 0; i < 6; i++) {
        if ((rlim_t)numbers[i] >= now.rlim_cur) continue;
        CHECK(dup2(fd, numbers[i]) == numbers[i]);
        op("POSIX", "dup", "-", -1, 0, in_dir("high"));
        for (int k = 0; k < 10; k++) write_logged(numbers[i], "high", i * 1000 + k);
        close_logged(numbers[i], "high");
    }
    close_logged(fd, "high");
}

static void close_all(void) {
    int inherited = open_logged("before");
    write_logged(inherited, "before", 0);
    limit(RLIMIT_NOFILE, 20000);
    for (int fd = 0; fd < 20000; fd++) {
        if (close(fd) == 0 && fd == inherited) op("POSIX", "close", "-", -1, 0, in_dir("before"));
    }
    int fd = open_logged("after");
    CHECK(fd == 0);
    for (int i = 0; i < 100; i++) write_logged(fd, "after", i * 8LL);
    close_logged(fd, "after");
    fd = open_logged("two");
    CHECK(dup2(fd, 2) == 2);
    op("POSIX", "dup", "-", -1, 0, in_dir("two"));
    write_logged(2, "two", 0);
}

static void small_files(void) {
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    limit(RLIMIT_FSIZE, 64 << 10);
    int fd = open_logged("small");
    for (int i = 0; i < 8192; i++) write_logged(fd, "small", i * 8LL);
    CHECK(pwrite(fd, "x", 1, 64 << 10) == -1 && errno == EFBIG);
    op_failed("POSIX", "write", "-", 64 << 10, in_dir("small"));
    for (int i = 0; i < 10000; i++) write_logged(fd, "small", i % 8192 * 8LL);
    close_logged(fd, "small");
    /* The log would exceed the limit. */
    limit(RLIMIT_FSIZE, RLIM_INFINITY);
    oplog_write();
    limit(RLIMIT_FSIZE, 64 << 10);
}

static void *one_thread(void *fd) {
    for (int i = 0; i < 3; i++) write_logged((int)(long)fd, "thread", i * 8LL);
    return NULL;
}

static void threads(void) {
    long fd = open_logged("thread");
    for (int i = 0; i < 10000; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, one_thread, (void *)fd) == 0 && pthread_join(thread, NULL) == 0);
    }
}

static int handler_fd;
static volatile int handled;

static void on_alarm(int signal) {
    int saved = errno;
    (void)signal;
    if (pwrite(handler_fd, "handler!", 8, handled * 8LL) != 8) _exit(98);
    handled++;
    errno = saved;
}

/* The handler's writes are not logged, as logging is not async-signal-safe; their number is printed. */
static void handler(void) {
    handler_fd = open_logged("handler");
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    int fd = open(in_dir("main"), O_CREAT | O_RDWR, 0644), number = 0;
    while (handled < 5000) {
        CHECK(pwrite(fd, "main", 4, number % 1000 * 4LL) == 4);
        number++;
        if (number % 100 == 0) free(malloc((size_t)number % 5000));
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    printf("%d %d\n", handled, number);
    fflush(stdout);
}

static volatile int stop;

static void *writes(void *name) {
    char own[4200];
    snprintf(own, sizeof own, "%s/%s", dir, (const char *)name);
    int fd = open(own, O_CREAT | O_RDWR, 0644);
    CHECK(fd >= 0);
    for (long long i = 0; !stop; i++) CHECK(pwrite(fd, "thread", 6, i % 1000) == 6);
    return NULL;
}

static void forks(void) {
    pthread_t thread[2];
    CHECK(pthread_create(&thread[0], NULL, writes, "a") == 0 && pthread_create(&thread[1], NULL, writes, "b") == 0);
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            int fd = open(in_dir("child"), O_CREAT | O_RDWR, 0644);
            if (fd < 0 || pwrite(fd, "child", 5, i * 5) != 5) _exit(97);
            if (i % 2 == 0) _exit(3);
            exit(3);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    }
    stop = 1;
    CHECK(pthread_join(thread[0], NULL) == 0 && pthread_join(thread[1], NULL) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 3 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    const char *way = argv[2];
    if (strcmp(way, "few_descriptors") == 0) {
        few_descriptors();
    } else if (strcmp(way, "high_descriptors") == 0) {
        high_descriptors();
    } else if (strcmp(way, "close_all") == 0) {
        close_all();
    } else if (strcmp(way, "small_files") == 0) {
        small_files();
    } else if (strcmp(way, "chroot") == 0) {
        some_io("outside", 10);
        oplog_write();
        oplog_forget();
        CHECK(chroot(dir) == 0 && chdir("/") == 0);
        dir[0] = 0;
        for (int i = 0; i < 3; i++) {
            int fd = open("/inside", O_CREAT | O_RDWR, 0644);
            CHECK(fd >= 0 && pwrite(fd, "hostile!", 8, i) == 8 && close(fd) == 0);
        }
        return 5;
    } else if (strcmp(way, "no_environment") == 0) {
        some_io("before", 10);
        oplog_write();
        oplog_forget();
        char *log = strdup(getenv("OPLOG"));
        clearenv();
        setenv("OPLOG", log, 1);
        some_io("after", 10);
    } else if (strcmp(way, "no_output") == 0) {
        some_io("before", 10);
        CHECK(raw_call(SYS_unlinkat, AT_FDCWD, getenv("DXT_OUTPUT_DIR"), AT_REMOVEDIR) == 0);
        some_io("after", 10);
    } else if (strcmp(way, "threads") == 0) {
        threads();
    } else if (strcmp(way, "handler") == 0) {
        handler();
    } else if (strcmp(way, "forks") == 0) {
        forks();
        return 5;
    }
    oplog_write();
    return 5;
}
