/* Threads that move one position at the same time. The records in the file give the offset of each write.
 * Usage: turns DIRECTORY (absolute, canonical, empty), then one of
 *   slow     one thread copies from a pipe that stays empty for longer than the tracer waits; others write meanwhile;
 *   stream   the threads write to the descriptor of a C stream, not to the stream;
 *   handler  a signal handler writes there too, on whichever thread it interrupts;
 *   alone    as handler, with one thread, ten times as many records, and the handler ten times as often;
 *   jumps    a signal handler leaves calls of one thread by siglongjmp(3), and seeks now and then.
 * A record is thread and number, 8 bytes, once or repeated; a handler's record twice. Prints "offset length thread" of each
 * record of DIRECTORY/file.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/time.h>

enum { THREADS = 4, RECORDS = 3000 };

static char path[4200];
static int file, pipes[2];
static atomic_int inside;

static void put_some(uint32_t thread, uint32_t number, int some) {
    uint32_t record[6] = {thread, number, thread, number, thread, number};
    CHECK(write(file, record, 8 * some) == 8 * some);
}

static void put(uint32_t thread, uint32_t number) {
    put_some(thread, number, 1);
}

static void *copies(void *unused) {
    (void)unused;
    inside = 1;
    CHECK(splice(pipes[0], NULL, file, NULL, 8, 0) == 8);
    return NULL;
}

static void slow(void) {
    CHECK(pipe(pipes) == 0);
    pthread_t copier;
    CHECK(pthread_create(&copier, NULL, copies, NULL) == 0);
    while (!inside) {
        sched_yield();
    }
    usleep(100000);
    for (uint32_t i = 1; i <= 20; i++) {
        put(1, i);
    }
    uint32_t record[2] = {2, 0};
    CHECK(write(pipes[1], record, sizeof record) == sizeof record);
    for (uint32_t i = 21; i <= 40; i++) {
        put(1, i);
    }
    CHECK(pthread_join(copier, NULL) == 0);
    put(1, 41);
}

static void writes_many(uint32_t thread, uint32_t records) {
    for (uint32_t i = 0; i < records; i++) {
        put(thread, i);
    }
}

static void *writes(void *number) {
    writes_many(1 + (uint32_t)(uintptr_t)number, RECORDS);
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&all[i], NULL, writes, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(all[i], NULL) == 0);
    }
}

static atomic_uint handled;
static sigjmp_buf back;
static volatile int jumps;

static void handler(int signal) {
    (void)signal;
    if (jumps) {
        siglongjmp(back, 1);
    }
    int saved = errno;
    uint32_t number = handled++, record[4] = {THREADS + 1, number, THREADS + 1, number};
    CHECK(write(file, record, sizeof record) == sizeof record);
    errno = saved;
}

static void jump(void) {
    static volatile uint32_t number;
    sigsetjmp(back, 1);
    jumps = 1;
    while (number < 20 * RECORDS) {
        number++;
        put_some(1, number, 1 + 2 * (number % 2));
        if (number % 500 == 0) {
            CHECK(lseek(file, 16, SEEK_CUR) > 0);
        }
    }
    jumps = 0;
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    FILE *stream = NULL;
    if (strcmp(argv[2], "stream") == 0) {
        stream = fopen(path, "w");
        CHECK(stream != NULL);
        file = fileno(stream);
    } else {
        file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        CHECK(file >= 0);
    }
    if (strcmp(argv[2], "slow") == 0) {
        slow();
    } else {
        if (strcmp(argv[2], "stream") != 0) {
            struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
            CHECK(sigaction(SIGALRM, &action, NULL) == 0);
            int us = strcmp(argv[2], "alone") == 0 ? 20 : 200;
            struct itimerval often = {{0, us}, {0, us}};
            CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
        }
        if (strcmp(argv[2], "alone") == 0) {
            writes_many(1, 10 * RECORDS);
        } else if (strcmp(argv[2], "jumps") == 0) {
            jump();
        } else {
            threads();
        }
        struct itimerval never = {{0, 0}, {0, 0}};
        CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    }
    int again = open(path, O_RDONLY);
    uint32_t record[2], last[2] = {0, 0};
    long long begun = 0;
    for (long long at = 0;; at += 8) {
        int more = raw_system_call(SYS_pread64, again, (long)record, sizeof record, at, 0, 0) == sizeof record;
        if (!more || memcmp(record, last, sizeof record) != 0) {
            if (last[0] != 0) {
                printf("%lld %lld %u\n", begun, at - begun, last[0]);
            }
            begun = at;
            memcpy(last, record, sizeof record);
        }
        if (!more) {
            break;
        }
    }
    return 0;
}
