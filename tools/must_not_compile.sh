#!/bin/bash
# SPDX-License-Identifier: MIT
#
# must_not_compile.sh - does the compiler refuse every misuse in a file?
#
#   must_not_compile.sh <compiler> <source> <root of the repository>
#
# The source holds correct code, and each misuse in `#ifdef WRONG_<what>`. Alone
# it must compile; with any one WRONG_<what> defined it must not, under no
# warning flags: misuse is an error, not a warning somebody may have turned off.

set -u
compiler=$1
source=$2
root=$3
failed=0

compiles() {
    "$compiler" -std=gnu11 -D_GNU_SOURCE -w -fsyntax-only -I"$root" \
        -I"$root/include" "$@" "$source"
}

if compiles; then
    echo "ok $(basename "$source")/correct_code_compiles"
else
    echo "not ok $(basename "$source"): the correct code does not compile"
    exit 1
fi
misuses=$(grep -oE '\bWRONG_\w+' "$source" | sort -u)
[ -n "$misuses" ] || { echo "not ok: no WRONG_... in $source"; exit 1; }
for misuse in $misuses; do
    if compiles -D"$misuse" 2>/dev/null; then
        echo "not ok $misuse compiles"
        failed=1
    else
        echo "ok $(basename "$source")/$misuse"
    fi
done
exit $failed
