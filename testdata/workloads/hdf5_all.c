/* HDF5 without MPI: every wrapped function of 1.10, every kind of selection, and objects that the tracer must leave alone.
 * Usage: hdf5_all DIRECTORY. Provenance: written for this project. */
#include "h5log.h"

static char path[4200], other[4200];

/* Number of open identifiers of the kind of `last`, up to it; closes `last`. */
static long long open_up_to(hid_t last) {
    hid_t numbers = ((hid_t)1 << 56) - 1;
    long long sum = 0;
    CHECK(last >= 0);
    for (hid_t id = last & ~numbers; id <= last; id++) {
        sum += H5Iis_valid(id) > 0;
    }
    CHECK(H5Idec_ref(last) == 0);
    return sum;
}

/* Open data spaces, datatypes and property lists: only the program may have any. */
static long long open_identifiers(void) {
    return open_up_to(H5Screate(H5S_SCALAR)) + open_up_to(H5Tcopy(H5T_NATIVE_INT)) +
           open_up_to(H5Pcreate(H5P_DATASET_XFER));
}

/* Every kind of selection, written and read; the data set has 8 x 6 elements. */
static void selections(struct object set) {
    int data[48], back[48];
    for (int i = 0; i < 48; i++) {
        data[i] = i * 7;
    }
    hid_t type = H5T_NATIVE_INT, row;
    for (int writes = 1; writes >= 0; writes--) {
        int *buffer = writes ? data : back;
        transfer(writes, set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer, ALL);
        hid_t space = H5Dget_space(set.id);
        transfer(writes, set, type, H5S_ALL, space, H5P_DEFAULT, buffer, ALL);
        hsize_t start[2] = {1, 0}, stride[2] = {3, 2}, count[2] = {2, 3}, block[2] = {2, 1};
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block) >= 0);
        hsize_t twelve = 12;
        row = H5Screate_simple(1, &twelve, NULL);
        transfer(writes, set, type, row, space, H5P_DEFAULT, buffer, REGULAR);
        H5Sclose(row);
        hsize_t first[2] = {0, 0}, one[2] = {2, 2}, second[2] = {5, 3}, two[2] = {3, 1};
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, one, NULL) >= 0);
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_OR, second, NULL, two, NULL) >= 0);
        hsize_t seven = 7;
        row = H5Screate_simple(1, &seven, NULL);
        transfer(writes, set, type, row, space, H5P_DEFAULT, buffer, IRREGULAR);
        hsize_t points[7][2] = {{0, 5}, {7, 0}, {3, 3}, {3, 4}, {6, 1}, {1, 1}, {2, 5}};
        CHECK(H5Sselect_elements(space, H5S_SELECT_SET, 7, &points[0][0]) >= 0);
        transfer(writes, set, type, row, space, H5P_DEFAULT, buffer, POINTS);
        CHECK(H5Sselect_none(space) >= 0 && H5Sselect_none(row) >= 0);
        transfer(writes, set, type, row, space, H5P_DEFAULT, buffer, NONE);
        H5Sclose(row);
        CHECK(H5Sselect_all(space) >= 0);
        transfer(writes, set, type, H5S_ALL, space, H5P_DEFAULT, buffer, ALL);
        H5Sclose(space);
    }
    CHECK(memcmp(data, back, sizeof data) == 0);
}

