/* Calls functions with 64-bit counts that the program looks for before use, as mpi4py's wheels do, and checks their results.
 * Usage: mpi_weak_counts FILE (to be written). Exit code 77 if a function is not there: the MPI library is older than MPI 4.0, and no tracer runs.
 * Provenance: written for this project. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEAK __attribute__((weak))
typedef MPI_Count Count;
typedef MPI_Aint Place;
#if MPI_VERSION < 4
int MPI_Bcast_c(void *, Count, MPI_Datatype, int, MPI_Comm) WEAK;
int MPI_Allreduce_c(const void *, void *, Count, MPI_Datatype, MPI_Op, MPI_Comm) WEAK;
int MPI_Allgatherv_c(const void *, Count, MPI_Datatype, void *, const Count *, const Place *, MPI_Datatype, MPI_Comm) WEAK;
int MPI_Gatherv_c(const void *, Count, MPI_Datatype, void *, const Count *, const Place *, MPI_Datatype, int, MPI_Comm) WEAK;
int MPI_Scatterv_c(const void *, const Count *, const Place *, MPI_Datatype, void *, Count, MPI_Datatype, int, MPI_Comm) WEAK;
int MPI_Alltoallv_c(const void *, const Count *, const Place *, MPI_Datatype, void *, const Count *, const Place *, MPI_Datatype,
                    MPI_Comm) WEAK;
int MPI_Alltoallw_c(const void *, const Count *, const Place *, const MPI_Datatype *, void *, const Count *, const Place *,
                    const MPI_Datatype *, MPI_Comm) WEAK;
int MPI_Reduce_scatter_c(const void *, void *, const Count *, MPI_Datatype, MPI_Op, MPI_Comm) WEAK;
int MPI_File_write_at_all_c(MPI_File, MPI_Offset, const void *, Count, MPI_Datatype, MPI_Status *) WEAK;
int MPI_File_iread_at_c(MPI_File, MPI_Offset, void *, Count, MPI_Datatype, MPI_Request *) WEAK;
#endif

#define CHECK(ok)                                                                                                     \
    do {                                                                                                              \
        if (!(ok)) {                                                                                                  \
            fprintf(stderr, "line %d: %s is wrong\n", __LINE__, #ok);                                                 \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                             \
        }                                                                                                             \
    } while (0)
#define CALL(call) CHECK((call) == MPI_SUCCESS)

enum { MOST = 16 };
static int rank, size;
static void *volatile nowhere = (void *)8;

static void sums(void) {
    int one = rank == 0 ? 42 : 0, sum = 0, own[2] = {rank, rank}, all[2 * MOST], part = -1;
    CALL(MPI_Bcast_c(&one, 1, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK(one == 42);
    CALL(MPI_Allreduce_c(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    Count counts[MOST];
    Place places[MOST];
    for (int i = 0; i < size; i++) counts[i] = 2, places[i] = 2 * i;
    CALL(MPI_Allgatherv_c(own, 2, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < 2 * size; i++) CHECK(all[i] == i / 2);
    /* Arrays that have no meaning on a rank may be anything there. */
    Count *others = rank == 1 % size ? counts : (Count *)nowhere;
    Place *at = rank == 1 % size ? places : (Place *)nowhere;
    memset(all, 0, sizeof all);
    CALL(MPI_Gatherv_c(own, 2, MPI_INT, all, others, at, MPI_INT, 1 % size, MPI_COMM_WORLD));
    if (rank == 1 % size)
        for (int i = 0; i < 2 * size; i++) CHECK(all[i] == i / 2);
    memset(own, 0, sizeof own);
    CALL(MPI_Scatterv_c(all, others, at, MPI_INT, own, 2, MPI_INT, 1 % size, MPI_COMM_WORLD));
    CHECK(own[0] == rank && own[1] == rank);
    int to[2 * MOST], from[2 * MOST];
    for (int i = 0; i < 2 * size; i++) to[i] = 100 * rank + i / 2;
    CALL(MPI_Alltoallv_c(to, counts, places, MPI_INT, from, counts, places, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < 2 * size; i++) CHECK(from[i] == 100 * (i / 2) + rank);
    MPI_Datatype types[MOST];
    Place bytes[MOST];
    for (int i = 0; i < size; i++) types[i] = MPI_INT, bytes[i] = 2 * i * (Place)sizeof(int);
    memset(from, 0, sizeof from);
    CALL(MPI_Alltoallw_c(to, counts, bytes, types, from, counts, bytes, types, MPI_COMM_WORLD));
    for (int i = 0; i < 2 * size; i++) CHECK(from[i] == 100 * (i / 2) + rank);
    /* What is sent lies where it is received, so counts and places of what is sent have no meaning. */
    memcpy(from, to, sizeof to);
    CALL(MPI_Alltoallv_c(MPI_IN_PLACE, (Count *)nowhere, (Place *)nowhere, MPI_INT, from, counts, places, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < 2 * size; i++) CHECK(from[i] == 100 * (i / 2) + rank);
    for (int i = 0; i < size; i++) counts[i] = 1;
    for (int i = 0; i < size; i++) to[i] = i;
    CALL(MPI_Reduce_scatter_c(to, &part, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(part == rank * size);
}

/* Ranks of one half send to those of the other: arrays are as long as the other half. */
static void between(void) {
    MPI_Comm half, both;
    int side = rank * 2 >= size, own = rank, all[MOST], others;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 0 : (size + 1) / 2, 7, &both);
    MPI_Comm_remote_size(both, &others);
    Count counts[MOST];
    Place places[MOST];
    for (int i = 0; i < others; i++) counts[i] = 1, places[i] = i;
    CALL(MPI_Allgatherv_c(&own, 1, MPI_INT, all, counts, places, MPI_INT, both));
    for (int i = 0; i < others; i++) CHECK(all[i] == i + (side ? 0 : (size + 1) / 2));
    /* Each half scatters the sum of what the other one has: as many ints as all, by the number of own ranks. */
    int mine, to[MOST * MOST], part[MOST * MOST];
    MPI_Comm_size(both, &mine);
    for (int i = 0; i < mine; i++) counts[i] = others;
    for (int i = 0; i < mine * others; i++) to[i] = 1;
    CALL(MPI_Reduce_scatter_c(to, part, counts, MPI_INT, MPI_SUM, both));
    for (int i = 0; i < others; i++) CHECK(part[i] == others);
    /* The first rank of the first half gathers from the second. */
    for (int i = 0; i < others; i++) counts[i] = 1, places[i] = i;
    int first = side ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    Count *theirs = first == MPI_ROOT ? counts : (Count *)nowhere;
    CALL(MPI_Gatherv_c(&own, 1, MPI_INT, all, theirs, first == MPI_ROOT ? places : (Place *)nowhere, MPI_INT, first, both));
    if (first == MPI_ROOT)
        for (int i = 0; i < others; i++) CHECK(all[i] == i + (size + 1) / 2);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

static void files(const char *name) {
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    int own = rank, read = -1, count;
    CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    CALL(MPI_File_write_at_all_c(file, rank * (MPI_Offset)sizeof own, &own, 1, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 1);
    CALL(MPI_File_iread_at_c(file, rank * (MPI_Offset)sizeof own, &read, 1, MPI_INT, &request));
    CALL(MPI_Wait(&request, &status));
    CHECK(read == rank);
    CALL(MPI_File_close(&file));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 2 || size > MOST) return 2;
#if MPI_VERSION < 4
    if (!MPI_Bcast_c || !MPI_Allreduce_c || !MPI_Allgatherv_c || !MPI_Gatherv_c || !MPI_Scatterv_c || !MPI_Alltoallv_c ||
        !MPI_Alltoallw_c || !MPI_Reduce_scatter_c || !MPI_File_write_at_all_c || !MPI_File_iread_at_c) {
        MPI_Finalize();
        return 77;
    }
#endif
    sums();
#if MPI_VERSION < 4
    /* More than an int counts. */
    int none, class;
    MPI_Error_class(MPI_Bcast_c(&none, (Count)1 << 40, MPI_INT, 0, MPI_COMM_WORLD), &class);
    CHECK(class == MPI_ERR_COUNT);
#endif
    if (size > 1) between();
    files(argv[1]);
    MPI_Finalize();
    return 0;
}
