/* Views of every kind of datatype, with the places of their bytes by the MPI library.
 * Usage: mpirun mpiio_views DIRECTORY. Provenance: written for this project.
 *
 *     VIEW <pid> <1 if its bytes are regular, else 0> <etype in bytes> <displacement> <size> <extent> <byte> <byte> ...
 *
 * for each view in the order of MPI_File_set_view, with the file offset of each of its first etypes. */
#include "oplog.h"

#include <mpi.h>

#define MPI(call) CHECK((call) == MPI_SUCCESS)

enum { ETYPES = 200 };

static int rank;
static MPI_File file;

/* Sets and logs a view; frees `filetype` unless it is predefined. */
static void set(int regular, MPI_Datatype etype, MPI_Offset displacement, MPI_Datatype filetype, int predefined) {
    static char line[ETYPES * 24 + 200];
    MPI_Count etype_bytes, size, lower_bound, extent;
    if (!predefined) {
        MPI(MPI_Type_commit(&filetype));
    }
    MPI(MPI_File_set_view(file, displacement, etype, filetype, "native", MPI_INFO_NULL));
    MPI(MPI_Type_size_x(etype, &etype_bytes));
    MPI(MPI_Type_size_x(filetype, &size));
    MPI(MPI_Type_get_extent_x(filetype, &lower_bound, &extent));
    int at = snprintf(line, sizeof line, "VIEW %d %d %lld %lld %lld %lld", (int)getpid(), regular, (long long)etype_bytes, (long long)displacement,
                      (long long)size, (long long)extent);
    for (MPI_Offset etypes = 0; etypes < ETYPES; etypes++) {
        MPI_Offset byte;
        MPI(MPI_File_get_byte_offset(file, etypes, &byte));
        at += snprintf(line + at, sizeof line - (size_t)at, " %lld", (long long)byte);
    }
    oplog_line("%s\n", line);
    if (!predefined) {
        MPI(MPI_Type_free(&filetype));
    }
}

static MPI_Datatype subarray(int dimensions, const int *sizes, const int *parts, const int *starts, int order, MPI_Datatype of) {
    MPI_Datatype type;
    MPI(MPI_Type_create_subarray(dimensions, sizes, parts, starts, order, of, &type));
    return type;
}

static MPI_Datatype resized(MPI_Datatype of, MPI_Aint lower_bound, MPI_Aint extent) {
    MPI_Datatype type;
    MPI(MPI_Type_create_resized(of, lower_bound, extent, &type));
    return type;
}

/* A datatype made of another one, which is freed. */
static MPI_Datatype vector(int count, int length, int stride, MPI_Datatype of, int frees) {
    MPI_Datatype type;
    MPI(MPI_Type_vector(count, length, stride, of, &type));
    if (frees) {
        MPI(MPI_Type_free(&of));
    }
    return type;
}

