#%Module1.0
## DXT tracer @version@ for every program that is started while this is loaded, as @conf@ says.
## DXT_ENABLE=off leaves a program alone.
proc ModulesHelp { } {
    puts stderr "Traces every MPI program that is started, as @conf@ says. DXT_ENABLE=off leaves one alone."
}
module-whatis "Name: DXT tracer, for all programs"
module-whatis "Version: @version@"
module-whatis "Description: preloads the tracer into every program, with the site's configuration"

set prefix "@prefix@"
# The system's own places are in all of these, where they belong.
if {$prefix ne "/usr"} {
    prepend-path PATH    "$prefix/bin"
    prepend-path MANPATH "$prefix/share/man"
    # Where MANPATH had nothing, man would look nowhere else: an empty entry stands for the system's places.
    set left [expr {[info exists env(MANPATH)] ? [string trim $env(MANPATH) :] : ""}]
    if {$left eq "" || $left eq "$prefix/share/man"} { append-path MANPATH "" }
}
setenv DXT_TRACER "$prefix/lib/dxt/libdxt_tracer.so"

# Where it cannot be loaded, as it asks for a newer glibc than this node has, no program with it would start.
set library "$prefix/lib/dxt/libdxt_tracer.so"
if {[module-info mode] eq "load" && (![file readable $library] || [catch {exec env DXT_ENABLE=off LD_PRELOAD=$library true 2>/dev/null}])} {
    puts stderr "dxt/auto: programs are not traced: $library cannot be loaded here; `dxt-run true` says why"
} else {
    setenv       DXT_CONFIG "@conf@"
    prepend-path LD_PRELOAD $library
    # A program with AddressSanitizer's shared library ends at once where another one was loaded before that.
    append-path  ASAN_OPTIONS "verify_asan_link_order=0"
}
