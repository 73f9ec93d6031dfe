/* Writes columns of an HDF5 data set that is stored by rows. A line that ends with the comment "at: NAME" makes calls from the function
 * NAME; see sites.c.
 * Provenance: written for this project.
 *
 *     sites_hdf5 FILE */
#include <hdf5.h>

#define PLACE __attribute__((noinline, noclone))
#define ROWS 2000
#define COLUMNS 20

static double column[ROWS];
static volatile int used;

PLACE static void columns(hid_t set, hid_t space) {
    hsize_t rows = ROWS;
    hid_t memory = H5Screate_simple(1, &rows, NULL);
    for (hsize_t i = 0; i < COLUMNS; i++) {
        hsize_t start[2] = {0, i}, count[2] = {ROWS, 1};
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        if (H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, column) < 0) used++; /* at: columns */
    }
    H5Sclose(memory);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    hsize_t shape[2] = {ROWS, COLUMNS};
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS), space = H5Screate_simple(2, shape, NULL);
    hid_t set = H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, access);
    columns(set, space);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(access);
    H5Fclose(file);
    return used;
}
