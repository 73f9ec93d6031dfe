/* Stack usage of calls, and calls on small stacks. Usage: stacks DIRECTORY WAY.
 * depths: runs each of the calls below on a separate, painted stack with a guard page, and prints "name bytes", the depth
 *   touched; also the first call of a process and of a thread, one that fills many chunks of
 *   the buffer, and the ends of forked children.
 * thread: the calls on a thread with PTHREAD_STACK_MIN, which then ends the process by exit(5).
 * thread_exit: as thread, with _exit.
 * signal, signal_exec: the calls in a handler on a signal stack of 8 KiB, which then calls _exit(5), or becomes /bin/true.
 * signal_term: such a handler raises SIGTERM, which is not handled.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) { perror(#x); exit(9); } } while (0)
enum { ROOM = 1 << 18, PAINT = 0xa5 };

static int fd, directory;
static FILE *stream;
static char buffer[4096];
static unsigned char *stack;

static void opens(void) { CHECK(close(open("new", O_CREAT | O_RDWR | O_APPEND, 0644)) == 0); }
static void opens_again(void) { CHECK(close(open("new", O_RDWR)) == 0); }
static void opens_at(void) { CHECK(close(openat(directory, "./sub/../at", O_CREAT | O_RDWR, 0644)) == 0); }
static void opens_nothing(void) { CHECK(open("none/at/all", O_RDWR) < 0 && errno == ENOENT); }
static void opens_long(void) { CHECK(open(buffer, O_RDWR) < 0); }
static void writes(void) { CHECK(write(fd, buffer, 100) == 100); }
static void reads(void) { CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, buffer, 100) == 100); }
static void at_offsets(void) { CHECK(pwrite(fd, buffer, 50, 7) == 50 && pread(fd, buffer, 9, 8) == 9); }
static void *volatile nowhere = (void *)1;
static void fails(void) { CHECK(pread(fd, nowhere, 9, 0) < 0); }
static void vectors(void) {
    struct iovec parts[2] = {{buffer, 10}, {buffer + 10, 20}};
    CHECK(pwritev(fd, parts, 2, 0) == 30 && preadv(fd, parts, 2, 0) == 30);
}
static void descriptors(void) { CHECK(close(dup(fd)) == 0 && fsync(fd) == 0 && ftruncate(fd, 4096) == 0); }
static void locks(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
    CHECK(fcntl(fd, F_SETLK, &lock) == 0);
}
static void names(void) {
    struct stat about;
    CHECK(stat("new", &about) == 0 && lstat("new", &about) == 0 && access("new", R_OK) == 0 && fstat(fd, &about) == 0);
}
static void renames(void) { CHECK(rename("new", "newer") == 0 && rename("newer", "new") == 0); }
static void links(void) { CHECK(link("new", "other") == 0 && unlink("other") == 0 && mkdir("d", 0755) == 0 && rmdir("d") == 0); }
static void maps(void) {
    char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED && msync(at, 4096, MS_SYNC) == 0 && munmap(at, 4096) == 0);
}
static void streams(void) { FILE *file; CHECK((file = fopen("new", "r+")) && fclose(file) == 0); }
static void blocks(void) { CHECK(fwrite(buffer, 1, 100, stream) == 100 && fflush(stream) == 0); }
static void formats(void) { CHECK(fprintf(stream, "%d %s\n", 5, "five") > 0 && fputs("x", stream) >= 0); }
static void system_calls(void) { CHECK(syscall(SYS_pwrite64, fd, buffer, 5L, 0L) == 5); }
static void many(void) {
    for (int i = 0; i < 40000; i++)
        CHECK(pwrite(fd, buffer, 1 + i % 7, i * 2654435761u % 100000) > 0);
}
static void ends(void) { _exit(5); }
static void exits(void) { exit(5); }
static void becomes(void) { execl("/bin/true", "true", NULL); _exit(9); }

static const struct { const char *name; void (*call)(void); int in_child; } calls[] = {
    {"opens", opens, 0}, {"opens_again", opens_again, 0}, {"opens_at", opens_at, 0}, {"opens_nothing", opens_nothing, 0},
    {"opens_long", opens_long, 0}, {"writes", writes, 0}, {"reads", reads, 0}, {"at_offsets", at_offsets, 0},
    {"fails", fails, 0}, {"vectors", vectors, 0}, {"descriptors", descriptors, 0}, {"locks", locks, 0}, {"names", names, 0},
    {"renames", renames, 0}, {"links", links, 0}, {"maps", maps, 0}, {"streams", streams, 0}, {"blocks", blocks, 0},
    {"formats", formats, 0}, {"system_calls", system_calls, 0}, {"many", many, 0}, {"_exit", ends, 1}, {"exit", exits, 1},
    {"exec", becomes, 1},
};
enum { CALLS = sizeof calls / sizeof *calls };

static ucontext_t back, there;

static void paint(void) { memset(stack, PAINT, ROOM); }

static long depth(void) {
    long at = 0;
    while (at < ROOM && stack[at] == PAINT)
        at++;
    return ROOM - at;
}

static void on_painted_stack(void (*call)(void)) {
    CHECK(getcontext(&there) == 0);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = ROOM;
    there.uc_link = &back;
    makecontext(&there, call, 0);
    CHECK(swapcontext(&back, &there) == 0);
}

static long measured(void (*call)(void), int in_child) {
    paint();
    if (!in_child) {
        on_painted_stack(call);
    } else {
        pid_t child = fork();
        if (child == 0) {
            writes();
            on_painted_stack(call);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 9);
    }
    return depth();
}

static void *first_of_thread(void *unused) {
    writes();
    return unused;
}

static void prepare(void) {
    CHECK((directory = open(".", O_RDONLY | O_DIRECTORY)) >= 0);
    CHECK((fd = open("file", O_CREAT | O_RDWR | O_TRUNC, 0644)) >= 0 && write(fd, buffer, sizeof buffer) == sizeof buffer);
    CHECK((stream = fopen("stream", "w")));
    /* First calls: glibc allocates its buffer at the first write, and symbols are bound. */
    CHECK(fputs("x", stream) >= 0 && fflush(stream) == 0);
}

