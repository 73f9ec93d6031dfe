! MPI's blocking collective calls from Fortran, through mpif.h (default), the module mpi (-DUSE_MPI) and the module mpi_f08 (-DUSE_F08).
! Compile with oplog_fortran.c. Log: oplog.h, set OPLOG. Provenance: written for this project.
program collectives_fortran
#include "mpi_binding.inc"

    interface
        subroutine log_rank(rank) bind(C)
            import :: c_int
            integer(c_int), value :: rank
        end subroutine
        subroutine log_meeting(name, number) bind(C)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: number
        end subroutine
        subroutine log_write() bind(C)
        end subroutine
    end interface

    integer :: rank, ierr, i, a(8), b(8), counts(8), places(8), bytes(8)
    HANDLE(MPI_Datatype) :: types(8)
    HANDLE(MPI_Comm) :: dup

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call log_rank(int(rank, c_int))
    a = rank
    counts = 1
    types = MPI_INTEGER
    do i = 1, 8
        places(i) = i - 1
        bytes(i) = 4 * (i - 1)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call logged('barrier', 0)
    call MPI_Bcast(a, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call logged('bcast', 0)
    call MPI_Reduce(a, b, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    call logged('reduce', 0)
    call MPI_Allreduce(a, b, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call logged('allreduce', 0)
    call MPI_Gather(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call logged('gather', 0)
    call MPI_Gatherv(a, 1, MPI_INTEGER, b, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call logged('gatherv', 0)
    call MPI_Allgather(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call logged('allgather', 0)
    call MPI_Allgatherv(a, 1, MPI_INTEGER, b, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call logged('allgatherv', 0)
    call MPI_Scatter(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call logged('scatter', 0)
    call MPI_Scatterv(a, counts, places, MPI_INTEGER, b, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call logged('scatterv', 0)
    call MPI_Alltoall(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call logged('alltoall', 0)
    call MPI_Alltoallv(a, counts, places, MPI_INTEGER, b, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call logged('alltoallv', 0)
    call MPI_Alltoallw(a, counts, bytes, types, b, counts, bytes, types, MPI_COMM_WORLD, ierr)
    call logged('alltoallw', 0)
    call MPI_Scan(a, b, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call logged('scan', 0)
    call MPI_Exscan(a, b, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call logged('exscan', 0)
    call MPI_Reduce_scatter(a, b, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call logged('reduce_scatter', 0)
    call MPI_Reduce_scatter_block(a, b, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call logged('reduce_scatter_block', 0)
    a = rank
    call MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
    call logged('allreduce', 0)
    if (a(1) /= 1) stop 3
    ! A duplicate, freed and made anew.
    do i = 1, 2
        call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
        call MPI_Barrier(dup, ierr)
        call logged('barrier', i)
        call MPI_Comm_free(dup, ierr)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call logged('barrier', 0)
    call log_write()
    call MPI_Finalize(ierr)

contains

    subroutine logged(name, number)
        character(len=*), intent(in) :: name
        integer, intent(in) :: number
        if (ierr /= MPI_SUCCESS) stop 2
        call log_meeting(name // c_null_char, int(number, c_int))
    end subroutine
end program
