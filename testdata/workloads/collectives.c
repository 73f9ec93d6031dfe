/* MPI's blocking collective calls in every form, on many communicators. Every rank checks the results and logs each call with the
 * expected number of its communicator: 0 for MPI_COMM_WORLD, others in the order of their first use.
 *
 * Usage: collectives DIRECTORY WAY [COUNT]
 *   all      every call on MPI_COMM_WORLD, a duplicate, halves, MPI_COMM_SELF; in place; on intercommunicators; freed and recreated; failing
 *   others   collective calls that are not recorded, and MPI-IO: only one call of the layer MPI
 *   loop     COUNT all-reductions, and 20,000 writes at random offsets, 200 between two reductions until all are made
 *   threads  four threads, each with its own communicator
 *   op       a reduction that writes to a file
 *   self     COUNT barriers on MPI_COMM_SELF, in a function `calls`
 *   churn    COUNT duplicates, one after another
 *   kill     COUNT barriers, then SIGKILL
 *
 * Log: oplog.h, layer MPI, and lines `TIMES <pid> <before> <after>` of CLOCK_REALTIME around each call that succeeds, and
 * `COMM <pid> <number> <size> <rank> <first> <remote>`. Provenance: written for this project. */
#define _GNU_SOURCE
#include "mpiio.h"
#include <signal.h>
#include <time.h>

/* A communicator and its number, -1 before its first use. */
struct comm {
    MPI_Comm comm;
    int number;
};

static struct comm world = {MPI_COMM_NULL, -1};
static int next_number = 1;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void used(struct comm *c) {
    if (c->number >= 0) {
        return;
    }
    c->number = c->comm == MPI_COMM_WORLD ? 0 : next_number++;
    int size, own, is_inter, remote = 0, zero = 0, first;
    MPI_Group group, all;
    MPI(MPI_Comm_size(c->comm, &size));
    MPI(MPI_Comm_rank(c->comm, &own));
    MPI(MPI_Comm_test_inter(c->comm, &is_inter));
    if (is_inter) {
        MPI(MPI_Comm_remote_size(c->comm, &remote));
    }
    MPI(MPI_Comm_group(c->comm, &group));
    MPI(MPI_Comm_group(MPI_COMM_WORLD, &all));
    MPI(MPI_Group_translate_ranks(group, 1, &zero, all, &first));
    MPI(MPI_Group_free(&group));
    MPI(MPI_Group_free(&all));
    oplog_line("COMM %d %d %d %d %d %d\n", (int)getpid(), c->number, size, own, first, remote);
}

#define MEET(name, c, call)                                                                                           \
    do {                                                                                                              \
        long long before = now();                                                                                     \
        errno = 77;                                                                                                   \
        MPI(call);                                                                                                    \
        long long after = now();                                                                                      \
        used(c);                                                                                                      \
        op("MPI", name, "-", (c)->number, 0, "<MPI>");                                                                \
        oplog_line("TIMES %d %lld %lld\n", (int)getpid(), before, after);                                             \
    } while (0)

/* A failing call, logged as EIO or EINVAL: the errno that stands for the class of the error. */
#define FAIL(name, number, error, call)                                                                               \
    do {                                                                                                              \
        CHECK((call) != MPI_SUCCESS);                                                                                 \
        errno = error;                                                                                                \
        op_failed("MPI", name, "-", number, "<MPI>");                                                                 \
    } while (0)

enum { MOST = 64 };

