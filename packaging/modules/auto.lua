-- DXT tracer @version@ for every program that is started while this is loaded, as @conf@ says.
-- DXT_ENABLE=off leaves a program alone.
help([[Traces every MPI program that is started, as @conf@ says.
DXT_ENABLE=off leaves one alone.]])
whatis("Name: DXT tracer, for all programs")
whatis("Version: @version@")
whatis("Description: preloads the tracer into every program, with the site's configuration")

local prefix = "@prefix@"
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
setenv("DXT_TRACER", pathJoin(prefix, "lib/dxt/libdxt_tracer.so"))
setenv("DXT_CONFIG", "@conf@")
prepend_path("LD_PRELOAD", pathJoin(prefix, "lib/dxt/libdxt_tracer.so"))
