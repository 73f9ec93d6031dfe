#%Module1.0
## DXT tracer @version@: dxt-run and dxt-analyze. For Lmod and environment-modules.
proc ModulesHelp { } {
    puts stderr "dxt-run -o traces -- mpirun -n 4 ./app   traces a program; dxt-analyze report traces   says what its I/O costs."
}
module-whatis "Name: DXT tracer"
module-whatis "Version: @version@"
module-whatis "Description: traces every I/O call of a parallel program and finds what makes its I/O slow"

set prefix "@prefix@"
prepend-path PATH            "$prefix/bin"
prepend-path MANPATH         "$prefix/share/man"
prepend-path PKG_CONFIG_PATH "$prefix/share/pkgconfig"
setenv       DXT_TRACER      "$prefix/lib/dxt/libdxt_tracer.so"
