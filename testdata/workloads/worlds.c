/* A process whose paths change their meaning: writes BEFORE bytes, one per call, to DIRECTORY/moved, acts by WAY, and writes AFTER more.
 * Exit code 5, or 77 if WAY is not permitted.
 * Usage: worlds DIRECTORY WAY BEFORE AFTER JAIL [PROGRAM ARGUMENT...]. OUTPUT is what DXT_OUTPUT_DIR names. WAY:
 *   nothing     nothing
 *   chroot      chroot(2) into JAIL                      system_call  as chroot, by syscall(2)
 *   forks       as chroot, and a child writes as much    thread       as chroot, in one thread (CLONE_FS)
 *   user        as chroot, and becomes nobody            gone         as chroot, and removes OUTPUT
 *   execs       as chroot, after `mount --rbind / JAIL`, and execs PROGRAM
 *   pivot       pivot_root(2) into JAIL                  mount        mounts an empty file system over OUTPUT
 *   bind        mounts JAIL over OUTPUT                  unmount      unmounts OUTPUT, which is a mount point
 *   closes      chroot(2) into JAIL; closes all descriptors in every way, and uses all numbers itself
 * Mounts are private. With WITH_MPI, all of it is between MPI_Init and MPI_Finalize.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include "oplog.h"
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char *jail, *output;

static void may(int result) {
    if (result != 0) _exit(77);
}

static void apart(void) {
    may(unshare(CLONE_NEWNS));
    may(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
}

static void into_jail(void) {
    may(chroot(jail));
    CHECK(chdir("/") == 0);
}

static void *of_thread(void *unused) {
    may(unshare(CLONE_FS));
    into_jail();
    return unused;
}

static void writes(int fd, long calls) {
    for (long i = 0; i < calls; i++)
        /* Random offsets, so that packed segments take space. */
        CHECK(pwrite(fd, "x", 1, rand() % (1L << 24)) == 1);
}

/* Checks that every number below the limit is free for the program, except the standard ones and FD. */
static void closes(int fd) {
    struct rlimit limit = {256, 256};
    /* Closes descriptors inherited from the parent. */
    for (int number = 3; number < 256; number++)
        if (number != fd) raw_call(SYS_close, number);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    into_jail();
    for (int number = 3; number < 256; number++)
        if (number != fd) CHECK(close(number) == -1 && errno == EBADF);
    for (int number = 3; number < 256; number++) {
        if (number == fd) continue;
        CHECK(dup2(fd, number) == number && close(number) == 0);
        CHECK(dup3(fd, number, O_CLOEXEC) == number && close(number) == 0);
        CHECK(fcntl(fd, F_DUPFD, number) == number && close(number) == 0);
        CHECK(syscall(SYS_close, number) == -1 && errno == EBADF);
    }
    CHECK(close_range((unsigned)fd + 1, ~0u, 0) == 0);
    CHECK(syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0) == 0);
    closefrom(fd + 1);
    CHECK(dup(fd) == fd + 1 && close(fd + 1) == 0);
}

static void go(const char *way, int fd, long after) {
    if (strcmp(way, "chroot") == 0) into_jail();
    if (strcmp(way, "system_call") == 0) may((int)syscall(SYS_chroot, jail));
    if (strcmp(way, "forks") == 0) {
        into_jail();
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            writes(fd, after);
            exit(3);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    }
    if (strcmp(way, "thread") == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, of_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    if (strcmp(way, "user") == 0) {
        into_jail();
        may(setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0);
    }
    if (strcmp(way, "gone") == 0) {
        int above = open("/", O_PATH | O_DIRECTORY);
        into_jail();
        CHECK(unlinkat(above, output + 1, AT_REMOVEDIR) == 0 && close(above) == 0);
    }
    if (strcmp(way, "execs") == 0) {
        apart();
        may(mount("/", jail, NULL, MS_BIND | MS_REC, NULL));
        into_jail();
        may(mount("none", output, "tmpfs", 0, NULL));
    }
    if (strcmp(way, "pivot") == 0) {
        apart();
        may(mount(jail, jail, NULL, MS_BIND, NULL));
        CHECK(chdir(jail) == 0);
        may((int)syscall(SYS_pivot_root, ".", "."));
        may(umount2(".", MNT_DETACH));
        CHECK(chdir("/") == 0);
    }
    if (strcmp(way, "mount") == 0) {
        apart();
        may(mount("none", output, "tmpfs", 0, NULL));
    }
    if (strcmp(way, "bind") == 0) {
        apart();
        may(mount(jail, output, NULL, MS_BIND, NULL));
    }
    if (strcmp(way, "unmount") == 0) {
        may(chroot("/"));
        CHECK(umount(output) == 0);
    }
    if (strcmp(way, "closes") == 0) closes(fd);
}

int main(int argc, char **argv) {
    CHECK(argc >= 6);
    char path[4200];
    snprintf(path, sizeof path, "%s/moved", argv[1]);
    jail = argv[5], output = getenv("DXT_OUTPUT_DIR");
#ifdef WITH_MPI
    CHECK(MPI_Init(NULL, NULL) == MPI_SUCCESS);
#endif
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    CHECK(fd >= 0);
    writes(fd, atol(argv[3]));
    go(argv[2], fd, atol(argv[4]));
    writes(fd, atol(argv[4]));
    if (argc > 6) {
        execv(argv[6], argv + 6);
        CHECK(0);
    }
#ifdef WITH_MPI
    CHECK(MPI_Finalize() == MPI_SUCCESS);
#endif
    return 5;
}
