/* Children that share their parent's memory close and open descriptors of the same numbers: the parent's descriptors do not change.
 * Usage: shares DIRECTORY (absolute, canonical, empty). Log: oplog.h; only the parent's writes.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <sched.h>
#include <sys/wait.h>

static char mine[4200], other[4200];
static int fd;

static int child(void *ignored) {
    (void)ignored;
    close(fd);
    int opened = open(other, O_RDWR | O_CREAT, 0600);
    int second = dup2(opened, fd + 3);
    close(second);
    _exit(opened == fd ? 7 : 1);
}

static void still_mine(long long offset) {
    CHECK(write(fd, "mine", 4) == 4);
    op("POSIX", "write", "-", offset, 4, mine);
    raw_check(mine, offset, "mine", 4);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && strlen(argv[1]) < 4000);
    snprintf(mine, sizeof mine, "%s/mine", argv[1]);
    snprintf(other, sizeof other, "%s/other", argv[1]);
    static char stack[256 << 10] __attribute__((aligned(64)));
    int status;
    for (int way = 0; way < 3; way++) {
        fd = open(mine, O_RDWR | O_CREAT | O_TRUNC, 0600);
        CHECK(fd >= 0);
        still_mine(0);
        pid_t pid;
        if (way == 1) {
            pid = clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
        } else {
            pid = vfork();
            if (pid == 0) {
                child(NULL);
            }
        }
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
        still_mine(4);
        CHECK(close(fd) == 0);
    }
    oplog_write();
    return 0;
}
