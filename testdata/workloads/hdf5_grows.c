/* A data set whose size changes between opens, then new files, then SIGKILL.
 * Usage: hdf5_grows DIRECTORY OPENS. Kills itself.
 * Provenance: written for this project. */
#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)

int main(int argc, char **argv) {
    char path[4200];
    CHECK(argc == 3);
    snprintf(path, sizeof path, "%s/grows.h5", argv[1]);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    CHECK(H5Pset_fapl_core(access, 1 << 20, 0) >= 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hsize_t size = 1, most = H5S_UNLIMITED, chunk = 1024;
    hid_t space = H5Screate_simple(1, &size, &most), made = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(file >= 0 && H5Pset_chunk(made, 1, &chunk) >= 0);
    hid_t set = H5Dcreate2(file, "grows", H5T_NATIVE_INT, space, H5P_DEFAULT, made, H5P_DEFAULT);
    CHECK(set >= 0 && H5Dclose(set) >= 0);
    for (int i = 0; i < atoi(argv[2]); i++) {
        set = H5Dopen2(file, "grows", H5P_DEFAULT);
        size = 2 + (hsize_t)(i & 511);
        CHECK(set >= 0 && H5Dset_extent(set, &size) >= 0 && H5Dclose(set) >= 0);
    }
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "%s/after%d", argv[1], i);
        int fd = open(path, O_CREAT | O_WRONLY, 0644);
        CHECK(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
    }
    raise(SIGKILL);
    return 0;
}
