/* Ranks that fork. Usage: children_mpi DIRECTORY CALLS CHILDREN: each rank forks CHILDREN children after MPI_Init; rank and
 * children each make CALLS writes of 4 bytes at random offsets of a file of their own. Exit code 5.
 * Provenance: written for this project. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int writes(const char *directory, int rank, int child, long calls) {
    char path[4200];
    snprintf(path, sizeof path, "%s/out.%d.%d", directory, rank, child);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    for (long i = 0; i < calls; i++)
        if (pwrite(fd, "abcd", 4, i * 2654435761L % 1000000) != 4)
            return 9;
    return close(fd) == 0 ? 5 : 9;
}

int main(int argc, char **argv) {
    int rank, status, code;
    if (argc != 4 || MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 9;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long calls = atol(argv[2]);
    int children = atoi(argv[3]);
    for (int child = 1; child <= children; child++)
        if (fork() == 0)
            exit(writes(argv[1], rank, child, calls));
    code = writes(argv[1], rank, 0, calls);
    for (int child = 1; child <= children; child++)
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 5)
            code = 9;
    MPI_Finalize();
    return code;
}
