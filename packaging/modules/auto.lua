-- DXT tracer @version@ for every program that is started while this is loaded, as @conf@ says.
-- DXT_ENABLE=off leaves a program alone.
help([[Traces every MPI program that is started, as @conf@ says.
DXT_ENABLE=off leaves one alone.]])
whatis("Name: DXT tracer, for all programs")
whatis("Version: @version@")
whatis("Description: preloads the tracer into every program, with the site's configuration")

local prefix = "@prefix@"
-- The system's own places are in all of these, where they belong.
if prefix ~= "/usr" then
    prepend_path("PATH", pathJoin(prefix, "bin"))
    local man = pathJoin(prefix, "share/man")
    prepend_path("MANPATH", man)
    -- Where MANPATH had nothing, man would look nowhere else: an empty entry stands for the system's places.
    local left = (os.getenv("MANPATH") or ""):gsub("^:*(.-):*$", "%1")
    if left == "" or left == man then append_path("MANPATH", "") end
end
setenv("DXT_TRACER", pathJoin(prefix, "lib/dxt/libdxt_tracer.so"))

-- Where it cannot be loaded, as it asks for a newer glibc than this node has, no program with it would start.
local library = pathJoin(prefix, "lib/dxt/libdxt_tracer.so")
local tried = mode() ~= "load" or os.execute("test -r " .. library .. " && env DXT_ENABLE=off LD_PRELOAD=" .. library .. " true 2>/dev/null")
if tried == true or tried == 0 then
    setenv("DXT_CONFIG", "@conf@")
    prepend_path("LD_PRELOAD", library)
    -- A program with AddressSanitizer's shared library ends at once where another one was loaded before that.
    append_path("ASAN_OPTIONS", "verify_asan_link_order=0")
else
    LmodMessage("dxt/auto: programs are not traced: " .. library .. " cannot be loaded here; `dxt-run true` says why")
end
