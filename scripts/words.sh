#!/usr/bin/env bash
# Counts words of the project's old dialect, in comments, strings and docs, and comments that begin with a word that says nothing (CONTRIBUTING.md,
# Words). Fails if a count is above the one in words.txt. With --lower writes counts that have fallen there.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"
known=scripts/words.txt

files() {
    local patterns=()
    for pattern in "$@"; do patterns+=(-o -name "$pattern"); done
    find . \( -name target -o -name .git \) -prune -o -type f \( -false "${patterns[@]}" \) ! -path ./CHANGELOG.md ! -path ./scripts/words.sh -print | sort
}

# First lines of comments that begin so.
openings() {
    # shellcheck disable=SC2016 # awk expands them
    files '*.rs' | tr '\n' '\0' | xargs -0 awk '
        { comment = $0 ~ /^[ \t]*\/\// }
        comment && !before && /^[ \t]*\/\/[\/!]? (What|Whether|How|Of|Where|As|The same|Those|Who|That|Which|It)[ ,:]/ { n++ }
        { before = comment }
        FNR == 1 && !comment { before = 0 }
        END { print n + 0 }'
}

# dialect PATTERN: lines with it, in what people read.
dialect() {
    files '*.rs' '*.md' '*.sh' | tr '\n' '\0' | xargs -0 grep -hiwE -- "$1" | wc -l
}

counts() {
    echo "openings $(openings)"
    echo "told $(dialect 'told|told of|told apart|tells apart')"
    echo "alike $(dialect 'alike|its like|their like|kin')"
    echo "stands_off $(dialect 'stands? off|stood off|standing off')"
    echo "meeting $(dialect 'meetings?|where (all|ranks) meet')"
    echo "comes_late $(dialect 'comes? late|came late|late to')"
    echo "holds_up $(dialect 'holds? up|held up|keeps? .* waiting')"
    echo "held_against $(dialect 'held against|holds? .* against')"
    echo "by_turns $(dialect 'by turns|in turns|takes? turns|one by one')"
    echo "as_far_as $(dialect 'as far as|no matter of|on the mean|a good deal|whoever|seldom')"
    echo "shortened $(dialect 'shortened|mended|begins? anew|beyond what')"
    echo "verb $(dialect 'verbs?')"
}

now=$(counts)
lower=${1:-}
status=0
while read -r name count; do
    most=$(awk -v name="$name" '$1 == name { print $2 }' "$known" 2>/dev/null || true)
    printf '%-14s %5d of at most %s\n' "$name" "$count" "${most:-none}"
    if [ -n "$most" ] && [ "$count" -gt "$most" ]; then status=1; fi
    if [ -z "$most" ] && [ "$lower" != --lower ]; then status=1; fi
done <<<"$now"
if [ "$lower" = --lower ]; then
    [ "$status" = 0 ] || die "a count has grown: fix that first"
    printf '%s\n' "$now" >"$known"
fi
[ "$status" = 0 ] || die "a count has grown: use plain words (CONTRIBUTING.md, Words)"
