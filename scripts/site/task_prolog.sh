#!/bin/sh
# Slurm's TaskProlog (slurm.conf): what it prints as `export NAME=VALUE` is set for the task. Traces all tasks but those of who has opted out.
# It lies in share/dxt of an installation, whose library and configuration it takes; DXT_TRACER and DXT_CONFIG name others.
prefix=${0%/share/dxt/*}
[ "$prefix" != "$0" ] || prefix=/opt/dxt
etc=$prefix/etc
[ "$prefix" != /usr ] || etc=/etc
library=${DXT_TRACER:-$prefix/lib/dxt/libdxt_tracer.so}
config=${DXT_CONFIG:-$etc/dxt/dxt.conf}

case $DXT_ENABLE in off | 0) exit 0 ;; esac
[ -r "$library" ] && [ -r "$config" ] || exit 0
# By hand, by the module, or by a task around this one: a tracer by its name, or by a symbol that each exports, whatever its file is called.
case $LD_PRELOAD in *dxt_tracer*) exit 0 ;; esac
set -f
IFS=':	 '
for other in $LD_PRELOAD; do
    if [ -r "$other" ] && grep -q 'dxt_tracer_version\|dxt_tracer_is_preloaded' "$other"; then exit 0; fi
done
# Where it cannot be loaded, as it asks for a newer glibc than this node has, no program with it would start.
env DXT_ENABLE=off LD_PRELOAD="$library" true 2>/dev/null || exit 0

echo "export DXT_CONFIG=$config"
echo "export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}"
# A program with AddressSanitizer's shared library ends at once where another one was loaded before that.
case $ASAN_OPTIONS in
*verify_asan_link_order=*) ;;
*) echo "export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" ;;
esac
