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
# And that in C, and in C++ if the compiler has it.

set -u
compiler=$1
source=$2
root=$3
failed=0

# language misuse...: in C++ a function with another argument is another function,
# and only the linker misses the first.
compiles() {
    local standard=gnu11
    [ "$1" = c++ ] && standard=gnu++11
    "$compiler" -x "$1" -std=$standard -D_GNU_SOURCE -w -fsyntax-only \
        -I"$root" -I"$root/include" "${@:2}" "$source"
}

languages=c
echo 'int main() { return 0; }' |
    "$compiler" -x c++ -fsyntax-only - 2>/dev/null && languages="c c++"
misuses=$(grep -oE '\bWRONG_\w+' "$source" | sort -u)
[ -n "$misuses" ] || { echo "not ok: no WRONG_... in $source"; exit 1; }
for language in $languages; do
    name="$(basename "$source")/$language"
    if compiles $language; then
        echo "ok $name/correct_code_compiles"
    else
        echo "not ok $name: the correct code does not compile"
        exit 1
    fi
    for misuse in $misuses; do
        [ $language/$misuse = c++/WRONG_FACTORY_ARGUMENT ] && continue
        if compiles $language -D"$misuse" 2>/dev/null; then
            echo "not ok $name: $misuse compiles"
            failed=1
        else
            echo "ok $name/$misuse"
        fi
    done
done
exit $failed
