#!/usr/bin/env bash
# Builds the fuzz targets with the stable compiler and runs each for some seconds (default 10) from a corpus of real files:
# scripts/fuzz.sh [--build | SECONDS [TARGET...]]; with --build, builds only. Ends with 1 if an input panics, hangs for 10 s or takes
# 512 MB (as decompression bombs may); the input is kept and named. New inputs of libFuzzer's corpus are kept in target/fuzz/corpus for the next run.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"

seconds=${1:-10}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(trace columns metadata layout log connector)
place=$(target_dir)/fuzz
triple=$(rustc -vV | sed -n 's/^host: //p')

# Compiler flags of cargo-fuzz, without the sanitizers, which need a nightly compiler.
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
flags+=" -Cdebug-assertions -Coverflow-checks"
for crate in trace-format dxt-analyze/darshan-log dxt-analyze; do
    # With --target the flags do not apply to build scripts, which cannot link with libFuzzer. With the same flags, what the targets share is
    # built once.
    RUSTFLAGS=$flags cargo build --quiet --release --target "$triple" --manifest-path $crate/fuzz/Cargo.toml --target-dir "$place"
done

[ "$seconds" != --build ] || exit 0

# bomb MODULE VERSION HOW: prints an input of the target `log` that unpacks to thousands of times its length.
bomb() {
    local byte
    for byte in "$1" $(($3 * 8 + $2)); do
        # shellcheck disable=SC2059
        printf "\\x$(printf %x "$byte")"
    done
    head -c 512 /dev/zero
    printf '\1\0\0\0\0\0\0\0%.0s' {1..64}
}

# seeds TARGET: fills the target's directory of seeds. Inputs of `log` have two bytes for the target before the log.
seeds() {
    local dir=$place/seeds/$1
    mkdir -p "$dir" "$place/corpus/$1" "$place/found"
    case $1 in
    trace | metadata | columns) cp testdata/golden/*.dxt "$dir" ;;
    layout) find testdata/layouts -type f -exec cp {} "$dir" \; ;;
    log)
        for log in testdata/darshan/*.darshan; do
            { printf '\0\1' && cat "$log"; } >"$dir/$(basename "$log")"
        done
        # Bombs: modules 0 to 15 (POSIX 1, heat maps 15 and so on), versions 1 to 4, compressed by zlib (30) or bzip2 (31)
        # alternately, of zeros and of small numbers.
        local module version
        for module in {0..15}; do
            for version in {1..4}; do
                bomb "$module" "$version" $((30 + (module + version) % 2)) >"$dir/bomb-$module-$version"
            done
        done
        ;;
    connector) rows "$dir" ;;
    esac
}

# rows DIRECTORY: writes events of the LDMS-Darshan connector as LDMS stores them: CSV with and without header, and JSON lines. Includes what real
# files have: a rounded record_id, files without names, quoted fields, other line ends, invalid numbers.
rows() {
    local head open write json
    head=uid,exe,job_id,rank,ProducerName,file,record_id,module,type,max_byte,switches,flushes,cnt,op,pt_sel,irreg_hslab,reg_hslab,ndims,npoints,off,len,start,dur,total,timestamp
    open='7,/bin/app,77,0,n0,/scratch/a,9.22337E+18,POSIX,MET,-1,-1,-1,1,open,-1,-1,-1,-1,-1,-1,-1,0.5,0.25,0.25,1700000001.000000'
    write='7,N/A,77,0,n0,N/A,123,POSIX,MOD,99,0,-1,1,write,-1,-1,-1,-1,-1,0,100,0.5,0.25,0.25,1700000002.000000'
    printf '%s\n' "$head" "$open" "$write" "${write/POSIX/MPIIO}" "${write/POSIX/H5D}" "${write/,0,100/,-1,nan}" >"$1/head.csv"
    printf '%s\r\n' "$open" "${write/123/\"1,23\"}" "${write/77/78}" "${write/write/read}" >"$1/rows.csv"
    json='{"schema":"darshan_data","uid":7,"exe":"/bin/app","job_id":77,"rank":0,"ProducerName":"n0","file":"/scratch/a","record_id":123,"module":"POSIX"'
    json+=',"type":"MOD","max_byte":99,"switches":0,"flushes":-1,"cnt":1,"op":"write","seg":[{"pt_sel":-1,"irreg_hslab":-1,"reg_hslab":-1,"ndims":-1'
    json+=',"npoints":-1,"off":0,"len":100,"start":0.5,"dur":0.25,"total":0.25,"timestamp":1700000002.000000}]}'
    printf '%s\n' "$json" "${json/write/close}" >"$1/lines.json"
}

options=(-max_total_time="$seconds" -rss_limit_mb=512 -timeout=10)
# Seeds are large, so their mutations must be allowed to be.
options+=(-max_len=1000000 -len_control=1)
# Continuous integration tries the same inputs in each run.
[ -z "${CI:-}" ] || options+=(-seed=1)

# try TARGET: runs the target, and prints its last line, or what it says of an input that fails.
try() {
    local log=$place/$1.txt
    if "$place/$triple/release/$1" "${options[@]}" -artifact_prefix="$place/found/$1-" "$place/corpus/$1" "$place/seeds/$1" >"$log" 2>&1; then
        echo "$1: $(tail -1 "$log")"
    else
        printf '%s\n' "$(tail -40 "$log")" "$1: an input fails, see $place/found"
        return 1
    fi
}

# Each runs for a fixed time, so as many at once as there are processors.
running=() failed=0
# Each job in a process group of its own, which a terminal's interrupt does not reach.
set -m
trap 'for job in $(jobs -pr); do kill -- "-$job" 2>/dev/null || true; done' EXIT
for target in "${targets[@]}"; do
    seeds "$target"
    while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do sleep 0.1; done
    try "$target" &
    running+=($!)
done
for job in "${running[@]}"; do wait "$job" || failed=1; done
exit "$failed"
