#!/usr/bin/env bash
# Makes docs/report.png, the README's picture: the report page of testdata/demo's trace in chromium. A test fails if the picture is out of
# date. Usage: scripts/screenshot.sh [PROGRAM], with dxt-analyze built (target/release/dxt-analyze)
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

analyze=$(readlink -m -- "${1:-$(target_dir)/release/dxt-analyze}")
[ -x "$analyze" ] || die "there is no $analyze: build it (cargo build --release)"
have chromium || die "chromium is not installed (scripts/setup.sh)"
folder=$(mktemp -d "${TMPDIR:-/tmp}/dxt-screenshot.XXXXXX")
trap 'rm -rf -- "$folder"' EXIT
cd "$project/testdata/demo"
"$analyze" --quiet report --layout ../layouts/four-by-1m.layout -o "$folder/page.html" demo.dxt >/dev/null
chromium --headless --no-sandbox --hide-scrollbars --user-data-dir="$folder/profile" --window-size=1200,900 \
    --virtual-time-budget=5000 --screenshot="$folder/report.png" "file://$folder/page.html" >/dev/null 2>&1
[ -s "$folder/report.png" ] || die "chromium wrote no picture"
mv -- "$folder/report.png" "$project/docs/report.png"
sha256sum <"$folder/page.html" | cut -d' ' -f1 >page.sha256
echo "docs/report.png"