static void regular(void) {
    MPI_Datatype type, inner;
    const int sizes[3] = {6, 8, 10}, parts[3] = {3, 4, 5}, starts[3] = {2, 1, 3};
    const int whole[3] = {3, 8, 10}, none[3] = {0, 0, 0};
    set(1, MPI_INT, 100, MPI_INT, 1);
    set(1, MPI_BYTE, 0, vector(4, 3, 7, MPI_BYTE, 0), 0);
    /* The same view again: two calls share one entry of the trace. */
    set(1, MPI_BYTE, 4096, vector(4, 3, 7, MPI_BYTE, 0), 0);
    set(1, MPI_INT, 16, vector(5, 2, 4, MPI_INT, 0), 0);
    MPI(MPI_Type_create_hvector(3, 2, 40, MPI_DOUBLE, &type));
    set(1, MPI_DOUBLE, 8, type, 0);
    MPI(MPI_Type_contiguous(32, MPI_INT, &type));
    set(1, MPI_INT, 0, type, 0);
    MPI(MPI_Type_contiguous(16, MPI_BYTE, &inner));
    type = resized(inner, 0, 64);
    MPI(MPI_Type_free(&inner));
    set(1, MPI_BYTE, 16 * rank, type, 0);
    /* Two and three dimensions, in both orders; whole rows merge. */
    set(1, MPI_BYTE, 0, subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE), 0);
    set(1, MPI_INT, 12, subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT), 0);
    set(1, MPI_DOUBLE, 0, subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE), 0);
    set(1, MPI_FLOAT, 0, subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_FLOAT), 0);
    set(1, MPI_INT, 0, subarray(3, sizes, whole, none, MPI_ORDER_C, MPI_INT), 0);
    set(1, MPI_INT, 0, subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT), 0);
    /* Nested datatypes, the inner ones freed. */
    set(1, MPI_BYTE, 0, vector(3, 1, 2, vector(2, 4, 8, MPI_BYTE, 0), 1), 0);
    set(1, MPI_BYTE, 3, resized(MPI_INT, 0, 12), 0);
    inner = vector(3, 2, 5, MPI_INT, 0);
    MPI(MPI_Type_dup(inner, &type));
    MPI(MPI_Type_free(&inner));
    set(1, MPI_INT, 4, type, 0);
    inner = subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT);
    type = resized(inner, 0, 4096);
    MPI(MPI_Type_free(&inner));
    set(1, MPI_INT, 0, type, 0);
    /* Indexed types with a constant stride. */
    const int lengths[3] = {2, 2, 2}, places[3] = {1, 6, 11};
    const MPI_Aint bytes[3] = {8, 72, 136};
    MPI(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
    set(1, MPI_INT, 0, type, 0);
    MPI(MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type));
    set(1, MPI_INT, 0, type, 0);
    MPI(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type));
    set(1, MPI_INT, 0, type, 0);
    MPI(MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type));
    set(1, MPI_INT, 0, type, 0);
    const MPI_Datatype types[1] = {MPI_INT};
    MPI(MPI_Type_create_struct(1, lengths, bytes, types, &type));
    set(1, MPI_INT, 0, type, 0);
}

static void others(void) {
    MPI_Datatype type;
    const int lengths[3] = {1, 2, 3}, places[3] = {0, 4, 10}, uneven[3] = {0, 4, 9};
    const MPI_Aint bytes[2] = {0, 64};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
    set(0, MPI_INT, 0, type, 0);
    MPI(MPI_Type_create_indexed_block(3, 2, uneven, MPI_INT, &type));
    set(0, MPI_INT, 0, type, 0);
    MPI(MPI_Type_create_struct(2, lengths, bytes, types, &type));
    set(0, MPI_INT, 0, type, 0);
    const int sizes[1] = {32}, distributions[1] = {MPI_DISTRIBUTE_CYCLIC}, arguments[1] = {2}, processes[1] = {2};
    MPI(MPI_Type_create_darray(2, rank % 2, 1, sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_INT, &type));
    set(0, MPI_INT, 0, type, 0);
    /* More pieces than the tracer examines. */
    int many[100];
    for (int i = 0; i < 100; i++) {
        many[i] = 3 * i;
    }
    MPI(MPI_Type_create_indexed_block(100, 1, many, MPI_INT, &type));
    set(0, MPI_INT, 0, type, 0);
    /* Nested deeper than the tracer examines. */
    type = MPI_INT;
    for (int i = 0; i < 12; i++) {
        MPI_Datatype inner = type;
        MPI(MPI_Type_dup(inner, &type));
        if (i > 0) {
            MPI(MPI_Type_free(&inner));
        }
    }
    set(0, MPI_INT, 0, type, 0);
}

int main(int count, char **arguments) {
    char path[4200];
    CHECK(count == 2);
    MPI(MPI_Init(&count, &arguments));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    snprintf(path, sizeof path, "%s/views", arguments[1]);
    MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    regular();
    others();
    regular();
    MPI(MPI_File_close(&file));
    oplog_write();
    MPI(MPI_Finalize());
    return 0;
}
