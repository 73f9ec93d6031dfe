#!/bin/sh
# TaskProlog for Slurm (slurm.conf): Slurm sets each printed `export NAME=VALUE` for the task. Traces all tasks unless users opt out.
# Uses the library and configuration of the installation that contains it (share/dxt); DXT_TRACER and DXT_CONFIG name others.
prefix=${0%/share/dxt/*}
[ "$prefix" != "$0" ] || prefix=/opt/dxt
etc=$prefix/etc
[ "$prefix" != /usr ] || etc=/etc
library=${DXT_TRACER:-$prefix/lib/dxt/libdxt_tracer.so}
config=${DXT_CONFIG:-$etc/dxt/dxt.conf}

case $DXT_ENABLE in off | 0) exit 0 ;; esac
[ -r "$library" ] && [ -r "$config" ] || exit 0
# Ends if a tracer is preloaded already (by hand, by the module or by an outer task): recognized by its file name, or by a symbol that every
# version exports.
case $LD_PRELOAD in *dxt_tracer*) exit 0 ;; esac
set -f
IFS=':	 '
for other in $LD_PRELOAD; do
    if [ -r "$other" ] && grep -q 'dxt_tracer_version\|dxt_tracer_is_preloaded' "$other"; then exit 0; fi
done
# Ends if the library cannot be loaded (it needs a newer glibc than this node has): no program would start with it.
env DXT_ENABLE=off LD_PRELOAD="$library" true 2>/dev/null || exit 0

echo "export DXT_CONFIG=$config"
echo "export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}"
# Programs with AddressSanitizer's shared library end at once if another library is loaded first, unless this check is off.
case $ASAN_OPTIONS in
*verify_asan_link_order=*) ;;
*) echo "export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" ;;
esac