/* Every call, on an intracommunicator. */
static void every(struct comm *c) {
    int n, me, a[MOST], b[MOST], counts[MOST], places[MOST];
    MPI_Datatype types[MOST];
    MPI(MPI_Comm_size(c->comm, &n));
    MPI(MPI_Comm_rank(c->comm, &me));
    CHECK(n <= MOST);
    int sum = n * (n - 1) / 2;
    for (int i = 0; i < MOST; i++) {
        counts[i] = 1, places[i] = i, types[i] = MPI_INT, b[i] = -1;
    }
    MEET("barrier", c, MPI_Barrier(c->comm));
    a[0] = me == n - 1 ? 4711 : 0;
    MEET("bcast", c, MPI_Bcast(a, 1, MPI_INT, n - 1, c->comm));
    CHECK(a[0] == 4711);
    a[0] = me;
    MEET("reduce", c, MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, 0, c->comm));
    CHECK(me != 0 || b[0] == sum);
    MEET("allreduce", c, MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, c->comm));
    CHECK(b[0] == sum);
    MEET("gather", c, MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, 0, c->comm));
    CHECK(me != 0 || b[n - 1] == n - 1);
    MEET("gatherv", c, MPI_Gatherv(a, 1, MPI_INT, b, counts, places, MPI_INT, n - 1, c->comm));
    CHECK(me != n - 1 || b[0] == 0);
    MEET("allgather", c, MPI_Allgather(a, 1, MPI_INT, b, 1, MPI_INT, c->comm));
    CHECK(b[n - 1] == n - 1);
    MEET("allgatherv", c, MPI_Allgatherv(a, 1, MPI_INT, b, counts, places, MPI_INT, c->comm));
    CHECK(b[n - 1] == n - 1);
    for (int i = 0; i < n; i++) {
        a[i] = 100 * me + i;
    }
    MEET("scatter", c, MPI_Scatter(a, 1, MPI_INT, b, 1, MPI_INT, 0, c->comm));
    CHECK(b[0] == me);
    MEET("scatterv", c, MPI_Scatterv(a, counts, places, MPI_INT, b, 1, MPI_INT, n - 1, c->comm));
    CHECK(b[0] == 100 * (n - 1) + me);
    MEET("alltoall", c, MPI_Alltoall(a, 1, MPI_INT, b, 1, MPI_INT, c->comm));
    CHECK(b[n - 1] == 100 * (n - 1) + me);
    MEET("alltoallv", c, MPI_Alltoallv(a, counts, places, MPI_INT, b, counts, places, MPI_INT, c->comm));
    CHECK(b[n - 1] == 100 * (n - 1) + me);
    for (int i = 0; i < MOST; i++) {
        places[i] = 4 * i;
    }
    MEET("alltoallw", c, MPI_Alltoallw(a, counts, places, types, b, counts, places, types, c->comm));
    CHECK(b[n - 1] == 100 * (n - 1) + me);
    a[0] = me;
    MEET("scan", c, MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, c->comm));
    CHECK(b[0] == me * (me + 1) / 2);
    MEET("exscan", c, MPI_Exscan(a, b, 1, MPI_INT, MPI_SUM, c->comm));
    CHECK(me == 0 || b[0] == me * (me - 1) / 2);
    for (int i = 0; i < n; i++) {
        a[i] = me;
    }
    MEET("reduce_scatter", c, MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, c->comm));
    CHECK(b[0] == sum);
    MEET("reduce_scatter_block", c, MPI_Reduce_scatter_block(a, b, 1, MPI_INT, MPI_SUM, c->comm));
    CHECK(b[0] == sum);
    /* In place, with invalid values for the arguments that are then ignored. */
    a[0] = me;
    MEET("allreduce", c, MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, c->comm));
    CHECK(a[0] == sum);
    a[me] = me;
    MEET("allgather", c, MPI_Allgather(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, a, 1, MPI_INT, c->comm));
    CHECK(a[n - 1] == n - 1);
    a[0] = me;
    MEET("reduce", c, MPI_Reduce(me == 0 ? MPI_IN_PLACE : a, me == 0 ? a : NULL, 1, MPI_INT, MPI_MAX, 0, c->comm));
    CHECK(me != 0 || a[0] == n - 1);
    a[0] = me;
    MEET("gather", c,
         MPI_Gather(me == 0 ? MPI_IN_PLACE : a, 1, MPI_INT, a, 1, me == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0, c->comm));
    CHECK(me != 0 || a[n - 1] == n - 1);
#if MPI_VERSION >= 4
    a[0] = me;
    MPI_Count ones[MOST];
    MPI_Aint here[MOST];
    for (int i = 0; i < MOST; i++) {
        ones[i] = 1, here[i] = i;
    }
    MEET("allreduce", c, MPI_Allreduce_c(a, b, 1, MPI_INT, MPI_SUM, c->comm));
    CHECK(b[0] == sum);
    MEET("bcast", c, MPI_Bcast_c(b, 1, MPI_INT, 0, c->comm));
    MEET("allgatherv", c, MPI_Allgatherv_c(a, 1, MPI_INT, b, ones, here, MPI_INT, c->comm));
    CHECK(b[n - 1] == n - 1);
    MEET("alltoallv", c, MPI_Alltoallv_c(b, ones, here, MPI_INT, a, ones, here, MPI_INT, c->comm));
    CHECK(a[n - 1] == me);
#endif
}

