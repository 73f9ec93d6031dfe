/* Programs and libraries that the tracer cannot follow and must report: static programs that are started, and libraries opened out of its reach.
 * Provenance: written for this project.
 *
 *     reach execs PATH...            starts each program by fork and execve, vfork and execv, and posix_spawn
 *     reach finds NAME...            as execs, by fork and execvp, vfork and execlp, posix_spawnp, and, with the path from PATH, by fexecve
 *                                    and execveat; the working directory has files of these names that cannot be executed
 *     reach opens NAME...            opens each library plainly, with RTLD_DEEPBIND, and in a namespace of its own */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void wait_for(pid_t child) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(2);
}

static void execs(char *path) {
    char *argv[] = {path, NULL};
    pid_t child = fork();
    if (child == 0) {
        execve(path, argv, environ);
        _exit(3);
    }
    wait_for(child);
    child = vfork();
    if (child == 0) {
        execv(path, argv);
        _exit(3);
    }
    wait_for(child);
    if (posix_spawn(&child, path, NULL, NULL, argv, environ) != 0) exit(4);
    wait_for(child);
    /* A failing exec has started nothing. */
    char *none = "/no/such/program";
    if (execv(none, argv) != -1) exit(5);
}

/* Path of NAME, searched in PATH. */
static void which(const char *name, char *path, size_t size) {
    char *all = strdup(getenv("PATH")), *place = NULL;
    for (char *dir = strtok_r(all, ":", &place); dir != NULL; dir = strtok_r(NULL, ":", &place)) {
        snprintf(path, size, "%s/%s", dir, name);
        if (access(path, X_OK) == 0) break;
    }
    free(all);
}

static void finds(char *name) {
    char *argv[] = {name, NULL}, path[4096];
    pid_t child = fork();
    if (child == 0) {
        execvp(name, argv);
        _exit(3);
    }
    wait_for(child);
    child = vfork();
    if (child == 0) {
        execlp(name, name, (char *)NULL);
        _exit(3);
    }
    wait_for(child);
    if (posix_spawnp(&child, name, NULL, NULL, argv, environ) != 0) exit(4);
    wait_for(child);
    which(name, path, sizeof path);
    for (int flags = 0; flags < 2; flags++) {
        int file = open(path, O_CLOEXEC | (flags == 0 ? O_RDONLY : O_PATH));
        if (file < 0) exit(14);
        child = fork();
        if (child == 0) {
            if (flags == 0) fexecve(file, argv, environ);
            execveat(file, "", argv, environ, AT_EMPTY_PATH);
            _exit(3);
        }
        wait_for(child);
        close(file);
    }
    if (execvp("no-such-program-at-all", argv) != -1) exit(5);
}

int main(int argc, char **argv) {
    if (argc < 3) return 1;
    /* Something to record, so that there is a trace. */
    FILE *file = fopen("file", "w");
    if (file == NULL || fclose(file) != 0) return 6;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[1], "execs") == 0) {
            execs(argv[i]);
            continue;
        }
        if (strcmp(argv[1], "finds") == 0) {
            finds(argv[i]);
            continue;
        }
        /* A name without a slash is searched in this program's RUNPATH. */
        void *plain = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (plain == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 7;
        }
        if (dlclose(plain) != 0) return 8;
        if (dlopen(argv[i], RTLD_NOW | RTLD_DEEPBIND) == NULL) return 9;
        if (dlopen(argv[i], RTLD_NOW | RTLD_DEEPBIND | RTLD_NOLOAD) == NULL) return 10;
        if (dlmopen(LM_ID_NEWLM, argv[i], RTLD_NOW) == NULL) return 11;
        if (dlmopen(LM_ID_BASE, argv[i], RTLD_NOW) == NULL) return 12;
        if (dlopen("no/such/library.so", RTLD_NOW) != NULL || dlerror() == NULL) return 13;
    }
    return 0;
}
