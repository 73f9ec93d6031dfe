/* A program of phases, as parallel codes are: compute, do I/O, synchronize. Each argument can introduce a fault into the same job. Computing is
 * sleeping. Every rank checks the data it reads back. Prints `run_ns=N`: time from the barrier after MPI_Init to the one before
 * MPI_Finalize.
 * Usage: phases DIRECTORY [KEY=VALUE ...]
 *   phases=5 compute=100 (ms)  bytes=2097152  transfer=262144 (per rank or thread and phase; per access)
 *   api=posix|streams|independent|collective   place=parts|own|turns   op=write|read   threads=1
 *   sync=1 (after each write)  reopen=1 (for each access)  stats=N (before each access)  lock=1 (around each access)
 *   aggregators=N (hint for collective calls)  only0=1  serial=1  share=RANK:TIMES  late=RANK:MS
 *   holes=N (independent, strided view: one of every N blocks of `transfer` bytes)
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int rank, ranks, part; /* part: rank whose bytes this rank moves */
static char path[4096];
static const char *directory;
static struct {
    int phases, compute, threads, sync, reopen, stats, lock, only0, serial, holes, read, aggregators;
    long bytes, transfer;
    char api, place;
    int share_rank, share, late_rank, late;
} job = {.phases = 5, .compute = 100, .threads = 1, .bytes = 1 << 21, .transfer = 1 << 18, .api = 'p', .place = 'p',
         .share_rank = -1, .share = 1, .late_rank = -1};

static void fail(const char *what) {
    fprintf(stderr, "phases: rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void rest(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static long shares(void) {
    return part == job.share_rank ? job.share : job.only0 ? ranks : 1;
}

/* Offset of access i of a worker in a phase. */
static long long place(int worker, int workers, int phase, long i) {
    long each = job.bytes / job.transfer;
    if (job.place == 't')
        return ((phase * each + i) * workers + worker) * job.transfer;
    long long region = (long long)job.bytes * job.phases * (job.share > 1 ? job.share : 1);
    long long begin = job.only0 ? 0 : (job.place == 'o' ? worker % job.threads : worker) * region;
    return begin + phase * job.bytes * shares() + i * job.transfer;
}

static void fill(char *buffer, long long offset) {
    memset(buffer, 'a' + (int)(offset / job.transfer % 26), job.transfer);
}

static void check(const char *buffer, long long offset) {
    for (long i = 0; i < job.transfer; i++)
        if (buffer[i] != 'a' + (int)(offset / job.transfer % 26))
            fail("a byte that was read");
}

static void whole_file(int fd, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLKW, &lock) != 0)
        fail("fcntl");
}

static int opened(void) {
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0)
        fail("open");
    return fd;
}

struct worker {
    int thread, phase, fd;
};

static void *posix(void *of) {
    struct worker *w = of;
    char *buffer = malloc(job.transfer);
    int fd = w->fd;
    for (long i = 0; i < job.bytes * shares() / job.transfer; i++) {
        long long at = place(part * job.threads + w->thread, ranks * job.threads, w->phase, i);
        struct stat about;
        if (job.reopen)
            fd = opened();
        for (int s = 0; s < job.stats; s++)
            if (stat(path, &about) != 0)
                fail("stat");
        if (job.lock)
            whole_file(fd, F_WRLCK);
        if (job.read) {
            if (pread(fd, buffer, job.transfer, at) != job.transfer)
                fail("pread");
            check(buffer, at);
        } else {
            fill(buffer, at);
            if (pwrite(fd, buffer, job.transfer, at) != job.transfer)
                fail("pwrite");
            if (job.sync && fsync(fd) != 0)
                fail("fsync");
        }
        if (job.lock)
            whole_file(fd, F_UNLCK);
        if (job.reopen)
            close(fd);
    }
    free(buffer);
    return NULL;
}

static void streams(FILE *stream) {
    char *buffer = malloc(job.transfer);
    memset(buffer, 'x', job.transfer);
    for (long i = 0; i < job.bytes / job.transfer; i++) {
        if (fwrite(buffer, 1, job.transfer, stream) != (size_t)job.transfer)
            fail("fwrite");
        if (job.sync && fflush(stream) != 0)
            fail("fflush");
    }
    free(buffer);
}