static void between_groups(void) {
    struct comm half = {MPI_COMM_NULL, -1}, inter = {MPI_COMM_NULL, -1};
    int low = rank < (ranks + 1) / 2, value = rank, all[MOST], n;
    MPI(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half.comm));
    MPI(MPI_Intercomm_create(half.comm, 0, MPI_COMM_WORLD, low ? (ranks + 1) / 2 : 0, 9, &inter.comm));
    MPI(MPI_Comm_remote_size(inter.comm, &n));
    MEET("barrier", &inter, MPI_Barrier(inter.comm));
    /* On the root's side only the root passes data. */
    MEET("bcast", &inter,
         rank == 0   ? MPI_Bcast(&value, 1, MPI_INT, MPI_ROOT, inter.comm)
         : low       ? MPI_Bcast(NULL, 0, MPI_INT, MPI_PROC_NULL, inter.comm)
                     : MPI_Bcast(&value, 1, MPI_INT, 0, inter.comm));
    CHECK(low || value == 0);
    value = rank;
    MEET("allgather", &inter, MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, inter.comm));
    CHECK(all[0] == (low ? (ranks + 1) / 2 : 0) && all[n - 1] == (low ? ranks : (ranks + 1) / 2) - 1);
    MPI(MPI_Comm_free(&inter.comm));
    MPI(MPI_Comm_disconnect(&half.comm));
}

static void failing(struct comm *known) {
    int value = 0;
    MPI_Comm nothing = MPI_COMM_NULL;
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(known->comm, MPI_ERRORS_RETURN));
    FAIL("barrier", -1, EIO, MPI_Barrier(MPI_COMM_NULL));
    FAIL("allreduce", -1, EIO, MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
    FAIL("bcast", known->number, EINVAL, MPI_Bcast(&value, -1, MPI_INT, 0, known->comm));
    FAIL("bcast", 0, EINVAL, MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD));
    /* The communicator is not freed, and keeps its number. */
    CHECK(MPI_Comm_free(&nothing) != MPI_SUCCESS);
    MEET("barrier", known, MPI_Barrier(known->comm));
}

static void all(void) {
    struct comm dup = {MPI_COMM_NULL, -1}, half = {MPI_COMM_NULL, -1}, self = {MPI_COMM_SELF, -1};
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup.comm));
    MPI(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half.comm));
    every(&world);
    every(&half);
    every(&dup);
    every(&self);
    if (ranks > 1) {
        between_groups();
    }
    MPI(MPI_Comm_free(&dup.comm));
    for (int i = 0; i < 4; i++) {
        struct comm again = {MPI_COMM_NULL, -1};
        MPI(i % 2 ? MPI_Comm_dup(half.comm, &again.comm) : MPI_Comm_dup(MPI_COMM_WORLD, &again.comm));
        MEET("barrier", &again, MPI_Barrier(again.comm));
        MEET("barrier", &half, MPI_Barrier(half.comm));
        MEET("barrier", &again, MPI_Barrier(again.comm));
        MPI(i < 2 ? MPI_Comm_free(&again.comm) : MPI_Comm_disconnect(&again.comm));
    }
    failing(&half);
    MPI(MPI_Comm_free(&half.comm));
}

static void others(void) {
    MPI_Comm dup, cart, made;
    MPI_Group group;
    MPI_Win window;
    MPI_Request request;
    MPI_File file;
    MPI_Info info;
    MPI_Status status;
    enum { ITEMS = 5000 };
    static int items[ITEMS], found[ITEMS];
    int periods[1] = {0}, dims[1] = {ranks}, value = rank, sum, memory[8] = {0};
    MPI_Offset place = (MPI_Offset)rank * (MPI_Offset)sizeof items;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    MPI(MPI_Cart_create(dup, 1, dims, periods, 0, &cart));
    MPI(MPI_Comm_group(dup, &group));
    MPI(MPI_Comm_create(dup, group, &made));
    MPI(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, dup, &window));
    MPI(MPI_Win_fence(0, window));
    MPI(MPI_Win_free(&window));
    MPI(MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, dup, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPI_Ibarrier(dup, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, "romio_cb_write", "enable"));
    for (int i = 0; i < ITEMS; i++) {
        items[i] = rank * ITEMS + i;
    }
    MPI(MPI_File_open(dup, in_dir("file"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MPI(MPI_File_set_info(file, info));
    MPI(MPI_File_set_atomicity(file, 1));
    MPI(MPI_File_set_atomicity(file, 0));
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI(MPI_File_write_at_all(file, place, items, ITEMS, MPI_INT, &status));
    MPI(MPI_File_sync(file));
    MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    MPI(MPI_File_write_ordered(file, items, ITEMS, MPI_INT, &status));
    MPI(MPI_File_read_at_all_begin(file, place, found, ITEMS, MPI_INT));
    MPI(MPI_File_read_at_all_end(file, found, &status));
    CHECK(memcmp(found, items, sizeof items) == 0);
    MPI(MPI_File_set_size(file, 1 << 20));
    MPI(MPI_File_close(&file));
    MPI(MPI_Info_free(&info));
    MPI(MPI_Group_free(&group));
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Comm_free(&cart));
    MPI(MPI_Comm_free(&dup));
    MEET("barrier", &world, MPI_Barrier(MPI_COMM_WORLD));
}

/* Not every call is logged: only the count matters. */
static void loop(long count) {
    int fd = open(in_dir("anywhere"), O_CREAT | O_WRONLY, 0644), value = 1, sum;
    unsigned long long state = 88172645463325252ULL + (unsigned)rank;
    CHECK(fd >= 0);
    const int writes = 20000, at_once = 200;
    for (long i = 0; i < count || i < writes / at_once; i++) {
        for (int k = 0; k < at_once && i < writes / at_once; k++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            CHECK(pwrite(fd, "x", 1, (off_t)(state % (1 << 28))) == 1);
        }
        if (i < count) {
            MPI(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            CHECK(sum == ranks);
        }
    }
    CHECK(close(fd) == 0);
}

static struct comm of_thread[4];

static void *thread(void *argument) {
    struct comm *own = argument;
    int fd = open(in_dir("threads"), O_CREAT | O_WRONLY, 0644), value = 1, sum;
    CHECK(fd >= 0);
    for (int i = 0; i < 500; i++) {
        MPI(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, own->comm));
        CHECK(sum == ranks);
        CHECK(pwrite(fd, "y", 1, i) == 1);
    }
    CHECK(close(fd) == 0);
    return NULL;
}

static void threads(void) {
    pthread_t all[4];
    for (int i = 0; i < 4; i++) {
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[i].comm));
        of_thread[i].number = -1;
    }
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&all[i], NULL, thread, &of_thread[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_join(all[i], NULL) == 0);
        MPI(MPI_Comm_free(&of_thread[i].comm));
    }
}

