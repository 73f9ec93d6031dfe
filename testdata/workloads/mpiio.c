/* Blocking MPI-IO: independent and collective, with offsets and with each kind of file pointer, contiguous and strided,
 * with views and etypes; every rank checks the data it reads and logs its calls, with absolute byte offsets. For the shared
 * file pointer, the content of the records gives their places. The same source is built with every MPI.
 * Usage: mpiio DIRECTORY [VARIANT], VARIANT one of
 *   all         everything (default)
 *   many        everything, and the independent part 40 more times on a file per rank
 *   threads     MPI_THREAD_MULTIPLE; two threads of each rank write their own files
 *   abort       rank 1 (or the only one) calls MPI_Abort with code 3 after the independent part
 *   nofinalize  every rank ends by exit(0) without MPI_Finalize, after the independent part
 *   straggler   rank 1 is killed while the others wait for it in MPI_Finalize
 *   twice       MPI_Finalize twice
 *   forked      every rank forks a child that ends, before MPI_Finalize
 *   nothing     MPI_Init and MPI_Finalize only
 * Log: oplog.h, set OPLOG. Provenance: written for this project. */
#define _GNU_SOURCE
#include "mpiio.h"
#include <signal.h>
#include <sys/wait.h>
#include <stdint.h>

enum { BLOCK = 1000, BLOCKS = 8, INTS = 250, RECORDS = 10 };

