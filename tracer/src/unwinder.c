/* _dl_find_object(3), which the unwinder in libgcc_eh asks for (build.rs), looked up when a panic needs it: the library itself then also
 * loads on glibc before 2.35, where the backtrace of a panic is empty. Panics abort, so that nothing else unwinds. */
#include <stddef.h>

void *dlsym(void *, const char *); /* Without the header, which declares _dl_find_object in another way, or not at all. */

__attribute__((visibility("hidden"))) int _dl_find_object(void *address, void *found);

int _dl_find_object(void *address, void *found) {
    void *const next = (void *)-1; /* RTLD_NEXT */
    int (*of_system)(void *, void *) = NULL;
    *(void **)&of_system = dlsym(next, "_dl_find_object");
    return of_system == NULL ? -1 : of_system(address, found);
}
