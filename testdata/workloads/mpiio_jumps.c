/* A parallel program whose error handler leaves MPI's calls by longjmp(3), as a C++ binding's exceptions do.
 * Provenance: written for this project.
 *
 *     mpiio_jumps DIR CALLS
 *
 * Each rank makes a failing call, then CALLS successful ones, on its own file. */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf back;
static int failures;

static void failed(MPI_File *file, int *code, ...) {
    (void)file;
    (void)code;
    failures++;
    longjmp(back, 1);
}

/* Makes a failing call at a stack depth of `depth` frames. */
static __attribute__((noinline)) void fail(MPI_File file, int depth) {
    volatile char room[300];
    room[depth % 300] = 1;
    /* A negative count is an error in every MPI. */
    if (depth == 0)
        MPI_File_write_at(file, 0, "x", -1, MPI_BYTE, MPI_STATUS_IGNORE);
    else
        fail(file, depth - 1);
    room[0]++;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, calls = atoi(argv[2]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char path[4096];
    snprintf(path, sizeof path, "%s/rank%d", argv[1], rank);
    MPI_File file;
    if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file)) return 1;
    MPI_Errhandler handler;
    MPI_File_create_errhandler(failed, &handler);
    MPI_File_set_errhandler(file, handler);
    for (int depth = 0; depth < 12; depth += 4) {
        if (setjmp(back) == 0) fail(file, depth);
        for (int i = 0; i < calls; i++)
            if (MPI_File_write_at(file, i, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE)) return 2;
        if (MPI_File_sync(file)) return 3;
    }
    MPI_File_close(&file);
    MPI_Finalize();
    return failures == 3 ? 0 : 4;
}
