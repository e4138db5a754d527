#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - can outside programs, in C and C++, be built against what we install?
#
# Installs a shared and a static ringmail into a temporary directory, moves it
# once (nothing may remember where it was), and builds and runs both programs by
# find_package and by pkg-config. Every header also compiles alone as C++11. The
# providers of samples/provider_template and samples/raw_backend are built outside,
# too, and put to their suites.

set -eu
cd "$(dirname "$0")/../.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
source=$PWD/tools/package_test
jobs=$(nproc)

quietly() {
    "$@" >"$place/log" 2>&1 || {
        echo "failed: $*"
        cat "$place/log"
        exit 1
    }
}

alone() { # header
    local file="$place/${1##*/}.c" compiler
    echo "#include <ringmail/${1##*/}>" >"$file"
    for compiler in "g++ -x c++ -std=c++11" "clang++ -x c++ -std=c++11" \
        "gcc -std=c11" "clang -std=c11"; do
        # shellcheck disable=SC2086
        $compiler -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only \
            "$file" || return 255 # and xargs stops
    done
}
export -f alone
export place
quietly xargs -P "$jobs" -I{} bash -c 'alone {}' < <(ls include/ringmail/*.h)
echo "ok package/headers_alone"

# One tree for both: only the linking differs. Nobody debugs it.
for kind in shared static; do
    tree=build/package
    option=ON
    [ $kind = shared ] || option=OFF
    quietly cmake -S . -B "$tree" -G Ninja -DBUILD_SHARED_LIBS=$option \
        -DRINGMAIL_BUILD_TESTS=OFF -DRINGMAIL_BUILD_PROGRAMS=OFF \
        -DRINGMAIL_BUILD_CONFORMANCE=ON -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG=
    quietly cmake --build "$tree" -j "$jobs"
    quietly cmake --install "$tree" --prefix "$place/first-$kind"
    mv "$place/first-$kind" "$place/$kind"

    quietly cmake -S "$source" -B "$place/$kind-build" -G Ninja \
        -DCMAKE_PREFIX_PATH="$place/$kind"
    quietly cmake --build "$place/$kind-build"
    quietly "$place/$kind-build/consumer_c"
    quietly "$place/$kind-build/consumer_cpp"
    quietly "$place/$kind-build/consumer_conformance"
    echo "ok package/${kind}_find_package"

    pc=$(dirname "$(find "$place/$kind" -name ringmail.pc)")
    flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs ringmail)
    # shellcheck disable=SC2086
    quietly cc -Wall -Wextra -Werror "$source/consumer.c" $flags \
        -Wl,-rpath,"$(dirname "$pc")" -o "$place/consumer"
    # shellcheck disable=SC2086
    quietly c++ -Wall -Wextra -Werror "$source/consumer_cpp.cpp" $flags \
        -Wl,-rpath,"$(dirname "$pc")" -o "$place/consumer_cpp"
    quietly "$place/consumer"
    quietly "$place/consumer_cpp"
    echo "ok package/${kind}_pkg_config"
done

# Copies: nothing of this tree may be found from where they lie.
mkdir -p "$place/outside/samples"
outside() { # sample program case
    cp -r "samples/$1" "$place/outside/samples"
    quietly cmake -S "$place/outside/samples/$1" -B "$place/$1-build" -G Ninja \
        -DCMAKE_PREFIX_PATH="$place/shared"
    quietly cmake --build "$place/$1-build"
    quietly "$place/$1-build/$2"
    echo "ok package/$3"
    [ ! -d build/dev/results ] ||
        echo "ok - package::$3" >>build/dev/results/package_test.tap
}
[ ! -d build/dev/results ] || : >build/dev/results/package_test.tap
outside provider_template memory_test cnf_01_a_provider_outside_the_tree_passes
outside raw_backend backend_test cnf_01_a_backend_outside_the_tree_passes
echo "ok package/moved_after_install"
