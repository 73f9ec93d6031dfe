/* The log of oplog.h for Fortran programs, by C binding. Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"

void log_rank(int rank) { oplog_line("RANK %d %d\n", (int)getpid(), rank); }

void log_op(const char *name, const char *mode, long long offset, long long length, const char *path) {
    op("MPIIO", name, mode, offset, length, path);
}

void log_write(void) { oplog_write(); }

void log_meeting(const char *name, int number) { op("MPI", name, "-", number, 0, "<MPI>"); }