/* A chunked, compressed data set that grows. */
static void growing(struct object file) {
    hsize_t extent[2] = {4, 8}, most[2] = {H5S_UNLIMITED, 8}, chunk[2] = {2, 8}, later[2] = {64, 8};
    hid_t space = H5Screate_simple(2, extent, most), properties = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(properties, 2, chunk) >= 0);
    if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
        CHECK(H5Pset_deflate(properties, 4) >= 0);
    }
    struct object set = create_set(file, "/grows", H5T_NATIVE_SHORT, space, properties);
    static short data[64 * 8];
    memset(data, 3, sizeof data);
    transfer(1, set, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data, ALL);
    CHECK(H5Dset_extent(set.id, later) >= 0);
    hid_t grown = H5Dget_space(set.id);
    hsize_t start[2] = {60, 0}, count[2] = {4, 8};
    CHECK(H5Sselect_hyperslab(grown, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    hid_t memory = H5Screate_simple(2, count, NULL);
    transfer(1, set, H5T_NATIVE_SHORT, memory, grown, H5P_DEFAULT, data, REGULAR);
    transfer(0, set, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data, ALL);
    H5Sclose(memory);
    H5Sclose(grown);
    H5Sclose(space);
    H5Pclose(properties);
    close_set(set);
}

/* Other ways to create and open a data set. */
static void other_ways(struct object file) {
    double value = 2.5;
    hid_t scalar = H5Screate(H5S_SCALAR), group = H5Gcreate2(file.id, "/group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(group >= 0);
    struct object in = {group, file.file, ""};
    struct object set = create_set(in, "inner", H5T_IEEE_F32LE, scalar, H5P_DEFAULT);
    set.path = "/group/inner";
    /* Eight bytes in memory, four in the file. */
    transfer(1, set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value, ALL);
    /* By any object of the file. */
    CHECK(H5Fflush(set.id, H5F_SCOPE_LOCAL) >= 0);
    op("HDF5", "sync", "-", -1, 0, file.file);
    CHECK(H5Fflush(group, H5F_SCOPE_LOCAL) >= 0);
    op("HDF5", "sync", "-", -1, 0, file.file);
    close_set(set);
    set = made(H5Dcreate1(file.id, "/old", H5T_NATIVE_DOUBLE, scalar, H5P_DEFAULT), file.file, "/old", "create_dataset");
    close_set(set);
    set = made(H5Dopen1(file.id, "/old"), file.file, "/old", "open_dataset");
    transfer(0, set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value, ALL);
    close_set(set);
    set = made(H5Oopen(file.id, "group/inner", H5P_DEFAULT), file.file, "/group/inner", "open_dataset");
    transfer(0, set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value, ALL);
    CHECK(H5Oclose(set.id) >= 0);
    op("HDF5", "close_dataset", "-", -1, 0, file.file);
    /* A group is no data set. */
    hid_t again = H5Oopen(file.id, "group", H5P_DEFAULT);
    CHECK(again >= 0 && H5Oclose(again) >= 0);
    /* An anonymous data set, which is linked later. */
    set = made(H5Dcreate_anon(file.id, H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT), file.file, "/late",
               "create_dataset");
    CHECK(H5Olink(set.id, file.id, "/late", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    transfer(1, set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value, ALL);
    close_set(set);
    /* Elements of a compound type, and of variable length. */
    hid_t compound = H5Tcreate(H5T_COMPOUND, 40), text = H5Tcopy(H5T_C_S1);
    CHECK(H5Tinsert(compound, "a", 0, H5T_NATIVE_INT) >= 0 && H5Tinsert(compound, "b", 8, H5T_NATIVE_DOUBLE) >= 0);
    set = create_set(file, "/compound", compound, scalar, H5P_DEFAULT);
    char record[40] = {0};
    transfer(1, set, compound, H5S_ALL, H5S_ALL, H5P_DEFAULT, record, ALL);
    close_set(set);
    CHECK(H5Tset_size(text, H5T_VARIABLE) >= 0);
    set = create_set(file, "/text", text, scalar, H5P_DEFAULT);
    const char *words = "any length";
    transfer(1, set, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, &words, ALL);
    close_set(set);
    H5Tclose(text);
    H5Tclose(compound);
    H5Gclose(group);
    H5Sclose(scalar);
}

static herr_t counted(hid_t stack, void *count) {
    (void)stack;
    ++*(int *)count;
    return 0;
}

/* Failing calls leave the error stack and the handler unchanged, and are not recorded. */
static void failures(struct object file) {
    int called = 0;
    void *data = NULL;
    H5E_auto2_t handler = NULL, found = NULL;
    void *old = NULL;
    CHECK(H5Eget_auto2(H5E_DEFAULT, &handler, &old) >= 0);
    CHECK(H5Eset_auto2(H5E_DEFAULT, counted, &called) >= 0);
    CHECK(H5Dopen2(file.id, "/nowhere", H5P_DEFAULT) < 0);
    CHECK(called == 1 && H5Eget_num(H5E_DEFAULT) > 0);
    CHECK(H5Dread(file.id, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &called) < 0);
    CHECK(H5Fopen("/nowhere/at/all.h5", H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
    CHECK(H5Dclose(file.id) < 0);
    CHECK(called == 4 && H5Eget_num(H5E_DEFAULT) > 0);
    CHECK(H5Eget_auto2(H5E_DEFAULT, &found, &data) >= 0 && found == counted && data == &called);
    CHECK(H5Eset_auto2(H5E_DEFAULT, handler, old) >= 0);
    errno = 77;
    hid_t whole = H5Dopen2(file.id, "/set", H5P_DEFAULT);
    CHECK(whole >= 0 && H5Eget_num(H5E_DEFAULT) == 0);
    op("HDF5", "open_dataset", "-", -1, 0, file.file);
    struct object set = {whole, file.file, "/set"};
    close_set(set);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    snprintf(path, sizeof path, "%s/all.h5", arguments[1]);
    snprintf(other, sizeof other, "%s/other.h5", arguments[1]);
    for (int round = 0; round < 2; round++) {
        struct object file = create_file(path, H5P_DEFAULT);
        hsize_t extent[2] = {8, 6};
        hid_t space = H5Screate_simple(2, extent, NULL);
        long long before = open_identifiers();
        struct object set = create_set(file, "/set", H5T_NATIVE_INT, space, H5P_DEFAULT);
        selections(set);
        close_set(set);
        growing(file);
        other_ways(file);
        flush_file(file);
        failures(file);
        CHECK(open_identifiers() == before);
        close_file(file);
        /* The same path inside two files is two data sets. */
        struct object files[2] = {open_file(path, H5P_DEFAULT), create_file(other, H5P_DEFAULT)};
        struct object sets[2] = {open_set(files[0], "/set"),
                                 create_set(files[1], "/set", H5T_NATIVE_CHAR, space, H5P_DEFAULT)};
        static int data[48];
        for (int i = 0; i < 10; i++) {
            transfer(0, sets[0], H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data, ALL);
            transfer(1, sets[1], H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data, ALL);
        }
        close_set(sets[1]);
        close_set(sets[0]);
        H5Sclose(space);
        close_file(files[1]);
        close_file(files[0]);
        /* After this, HDF5 reuses the same identifiers. */
        CHECK(H5close() >= 0);
    }
    oplog_write();
    return 0;
}
