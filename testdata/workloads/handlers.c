/* A handler of SIGALRM on an alternate stack from the heap, which writes a byte: for handlers.py. Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static int file;
static volatile long count;

static void handle(int signal) {
    (void)signal;
    if (write(file, "x", 1) == 1)
        count++;
}

long handled(void) { return count; }

/* Begins to interrupt the program every 50 microseconds; with 0, ends it. */
int interrupt(const char *path, int on) {
    struct itimerval every = {.it_interval = {0, on ? 50 : 0}, .it_value = {0, on ? 50 : 0}};
    if (on) {
        stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
        struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART};
        file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || !stack.ss_sp || sigaltstack(&stack, NULL) || sigaction(SIGALRM, &action, NULL))
            return -1;
    }
    return setitimer(ITIMER_REAL, &every, NULL);
}
