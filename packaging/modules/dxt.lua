-- DXT tracer @version@: dxt-run and dxt-analyze. For Lmod.
help([[dxt-run -o traces -- mpirun -n 4 ./app   traces a program;
dxt-analyze report traces   reports what its I/O costs.]])
whatis("Name: DXT tracer")
whatis("Version: @version@")
whatis("Description: traces every I/O call of a parallel program and finds what makes its I/O slow")

local prefix = "@prefix@"
-- The system's own directories are already in these variables.
if prefix ~= "/usr" then
    prepend_path("PATH", pathJoin(prefix, "bin"))
    prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "share/pkgconfig"))
    local man = pathJoin(prefix, "share/man")
    prepend_path("MANPATH", man)
    -- If MANPATH was empty, man would search only this directory: an empty entry adds the system's.
    local left = (os.getenv("MANPATH") or ""):gsub("^:*(.-):*$", "%1")
    if left == "" or left == man then append_path("MANPATH", "") end
end
setenv("DXT_TRACER", pathJoin(prefix, "lib/dxt/libdxt_tracer.so"))
