#!/bin/bash
# SPDX-License-Identifier: MIT
#
# models.sh - do all models hold, and does every mutant of them fail?
#
#   tools/models.sh quick    the small set that ./dev test runs
#   tools/models.sh full     all of it
#
# Each folder with models has models/run.sh, which takes the same word, prints
# one line `ok <model> ...` or `not ok <model> ...` per run, and fails when any
# run did not end as it should.

set -u
cd "$(dirname "$0")/.." || exit 1
mode=${1:-quick}
status=0
ran=0
for run in */models/run.sh; do
    [ -e "$run" ] || continue
    ran=$((ran + 1))
    bash "$run" "$mode" || status=1
done
if [ "$ran" -eq 0 ]; then
    echo "no models yet (no */models/run.sh)"
    exit 77
fi
exit $status
