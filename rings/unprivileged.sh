#!/bin/sh
# SPDX-License-Identifier: MIT
#
# unprivileged.sh - does a test pass as nobody, with 8 MiB of locked memory?
#
#   unprivileged.sh PROGRAM...      exits 77 (skipped) where it cannot be tried
#
# Root hides two things: that rings are charged to the locked-memory limit, and
# that some sockets and files are not everybody's.

as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

[ "$(id -u)" = 0 ] || exit 77
$as_nobody test -x "$1" 2>/dev/null || exit 77
cd /tmp || exit 77
exec $as_nobody prlimit --memlock=8388608 "$@"
