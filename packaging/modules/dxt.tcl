#%Module1.0
## DXT tracer @version@: dxt-run and dxt-analyze. For Lmod and environment-modules.
proc ModulesHelp { } {
    puts stderr "dxt-run -o traces -- mpirun -n 4 ./app   traces a program; dxt-analyze report traces   reports what its I/O costs."
}
module-whatis "Name: DXT tracer"
module-whatis "Version: @version@"
module-whatis "Description: traces every I/O call of a parallel program and finds what makes its I/O slow"

set prefix "@prefix@"
# The system's own directories are already in these variables.
if {$prefix ne "/usr"} {
    prepend-path PATH            "$prefix/bin"
    prepend-path PKG_CONFIG_PATH "$prefix/share/pkgconfig"
    prepend-path MANPATH         "$prefix/share/man"
    # If MANPATH was empty, man would search only this directory: an empty entry adds the system's.
    set left [expr {[info exists env(MANPATH)] ? [string trim $env(MANPATH) :] : ""}]
    if {$left eq "" || $left eq "$prefix/share/man"} { append-path MANPATH "" }
}
setenv DXT_TRACER "$prefix/lib/dxt/libdxt_tracer.so"