/* Explicit offsets and the individual pointer, independently. */
static void independent(MPI_Comm comm, const char *file) {
    MPI_File handle = opened(comm, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
    int me = comm == MPI_COMM_SELF ? 0 : rank, all = comm == MPI_COMM_SELF ? 1 : ranks;
    char block[BLOCK];
    MPI_Status status;
    for (int i = 0; i < BLOCKS; i++) {
        long long at = ((long long)i * all + me) * BLOCK;
        fill(block, at, BLOCK);
        MPI(MPI_File_write_at(handle, at, block, BLOCK, MPI_BYTE, &status));
        transferred(&status, MPI_BYTE, BLOCK);
        mpi_op("write", "-", at, BLOCK, file);
    }
    /* The individual pointer, behind all other data. */
    long long own = ((long long)BLOCKS * all + me) * BLOCK;
    sought(handle, own, MPI_SEEK_SET, own, file);
    for (int i = 0; i < 4; i++) {
        fill(block, own + i * 100, 100);
        MPI(MPI_File_write(handle, block, 25, MPI_INT, MPI_STATUS_IGNORE));
        mpi_op("write", "-", own + i * 100, 100, file);
    }
    if (comm == MPI_COMM_WORLD) {
        synced(handle, file);
    }
    for (int i = 0; i < BLOCKS; i++) {
        long long at = ((long long)i * all + (me + 1) % all) * BLOCK;
        MPI(MPI_File_read_at(handle, at, block, BLOCK, MPI_BYTE, &status));
        transferred(&status, MPI_BYTE, BLOCK);
        verify(block, at, BLOCK);
        mpi_op("read", "-", at, BLOCK, file);
    }
    sought(handle, own, MPI_SEEK_SET, own, file);
    for (int i = 0; i < 2; i++) {
        MPI(MPI_File_read(handle, block, 200, MPI_BYTE, &status));
        verify(block, own + i * 200, 200);
        mpi_op("read", "-", own + i * 200, 200, file);
    }
    /* Past the end, the bytes transferred count. */
    long long end = ((long long)BLOCKS * all + all - 1) * BLOCK + 400;
    MPI(MPI_File_read_at(handle, end - 50, block, BLOCK, MPI_BYTE, &status));
    transferred(&status, MPI_BYTE, 50);
    verify(block, end - 50, 50);
    mpi_op("read", "-", end - 50, 50, file);
    closed(&handle, file);
}

/* Every rank takes part in each call; one has no data. */
static void collective(void) {
    const char *file = "collective";
    MPI_File handle = opened(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
    char block[BLOCK];
    MPI_Status status;
    for (int i = 0; i < BLOCKS; i++) {
        long long at = ((long long)i * ranks + rank) * BLOCK;
        int length = rank == 0 && i == 3 ? 0 : BLOCK;
        fill(block, at, BLOCK);
        MPI(MPI_File_write_at_all(handle, at, block, length, MPI_BYTE, &status));
        transferred(&status, MPI_BYTE, length);
        mpi_op("write", "collective", at, length, file);
    }
    synced(handle, file);
    for (int i = 0; i < BLOCKS; i++) {
        int other = (rank + 1) % ranks;
        long long at = ((long long)i * ranks + other) * BLOCK;
        int length = other == 0 && i == 3 ? 0 : BLOCK;
        MPI(MPI_File_read_at_all(handle, at, block, length, MPI_BYTE, &status));
        verify(block, at, (size_t)length);
        mpi_op("read", "collective", at, length, file);
    }
    /* A contiguous view per rank, with a displacement, and the individual pointer. */
    long long base = (long long)BLOCKS * ranks * BLOCK + (long long)rank * 4 * BLOCK;
    viewed(handle, base, MPI_BYTE, MPI_BYTE, file);
    for (int i = 0; i < 4; i++) {
        fill(block, base + i * BLOCK, BLOCK);
        MPI(MPI_File_write_all(handle, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        mpi_op("write", "collective", base + i * BLOCK, BLOCK, file);
    }
    sought(handle, BLOCK, MPI_SEEK_SET, base + BLOCK, file);
    for (int i = 1; i < 4; i++) {
        MPI(MPI_File_read_all(handle, block, BLOCK, MPI_BYTE, &status));
        verify(block, base + i * BLOCK, BLOCK);
        mpi_op("read", "collective", base + i * BLOCK, BLOCK, file);
    }
    closed(&handle, file);
}

/* Offsets in units of an etype, behind a displacement; memory that is not contiguous. */
static void etypes(void) {
    const char *file = "etypes";
    const long long displacement = 100;
    MPI_File handle = opened(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
    int numbers[2 * INTS];
    MPI_Status status;
    MPI_Datatype every_second;
    MPI(MPI_Type_vector(INTS, 1, 2, MPI_INT, &every_second));
    MPI(MPI_Type_commit(&every_second));
    viewed(handle, displacement, MPI_INT, MPI_INT, file);
    for (int i = 0; i < 2 * INTS; i++) {
        numbers[i] = rank * 1000 + i;
    }
    long long first = (long long)rank * 2 * INTS;
    MPI(MPI_File_write_at(handle, first, numbers, INTS, MPI_INT, &status));
    transferred(&status, MPI_INT, INTS);
    mpi_op("write", "-", displacement + first * 4, INTS * 4, file);
    MPI(MPI_File_write_at_all(handle, first + INTS, numbers, 1, every_second, &status));
    transferred(&status, every_second, 1);
    mpi_op("write", "collective", displacement + (first + INTS) * 4, INTS * 4, file);
    synced(handle, file);
    memset(numbers, 0, sizeof numbers);
    MPI(MPI_File_read_at_all(handle, first, numbers, INTS, MPI_INT, &status));
    mpi_op("read", "collective", displacement + first * 4, INTS * 4, file);
    for (int i = 0; i < INTS; i++) {
        CHECK(numbers[i] == rank * 1000 + i);
    }
    MPI(MPI_File_read_at(handle, first + INTS, numbers, INTS, MPI_INT, &status));
    mpi_op("read", "-", displacement + (first + INTS) * 4, INTS * 4, file);
    for (int i = 0; i < INTS; i++) {
        CHECK(numbers[i] == rank * 1000 + 2 * i);
    }
    MPI(MPI_Type_free(&every_second));
    closed(&handle, file);
}

/* Ranks interleave blocks of ten numbers: one call touches many places. The logged offset is that of its first byte. */
static void strided(void) {
    const char *file = "strided";
    enum { RUN = 10, RUNS = 25 };
    MPI_File handle = opened(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Datatype vector, filetype;
    int numbers[RUN * RUNS];
    long long base = 4LL * RUN * rank;
    MPI(MPI_Type_vector(RUNS, RUN, RUN * ranks, MPI_INT, &vector));
    MPI(MPI_Type_create_resized(vector, 0, 4L * RUN * RUNS * ranks, &filetype));
    MPI(MPI_Type_commit(&filetype));
    viewed(handle, base, MPI_INT, filetype, file);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < RUN * RUNS; i++) {
            numbers[i] = rank * 100000 + turn * 1000 + i;
        }
        long long at = base + (long long)turn * 4 * RUN * RUNS * ranks;
        MPI_Offset byte;
        MPI(MPI_File_get_byte_offset(handle, (MPI_Offset)turn * RUN * RUNS, &byte));
        CHECK(byte == at);
        if (turn == 0) {
            MPI(MPI_File_write_all(handle, numbers, RUN * RUNS, MPI_INT, MPI_STATUS_IGNORE));
            mpi_op("write", "collective", at, sizeof numbers, file);
        } else if (turn == 1) {
            MPI(MPI_File_write_at_all(handle, turn * RUN * RUNS, numbers, RUN * RUNS, MPI_INT, MPI_STATUS_IGNORE));
            mpi_op("write", "collective", at, sizeof numbers, file);
        } else {
            MPI(MPI_File_write_at(handle, turn * RUN * RUNS, numbers, RUN * RUNS, MPI_INT, MPI_STATUS_IGNORE));
            mpi_op("write", "-", at, sizeof numbers, file);
        }
    }
    synced(handle, file);
    sought(handle, 0, MPI_SEEK_SET, base, file);
    for (int turn = 0; turn < 3; turn++) {
        MPI(MPI_File_read_all(handle, numbers, RUN * RUNS, MPI_INT, MPI_STATUS_IGNORE));
        mpi_op("read", "collective", base + (long long)turn * 4 * RUN * RUNS * ranks, sizeof numbers, file);
        for (int i = 0; i < RUN * RUNS; i++) {
            CHECK(numbers[i] == rank * 100000 + turn * 1000 + i);
        }
    }
    MPI(MPI_Type_free(&filetype));
    MPI(MPI_Type_free(&vector));
    closed(&handle, file);
}

struct record {
    int32_t rank, sequence;
    int64_t mark[3];
};

/* Reads all records of a file whose records begin at `base`, by raw system calls, and logs this rank's writes. */
static void log_records(const char *file, const char *mode, long long base, int per_rank) {
    long fd = raw_call(SYS_openat, AT_FDCWD, in_dir(file), O_RDONLY, 0);
    CHECK(fd >= 0);
    int found = 0;
    for (int i = 0; i < ranks * per_rank; i++) {
        struct record record;
        long long at = base + i * (long long)sizeof record;
        CHECK(raw_call(SYS_pread64, fd, &record, sizeof record, at) == sizeof record && record.mark[1] == 42);
        if (record.rank == rank) {
            CHECK(record.sequence == found);
            mpi_op("write", mode, at, sizeof record, file);
            found++;
        }
    }
    CHECK(found == per_rank);
    raw_call(SYS_close, fd);
}

/* The shared file pointer, in any order and in the order of ranks. */
static void shared_pointer(void) {
    const long long displacement = 64;
    const char *file = "shared", *ordered = "ordered";
    struct record record = {rank, 0, {41, 42, 43}};
    MPI_File handle = opened(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
    viewed(handle, displacement, MPI_BYTE, MPI_BYTE, file);
    for (int i = 0; i < RECORDS; i++) {
        record.sequence = i;
        MPI(MPI_File_write_shared(handle, &record, sizeof record, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    log_records(file, "shared", displacement, RECORDS);
    synced(handle, file);
    MPI(MPI_File_seek_shared(handle, 0, MPI_SEEK_SET));
    mpi_op("seek", "shared", displacement, 0, file);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < RECORDS; i++) {
        MPI(MPI_File_read_shared(handle, &record, sizeof record, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(record.mark[1] == 42);
        /* Finds the offset of the record in the file by its content. */
        long fd = raw_call(SYS_openat, AT_FDCWD, in_dir(file), O_RDONLY, 0);
        long long at = displacement;
        struct record other;
        while (raw_call(SYS_pread64, fd, &other, sizeof other, at) == sizeof other &&
               memcmp(&other, &record, sizeof other) != 0) {
            at += (long long)sizeof other;
        }
        CHECK(at < displacement + ranks * RECORDS * (long long)sizeof record);
        raw_call(SYS_close, fd);
        mpi_op("read", "shared", at, sizeof record, file);
    }
    closed(&handle, file);

    handle = opened(MPI_COMM_WORLD, ordered, MPI_MODE_CREATE | MPI_MODE_RDWR);
    for (int i = 0; i < RECORDS; i++) {
        record = (struct record){rank, i, {41, 42, 43}};
        MPI(MPI_File_write_ordered(handle, &record, sizeof record, MPI_BYTE, MPI_STATUS_IGNORE));
        mpi_op("write", "ordered", ((long long)i * ranks + rank) * (long long)sizeof record, sizeof record, ordered);
    }
    synced(handle, ordered);
    MPI(MPI_File_seek_shared(handle, 0, MPI_SEEK_SET));
    mpi_op("seek", "shared", 0, 0, ordered);
    for (int i = 0; i < RECORDS; i++) {
        MPI(MPI_File_read_ordered(handle, &record, sizeof record, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(record.rank == rank && record.sequence == i && record.mark[1] == 42);
        mpi_op("read", "ordered", ((long long)i * ranks + rank) * (long long)sizeof record, sizeof record, ordered);
    }
    closed(&handle, ordered);
}

/* In append mode the individual pointer begins at the end. */
static void append(void) {
    char file[32], block[100];
    snprintf(file, sizeof file, "append.%d", rank);
    MPI_File handle = opened(MPI_COMM_SELF, file, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    fill(block, 0, sizeof block);
    MPI(MPI_File_write(handle, block, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    mpi_op("write", "-", 0, 100, file);
    closed(&handle, file);
    handle = opened(MPI_COMM_SELF, file, MPI_MODE_WRONLY | MPI_MODE_APPEND);
    fill(block, 100, sizeof block);
    MPI(MPI_File_write(handle, block, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    mpi_op("write", "-", 100, 100, file);
    closed(&handle, file);
    char whole[200];
    fill(whole, 0, sizeof whole);
    raw_check(in_dir(file), 0, whole, sizeof whole);
}

static void *thread_work(void *number) {
    char file[32], block[BLOCK];
    snprintf(file, sizeof file, "thread.%d.%d", rank, (int)(intptr_t)number);
    MPI_File handle = opened(MPI_COMM_SELF, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
    for (int i = 0; i < 50; i++) {
        fill(block, (long long)i * BLOCK, BLOCK);
        MPI(MPI_File_write_at(handle, (MPI_Offset)i * BLOCK, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        mpi_op("write", "-", (long long)i * BLOCK, BLOCK, file);
    }
    closed(&handle, file);
    return NULL;
}

/* Two threads if the library allows, else one after the other. */
static void with_threads(int provided) {
    pthread_t other;
    if (provided == MPI_THREAD_MULTIPLE) {
        CHECK(pthread_create(&other, NULL, thread_work, (void *)1) == 0);
    }
    thread_work((void *)0);
    if (provided == MPI_THREAD_MULTIPLE) {
        CHECK(pthread_join(other, NULL) == 0);
    }
}

int main(int argc, char **argv) {
    CHECK(argc >= 2 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    const char *variant = argc > 2 ? argv[2] : "all";
    int provided = MPI_THREAD_SINGLE;
    if (strcmp(variant, "threads") == 0) {
        MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    } else {
        MPI(MPI_Init(&argc, &argv));
    }
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    if (strcmp(variant, "nothing") == 0) {
        oplog_write();
        MPI(MPI_Finalize());
        return 0;
    }
    independent(MPI_COMM_WORLD, "independent");
    if (strcmp(variant, "abort") == 0) {
        oplog_write();
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 1 || ranks == 1) {
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        sleep(10);
    } else if (strcmp(variant, "straggler") == 0) {
        independent(MPI_COMM_SELF, rank == 0 ? "self.0" : rank == 1 ? "self.1" : "self.2");
        oplog_write();
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 1) {
            kill(getpid(), SIGKILL);
        }
    } else if (strcmp(variant, "twice") == 0) {
        independent(MPI_COMM_SELF, rank == 0 ? "self.0" : "self.1");
        oplog_write();
        MPI(MPI_Finalize());
    } else if (strcmp(variant, "forked") == 0) {
        independent(MPI_COMM_SELF, rank == 0 ? "self.0" : "self.1");
        pid_t pid = fork();
        if (pid == 0) {
            exit(5);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    } else if (strcmp(variant, "nofinalize") == 0) {
        oplog_write();
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        exit(0);
    } else if (strcmp(variant, "threads") == 0) {
        with_threads(provided);
    } else {
        char own[32];
        snprintf(own, sizeof own, "self.%d", rank);
        for (int i = 0; strcmp(variant, "many") == 0 && i < 40; i++) {
            independent(MPI_COMM_SELF, own);
        }
        independent(MPI_COMM_SELF, own);
        collective();
        etypes();
        strided();
        shared_pointer();
        append();
    }
    oplog_write();
    MPI(MPI_Finalize());
    return 0;
}
