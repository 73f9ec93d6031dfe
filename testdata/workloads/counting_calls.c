/* A library preloaded behind the tracer, which counts the collective MPI calls that the tracer makes and prints them at MPI_Finalize on
 * standard error: "flush RANK NAME NAME ...". Calls inside the MPI library do not count. Chosen calls fail, or trigger a replacement
 * of the trace by another file:
 *   FAILING=NAME:N      the N-th call of this name fails on rank 1, after having taken part; Op_create and Type_contiguous fail at
 *                       once; FAILING_RANK chooses another rank
 *   TAKEN=NAME:N        before the N-th call of this name, creates files of all names that the tracer could choose for unfinished traces
 *   SWAP=NAME, VICTIM   before the first call of this name, replaces every unfinished trace in DXT_OUTPUT_DIR by a symbolic link
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char seen[4096];

static int rank_of_this(void) {
    const char *rank = getenv("PMI_RANK") != NULL ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    return rank == NULL ? 0 : atoi(rank);
}

static int is_tracer(void *caller) {
    Dl_info object;
    return dladdr(caller, &object) != 0 && strstr(object.dli_fname, "dxt_tracer") != NULL;
}

static void swap(void) {
    const char *directory = getenv("DXT_OUTPUT_DIR"), *victim = getenv("VICTIM");
    DIR *list = opendir(directory);
    for (struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        char from[4096], to[4200];
        snprintf(from, sizeof from, "%s/%s", directory, entry->d_name);
        snprintf(to, sizeof to, "%s.stolen", from);
        if (strstr(entry->d_name, ".partial") != NULL && strstr(entry->d_name, "stolen") == NULL && rename(from, to) == 0 &&
            symlink(victim, from) != 0) {
            perror("symlink");
        }
    }
    if (list != NULL) {
        closedir(list);
    }
}

/* Number of names that the tracer tries. */
static void take_names(void) {
    const char *directory = getenv("DXT_OUTPUT_DIR");
    DIR *list = opendir(directory);
    for (struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        char *end = strstr(entry->d_name, "ranks.");
        for (int i = 1; end != NULL && strstr(entry->d_name, ".partial") != NULL && i <= 1000; i++) {
            char name[4096], number[16] = "";
            snprintf(number, sizeof number, i == 1 ? "" : ".%d", i);
            snprintf(name, sizeof name, "%s/%.*s%s.dxt", directory, (int)(end + 5 - entry->d_name), entry->d_name, number);
            FILE *file = fopen(name, "wx");
            if (file != NULL) {
                fclose(file);
            }
        }
    }
    if (list != NULL) {
        closedir(list);
    }
}

static int failing_rank(void) {
    return getenv("FAILING_RANK") == NULL ? 1 : atoi(getenv("FAILING_RANK"));
}

/* True if this call of the tracer shall fail. */
static int noted(const char *name) {
    static int calls, swapped, of_taken;
    const char *taken = getenv("TAKEN");
    if (taken != NULL && strncmp(taken, name, strlen(name)) == 0 && taken[strlen(name)] == ':' && rank_of_this() == 0 &&
        ++of_taken == atoi(taken + strlen(name) + 1)) {
        take_names();
    }
    const char *failing = getenv("FAILING"), *when = getenv("SWAP");
    strcat(strcat(seen, " "), name);
    if (when != NULL && strcmp(when, name) == 0 && rank_of_this() == 0 && swapped++ == 0) {
        swap();
    }
    size_t length = strlen(name);
    int of_name = failing != NULL && strncmp(failing, name, length) == 0 && failing[length] == ':';
    return of_name && rank_of_this() == failing_rank() && ++calls == atoi(failing + length + 1);
}

typedef intptr_t word;
#define ALL word a, word b, word c, word d, word e, word f, word g, word h, word i, word j

/* Arguments are passed on unchanged at register width, more of them than any of these calls takes. */
#define COUNTED(name, ...)                                                                                          \
    int PMPI_##name(ALL) {                                                                                          \
        static int (*next)(ALL);                                                                                    \
        if (next == NULL) {                                                                                         \
            next = (int (*)(ALL))dlsym(RTLD_NEXT, "PMPI_" #name);                                                   \
        }                                                                                                           \
        int fails = is_tracer(__builtin_return_address(0)) && noted(#name);                                         \
        int result = next(a, b, c, d, e, f, g, h, i, j);                                                            \
        return fails ? 16 : result;                                                                                 \
    }

COUNTED(Barrier) COUNTED(Bcast) COUNTED(Gather) COUNTED(Gatherv) COUNTED(Scatter) COUNTED(Scatterv) COUNTED(Allgather)
COUNTED(Allgatherv) COUNTED(Alltoall) COUNTED(Alltoallv) COUNTED(Reduce) COUNTED(Allreduce) COUNTED(Reduce_scatter)
COUNTED(Reduce_scatter_block) COUNTED(Scan) COUNTED(Exscan) COUNTED(Ibarrier) COUNTED(Ibcast) COUNTED(Ireduce)
COUNTED(Iallreduce) COUNTED(Iexscan) COUNTED(Comm_dup) COUNTED(Comm_idup) COUNTED(Comm_split) COUNTED(Comm_split_type)
COUNTED(Comm_create) COUNTED(Comm_free) COUNTED(File_open) COUNTED(File_close) COUNTED(File_delete) COUNTED(File_set_size)
COUNTED(File_preallocate) COUNTED(File_set_view) COUNTED(File_set_info) COUNTED(File_set_atomicity) COUNTED(File_sync)
COUNTED(File_write_all) COUNTED(File_write_at_all) COUNTED(File_write_ordered) COUNTED(File_read_all)
COUNTED(File_read_at_all) COUNTED(Win_create) COUNTED(Win_fence) COUNTED(Win_free)

#define REFUSED(name)                                                                                               \
    int PMPI_##name(ALL) {                                                                                          \
        int (*next)(ALL) = (int (*)(ALL))dlsym(RTLD_NEXT, "PMPI_" #name);                                           \
        const char *failing = getenv("FAILING");                                                                    \
        int refused = failing != NULL && strcmp(failing, #name ":1") == 0 && rank_of_this() == failing_rank();                 \
        return refused && is_tracer(__builtin_return_address(0)) ? 16 : next(a, b, c, d, e, f, g, h, i, j);         \
    }

REFUSED(Op_create) REFUSED(Type_contiguous)

static int finalize(const char *name) {
    char line[4200];
    int length = snprintf(line, sizeof line, "flush %d%s\n", rank_of_this(), seen);
    if (seen[0] != 0 && write(2, line, length) != length) {
        abort();
    }
    seen[0] = 0;
    int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, name);
    return next();
}

int MPI_Finalize(void) {
    return finalize("MPI_Finalize");
}

int PMPI_Finalize(void) {
    return finalize("PMPI_Finalize");
}
