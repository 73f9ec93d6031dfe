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
prepend-path PATH       "$prefix/bin"
prepend-path MANPATH    "$prefix/share/man"
setenv       DXT_TRACER "$prefix/lib/dxt/libdxt_tracer.so"
setenv       DXT_CONFIG "@conf@"
prepend-path LD_PRELOAD "$prefix/lib/dxt/libdxt_tracer.so"
