/* Variadic functions: each converts its arguments to a va_list and calls this library's function that takes one. The symbols that
 * programs call are defined in variadic.rs, which jumps here. */
#include <stdarg.h>
#include <stddef.h>

typedef void stream; /* FILE, without the header's own inline definitions. */

/* Declares a function of this library. If the library is linked into a program, the symbol has the prefix __wrap_ (real/linked.rs). */
#ifdef DXT_STATIC
#define OURS(name, parameters) int name parameters __asm__("__wrap_" #name);
#else
#define OURS(name, parameters) int name parameters;
#endif

OURS(vfprintf, (stream *, const char *, va_list))
OURS(vprintf, (const char *, va_list))
OURS(vdprintf, (int, const char *, va_list))
OURS(vfscanf, (stream *, const char *, va_list))
OURS(vscanf, (const char *, va_list))
OURS(__isoc99_vfscanf, (stream *, const char *, va_list))
OURS(__isoc99_vscanf, (const char *, va_list))
OURS(__isoc23_vfscanf, (stream *, const char *, va_list))
OURS(__isoc23_vscanf, (const char *, va_list))
OURS(__vfprintf_chk, (stream *, int, const char *, va_list))
OURS(__vprintf_chk, (int, const char *, va_list))
OURS(__vdprintf_chk, (int, int, const char *, va_list))

OURS(vfwprintf, (stream *, const wchar_t *, va_list))
OURS(vwprintf, (const wchar_t *, va_list))
OURS(vfwscanf, (stream *, const wchar_t *, va_list))
OURS(vwscanf, (const wchar_t *, va_list))
OURS(__isoc99_vfwscanf, (stream *, const wchar_t *, va_list))
OURS(__isoc99_vwscanf, (const wchar_t *, va_list))
OURS(__isoc23_vfwscanf, (stream *, const wchar_t *, va_list))
OURS(__isoc23_vwscanf, (const wchar_t *, va_list))
OURS(__vfwprintf_chk, (stream *, int, const wchar_t *, va_list))
OURS(__vwprintf_chk, (int, const wchar_t *, va_list))

/* Their code has a section of its own, so that the call site of a hook that they call is known to be theirs (sites/mod.rs). */
#define VARIADIC(name, parameters, call)                                                                              \
    int dxt_##name parameters __attribute__((section("dxt_variadic")));                                               \
    int dxt_##name parameters {                                                                                       \
        va_list list;                                                                                                 \
        va_start(list, format);                                                                                       \
        int result = call;                                                                                            \
        va_end(list);                                                                                                 \
        return result;                                                                                                \
    }

VARIADIC(fprintf, (stream * to, const char *format, ...), vfprintf(to, format, list))
VARIADIC(printf, (const char *format, ...), vprintf(format, list))
VARIADIC(dprintf, (int to, const char *format, ...), vdprintf(to, format, list))
VARIADIC(fscanf, (stream * from, const char *format, ...), vfscanf(from, format, list))
VARIADIC(scanf, (const char *format, ...), vscanf(format, list))
VARIADIC(isoc99_fscanf, (stream * from, const char *format, ...), __isoc99_vfscanf(from, format, list))
VARIADIC(isoc99_scanf, (const char *format, ...), __isoc99_vscanf(format, list))
VARIADIC(isoc23_fscanf, (stream * from, const char *format, ...), __isoc23_vfscanf(from, format, list))
VARIADIC(isoc23_scanf, (const char *format, ...), __isoc23_vscanf(format, list))
VARIADIC(fprintf_chk, (stream * to, int flag, const char *format, ...), __vfprintf_chk(to, flag, format, list))
VARIADIC(printf_chk, (int flag, const char *format, ...), __vprintf_chk(flag, format, list))
VARIADIC(dprintf_chk, (int to, int flag, const char *format, ...), __vdprintf_chk(to, flag, format, list))
VARIADIC(fwprintf, (stream * to, const wchar_t *format, ...), vfwprintf(to, format, list))
VARIADIC(wprintf, (const wchar_t *format, ...), vwprintf(format, list))
VARIADIC(fwscanf, (stream * from, const wchar_t *format, ...), vfwscanf(from, format, list))
VARIADIC(wscanf, (const wchar_t *format, ...), vwscanf(format, list))
VARIADIC(isoc99_fwscanf, (stream * from, const wchar_t *format, ...), __isoc99_vfwscanf(from, format, list))
VARIADIC(isoc99_wscanf, (const wchar_t *format, ...), __isoc99_vwscanf(format, list))
VARIADIC(isoc23_fwscanf, (stream * from, const wchar_t *format, ...), __isoc23_vfwscanf(from, format, list))
VARIADIC(isoc23_wscanf, (const wchar_t *format, ...), __isoc23_vwscanf(format, list))
VARIADIC(fwprintf_chk, (stream * to, int flag, const wchar_t *format, ...), __vfwprintf_chk(to, flag, format, list))
VARIADIC(wprintf_chk, (int flag, const wchar_t *format, ...), __vwprintf_chk(flag, format, list))

OURS(execv, (const char *, char *const[]))
OURS(execvp, (const char *, char *const[]))
OURS(execve, (const char *, char *const[], char *const[]))

/* The arguments of execl(3), execlp(3) and execle(3) end with a null pointer; the environment of execle follows it. */
#define EXECL(name, environment, call)                                                                                \
    int dxt_##name(const char *path, const char *first, ...);                                                         \
    int dxt_##name(const char *path, const char *first, ...) {                                                        \
        va_list list;                                                                                                 \
        size_t count = 0;                                                                                             \
        va_start(list, first);                                                                                        \
        for (const char *next = first; next != NULL; next = va_arg(list, const char *)) count++;                      \
        va_end(list);                                                                                                 \
        char *argv[count + 1];                                                                                        \
        argv[0] = (char *)first;                                                                                      \
        va_start(list, first);                                                                                        \
        for (size_t i = 1; i <= count; i++) argv[i] = va_arg(list, char *);                                           \
        environment;                                                                                                  \
        va_end(list);                                                                                                 \
        return call;                                                                                                  \
    }

EXECL(execl, (void)0, execv(path, argv))
EXECL(execlp, (void)0, execvp(path, argv))
EXECL(execle, char *const *variables = va_arg(list, char *const *), execve(path, argv, variables))

/* Bounds of the section above, which the linker defines. */
extern const char __start_dxt_variadic[] __attribute__((visibility("hidden")));
extern const char __stop_dxt_variadic[] __attribute__((visibility("hidden")));

int dxt_is_variadic(size_t address);
int dxt_is_variadic(size_t address) {
    return address >= (size_t)__start_dxt_variadic && address < (size_t)__stop_dxt_variadic;
}
