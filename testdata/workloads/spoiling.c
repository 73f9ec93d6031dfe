/* A library preloaded behind the tracer that simulates an MPI which writes wrong data. It changes only the unfinished trace of
 * all ranks, <name>ranks.<random>.dxt.partial in DXT_OUTPUT_DIR.
 *   SPOIL=zero|noise|cut|empty|longer   rank 1 spoils the whole file in this way after its MPI_File_close
 *   SPOIL=nothing                       MPI_File_write_at_all succeeds on all ranks and writes nothing
 *   SIEVE_US=N                          after each read from the file, waits N microseconds
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank_of_this(void) {
    const char *rank = getenv("PMI_RANK") != NULL ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    return rank == NULL ? 0 : atoi(rank);
}

static int is_the_trace(const char *name) {
    return strstr(name, "ranks.") != NULL && strstr(name, ".dxt.partial") != NULL;
}

/* The file, or -1 if there is none. */
static int opened(void) {
    const char *directory = getenv("DXT_OUTPUT_DIR");
    DIR *list = opendir(directory);
    int file = -1;
    for (struct dirent *entry; list != NULL && file < 0 && (entry = readdir(list)) != NULL;) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (is_the_trace(entry->d_name) && strstr(entry->d_name, ".lock") == NULL) {
            file = open(path, O_RDWR);
        }
    }
    if (list != NULL) {
        closedir(list);
    }
    return file;
}

static void fill(int file, long length, int noise) {
    for (long at = 0; at < length; at++) {
        unsigned char byte = noise ? (unsigned char)(at * 2654435761u >> 13) : 0;
        if (pwrite(file, &byte, 1, at) != 1) {
            abort();
        }
    }
}

static void spoil(const char *how) {
    struct stat about;
    int file = opened();
    if (file < 0 || fstat(file, &about) != 0) {
        return;
    }
    long length = about.st_size;
    int failed = 0;
    if (strcmp(how, "cut") == 0) {
        failed = ftruncate(file, length / 2);
    } else if (strcmp(how, "empty") == 0) {
        failed = ftruncate(file, 0);
    } else if (strcmp(how, "longer") == 0) {
        failed = ftruncate(file, length + 1000000);
    } else {
        fill(file, length, strcmp(how, "noise") == 0);
    }
    if (failed) {
        abort();
    }
    close(file);
}

typedef intptr_t word;
#define ALL word a, word b, word c, word d, word e, word f

int PMPI_File_close(ALL) {
    int (*next)(ALL) = (int (*)(ALL))dlsym(RTLD_NEXT, "PMPI_File_close");
    const char *how = getenv("SPOIL");
    int result = next(a, b, c, d, e, f);
    if (how != NULL && strcmp(how, "nothing") != 0 && rank_of_this() == 1) {
        spoil(how);
    }
    return result;
}

int PMPI_File_write_at_all(ALL) {
    int (*next)(ALL) = (int (*)(ALL))dlsym(RTLD_NEXT, "PMPI_File_write_at_all");
    const char *how = getenv("SPOIL");
    int file = how != NULL && strcmp(how, "nothing") == 0 ? opened() : -1;
    if (file < 0) {
        return next(a, b, c, d, e, f);
    }
    close(file);
    return 0;
}

static void wait_if_trace(int file) {
    const char *wait = getenv("SIEVE_US");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = wait == NULL ? -1 : readlink(link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        if (is_the_trace(path)) {
            usleep(atoi(wait));
        }
    }
}

#define READS(name, offset)                                                                                         \
    ssize_t name(int file, void *bytes, size_t length, offset at) {                                                 \
        ssize_t (*next)(int, void *, size_t, offset) = (ssize_t (*)(int, void *, size_t, offset))dlsym(RTLD_NEXT, #name); \
        ssize_t result = next(file, bytes, length, at);                                                             \
        wait_if_trace(file);                                                                                        \
        return result;                                                                                              \
    }

READS(pread, off_t)
READS(pread64, off64_t)

ssize_t read(int file, void *bytes, size_t length) {
    static ssize_t (*next)(int, void *, size_t);
    if (next == NULL) {
        next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    }
    ssize_t result = next(file, bytes, length);
    wait_if_trace(file);
    return result;
}
