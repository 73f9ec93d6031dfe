/* The log of oplog.h for Fortran programs, by C binding. Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"

void log_rank(int rank) { oplog_line("RANK %d %d\n", (int)getpid(), rank); }

void log_op(const char *name, const char *mode, long long offset, long long length, const char *path) {
    op("MPIIO", name, mode, offset, length, path);
}

void log_write(void) { oplog_write(); }

void log_meeting(const char *name, int number) { op("MPI", name, "-", number, 0, "<MPI>"); }

/* As in mpiio_views.c: a view whose bytes are regular, and the file offsets of its first etypes. */
void log_view(long long etype_bytes, long long displacement, long long size, long long extent, const long long *bytes, int count) {
    static char line[8192];
    int at = snprintf(line, sizeof line, "VIEW %d 1 %lld %lld %lld %lld", (int)getpid(), etype_bytes, displacement, size, extent);
    for (int i = 0; i < count; i++) {
        at += snprintf(line + at, sizeof line - (size_t)at, " %lld", bytes[i]);
    }
    oplog_line("%s\n", line);
}
