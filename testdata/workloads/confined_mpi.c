/* MPI ranks of which some confine themselves by a seccomp filter that allows everything: their I/O still works.
 * Usage: confined_mpi DIRECTORY MODULUS: ranks that are multiples of MODULUS confine themselves. Each rank writes 300 times 8
 * bytes to DIRECTORY/before.<rank>, and, behind the filter, as often to DIRECTORY/after.<rank>.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <sys/prctl.h>

static int file(const char *dir, const char *name, int rank) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s.%d", dir, name, rank);
    int number = open(path, O_WRONLY | O_CREAT, 0666);
    CHECK(number >= 0);
    return number;
}

static void writes(int number) {
    for (int i = 0; i < 300; i++) {
        CHECK(write(number, "eight by", 8) == 8);
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    int rank;
    CHECK(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int before = file(argv[1], "before", rank), after = file(argv[1], "after", rank);
    writes(before);
    if (rank % atoi(argv[2]) == 0) {
        struct sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        struct sock_fprog program = {1, filter};
        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    }
    writes(after);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
