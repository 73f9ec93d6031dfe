/* MPI-IO with hints, and with datatypes of every kind for views and memory.
 * Usage: mpirun mpiio_details DIRECTORY. Provenance: written for this project.
 *
 *     HINT <pid> <0 asked for, 1 in effect> <path> <key> <value>
 *     DATATYPE <pid> <role> <combiner> <extent in bytes> <path>
 *
 * beside the lines of oplog.h; roles and combiners are those of the trace format, one line for each use. */
#include "oplog.h"

#include <mpi.h>

#define MPI(call) CHECK((call) == MPI_SUCCESS)

enum { BYTES = 4096 };

static int rank;
static char path[4200];
static char data[BYTES];

static void log_hints(int origin, MPI_Info info) {
    int count, found;
    MPI(MPI_Info_get_nkeys(info, &count));
    for (int i = 0; i < count; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        MPI(MPI_Info_get_nthkey(info, i, key));
        MPI(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
        CHECK(found);
        oplog_line("HINT %d %d %s %s %s\n", (int)getpid(), origin, path, key, value);
    }
}

static void used(const char *role, const char *combiner, long long extent) {
    oplog_line("DATATYPE %d %s %s %lld %s\n", (int)getpid(), role, combiner, extent, path);
}

static MPI_File open_file(MPI_Comm comm, MPI_Info asked) {
    MPI_File file;
    MPI_Info info;
    int own;
    MPI(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, asked, &file));
    MPI(MPI_Comm_rank(comm, &own));
    /* Hints are the same for all processes that open the file together: one of them logs. */
    if (own == 0) {
        if (asked != MPI_INFO_NULL) {
            log_hints(0, asked);
        }
        MPI(MPI_File_get_info(file, &info));
        log_hints(1, info);
        MPI(MPI_Info_free(&info));
    }
    return file;
}

/* A datatype with its expected extent. */
struct made {
    MPI_Datatype type;
    const char *combiner;
    long long extent;
};

/* Views through `made`, then back to bytes. */
static void view(MPI_File file, struct made made) {
    MPI(MPI_Type_commit(&made.type));
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, made.type, "native", MPI_INFO_NULL));
    used("etype", "named", 1);
    used("filetype", made.combiner, made.extent);
    MPI(MPI_File_write_all(file, data, 16, MPI_BYTE, MPI_STATUS_IGNORE));
    used("write_buffer", "named", 1);
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    used("etype", "named", 1);
    used("filetype", "named", 1);
    MPI(MPI_Type_free(&made.type));
}

/* Writes from and reads into memory described by `type`, at most BYTES. */
static void buffer(MPI_File file, struct made made) {
    MPI_Datatype type = made.type;
    MPI(MPI_Type_commit(&type));
    MPI_Request request;
    MPI(MPI_File_write_at(file, rank * BYTES, data, 1, type, MPI_STATUS_IGNORE));
    MPI(MPI_File_write_at_all(file, rank * BYTES, data, 1, type, MPI_STATUS_IGNORE));
    MPI(MPI_File_iwrite_at(file, rank * BYTES, data, 1, type, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPI_File_read_at(file, rank * BYTES, data, 1, type, MPI_STATUS_IGNORE));
    MPI(MPI_File_read_at_all_begin(file, rank * BYTES, data, 1, type));
    for (int i = 0; i < 3; i++) {
        used("write_buffer", made.combiner, made.extent);
    }
    used("read_buffer", made.combiner, made.extent);
    /* Freed while in use, as the standard allows. */
    MPI(MPI_Type_free(&type));
    MPI(MPI_File_read_at_all_end(file, data, MPI_STATUS_IGNORE));
    used("read_buffer", made.combiner, made.extent);
}

static void named(MPI_File file, MPI_Datatype type, int count, long long extent) {
    MPI(MPI_File_write_at(file, rank * BYTES, data, count, type, MPI_STATUS_IGNORE));
    used("write_buffer", "named", extent);
    MPI(MPI_File_read_at(file, rank * BYTES, data, count, type, MPI_STATUS_IGNORE));
    used("read_buffer", "named", extent);
}

/* Makes a datatype of the given kind that describes memory within BYTES. */
static struct made made(const char *combiner) {
    MPI_Datatype type, part;
    long long extent;
    int lengths[2] = {1, 2}, places[2] = {0, 4}, sizes[2] = {8, 8}, parts[2] = {4, 4}, starts[2] = {2, 2};
    MPI_Aint bytes[2] = {0, 64};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    int distributions[1] = {MPI_DISTRIBUTE_BLOCK}, arguments[1] = {MPI_DISTRIBUTE_DFLT_DARG}, processes[1] = {2}, all[1] = {32};
    if (strcmp(combiner, "dup") == 0) {
        MPI(MPI_Type_dup(MPI_INT, &type));
        extent = 4;
    } else if (strcmp(combiner, "contiguous") == 0) {
        MPI(MPI_Type_contiguous(8, MPI_INT, &type));
        extent = 32;
    } else if (strcmp(combiner, "vector") == 0) {
        MPI(MPI_Type_vector(3, 2, 5, MPI_INT, &type));
        extent = 48;
    } else if (strcmp(combiner, "hvector") == 0) {
        MPI(MPI_Type_create_hvector(3, 2, 40, MPI_INT, &type));
        extent = 88;
    } else if (strcmp(combiner, "indexed") == 0) {
        MPI(MPI_Type_indexed(2, lengths, places, MPI_INT, &type));
        extent = 24;
    } else if (strcmp(combiner, "hindexed") == 0) {
        MPI(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type));
        extent = 72;
    } else if (strcmp(combiner, "indexed_block") == 0) {
        MPI(MPI_Type_create_indexed_block(2, 2, places, MPI_INT, &type));
        extent = 24;
    } else if (strcmp(combiner, "hindexed_block") == 0) {
        MPI(MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &type));
        extent = 72;
    } else if (strcmp(combiner, "struct") == 0) {
        MPI(MPI_Type_create_struct(2, lengths, bytes, types, &type));
        extent = 80;
    } else if (strcmp(combiner, "subarray") == 0) {
        MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &type));
        extent = 64;
    } else if (strcmp(combiner, "darray") == 0) {
        MPI(MPI_Type_create_darray(2, rank % 2, 1, all, distributions, arguments, processes, MPI_ORDER_C, MPI_BYTE, &type));
        extent = 32;
    } else {
        CHECK(strcmp(combiner, "resized") == 0);
        MPI(MPI_Type_contiguous(4, MPI_BYTE, &part));
        MPI(MPI_Type_create_resized(part, 0, 64, &type));
        MPI(MPI_Type_free(&part));
        extent = 64;
    }
    return (struct made){type, combiner, extent};
}

