/* Queries many different existing files, twice.
 * Usage: names DIRECTORY COUNT (absolute, canonical, empty). Log: oplog.h.
 * Provenance: written for this project. */
#define _GNU_SOURCE
#include "oplog.h"
#include <sys/stat.h>

int main(int argc, char **argv) {
    CHECK(argc == 3 && strlen(argv[1]) < 4000);
    int count = atoi(argv[2]);
    char path[4200];
    struct stat about;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < count; i++) {
            snprintf(path, sizeof path, "%s/%06d", argv[1], i);
            CHECK(turn > 0 || raw_call(SYS_mknodat, AT_FDCWD, path, S_IFREG | 0600, 0) == 0);
            CHECK(stat(path, &about) == 0);
            op("POSIX", "stat", "-", -1, 0, path);
        }
    }
    oplog_write();
    return 0;
}
