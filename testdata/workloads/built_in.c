/* A program with statically linked libraries: with -DHDF5 HDF5 itself, else functions with the names of an MPI library and of parallel netCDF.
 * Writes the named file. Provenance: written for this project. */
#include <stdio.h>

#ifdef HDF5
#include <hdf5.h>
int main(int argc, char **argv) {
    hid_t file = argc == 2 ? H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) : -1;
    return file < 0 || H5Fclose(file) < 0;
}
#else
int MPI_Init(int *argc, char ***argv) { return argc == NULL || argv == NULL; }
int ncmpi_open(const char *path) { return path == NULL; }

int main(int argc, char **argv) {
    FILE *file = argc == 2 && MPI_Init(&argc, &argv) == 0 && ncmpi_open(argv[1]) == 0 ? fopen(argv[1], "w") : NULL;
    return file == NULL || fputs("data", file) < 0 || fclose(file) != 0;
}
#endif