static void writes(void *in, void *inout, int *length, MPI_Datatype *type) {
    (void)type;
    int fd = open(in_dir("reduced"), O_CREAT | O_WRONLY | O_APPEND, 0644);
    CHECK(fd >= 0 && write(fd, "z", 1) == 1 && close(fd) == 0);
    for (int i = 0; i < *length; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

static void with_op(void) {
    MPI_Op own;
    int value = 1, sum;
    MPI(MPI_Op_create(writes, 1, &own));
    MEET("allreduce", &world, MPI_Allreduce(&value, &sum, 1, MPI_INT, own, MPI_COMM_WORLD));
    CHECK(sum == ranks);
    MPI(MPI_Op_free(&own));
}

/* A separate function for a test that counts instructions. */
__attribute__((noinline)) void calls(long count) {
    for (long i = 0; i < count; i++) {
        MPI_Barrier(MPI_COMM_SELF);
    }
}

/* The first call fails on rank 1, and returns at once on the others. */
static void fails_on_one(long count) {
    int value = 0;
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK((MPI_Bcast(&value, rank == 1 ? -1 : 0, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS) == (rank != 1));
    for (long i = 1; i < count; i++)
        MPI(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
}

static void churn(long count) {
    for (long i = 0; i < count; i++) {
        struct comm again = {MPI_COMM_NULL, -1};
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &again.comm));
        MPI(MPI_Barrier(again.comm));
        MPI(MPI_Comm_free(&again.comm));
    }
}

int main(int argc, char **argv) {
    CHECK(argc >= 3);
    snprintf(dir, sizeof dir, "%s", argv[1]);
    const char *way = argv[2];
    long count = argc > 3 ? atol(argv[3]) : 0;
    int provided;
    MPI(MPI_Init_thread(NULL, NULL, strcmp(way, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    world.comm = MPI_COMM_WORLD;
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    if (strcmp(way, "all") == 0) {
        all();
    } else if (strcmp(way, "others") == 0) {
        others();
    } else if (strcmp(way, "loop") == 0) {
        loop(count);
    } else if (strcmp(way, "threads") == 0) {
        CHECK(provided == MPI_THREAD_MULTIPLE);
        threads();
    } else if (strcmp(way, "op") == 0) {
        with_op();
    } else if (strcmp(way, "self") == 0) {
        calls(count);
    } else if (strcmp(way, "churn") == 0) {
        churn(count);
    } else if (strcmp(way, "fails") == 0) {
        fails_on_one(count);
    } else {
        struct comm dup = {MPI_COMM_NULL, -1};
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup.comm));
        for (long i = 0; i < count; i++) {
            MEET("barrier", i % 2 ? &dup : &world, MPI_Barrier(i % 2 ? dup.comm : MPI_COMM_WORLD));
        }
        oplog_write();
        kill(getpid(), SIGKILL);
    }
    oplog_write();
    MPI(MPI_Finalize());
    return 0;
}
