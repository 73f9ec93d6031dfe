/* MPI-IO with hints, and with datatypes of every kind for views and memory.
 * Usage: mpirun mpiio_details DIRECTORY. Provenance: written for this project.
 *
 *     HINT <pid> <0 asked for, 1 in effect> <path> <key> <value>
 *     DATATYPE <pid> <role> <combiner> <path>
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

static void used(const char *role, const char *combiner) {
    oplog_line("DATATYPE %d %s %s %s\n", (int)getpid(), role, combiner, path);
}

static MPI_File open_file(MPI_Comm comm, MPI_Info asked) {
    MPI_File file;
    MPI_Info info;
    int own;
    MPI(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, asked, &file));
    MPI(MPI_Comm_rank(comm, &own));
    /* Hints are those of all processes that open the file together: one of them tells. */
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

/* Views through `type`, then back to bytes. */
static void view(MPI_File file, MPI_Datatype type, const char *combiner) {
    MPI(MPI_Type_commit(&type));
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
    used("etype", "named");
    used("filetype", combiner);
    MPI(MPI_File_write_all(file, data, 16, MPI_BYTE, MPI_STATUS_IGNORE));
    used("write_buffer", "named");
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    used("etype", "named");
    used("filetype", "named");
    MPI(MPI_Type_free(&type));
}

/* Writes from and reads into memory that `type` describes, of at most BYTES. */
static void buffer(MPI_File file, MPI_Datatype type, const char *combiner) {
    MPI(MPI_Type_commit(&type));
    MPI_Request request;
    MPI(MPI_File_write_at(file, rank * BYTES, data, 1, type, MPI_STATUS_IGNORE));
    MPI(MPI_File_write_at_all(file, rank * BYTES, data, 1, type, MPI_STATUS_IGNORE));
    MPI(MPI_File_iwrite_at(file, rank * BYTES, data, 1, type, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPI_File_read_at(file, rank * BYTES, data, 1, type, MPI_STATUS_IGNORE));
    MPI(MPI_File_read_at_all_begin(file, rank * BYTES, data, 1, type));
    for (int i = 0; i < 3; i++) {
        used("write_buffer", combiner);
    }
    used("read_buffer", combiner);
    /* Freed while it is in use, as the standard allows. */
    MPI(MPI_Type_free(&type));
    MPI(MPI_File_read_at_all_end(file, data, MPI_STATUS_IGNORE));
    used("read_buffer", combiner);
}

static void named(MPI_File file, MPI_Datatype type, int count) {
    MPI(MPI_File_write_at(file, rank * BYTES, data, count, type, MPI_STATUS_IGNORE));
    used("write_buffer", "named");
    MPI(MPI_File_read_at(file, rank * BYTES, data, count, type, MPI_STATUS_IGNORE));
    used("read_buffer", "named");
}

/* One of each kind that describes memory within BYTES. */
static MPI_Datatype made(const char *combiner) {
    MPI_Datatype type, part;
    int lengths[2] = {1, 2}, places[2] = {0, 4}, sizes[2] = {8, 8}, parts[2] = {4, 4}, starts[2] = {2, 2};
    MPI_Aint bytes[2] = {0, 64};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    int distributions[1] = {MPI_DISTRIBUTE_BLOCK}, arguments[1] = {MPI_DISTRIBUTE_DFLT_DARG}, processes[1] = {2}, all[1] = {32};
    if (strcmp(combiner, "dup") == 0) {
        MPI(MPI_Type_dup(MPI_INT, &type));
    } else if (strcmp(combiner, "contiguous") == 0) {
        MPI(MPI_Type_contiguous(8, MPI_INT, &type));
    } else if (strcmp(combiner, "vector") == 0) {
        MPI(MPI_Type_vector(3, 2, 5, MPI_INT, &type));
    } else if (strcmp(combiner, "hvector") == 0) {
        MPI(MPI_Type_create_hvector(3, 2, 40, MPI_INT, &type));
    } else if (strcmp(combiner, "indexed") == 0) {
        MPI(MPI_Type_indexed(2, lengths, places, MPI_INT, &type));
    } else if (strcmp(combiner, "hindexed") == 0) {
        MPI(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type));
    } else if (strcmp(combiner, "indexed_block") == 0) {
        MPI(MPI_Type_create_indexed_block(2, 2, places, MPI_INT, &type));
    } else if (strcmp(combiner, "hindexed_block") == 0) {
        MPI(MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &type));
    } else if (strcmp(combiner, "struct") == 0) {
        MPI(MPI_Type_create_struct(2, lengths, bytes, types, &type));
    } else if (strcmp(combiner, "subarray") == 0) {
        MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &type));
    } else if (strcmp(combiner, "darray") == 0) {
        MPI(MPI_Type_create_darray(2, rank % 2, 1, all, distributions, arguments, processes, MPI_ORDER_C, MPI_BYTE, &type));
    } else {
        CHECK(strcmp(combiner, "resized") == 0);
        MPI(MPI_Type_contiguous(4, MPI_BYTE, &part));
        MPI(MPI_Type_create_resized(part, 0, 64, &type));
        MPI(MPI_Type_free(&part));
    }
    return type;
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
        buffer(file, made(kinds[i]), kinds[i]);
    }
    named(file, MPI_BYTE, 100);
    named(file, MPI_DOUBLE, 10);
#ifndef MPICH_VERSION
    /* Of which ROMIO in MPICH 4.0 dies. */
    named(file, MPI_DOUBLE_INT, 3);
#endif
    named(file, MPI_2INT, 3);
    view(file, made("subarray"), "subarray");
    view(file, made("darray"), "darray");
    view(file, made("vector"), "vector");
    MPI(MPI_File_close(&file));
    /* Once more without hints, and one for each process. */
    file = open_file(MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI(MPI_File_close(&file));
    snprintf(path, sizeof path, "%s/own.%d", arguments[1], rank);
    file = open_file(MPI_COMM_SELF, MPI_INFO_NULL);
    named(file, MPI_CHAR, 7);
    MPI(MPI_File_close(&file));
    oplog_write();
    MPI(MPI_Finalize());
    return 0;
}
