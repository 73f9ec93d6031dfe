/* io_submit(2) with lists of which the kernel accepts a part, in a program with a second thread: a block that is in the list twice, a count far
 * beyond the list, and lists whose blocks lie on many pages.
 * Usage: libaio_lists DIRECTORY [ROUNDS]: with ROUNDS only the last kind, that often. Prints what each call returned.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libaio.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)
enum { PAGES = 28 };

static io_context_t context;
static char bytes[100];

static void *idle(void *nothing) {
    for (;;)
        pause();
    return nothing;
}

static void submit(long count, struct iocb **list) {
    struct io_event events[PAGES];
    int taken = io_submit(context, count, list);
    printf("%d", taken);
    for (int done = 0; done < taken;) {
        int got = io_getevents(context, 1, PAGES, events, NULL);
        CHECK(got > 0);
        for (int i = 0; i < got; i++)
            CHECK(events[i].res == sizeof bytes);
        done += got;
    }
    printf("\n");
}

int main(int argc, char **argv) {
    pthread_t thread;
    char path[4200];
    CHECK(argc >= 2 && pthread_create(&thread, NULL, idle, NULL) == 0);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    CHECK(fd >= 0 && io_setup(64, &context) == 0);
    struct iocb one, wrong;
    if (argc == 2) {
        io_prep_pwrite(&one, fd, bytes, sizeof bytes, 0);
        io_prep_pwrite(&wrong, 999, bytes, sizeof bytes, 0);
        /* The second block is invalid, so the kernel does not look at the third entry. */
        submit(3, (struct iocb *[]){&one, &wrong, &one});
        /* The kernel accepts both. */
        submit(2, (struct iocb *[]){&one, &one});
        /* The second block is invalid; the kernel does not look at the entries behind it. */
        struct iocb *many[40] = {&one, &wrong};
        for (int i = 2; i < 40; i++)
            many[i] = &one;
        submit(LONG_MAX, many);
        /* An unreadable block in the middle of the list. */
        submit(3, (struct iocb *[]){&one, (struct iocb *)0x10000, &one});
    }
    char *memory = aligned_alloc(4096, PAGES * 4096);
    struct iocb *list[PAGES];
    CHECK(memory);
    for (int turn = 0, rounds = argc > 2 ? atoi(argv[2]) : 1; turn < rounds; turn++) {
        for (int i = 0; i < PAGES; i++) {
            list[i] = (struct iocb *)(memory + i * 4096);
            io_prep_pwrite(list[i], fd, bytes, sizeof bytes, i * 100);
        }
        submit(PAGES, list);
    }
    return 0;
}