/* A type of four bytes with a different extent. */
static struct made resized(long long extent) {
    MPI_Datatype part, type;
    MPI(MPI_Type_contiguous(4, MPI_BYTE, &part));
    MPI(MPI_Type_create_resized(part, 0, (MPI_Aint)extent, &type));
    MPI(MPI_Type_free(&part));
    return (struct made){type, "resized", extent};
}

/* Datatypes of all bins, at their bounds, and reused handles of freed types: the extent is the current one. */
static void extents(MPI_File file) {
    struct made one = {.combiner = "contiguous"};
    for (one.extent = 100; one.extent <= 101; one.extent++) {
        MPI(MPI_Type_contiguous((int)one.extent, MPI_BYTE, &one.type));
        buffer(file, one);
    }
    struct made two = {.combiner = "vector", .extent = (512 + 1) * 4};
    MPI(MPI_Type_vector(2, 1, 512, MPI_INT, &two.type));
    buffer(file, two);
    int sizes[2] = {1024, 1024}, parts[2] = {1, 16}, starts[2] = {0, 0};
    struct made three = {.combiner = "subarray", .extent = 1 << 20};
    MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &three.type));
    buffer(file, three);
    MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &three.type));
    view(file, three);
    const long long bounds[] = {0, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        buffer(file, resized(bounds[i]));
        buffer(file, resized(bounds[i] + 1));
    }
    buffer(file, resized(-64));
    buffer(file, resized(1LL << 40));
    /* An etype and a filetype other than MPI_BYTE. */
    struct made etype = resized(4), filetype;
    MPI(MPI_Type_commit(&etype.type));
    MPI(MPI_Type_create_resized(etype.type, 0, 5 << 20, &filetype.type));
    MPI(MPI_Type_commit(&filetype.type));
    MPI(MPI_File_set_view(file, 0, etype.type, filetype.type, "native", MPI_INFO_NULL));
    used("etype", "resized", 4);
    used("filetype", "resized", 5 << 20);
    MPI(MPI_File_write_at(file, rank, data, 1, etype.type, MPI_STATUS_IGNORE));
    used("write_buffer", "resized", 4);
    MPI(MPI_Type_free(&etype.type));
    MPI(MPI_Type_free(&filetype.type));
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    MPI(MPI_Init(&count, &arguments));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    snprintf(path, sizeof path, "%s/hints", arguments[1]);
    MPI_Info asked;
    MPI(MPI_Info_create(&asked));
    MPI(MPI_Info_set(asked, "cb_nodes", "1"));
    MPI(MPI_Info_set(asked, "romio_ds_write", "disable"));
    MPI(MPI_Info_set(asked, "nobody_knows_this", "a value of three words"));
    MPI_File file = open_file(MPI_COMM_WORLD, asked);
    MPI(MPI_Info_free(&asked));
    const char *kinds[] = {"dup", "contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block",
                           "hindexed_block", "struct", "subarray", "darray", "resized"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        buffer(file, made(kinds[i]));
    }
    named(file, MPI_BYTE, 100, 1);
    named(file, MPI_DOUBLE, 10, 8);
#ifndef MPICH_VERSION
    /* Crashes ROMIO in MPICH 4.0. */
    named(file, MPI_DOUBLE_INT, 3, 16);
#endif
    named(file, MPI_2INT, 3, 8);
    view(file, made("subarray"));
    view(file, made("darray"));
    view(file, made("vector"));
    extents(file);
    MPI(MPI_File_close(&file));
    /* Again without hints, and a file per process. */
    file = open_file(MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI(MPI_File_close(&file));
    snprintf(path, sizeof path, "%s/own.%d", arguments[1], rank);
    file = open_file(MPI_COMM_SELF, MPI_INFO_NULL);
    named(file, MPI_CHAR, 7, 1);
    MPI(MPI_File_close(&file));
    oplog_write();
    MPI(MPI_Finalize());
    return 0;
}
