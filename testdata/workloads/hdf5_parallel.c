/* HDF5 on MPI-IO: every rank writes and reads its part of shared data sets, collectively and independently, with every kind
 * of selection. Usage: mpirun hdf5_parallel DIRECTORY. Provenance: written for this project. */
#include "h5log.h"

#include <mpi.h>

enum { ROWS = 6, COLUMNS = 10 };

int main(int count, char **arguments) {
    CHECK(count == 2 && MPI_Init(&count, &arguments) == MPI_SUCCESS);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    char path[4200];
    snprintf(path, sizeof path, "%s/parallel.h5", arguments[1]);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), collective = H5Pcreate(H5P_DATASET_XFER), single;
    single = H5Pcreate(H5P_DATASET_XFER);
    CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
    CHECK(H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE) >= 0);
    CHECK(H5Pset_dxpl_mpio(single, H5FD_MPIO_INDEPENDENT) >= 0);
    struct object file = create_file(path, access);
    hsize_t extent[2] = {(hsize_t)ranks * ROWS, COLUMNS}, mine[2] = {ROWS, COLUMNS}, two = 2, all = 4;
    hid_t space = H5Screate_simple(2, extent, NULL), memory = H5Screate_simple(2, mine, NULL);
    struct object sets[2] = {create_set(file, "/one", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT),
                             create_set(file, "/two", H5T_NATIVE_INT, space, H5P_DEFAULT)};
    static double data[ROWS * COLUMNS], back[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        data[i] = rank * 1000 + i;
    }
    hsize_t start[2] = {(hsize_t)rank * ROWS, 0}, other[2] = {(hsize_t)rank * ROWS + 3, 5}, one[2] = {1, 2};
    hsize_t points[2][2] = {{(hsize_t)rank * ROWS, 1}, {(hsize_t)rank * ROWS + 2, 7}};
    hid_t few = H5Screate_simple(1, &two, NULL), four = H5Screate_simple(1, &all, NULL);
    hid_t properties[3] = {collective, single, H5P_DEFAULT};
    for (int i = 0; i < 3; i++) {
        for (int set = 0; set < 2; set++) {
            CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, mine, NULL) >= 0);
            transfer(1, sets[set], H5T_NATIVE_DOUBLE, memory, space, properties[i], data, REGULAR);
        }
        transfer(0, sets[0], H5T_NATIVE_DOUBLE, memory, space, properties[i], back, REGULAR);
        CHECK(memcmp(data, back, sizeof data) == 0);
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL) >= 0);
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_OR, other, NULL, one, NULL) >= 0);
        transfer(1, sets[1], H5T_NATIVE_DOUBLE, four, space, properties[i], data, IRREGULAR);
        CHECK(H5Sselect_elements(space, H5S_SELECT_SET, 2, &points[0][0]) >= 0);
        transfer(0, sets[1], H5T_NATIVE_DOUBLE, few, space, properties[i], back, POINTS);
        /* The last rank selects nothing here. */
        hid_t part = H5Scopy(memory);
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, mine, NULL) >= 0);
        if (rank + 1 == ranks) {
            CHECK(H5Sselect_none(space) >= 0 && H5Sselect_none(part) >= 0);
        }
        transfer(1, sets[0], H5T_NATIVE_DOUBLE, part, space, properties[i], data, rank + 1 == ranks ? NONE : REGULAR);
        H5Sclose(part);
    }
    static double whole[64 * ROWS * COLUMNS];
    CHECK(ranks <= 64);
    transfer(0, sets[0], H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, collective, whole, ALL);
    flush_file(file);
    for (int i = 0; i < 2; i++) {
        close_set(sets[i]);
    }
    close_file(file);
    hid_t ids[] = {few, four, space, memory};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        H5Sclose(ids[i]);
    }
    H5Pclose(access);
    H5Pclose(collective);
    H5Pclose(single);
    oplog_write();
    MPI_Finalize();
    return 0;
}
