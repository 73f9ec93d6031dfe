/* A library preloaded behind the tracer that makes an MPI call fail on one rank: the tracer must fall back on all ranks.
 * FAILING names the call: PMPI_Op_create or PMPI_Type_contiguous fail at once on rank 1; PMPI_Reduce fails there after having taken part.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* MPI libraries make these calls internally, too. */
static int fails(const char *call, void *caller) {
    Dl_info object;
    if (dladdr(caller, &object) == 0 || strstr(object.dli_fname, "dxt_tracer") == NULL) {
        return 0;
    }
    const char *rank = getenv("PMI_RANK") != NULL ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    const char *failing = getenv("FAILING");
    return failing != NULL && rank != NULL && strcmp(failing, call) == 0 && strcmp(rank, "1") == 0;
}

/* Handles are passed on unchanged, at register width. */
int PMPI_Op_create(void *function, int commutes, void *op) {
    int (*next)(void *, int, void *) = (int (*)(void *, int, void *))dlsym(RTLD_NEXT, "PMPI_Op_create");
    return fails("PMPI_Op_create", __builtin_return_address(0)) ? 1 : next(function, commutes, op);
}

int PMPI_Type_contiguous(int count, uintptr_t of, void *type) {
    int (*next)(int, uintptr_t, void *) = (int (*)(int, uintptr_t, void *))dlsym(RTLD_NEXT, "PMPI_Type_contiguous");
    /* Types of fixed size are made first; the call for the set's type fails. */
    return fails("PMPI_Type_contiguous", __builtin_return_address(0)) && count != 20 && count != 121 ? 1 : next(count, of, type);
}

int PMPI_Reduce(const void *from, void *to, int count, uintptr_t type, uintptr_t op, int root, uintptr_t comm) {
    int (*next)(const void *, void *, int, uintptr_t, uintptr_t, int, uintptr_t) =
        (int (*)(const void *, void *, int, uintptr_t, uintptr_t, int, uintptr_t))dlsym(RTLD_NEXT, "PMPI_Reduce");
    int result = next(from, to, count, type, op, root, comm);
    return fails("PMPI_Reduce", __builtin_return_address(0)) ? 1 : result;
}
