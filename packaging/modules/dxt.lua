-- DXT tracer @version@: dxt-run and dxt-analyze. For Lmod.
help([[dxt-run -o traces -- mpirun -n 4 ./app   traces a program;
dxt-analyze report traces   says what its I/O costs.]])
whatis("Name: DXT tracer")
whatis("Version: @version@")
whatis("Description: traces every I/O call of a parallel program and finds what makes its I/O slow")

local prefix = "@prefix@"
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "share/pkgconfig"))
setenv("DXT_TRACER", pathJoin(prefix, "lib/dxt/libdxt_tracer.so"))
