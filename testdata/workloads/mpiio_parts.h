/* Functions shared by those MPI-IO test programs that run one of several parts, as `PROGRAM DIRECTORY PART`: offsets of blocks that belong
 * to this rank alone, and the main function, which exits with 77 if the MPI library lacks functions that the part needs.
 * Provenance: written for this project. */
#ifndef MPIIO_PARTS_H
#define MPIIO_PARTS_H

#include "mpiio.h"

enum { BLOCK = 1000, NOT_THERE = 77 };

/* A part of a program. */
struct part {
    const char *name;
    void (*run)(void); /* NULL if the MPI library lacks functions that the part needs. */
};

/* Offset of this rank's i-th block. */
static inline long long place(int i) { return ((long long)i * ranks + rank) * BLOCK; }

static inline MPI_File created(const char *file) {
    return opened(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
}

static inline int run_part(int argc, char **argv, const struct part *parts) {
    CHECK(argc == 3 && strlen(argv[1]) < sizeof dir);
    strcpy(dir, argv[1]);
    const struct part *part = parts;
    while (part->name != NULL && strcmp(part->name, argv[2]) != 0) {
        part++;
    }
    CHECK(part->name != NULL);
    MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    oplog_line("RANK %d %d\n", (int)getpid(), rank);
    if (part->run != NULL) {
        part->run();
    }
    oplog_write();
    MPI(MPI_Finalize());
    return part->run != NULL ? 0 : NOT_THERE;
}

#endif
