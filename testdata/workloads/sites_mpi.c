/* Writes by MPI-IO from two functions. A line that ends with the comment "at: NAME" makes calls from the function NAME; see sites.c.
 * Provenance: written for this project.
 *
 *     sites_mpi DIR */
#include <mpi.h>
#include <stdio.h>

#define PLACE __attribute__((noinline, noclone))

static char bytes[4096];
static volatile int used;

PLACE static void alone(MPI_File file, int rank) {
    for (int i = 0; i < 30; i++)
        MPI_File_write_at(file, (i * 2 + rank) * 4096, bytes, 4096, MPI_BYTE, MPI_STATUS_IGNORE); /* at: alone */
    used++;
}

PLACE static void together(MPI_File file, int rank) {
    for (int i = 0; i < 5; i++)
        MPI_File_write_at_all(file, (i * 2 + rank) * 4096, bytes, 4096, MPI_BYTE, MPI_STATUS_IGNORE); /* at: together */
    used++;
}

int main(int argc, char **argv) {
    char path[4096];
    int rank;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/file", argv[1]);
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) return 3;
    alone(file, rank);
    together(file, rank);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
