#!/usr/bin/env bash
# Prints what the architecture tests count, in one go: includes, sizes of classes and phases, words, lines since a revision, repeated code.
#   report.sh REVISION
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
show() { printf '\n== %s\n' "$1"; shift; "$@"; }
show 'includes' python3 "$here/includes.py" "$root"
show 'classes and phases' python3 "$here/classes.py" "$root"
show 'words, before and now' python3 "$here/words.py" "$root" --before "$1"
show 'lines' python3 "$here/lines.py" "$root" "$1"
if command -v duplicates >/dev/null; then show 'repeated code, 12 lines or more' duplicates --repo "$root" --min-lines 12 --most 200 --seconds 120; fi
exit 0