/* MPI-IO: with holes one call per phase with a strided view, else one call per access. */
static void mpi_io(MPI_File file, int phase) {
    char *buffer = malloc(job.bytes);
    MPI_Status status;
    if (job.holes) {
        MPI_Datatype type;
        int count = (int)(job.bytes / job.transfer);
        MPI_Type_vector(count, (int)job.transfer, (int)job.transfer * job.holes, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        long long begin = (long long)phase * job.bytes * job.holes * (ranks / job.holes + 1) + (long long)rank * job.transfer;
        MPI_File_set_view(file, begin, MPI_BYTE, type, "native", MPI_INFO_NULL);
        memset(buffer, 'x', job.bytes);
        if (MPI_File_write_at(file, 0, buffer, (int)job.bytes, MPI_BYTE, &status) != MPI_SUCCESS)
            fail("MPI_File_write_at");
        MPI_Type_free(&type);
    } else {
        for (long i = 0; i < job.bytes * shares() / job.transfer; i++) {
            long long at = place(rank, ranks, phase, i);
            int (*move)(MPI_File, MPI_Offset, const void *, int, MPI_Datatype, MPI_Status *) =
                job.api == 'c' ? MPI_File_write_at_all : MPI_File_write_at;
            if (job.read) {
                int (*back)(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *) =
                    job.api == 'c' ? MPI_File_read_at_all : MPI_File_read_at;
                if (back(file, at, buffer, (int)job.transfer, MPI_BYTE, &status) != MPI_SUCCESS)
                    fail("a read of MPI-IO");
                check(buffer, at);
                continue;
            }
            fill(buffer, at);
            if (move(file, at, buffer, (int)job.transfer, MPI_BYTE, &status) != MPI_SUCCESS)
                fail("a write of MPI-IO");
            if (job.sync && MPI_File_sync(file) != MPI_SUCCESS)
                fail("MPI_File_sync");
        }
    }
    free(buffer);
}

static void posix_phase(int fd, int phase) {
    pthread_t threads[64];
    struct worker workers[64];
    for (int t = 0; t < job.threads; t++) {
        workers[t] = (struct worker){t, phase, fd};
        if (t > 0 && pthread_create(&threads[t], NULL, posix, &workers[t]) != 0)
            fail("pthread_create");
    }
    posix(&workers[0]);
    for (int t = 1; t < job.threads; t++)
        pthread_join(threads[t], NULL);
}

static void set_part(int whose) {
    part = whose;
    if (job.place == 'o')
        snprintf(path, sizeof path, "%s/part.%d", directory, part);
    else
        snprintf(path, sizeof path, "%s/field", directory);
}

/* Input of a reading job, written by another rank before the clock starts. */
static void prepare(void) {
    set_part((rank + 1) % ranks);
    job.read = 0;
    int sync = job.sync, stats = job.stats, lock = job.lock, reopen = job.reopen;
    job.sync = job.stats = job.lock = job.reopen = 0;
    int fd = opened();
    for (int phase = 0; phase < job.phases; phase++)
        posix_phase(fd, phase);
    close(fd);
    job.read = 1;
    set_part(rank);
    job.sync = sync, job.stats = stats, job.lock = lock, job.reopen = reopen;
}

static void parse(char *word) {
    char *value = strchr(word, '=');
    if (!value)
        fail("an argument");
    *value++ = 0;
    long number = atol(value);
#define IS(name) (strcmp(word, name) == 0)
    if (IS("phases")) job.phases = (int)number;
    else if (IS("compute")) job.compute = (int)number;
    else if (IS("threads")) job.threads = (int)number;
    else if (IS("bytes")) job.bytes = number;
    else if (IS("transfer")) job.transfer = number;
    else if (IS("api")) job.api = value[0];
    else if (IS("place")) job.place = value[0];
    else if (IS("op")) job.read = value[0] == 'r';
    else if (IS("sync")) job.sync = (int)number;
    else if (IS("reopen")) job.reopen = (int)number;
    else if (IS("stats")) job.stats = (int)number;
    else if (IS("lock")) job.lock = (int)number;
    else if (IS("only0")) job.only0 = (int)number;
    else if (IS("serial")) job.serial = (int)number;
    else if (IS("aggregators")) job.aggregators = (int)number;
    else if (IS("holes")) job.holes = (int)number;
    else if (IS("share")) sscanf(value, "%d:%d", &job.share_rank, &job.share);
    else if (IS("late")) sscanf(value, "%d:%d", &job.late_rank, &job.late);
    else fail(word);
}

int main(int argc, char **argv) {
    int level, token = 0, fd = -1;
    FILE *stream = NULL;
    MPI_File file = MPI_FILE_NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 2; i < argc; i++)
        parse(argv[i]);
    directory = argv[1];
    set_part(rank);
    if (job.read)
        prepare();
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    if (job.api == 'i' || job.api == 'c') {
        MPI_Comm who = job.place == 'o' ? MPI_COMM_SELF : MPI_COMM_WORLD;
        MPI_Info info;
        MPI_Info_create(&info);
        if (job.aggregators) {
            char number[32];
            snprintf(number, sizeof number, "%d", job.aggregators);
            MPI_Info_set(info, "cb_nodes", number);
            MPI_Info_set(info, "cb_config_list", "*:*"); /* else ROMIO uses one per node */
            MPI_Info_set(info, "romio_cb_write", "enable"); /* else ROMIO uses none if ranks' parts do not interleave */
            MPI_Info_set(info, "romio_cb_read", "enable");
        }
        if (MPI_File_open(who, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) != MPI_SUCCESS)
            fail("MPI_File_open");
        MPI_Info_free(&info);
    } else if (job.api == 's') {
        stream = fopen(path, "w");
    } else if (!job.reopen) {
        fd = opened();
    }
    for (int phase = 0; phase < job.phases; phase++) {
        rest(job.compute + (rank == job.late_rank ? job.late : 0));
        if (job.serial && rank > 0)
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!job.only0 || rank == 0) {
            if (file != MPI_FILE_NULL)
                mpi_io(file, phase);
            else if (stream)
                streams(stream);
            else
                posix_phase(fd, phase);
        }
        if (job.serial && rank + 1 < ranks)
            MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (file != MPI_FILE_NULL)
        MPI_File_close(&file);
    if (stream)
        fclose(stream);
    if (fd >= 0)
        close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("run_ns=%lld\n", (long long)((MPI_Wtime() - began) * 1e9));
    MPI_Finalize();
    return 0;
}
