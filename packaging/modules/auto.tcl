#%Module1.0
## DXT tracer @version@ for every program that is started while this module is loaded, with the settings of @conf@.
## With DXT_ENABLE=off a program is not traced.
proc ModulesHelp { } {
    puts stderr "Traces every MPI program that is started, with the settings of @conf@. With DXT_ENABLE=off a program is not traced."
}
module-whatis "Name: DXT tracer, for all programs"
module-whatis "Version: @version@"
module-whatis "Description: preloads the tracer into every program, with the site's configuration"

set prefix "@prefix@"
# The system's own directories are already in these variables.
if {$prefix ne "/usr"} {
    prepend-path PATH    "$prefix/bin"
    prepend-path MANPATH "$prefix/share/man"
    # If MANPATH was empty, man would search only this directory: an empty entry adds the system's.
    set left [expr {[info exists env(MANPATH)] ? [string trim $env(MANPATH) :] : ""}]
    if {$left eq "" || $left eq "$prefix/share/man"} { append-path MANPATH "" }
}
setenv DXT_TRACER "$prefix/lib/dxt/libdxt_tracer.so"

# If the library cannot be loaded (it needs a newer glibc than this node has), no program would start with it.
set library "$prefix/lib/dxt/libdxt_tracer.so"
if {[module-info mode] eq "load" && (![file readable $library] || [catch {exec env DXT_ENABLE=off LD_PRELOAD=$library true 2>/dev/null}])} {
    puts stderr "dxt/auto: programs are not traced: $library cannot be loaded here; `dxt-run true` says why"
} else {
    setenv       DXT_CONFIG "@conf@"
    prepend-path LD_PRELOAD $library
    # Programs with AddressSanitizer's shared library end at once if another library is loaded first, unless this check is off.
    append-path  ASAN_OPTIONS "verify_asan_link_order=0"
}
