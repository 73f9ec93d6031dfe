/* Two builds of HDF5 in one process: a program linked with one (-DMAIN) loads a plugin that is linked with another, and
 * both work on their own files alternately.
 * Usage: hdf5_copies DIRECTORY PLUGIN local|global. Provenance: written for this project. */
#include "h5log.h"

#include <dlfcn.h>

/* Creates a file with a data set filled with `value`, in two steps. */
struct work {
    struct object file, set;
    hid_t space;
};

void begin(struct work *work, const char *path, int *value);
void end(struct work *work, int *value);
typedef void beginning(struct work *, const char *, int *);
typedef void ending(struct work *, int *);

void begin(struct work *work, const char *path, int *value) {
    hsize_t ten = 10;
#ifndef MAIN
    /* Uses up identifiers, so that the plugin's differ from the program's. */
    for (int i = 0; i < 100; i++) {
        CHECK(H5Sclose(H5Screate_simple(1, &ten, NULL)) >= 0);
    }
#endif
    work->space = H5Screate_simple(1, &ten, NULL);
    work->file.file = path;
    work->file.id = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(work->space >= 0 && work->file.id >= 0);
    work->set.id = H5Dcreate2(work->file.id, "/x", H5T_NATIVE_INT, work->space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(work->set.id >= 0);
    CHECK(H5Dwrite(work->set.id, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
}

void end(struct work *work, int *value) {
    int back[10];
    CHECK(H5Dread(work->set.id, H5T_NATIVE_INT, H5S_ALL, work->space, H5P_DEFAULT, back) >= 0);
    CHECK(memcmp(back, value, sizeof back) == 0);
    CHECK(H5Dclose(work->set.id) >= 0 && H5Sclose(work->space) >= 0 && H5Fclose(work->file.id) >= 0);
}

#ifdef MAIN
int main(int count, char **arguments) {
    CHECK(count == 4);
    char paths[2][4200];
    int data[2][10] = {{1, 2, 3}, {4, 5, 6}};
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/copy%d.h5", arguments[1], i);
    }
    for (int round = 0; round < 3; round++) {
        struct work works[2];
        begin(&works[0], paths[0], data[0]);
        int how = RTLD_NOW | (strcmp(arguments[3], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
        void *plugin = dlopen(arguments[2], how);
        if (plugin == NULL) {
            fprintf(stderr, "%s\n", dlerror());
        }
        CHECK(plugin != NULL);
        beginning *other_begin = (beginning *)dlsym(plugin, "begin");
        ending *other_end = (ending *)dlsym(plugin, "end");
        CHECK(other_begin != NULL && other_begin != begin);
        other_begin(&works[1], paths[1], data[1]);
        other_end(&works[1], data[1]);
        end(&works[0], data[0]);
        dlclose(plugin);
        for (int i = 0; i < 2; i++) {
            const char *names[] = {"create", "create_dataset", "write", "read", "close_dataset", "close"};
            for (int at = 0; at < 6; at++) {
                op("HDF5", names[at], "-", -1, at == 2 || at == 3 ? 40 : 0, paths[i]);
            }
        }
    }
    oplog_write();
    return 0;
}
#endif
