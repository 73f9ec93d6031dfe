/* A process that gives up a resource between its writes, and is killed: writes before and after belong to it.
 * Usage: sheds DIRECTORY WAY BEFORE AFTER. Writes BEFORE bytes, one per call, to DIRECTORY/shed; acts by WAY; writes AFTER more; kills itself.
 * WAY: nothing | user (becomes nobody) | root (chroot(2) into DIRECTORY) | proc (unmounts proc(5))
 *      | mounts (hides /tmp and /dev/shm).
 * Exit code 77 if that is not permitted.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* A private mount namespace. */
static int apart(void) {
    return unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0;
}

static int shed(const char *directory, const char *way) {
    if (strcmp(way, "user") == 0)
        return setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0;
    if (strcmp(way, "root") == 0)
        return chroot(directory) != 0 || chdir("/") != 0;
    if (strcmp(way, "proc") == 0)
        return apart() || umount2("/proc", MNT_DETACH) != 0;
    if (strcmp(way, "mounts") == 0)
        return apart() || mount("none", "/tmp", "tmpfs", 0, NULL) != 0 || mount("none", "/dev/shm", "tmpfs", 0, NULL) != 0;
    return strcmp(way, "nothing") != 0;
}

static void work(int fd, long calls) {
    for (long i = 0; i < calls; i++)
        /* Random offsets, so that packed segments take space. */
        if (pwrite(fd, "x", 1, rand() % (1L << 24)) != 1)
            _exit(99);
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    char path[4200];
    snprintf(path, sizeof path, "%s/shed", argv[1]);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    if (fd < 0)
        return 99;
    work(fd, atol(argv[3]));
    if (shed(argv[1], argv[2]))
        _exit(77);
    work(fd, atol(argv[4]));
    kill(getpid(), SIGKILL);
    return 98;
}
