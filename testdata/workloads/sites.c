/* A program that makes calls from many places: call stacks of all kinds. A line that ends with the comment "at: NAME" makes calls that a
 * trace should have from the function NAME, at that line.
 * Provenance: written for this project.
 *
 *     sites DIR [PLUGIN]
 *
 * Writes to files in DIR; PLUGIN is a library made of sites_plugin.c, which is loaded, used, unloaded and loaded again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone))

static int fd;
static char bytes[64];
static volatile int used;

static void check(ssize_t moved) {
    if (moved < 0) _exit(3);
}

PLACE static void two_lines(int count) {
    for (int i = 0; i < count; i++) {
        check(write(fd, bytes, 10)); /* at: two_lines */
        used++;
        check(write(fd, bytes, 20)); /* at: two_lines */
    }
    used++;
}

PLACE static void first_caller(void) {
    two_lines(500);
    used++;
}

PLACE static void second_caller(void) {
    two_lines(300);
    used++;
}

PLACE static void in_printf(FILE *stream) {
    for (int i = 0; i < 40; i++) fprintf(stream, "%d %s\n", i, bytes); /* at: in_printf */
    used++;
}

PLACE static void deep(int depth) {
    if (depth > 0)
        deep(depth - 1);
    else
        check(pwrite(fd, bytes, 30, 0)); /* at: deep */
    used++;
}

PLACE static void *in_thread(void *unused) {
    for (int i = 0; i < 50; i++) check(pwrite(fd, bytes, 40, i)); /* at: in_thread */
    used++;
    return unused;
}

PLACE static void in_handler(int number) {
    (void)number;
    check(pwrite(fd, bytes, 50, 0)); /* at: in_handler */
    used++;
}

PLACE static void in_child(void) {
    for (int i = 0; i < 60; i++) check(pwrite(fd, bytes, 60, i)); /* at: in_child */
    used++;
}

static ucontext_t main_context, other_context;

PLACE static void in_coroutine(void) {
    for (int i = 0; i < 7; i++) {
        check(pwrite(fd, bytes, 7, i)); /* at: in_coroutine */
        swapcontext(&other_context, &main_context);
    }
}

PLACE static void in_vector(void) {
    struct iovec parts[2] = {{bytes, 10}, {bytes, 11}};
    for (int i = 0; i < 9; i++) check(writev(fd, parts, 2)); /* at: in_vector */
    used++;
}

PLACE static void of_plugin(const char *path) {
    for (int round = 0; round < 3; round++) {
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!plugin) _exit(4);
        void (*call)(int) = (void (*)(int))dlsym(plugin, "in_plugin");
        call(fd);
        dlclose(plugin);
    }
    used++;
}

/* Ends with a call that the compiler may make a jump. */
PLACE static int with_frame(const char *path) {
    int number = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600); /* at: with_frame */
    used++;
    return number;
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc < 2) return 2;
    snprintf(path, sizeof path, "%s/file", argv[1]);
    fd = with_frame(path);
    memset(bytes, 'x', sizeof bytes - 1);
    first_caller();
    second_caller();
    snprintf(path, sizeof path, "%s/text", argv[1]);
    FILE *stream = fopen(path, "w");
    if (!stream) return 5;
    in_printf(stream);
    fclose(stream);
    deep(200);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, in_thread, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    static char signal_stack[1 << 16];
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 5; i++) raise(SIGUSR1);
    static char coroutine_stack[1 << 16];
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = coroutine_stack;
    other_context.uc_stack.ss_size = sizeof coroutine_stack;
    other_context.uc_link = &main_context;
    makecontext(&other_context, in_coroutine, 0);
    for (int i = 0; i < 7; i++) swapcontext(&main_context, &other_context);
    in_vector();
    if (argc > 2) of_plugin(argv[2]);
    pid_t child = fork();
    if (child == 0) {
        in_child();
        return 0;
    }
    waitpid(child, NULL, 0);
    return 0;
}