static void print_depths(void) {
    char *room = mmap(NULL, ROOM + 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED && mprotect(room, 4096, PROT_NONE) == 0);
    stack = (unsigned char *)room + 4096;
    printf("first %ld\n", measured(prepare, 0));
    pthread_attr_t attributes;
    pthread_t thread;
    paint();
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, ROOM) == 0);
    CHECK(pthread_create(&thread, &attributes, first_of_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    printf("thread %ld\n", depth());
    memset(buffer, 'x', sizeof buffer - 1);
    for (int i = 0; i < CALLS; i++) {
        fflush(stdout);
        printf("%s %ld\n", calls[i].name, measured(calls[i].call, calls[i].in_child));
    }
    fflush(stdout);
}

static void all(void) {
    for (int i = 0; i < CALLS; i++)
        if (!calls[i].in_child && calls[i].call != formats)
            calls[i].call();
}

static void *on_thread(void *last) {
    prepare();
    all();
    ((void (*)(void))last)();
    return NULL;
}

static void (*last)(void);
static void raises(void) { raise(SIGTERM); }

static void handler(int signal) {
    (void)signal;
    opens();
    opens_nothing();
    names();
    renames();
    maps();
    many();
    last();
}

static void in_handler(void (*then)(void)) {
    size_t least = getauxval(AT_MINSIGSTKSZ) + 4096, size = least > 8192 ? least : 8192;
    char *room = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED && mprotect(room, 4096, PROT_NONE) == 0);
    stack_t small = {.ss_sp = room + 4096, .ss_size = size};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&small, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK((fd = open("file", O_CREAT | O_RDWR | O_TRUNC, 0644)) >= 0 && ftruncate(fd, 4096) == 0);
    last = then;
    raise(SIGUSR1);
}

int main(int argc, char **argv) {
    CHECK(argc == 3 && chdir(argv[1]) == 0 && (mkdir("sub", 0755) == 0 || errno == EEXIST));
    const char *way = argv[2];
    if (strcmp(way, "depths") == 0) {
        print_depths();
    } else if (strncmp(way, "thread", 6) == 0) {
        pthread_attr_t attributes;
        pthread_t thread;
        CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
        CHECK(pthread_create(&thread, &attributes, on_thread, strcmp(way, "thread") ? ends : exits) == 0);
        pthread_join(thread, NULL);
    } else if (strcmp(way, "signal") == 0) {
        in_handler(ends);
    } else if (strcmp(way, "signal_exec") == 0) {
        in_handler(becomes);
    } else if (strcmp(way, "signal_term") == 0) {
        in_handler(raises);
    }
    return 8;
}
