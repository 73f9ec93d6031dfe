-- DXT tracer @version@ for every program that is started while this module is loaded, with the settings of @conf@.
-- With DXT_ENABLE=off a program is not traced.
help([[Traces every MPI program that is started, with the settings of @conf@.
With DXT_ENABLE=off a program is not traced.]])
whatis("Name: DXT tracer, for all programs")
whatis("Version: @version@")
whatis("Description: preloads the tracer into every program, with the site's configuration")

local prefix = "@prefix@"
-- The system's own directories are already in these variables.
if prefix ~= "/usr" then
    prepend_path("PATH", pathJoin(prefix, "bin"))
    local man = pathJoin(prefix, "share/man")
    prepend_path("MANPATH", man)
    -- If MANPATH was empty, man would search only this directory: an empty entry adds the system's.
    local left = (os.getenv("MANPATH") or ""):gsub("^:*(.-):*$", "%1")
    if left == "" or left == man then append_path("MANPATH", "") end
end
setenv("DXT_TRACER", pathJoin(prefix, "lib/dxt/libdxt_tracer.so"))

-- If the library cannot be loaded (it needs a newer glibc than this node has), no program would start with it.
local library = pathJoin(prefix, "lib/dxt/libdxt_tracer.so")
local tried = mode() ~= "load" or os.execute("test -r " .. library .. " && env DXT_ENABLE=off LD_PRELOAD=" .. library .. " true 2>/dev/null")
if tried == true or tried == 0 then
    setenv("DXT_CONFIG", "@conf@")
    prepend_path("LD_PRELOAD", library)
    -- Programs with AddressSanitizer's shared library end at once if another library is loaded first, unless this check is off.
    append_path("ASAN_OPTIONS", "verify_asan_link_order=0")
else
    LmodMessage("dxt/auto: programs are not traced: " .. library .. " cannot be loaded here; `dxt-run true` says why")
end
