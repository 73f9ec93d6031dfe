/* Makes some writes and ends in the given way; the log is written before the end.
 * Usage: exits DIRECTORY WAY [SEGMENTS], WAY one of return, exit, _exit, _Exit, quick_exit, pthread_exit, thread_exit,
 * sigterm, sigint, abort, kill, and with SIGTERM again: handled (by a handler that exits with 7), ignored (goes on and
 * exits with 7), default_again (after a handler was installed and removed). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <signal.h>

static pthread_t main_thread;

/* Ends as the last thread, after the main thread. */
static void *outlive(void *path) {
    pthread_join(main_thread, NULL);
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    CHECK(pwrite(fd, "last", 4, 0) == 4);
    op("POSIX", "write", "-", 0, 4, path);
    oplog_write();
    return NULL;
}

static void *exit_from_thread(void *unused) {
    (void)unused;
    exit(7);
}

static void exit_from_handler(int signal) {
    (void)signal;
    _exit(7);
}

int main(int argc, char **argv) {
    CHECK(argc >= 3);
    const char *way = argv[2];
    int segments = argc > 3 ? atoi(argv[3]) : 100;
    static char path[4200];
    snprintf(path, sizeof path, "%s/out", argv[1]);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    CHECK(fd >= 0);
    op("POSIX", "open", "-", -1, 0, path);
    for (int i = 0; i < segments; i++) {
        CHECK(pwrite(fd, &i, sizeof i, (off_t)i * 64) == sizeof i);
        op("POSIX", "write", "-", (long long)i * 64, sizeof i, path);
    }
    if (strcmp(way, "pthread_exit") == 0) {
        pthread_t thread;
        main_thread = pthread_self();
        CHECK(pthread_create(&thread, NULL, outlive, path) == 0 && pthread_detach(thread) == 0);
        pthread_exit(NULL);
    }
    oplog_write();
    if (strcmp(way, "return") == 0) {
        return 7;
    } else if (strcmp(way, "exit") == 0) {
        exit(7);
    } else if (strcmp(way, "_exit") == 0) {
        _exit(7);
    } else if (strcmp(way, "_Exit") == 0) {
        _Exit(7);
    } else if (strcmp(way, "quick_exit") == 0) {
        quick_exit(7);
    } else if (strcmp(way, "thread_exit") == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, exit_from_thread, NULL) == 0);
        pthread_join(thread, NULL);
    } else if (strcmp(way, "sigterm") == 0) {
        kill(getpid(), SIGTERM);
    } else if (strcmp(way, "handled") == 0) {
        CHECK(signal(SIGTERM, exit_from_handler) == SIG_DFL);
        kill(getpid(), SIGTERM);
    } else if (strcmp(way, "ignored") == 0) {
        CHECK(signal(SIGTERM, SIG_IGN) == SIG_DFL);
        kill(getpid(), SIGTERM);
        exit(7);
    } else if (strcmp(way, "default_again") == 0) {
        struct sigaction action = {.sa_handler = exit_from_handler}, old;
        CHECK(sigaction(SIGTERM, &action, &old) == 0 && old.sa_handler == SIG_DFL);
        CHECK(sigaction(SIGTERM, &old, &action) == 0 && action.sa_handler == exit_from_handler);
        kill(getpid(), SIGTERM);
    } else if (strcmp(way, "sigint") == 0) {
        kill(getpid(), SIGINT);
    } else if (strcmp(way, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(way, "abort") == 0) {
        abort();
    }
    sleep(5);
    return 99;
}
