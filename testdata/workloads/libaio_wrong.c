/* io_submit(2) with invalid lists, in a program with a second thread: nothing to submit, a list or a block that cannot be read,
 * a negative number while an operation is in flight.
 * Usage: libaio_wrong DIRECTORY. Prints what each call returned.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libaio.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)

static void *idle(void *nothing) {
    for (;;)
        pause();
    return nothing;
}

int main(int argc, char **argv) {
    pthread_t thread;
    char path[4200], bytes[100] = "";
    CHECK(argc == 2 && pthread_create(&thread, NULL, idle, NULL) == 0);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(fd >= 0 && pages != MAP_FAILED && mprotect(pages + 4096, 4096, PROT_NONE) == 0);
    struct iocb **nowhere = (struct iocb **)(pages + 4096), **last = nowhere - 1;
    printf("%d\n", io_submit((io_context_t)(uintptr_t)0x1234, 0, nowhere));
    io_context_t context = NULL;
    struct iocb one, *list = &one;
    struct io_event event;
    CHECK(io_setup(8, &context) == 0);
    printf("%d\n", io_submit(context, 1, nowhere));
    *last = (struct iocb *)nowhere;
    printf("%d\n", io_submit(context, 1, last));
    printf("%d\n", io_submit(context, 0, nowhere));
    io_prep_pwrite(&one, fd, bytes, sizeof bytes, 0);
    printf("%d\n", io_submit(context, 1, &list));
    printf("%d\n", io_submit(context, -1, &list));
    CHECK(io_getevents(context, 1, 1, &event, NULL) == 1 && event.res == sizeof bytes);
    /* The second block cannot be read: only the first is accepted. */
    *last = &one;
    printf("%d\n", io_submit(context, 2, last));
    CHECK(io_getevents(context, 1, 1, &event, NULL) == 1 && event.res == sizeof bytes);
    return 0;
}
