/* Functions shared by the HDF5 test programs: each makes an HDF5 call, checks its result, and logs the call as the trace should have it.
 * Provenance: written for this project.
 *
 *     SELECTED <pid> <operation> <mode> <kind> <elements> <element bytes> <extent, as 8x6> <path of the data set>
 *
 * in addition to the OP line (oplog.h) of each transfer; kind is the type of selection as in the trace format (0 none, 1 all, 2 regular hyperslab,
 * 3 irregular hyperslab, 4 points). */
#ifndef H5LOG_H
#define H5LOG_H

#include "oplog.h"

#include <hdf5.h>

enum kind { NONE, ALL, REGULAR, IRREGULAR, POINTS };

/* An open file or data set, with its name. */
struct object {
    hid_t id;
    const char *file, *path;
};

static inline const char *mode_of(hid_t properties) {
    (void)properties;
#ifdef H5_HAVE_PARALLEL
    H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;
    if (properties != H5P_DEFAULT) {
        CHECK(H5Pget_dxpl_mpio(properties, &mode) >= 0);
    }
    if (mode == H5FD_MPIO_COLLECTIVE) {
        return "collective";
    }
#endif
    return "-";
}

static inline struct object made(hid_t id, const char *file, const char *path, const char *operation) {
    CHECK(id >= 0);
    op("HDF5", operation, "-", -1, 0, file);
    struct object object = {id, file, path};
    return object;
}

static inline struct object create_file(const char *file, hid_t access) {
    return made(H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, access), file, "", "create");
}

static inline struct object open_file(const char *file, hid_t access) {
    return made(H5Fopen(file, H5F_ACC_RDWR, access), file, "", "open");
}

static inline void close_file(struct object object) {
    CHECK(H5Fclose(object.id) >= 0);
    op("HDF5", "close", "-", -1, 0, object.file);
}

static inline void flush_file(struct object object) {
    CHECK(H5Fflush(object.id, H5F_SCOPE_GLOBAL) >= 0);
    op("HDF5", "sync", "-", -1, 0, object.file);
}

static inline struct object create_set(struct object in, const char *path, hid_t type, hid_t space, hid_t properties) {
    hid_t id = H5Dcreate2(in.id, path, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    return made(id, in.file, path, "create_dataset");
}

static inline struct object open_set(struct object in, const char *path) {
    return made(H5Dopen2(in.id, path, H5P_DEFAULT), in.file, path, "open_dataset");
}

static inline void close_set(struct object set) {
    CHECK(H5Dclose(set.id) >= 0);
    op("HDF5", "close_dataset", "-", -1, 0, set.file);
}

/* A transfer of the elements that `space` selects, of the type `type` in memory. */
static inline void transfer(int writes, struct object set, hid_t type, hid_t memory, hid_t space, hid_t properties,
                     void *buffer, enum kind kind) {
    herr_t result = writes ? H5Dwrite(set.id, type, memory, space, properties, buffer)
                           : H5Dread(set.id, type, memory, space, properties, buffer);
    CHECK(result >= 0);
    hid_t whole = H5Dget_space(set.id), stored = H5Dget_type(set.id);
    hsize_t extent[32];
    int rank = H5Sget_simple_extent_dims(whole, extent, NULL);
    long long elements = space == H5S_ALL ? H5Sget_simple_extent_npoints(whole) : H5Sget_select_npoints(space);
    long long size = (long long)H5Tget_size(stored);
    char text[256] = "-";
    for (int i = 0, at = 0; i < rank; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%llu", i ? "x" : "", (unsigned long long)extent[i]);
    }
    const char *name = writes ? "write" : "read", *mode = mode_of(properties);
    op("HDF5", name, mode, -1, elements * size, set.file);
    oplog_line("SELECTED %d %s %s %d %lld %lld %s %s\n", (int)getpid(), name, mode, kind, elements, size, text, set.path);
    H5Sclose(whole);
    H5Tclose(stored);
}

#endif
