#!/usr/bin/env bash
# Collects the licences of all crates that are linked into our programs, from cargo's sources: each text once, with its crates.
# Fails if a crate's licence is not accepted below, or if its text is not found.
#
# Usage: scripts/licences.sh FILE PACKAGE...
#   FILE     output file; - only counts the texts
#   PACKAGE  packages of this workspace, with all of their features
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if [ $# -lt 2 ] || [ "$1" = --help ]; then sed -n '2,7s/^# \?//p' "$0" >&2 && exit 2; fi
out=$1
[ "$out" != - ] || out=/dev/null
shift
[[ $out = /* ]] || out=$PWD/$out
cd "$project"
accepted=' MIT Apache-2.0 Apache-2.0+LLVM-exception BSD-2-Clause BSD-3-Clause BSL-1.0 bzip2-1.0.6 CDLA-Permissive-2.0 ISC Unicode-3.0 Zlib '

packages=()
for package in "$@"; do packages+=(-p "$package"); done
triple=$(rustc -vV | sed -n 's/^host: //p')
# Macros and build scripts are not linked. Lines with a path are our own crates.
crates=$(cargo tree --locked --quiet --edges normal,no-proc-macro --target "$triple" --all-features --no-dedupe --prefix none \
    --format '{p}|{l}' "${packages[@]}" | grep -v '(/' | sed '/^$/d; s/ (proc-macro)//; s/ v/-/' | LC_ALL=C sort -u)
count=$(grep -c . <<<"$crates") || die "cargo lists no crates"

# acceptable EXPRESSION: succeeds if accepted licences satisfy the SPDX expression; evaluates `(MIT OR X) AND Y` as arithmetic.
acceptable() {
    local sum='' word words
    read -ra words < <(sed 's/ WITH /+/g; s/\// OR /g; s/[()]/ & /g' <<<"$1")
    for word in "${words[@]}"; do
        case $word in
        OR) sum+='||' ;;
        AND) sum+='&&' ;;
        '(' | ')') sum+=$word ;;
        *) case $accepted in *" $word "*) sum+=1 ;; *) sum+=0 ;; esac ;;
        esac
    done
    [ -n "$sum" ] && ((sum))
}

# source_of NAME-VERSION: directory of the crate's sources; vendored sources first.
source_of() {
    local dir
    for dir in vendor "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
        if [ -d "$dir/$1" ]; then echo "$dir/$1" && return; fi
    done
    die "found no sources of $1: run cargo fetch"
}

declare -A users file_of
texts=() bare=''
# add FILE USER: notes a licence text for USER. Texts that differ only in white space count as one.
add() {
    local key
    # zstd and others are dual-licensed; the other licence is used.
    if head -n 5 -- "$1" | grep -q 'GNU GENERAL PUBLIC'; then return 0; fi
    key=$(tr -s '[:space:]' ' ' <"$1" | cksum)
    if [ -z "${file_of[$key]:-}" ]; then
        file_of[$key]=$1
        texts+=("$key")
    fi
    case "|${users[$key]:-}|" in *"|$2|"*) ;; *) users[$key]+=${users[$key]:+|}$2 ;; esac
}

# authors MANIFEST: the manifest's authors, which may be one per line.
authors() { sed -n '/^authors = /,/\]/p' "$1" | tr -d '\n' | sed 's/^authors = /Its authors: /; s/  */ /g'; }

while IFS='|' read -r crate licence; do
    acceptable "$licence" || die "$crate has the licence '$licence', which is not accepted"
    dir=$(source_of "$crate")
    found=''
    while IFS= read -r file; do
        found=yes
        add "$file" "$crate"
    done < <(find "$dir" -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'copyright*' -o -iname 'unlicense*' \) \
        ! -name '*.rs' ! -name '*.[ch]' ! -name '*.py' | LC_ALL=C sort)
    if [ -z "$found" ]; then
        # Other crates contribute the text. MIT texts differ by their copyright line, so authors are named.
        case " ${licence//[()\/]/ } " in
        *" Apache-2.0 "*) bare+="    $crate ($licence): its package has no text; that of Apache-2.0 is below"$'\n' ;;
        *" MIT "*) bare+="    $crate (MIT): its package has no text; that of MIT is below. $(authors "$dir/Cargo.toml")"$'\n' ;;
        *) die "the text of $crate's licence ($licence) is missing" ;;
        esac
    fi
done <<<"$crates"
# Contents of the report page.
for file in dxt-analyze/assets/vendor/echarts/{LICENSE,NOTICE,LICENSE-d3}; do add "$file" "Apache ECharts, in the report page"; done

# Licences of Rust's standard library and its parts: an HTML page that rustup installs with the compiler, included without its tags.
page=$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html
if [ -f "$page" ]; then
    library="its licences and those of its parts are at the end"
else
    library="this compiler came without the page of its licences"
fi

{
    echo "Licences of the libraries linked into $*, besides the project's own."
    echo "Rust's standard library is under MIT or Apache-2.0; its authors: https://thanks.rust-lang.org"
    echo "($library)"
    echo
    sed 's/^/    /; s/|/  /' <<<"$crates"
    if [ -n "$bare" ]; then printf '\n%s' "$bare"; fi
    for key in "${texts[@]}"; do
        printf '\n%s\n%s\n\n' "========================================" "${users[$key]//|/, }"
        cat -- "${file_of[$key]}"
    done
    if [ -f "$page" ]; then
        printf '\n%s\n%s\n\n' "========================================" "Rust's standard library"
        sed 's/<[^>]*>//g; s/&#34;/"/g; s/&#39;/'"'"'/g; s/&#60;/</g; s/&#62;/>/g; s/&amp;/\&/g; s/[[:space:]]*$//' "$page" | cat -s
    fi
} >"$out"
[ ${#texts[@]} -ge 10 ] || die "found only ${#texts[@]} texts"
echo "licences of $count crates, ${#texts[@]} texts; Rust's standard library: $library"
