#!/bin/sh
# SPDX-License-Identifier: MIT
#
# models.sh - do the models still hold, and does each broken rule still show?
#
#   models.sh quick    every model in a bounded size, five mutants of each
#   models.sh full     all runs
#   models.sh NAME     the runs whose name begins so; prints the trail of a
#                      run that found something
#
# One line a run.  The exit status is 0 only if every good model was searched
# completely and is clean, and every mutant was caught in the way it should be.
#
# A name that ends in "-loops" searches for cycles: no model has a progress
# label, so any cycle is an error and a clean run means that every execution
# ends.  `clean/N` allows N statements that are never reached; the README beside
# each model says which and why.  `assertion/TEXT` wants TEXT in the assertion.
#
# Needs spin (77 without it) and a C compiler; the quick ones like tcc.  RGM_MODEL_JOBS runs at a time
# (2), each at most RGM_MODEL_LIMIT seconds (300).

set -u
root=$(cd "$(dirname "$0")/.." && pwd)

# tier, name, folder, model, what must come, switches; the long ones first
runs() {
    cat <<'END'
full  inbox-retire-full      mailbox inbox clean/0    -DRETIRE -DFULL
full  inbox-shutdown-full    mailbox inbox clean/0    -DFULL
full  inbox-split-cas        mailbox inbox clean/0    -DOUTSIDE -DSPLIT
full  inbox-forward          mailbox inbox clean/0    -DRETIRE -DFORWARD
full  inbox-retire-loops     mailbox inbox clean/0    -DRETIRE -DPATIENT
full  inbox-outside-loops    mailbox inbox clean/0    -DOUTSIDE
full  inbox-retire           mailbox inbox clean/0    -DRETIRE
full  inbox-retire-patient   mailbox inbox clean/0    -DRETIRE -DPATIENT
full  inbox-retire-level     mailbox inbox clean/0    -DRETIRE -DPATIENT -DLEVEL
full  inbox-outside-late     mailbox inbox clean/0    -DOUTSIDE -DLATE
full  replay-reuse           mailbox replay clean/1  -DREUSE
full  replay-two             mailbox replay clean/0  -DTWO
full  replay-two-one         mailbox replay clean/0  -DTWO -DBOUND=1
full  replay-two-three       mailbox replay clean/0  -DTWO -DBOUND=3
full  replay-own-one         mailbox replay clean/9  -DREUSE -DOWN -DBOUND=1
full  replay-own-loops       mailbox replay clean/9  -DREUSE -DOWN
full  lane-three             actors lane clean/2
full  lane-three-closing     actors lane clean/0   -DCLOSING -DLIMIT=1
full  spawn-two-slots        actors spawn clean/11
full  ask-again-and-again    actors ask clean/2    -DASKS=3 -DMAXFWD=3 -DCLOSING -DTOKENS -DSECOND
full  ask-three-second       actors ask clean/1    -DN=3 -DCLOSING -DTOKENS -DSECOND
full  ask-three-closing      actors ask clean/1    -DN=3 -DCLOSING
full  ask-chain              actors ask clean/1    -DN=3 -DMAXFWD=6 -DCLOSING
full  pool-two-slots         leases pool clean      -DSLOTS=2
full  pool-two-words         leases pool clean      -DSLOTS=2 -DTWO_WORDS -DSTAYS_OUT
full  pool-two-words-alone   leases pool clean      -DSLOTS=2 -DTWO_WORDS -DWAITERS=1 -DTHIEF
full  pool-close-thief       leases pool clean      -DCLOSE -DTHIEF
full  pool-lend-two          leases pool clean      -DSLOTS=2 -DLEND
full  shards-thrice          actors shards clean   -DMOVES=3
quick inbox-forward-patient  mailbox inbox clean/0    -DRETIRE -DFORWARD -DPATIENT
quick inbox-shutdown         mailbox inbox clean/0
full  inbox-outside          mailbox inbox clean/0    -DOUTSIDE
quick inbox-outside-level    mailbox inbox clean/0    -DOUTSIDE -DLEVEL
full  spawn-one-slot         actors spawn clean/13  -DNSLOT=1 -DNGEN=3 -DLENDS=4 -DSPAWNS=3
quick spawn-shutdown         actors spawn clean/13  -DSHUTDOWN
quick ask-all                actors ask clean/2    -DCLOSING -DTOKENS -DSECOND
quick ask-loops              actors ask clean/2    -DCLOSING -DMAXFWD=3
quick writer-all             actors writer clean/31
quick writer-early           actors writer assertion -DMUT_EARLY
quick writer-free            actors writer assertion -DMUT_FREE
quick writer-free-one        actors writer assertion/state -DMUT_FREE_ONE
quick writer-no-line         actors writer endstate -DMUT_NO_LINE
quick writer-close           actors writer assertion/out -DMUT_CLOSE
full  writer-line-kept       actors writer assertion/line_count -DMUT_LINE_KEPT
full  writer-ended           actors writer assertion/failed -DMUT_ENDED
full  writer-by-receipt      actors writer assertion/answered -DMUT_BY_RECEIPT
quick watch-all              actors watch clean/3
quick watch-spawn-first      actors watch clean/3  -DSPAWN_FIRST
quick watch-urgent           actors watch assertion/seen -DMUT_URGENT
quick watch-node-forgotten   actors watch assertion/answered -DMUT_NODE_FORGOTTEN
quick watch-dead-waits       actors watch endstate -DMUT_DEAD_WAITS
quick watch-lent-gone        actors watch assertion/slot -DMUT_LENT_GONE
quick watch-stays-listed     actors watch assertion/answered -DMUT_STAYS_LISTED
full  watch-death-silent     actors watch endstate -DMUT_DEATH_SILENT
quick lane-closing           actors lane clean/0   -DK=2 -DCLOSING
full  replay-own             mailbox replay clean/9  -DREUSE -DOWN
quick replay-own-two         mailbox replay clean/8  -DTWO -DOWN
quick replay-flood           mailbox replay clean/7  -DFLOOD
quick replay-own-flood       mailbox replay clean/15 -DFLOOD -DOWN
quick replay-submit-is-mail  mailbox replay assertion/done -DREUSE -DOWN -DM_SUBMIT_IS_MAIL
quick replay-same-head       mailbox replay assertion/done -DREUSE -DOWN -DM_SAME_HEAD
quick replay-same-tail       mailbox replay assertion/done -DREUSE -DOWN -DM_SAME_TAIL
quick replay-no-take         mailbox replay assertion/done -DREUSE -DOWN -DM_NO_TAKE
quick replay-none            mailbox replay assertion/done -DREUSE -DOWN -DM_NO_REPLAY
full  replay-again-loops     mailbox replay cycle          -DREUSE -DOWN -DM_UNBOUNDED
full  replay-generation      mailbox replay assertion/table -DREUSE -DOWN -DM_IGNORE_GENERATION
full  replay-tombstone       mailbox replay assertion/table -DREUSE -DOWN -DM_TOMBSTONE
full  replay-one-side-first  mailbox replay assertion/missed -DREUSE -DOWN -DM_NO_ALTERNATION
full  replay-unflushed       mailbox replay assertion/done -DREUSE -DOWN -DM_UNFLUSHED
quick lane-loops             actors lane clean/2   -DK=2 -DLIMIT=1
quick pool-thief             leases pool clean      -DTHIEF
quick pool-lend              leases pool clean      -DLEND
quick pool-close             leases pool clean      -DCLOSE
quick shards-once            actors shards clean   -DMOVES=1
quick shards-there-and-back  actors shards clean
quick inbox-bell-omitted     mailbox inbox endstate   -DOUTSIDE -DMUT_NO_BELL
quick inbox-bell-before-cas  mailbox inbox endstate   -DOUTSIDE -DMUT_BELL_BEFORE_CAS
quick inbox-bell-not-owed    mailbox inbox assertion/owed -DOUTSIDE -DMUT_BELL_ALWAYS
quick inbox-park-blind       mailbox inbox endstate   -DOUTSIDE -DMUT_PARK_BLIND
quick inbox-park-by-store    mailbox inbox endstate   -DOUTSIDE -DMUT_PARK_STORE
full  inbox-bell-read-asleep mailbox inbox endstate   -DOUTSIDE -DLEVEL -DMUT_READ_ASLEEP
full  inbox-park-unflushed   mailbox inbox endstate   -DRETIRE -DPATIENT -DMUT_PARK_UNFLUSHED
full  inbox-park-forward     mailbox inbox endstate   -DRETIRE -DFORWARD -DPATIENT -DMUT_PARK_UNFLUSHED
full  inbox-take-reopens     mailbox inbox assertion  -DMUT_TAKE_REOPENS
full  inbox-close-own-out    mailbox inbox endstate   -DMUT_CLOSE_OUT
full  inbox-close-alone      mailbox inbox assertion  -DOUTSIDE -DLATE -DMUT_CLOSE_ALONE
full  inbox-closing-loses    mailbox inbox endstate   -DRETIRE -DMUT_CLOSING_LOSES
full  inbox-stays-closing    mailbox inbox assertion/head -DRETIRE -DMUT_STAYS_CLOSING
full  inbox-drain-drops      mailbox inbox endstate   -DMUT_DRAIN_DROPS
full  inbox-fd-incarnation   mailbox inbox assertion/descriptor -DRETIRE -DMUT_FD_INCARNATION
full  inbox-no-close-order   mailbox inbox endstate   -DOUTSIDE -DMUT_NO_ORDER
full  inbox-catch-dropped    mailbox inbox endstate   -DMUT_CATCH_DROPPED
full  inbox-refused-dropped  mailbox inbox endstate   -DRETIRE -DMUT_REFUSED_DROPPED
full  inbox-forward-dropped  mailbox inbox endstate   -DRETIRE -DFORWARD -DMUT_FORWARD_DROPPED
full  inbox-forward-to-fifo  mailbox inbox assertion  -DRETIRE -DFORWARD -DMUT_FORWARD_TO_FIFO
full  inbox-free-not-counted mailbox inbox assertion/descriptor -DOUTSIDE -DMUT_FREE_EARLY
full  inbox-free-before-guest mailbox inbox assertion/descriptor -DFULL -DMUT_FREE_EARLY
full  inbox-guest-touched    mailbox inbox assertion/guest_gone -DMUT_GUEST_TOUCH
full  inbox-futex-blind      mailbox inbox endstate   -DMUT_FUTEX_NO_COMPARE
full  inbox-stop-word-only   mailbox inbox endstate   -DOUTSIDE -DMUT_STOP_WORD
full  inbox-full-counter     mailbox inbox endstate   -DMUT_EAGAIN
full  inbox-claim-one-bell   mailbox inbox assertion/heard -DOUTSIDE -DCLAIM_STRICT_BELL
quick ask-unanswered         actors ask assertion/request_links -DMUT_UNANSWERED
quick ask-refused-dropped    actors ask assertion/request_links -DCLOSING -DMUT_REFUSED_DROPPED
quick ask-early-delivery     actors ask assertion/request_links -DMUT_EARLY_DELIVERY
quick ask-credit-after       actors ask assertion/charged -DMUT_CREDIT_AFTER
quick ask-second-reply       actors ask assertion/request_links -DSECOND -DMUT_SECOND_REPLY
full  ask-second-forward     actors ask assertion/request_links -DSECOND -DMUT_SECOND_FORWARD
full  ask-second-keep        actors ask assertion/request_links -DSECOND -DMUT_SECOND_KEEP
full  ask-flag-in-record     actors ask assertion/request_links -DSECOND -DMUT_FLAG_IN_RECORD
full  ask-hops-loops         actors ask cycle      -DASKS=1 -DMUT_HOPS_UNCOUNTED
full  ask-holder-not-updated actors ask assertion/holder -DMUT_NO_HOLDER
full  ask-holder-after-pass  actors ask assertion/holder -DMUT_HOLDER_LATE
full  ask-stop-forgets-kept  actors ask assertion  -DMUT_STOP_FORGETS
full  ask-stop-no-cancel     actors ask assertion/cancel_asked -DMUT_STOP_NO_CANCEL
full  ask-stopped-early      actors ask assertion/stopped -DMUT_STOPPED_EARLY
full  ask-withdrawn-answers  actors ask assertion  -DMUT_WITHDRAWN_TOKEN
full  ask-spent-token        actors ask assertion  -DTOKENS -DMUT_SPENT_TOKEN
full  ask-token-by-address   actors ask assertion/old_token -DTOKENS -DMUT_TOKEN_BY_ADDRESS
full  ask-cancel-ends        actors ask assertion/request_links -DMUT_CANCEL_ENDS
full  ask-deadline-outlives  actors ask assertion/deadline -DMUT_STALE_TIMER
full  ask-seen-progress-wins actors ask assertion/marked -DW_PROGRESS
full  cancel-reuse           actors cancel clean/43 -DASKS=2 -DMAXFWD=1 -DTOKENS
full  cancel-closing         actors cancel clean/4 -DASKS=1 -DMAXFWD=3 -DCLOSING
full  cancel-chain           actors cancel clean/43 -DASKS=1 -DMAXFWD=6
full  cancel-loops           actors cancel clean/4 -DASKS=1 -DMAXFWD=2 -DCLOSING
quick cancel-all             actors cancel clean/4 -DASKS=1 -DMAXFWD=2 -DCLOSING
quick family-all             actors family clean/13
quick family-loops           actors family clean/13
quick family-not-cancelled   actors family assertion -DMUT_NOT_CANCELLED
quick family-stays-linked    actors family assertion/child_out -DMUT_STAYS_LINKED
quick family-seen-both       actors family assertion/node_out -DW_BOTH
quick cancel-early-delivery  actors cancel assertion/node_links -DASKS=1 -DMUT_EARLY_DELIVERY
quick cancel-forward-loses   actors cancel assertion/cancel_asked -DASKS=1 -DMUT_FORWARD_LOSES
quick cancel-holder-kept     actors cancel assertion -DASKS=1 -DMUT_NO_HOLDER
quick cancel-holder-late     actors cancel assertion -DASKS=1 -DMUT_HOLDER_LATE
quick cancel-no-mark         actors cancel assertion/cancel_asked -DASKS=1 -DMUT_NO_MARK
full  cancel-two             actors cancel assertion -DASKS=1 -DMUT_TWO_CANCELS
full  cancel-closed-drops    actors cancel assertion/cancel_asked -DASKS=1 -DCLOSING -DMUT_CLOSED_DROP
full  cancel-not-unposted    actors cancel assertion/holder -DASKS=1 -DMUT_NO_UNPOST
full  cancel-spent-token     actors cancel assertion -DASKS=1 -DTOKENS -DMUT_SPENT_TOKEN
full  cancel-deadline-stale  actors cancel assertion/deadline -DASKS=2 -DMAXFWD=1 -DMUT_STALE_TIMER
full  cancel-seen-ahead      actors cancel assertion/kept -DASKS=1 -DW_AHEAD
full  cancel-seen-withdrawn  actors cancel assertion/hops -DASKS=1 -DMAXFWD=4 -DW_WITHDRAWN
full  cancel-seen-progress   actors cancel assertion/marked -DASKS=1 -DW_PROGRESS
full  cancel-seen-unpost     actors cancel assertion/hops -DASKS=1 -DW_UNPOST
quick spawn-mail-dropped     actors spawn assertion/ended -DMUT_DROP
quick spawn-mail-eager       actors spawn assertion/started -DMUT_EAGER
quick spawn-mail-behind      actors spawn assertion/last_seen -DMUT_LIFO
quick spawn-close-lent       actors spawn assertion/taken -DMUT_CLOSE_LENT
quick spawn-shutdown-lent    actors spawn assertion/taken -DSHUTDOWN -DMUT_CLOSE_LENT
full  spawn-lend-recalled    actors spawn assertion -DMUT_LEND_RECALLED
full  spawn-leaver-keeps     actors spawn assertion/leaves -DMUT_LEAVER_KEEPS
full  spawn-not-given-back   actors spawn assertion/retires -DSPAWNS=1 -DLENDS=2 -DMUT_NO_BACK
full  spawn-generation-again actors spawn assertion/taken -DMUT_GEN_RESTART
full  spawn-generation-wraps actors spawn assertion/taken -DMUT_GEN_WRAP
full  spawn-stop-lost        actors spawn assertion/stop_sent -DSPAWNS=1 -DLENDS=1 -DMUT_STOP_LOST
quick move                   actors move clean/31
full  move-five              actors move clean/31  -DMAILS=5 -DGUESTS=1
quick move-count-route       actors move assertion/of1 -DMUT_COUNT_ROUTE
quick move-route-early       actors move assertion/handled -DMUT_ROUTE_EARLY
quick move-closed-early      actors move assertion/handled -DMUT_CLOSED_EARLY
quick move-state-first       actors move assertion/heard -DMUT_STATE_FIRST
quick move-kept-last         actors move assertion/kept_at -DMUT_KEPT_LAST
full  move-pending-last      actors move assertion/handled -DMUT_PENDING_LAST
full  move-ask-out           actors move assertion/asking -DMUT_ASK_OUT
full  move-forget            actors move assertion/at==3 -DMUT_FORGET
full  move-reuse             actors move assertion/handled -DMUT_REUSE
full  move-generation-again  actors move assertion -DMUT_GEN_RESTART
full  move-close-own-out     actors move assertion/word== -DMUT_CLOSE_OUT
quick twice                  actors moves clean/0  -DMAILS=3 -DGUESTS=1
full  twice-four             actors moves clean/0
quick twice-local            actors moves assertion/handled -DMAILS=3 -DGUESTS=1 -DMUT_LOCAL
quick twice-rewritten        actors moves assertion/at==3 -DMAILS=3 -DGUESTS=1 -DMUT_REWRITE
quick twice-lent-closes      actors moves assertion/word2== -DMAILS=3 -DGUESTS=1 -DMUT_LENT_CLOSES
quick twice-closed-early     actors moves assertion/handled -DMAILS=3 -DGUESTS=1 -DMUT_CLOSED_EARLY
quick twice-not-followed     actors moves assertion/at!=3 -DMAILS=3 -DGUESTS=1 -DMUT_NO_FOLLOW
full  twice-state-first      actors moves assertion/handled -DMAILS=3 -DGUESTS=1 -DMUT_STATE_FIRST
quick stays                  actors stays clean/3
quick stays-loops            actors stays clean/3
quick stays-close-out        actors stays assertion/word1== -DMUT_CLOSE_OUT
quick stays-urgent           actors stays assertion/at==2 -DMUT_URGENT
quick stays-named            actors stays assertion/running -DMUT_NAMED
quick stays-chased           actors stays assertion -DMUT_CHASED
quick stays-not-followed     actors stays assertion/answers -DMUT_NO_FOLLOW
full  stays-early            actors stays assertion/chased -DMUT_EARLY
full  stays-to-home          actors stays assertion -DMUT_TO_HOME
quick abroad                 actors abroad clean/0
quick abroad-loops           actors abroad clean/0
quick abroad-no-wait         actors abroad assertion/word_t -DMUT_NO_WAIT
quick abroad-hide-late       actors abroad assertion/word_t -DMUT_HIDE_LATE
quick abroad-blind           actors abroad assertion/owner== -DMUT_BLIND
quick abroad-abroad-late     actors abroad assertion/holder== -DMUT_ABROAD_LATE
quick abroad-node-dropped    actors abroad assertion/answers -DMUT_NODE_DROPPED
full  abroad-count-late      actors abroad assertion -DMUT_COUNT_LATE
full  abroad-home-late       actors abroad assertion/holder== -DMUT_HOME_LATE
full  abroad-early           actors abroad assertion -DMUT_EARLY
full  abroad-no-outside      actors abroad assertion/freed_j -DMUT_NO_OUTSIDE
full  abroad-caught          actors abroad assertion/answers -DMUT_CAUGHT
quick lease                  actors lease clean/18
quick lease-forced           actors lease clean/16 -DFORCED
quick lease-not-serial       actors lease assertion/closed -DMUT_NO_SERIAL
quick lease-no-bell          actors lease assertion/incarnation==2 -DMUT_NO_BELL
quick lease-sleep-race       actors lease endstate -DMUT_SLEEP_RACE
quick lease-released-twice   actors lease assertion/freed -DMUT_TWICE
quick lease-grow-now         actors lease assertion/running==1 -DMUT_GROW_NOW
full  lease-close-with-ops   actors lease assertion/ops==0 -DMUT_CLOSE_OPS
full  lease-give-up-claimed  actors lease assertion/leases -DFORCED -DMUT_GIVE_BLIND
full  lease-claim-late       actors lease assertion/leases -DFORCED -DMUT_CLAIM_LATE
quick lane-never-credited    actors lane assertion/finished -DMUT_NEVER_CREDITED
quick lane-credited-twice    actors lane assertion/really -DMUT_CREDITED_TWICE
quick lane-bytes-kept        actors lane assertion/bytes -DMUT_BYTES_KEPT
quick lane-withdrawn-credited actors lane assertion -DMUT_WITHDRAWN_CREDITED
quick lane-no-look           actors lane assertion/finished -DMUT_NO_LOOK
full  lane-try-overtakes     actors lane assertion/last -DMUT_TRY_OVERTAKES
full  lane-small-first       actors lane assertion/last -DK=4 -DMUT_SMALL_FIRST
full  lane-large-never       actors lane assertion/finished -DMUT_LARGE_NEVER
full  lane-large-always      actors lane assertion/really_bytes -DMUT_LARGE_ALWAYS
full  lane-one-too-many      actors lane assertion/really -DMUT_COUNT_OFF_BY_ONE
full  lane-reply-charged     actors lane assertion/finished -DMUT_REPLY_CHARGED
full  lane-forward-waits     actors lane assertion/finished -DMUT_FORWARD_WAITS
full  lane-forward-charged   actors lane assertion/count -DMUT_FORWARD_CHARGED
quick pool-no-look           leases pool endstate   -DMUT_NO_LOOK
quick pool-no-second-look    leases pool endstate   -DMUT_NO_SECOND_LOOK
quick pool-mark-stays-off    leases pool endstate   -DTHIEF -DMUT_MARK_STAYS_OFF
quick pool-mark-before-join  leases pool endstate   -DMUT_MARK_BEFORE_JOIN
quick pool-keeps-both        leases pool assertion  -DSLOTS=2 -DMUT_KEEPS_BOTH
full  pool-cancel-drops      leases pool assertion/owned -DMUT_CANCEL_DROPS
full  pool-recall-first      leases pool endstate   -DLEND -DMUT_RECALL_BEFORE_JOIN
full  pool-lend-blind        leases pool endstate   -DLEND -DMUT_LEND_BLIND
full  pool-close-tells-first leases pool endstate   -DCLOSE -DMUT_CLOSE_TELLS_FIRST
quick shards-no-keep           actors shards assertion/v>=need -DMUT_NO_KEEP
quick shards-old-answers       actors shards assertion/v>=need -DMUT_OLD_ANSWERS
quick shards-old-serves        actors shards assertion/v>=need -DMUT_OLD_SERVES
quick shards-late-first        actors shards assertion -DMUT_LATE_FIRST
quick shards-overtake          actors shards assertion/v>=need -DMUT_OVERTAKE
full  shards-no-mark           actors shards assertion -DMUT_NO_MARK
full  shards-no-hold           actors shards assertion -DMUT_NO_HOLD
full  shards-early-order       actors shards assertion -DMUT_EARLY_ORDER
full  shards-one-lane          actors shards assertion/moves -DMUT_ONE_LANE
END
}

# what_came: reads the verifier's output in this directory, prints one word.
what_came() {
    if [ -s cc.out ] || ! grep -q '^State-vector' pan.out 2>/dev/null; then
        echo failed
    elif grep -q 'max search depth too small' pan.out; then
        echo truncated
    elif grep -q '^pan:1: assertion violated' pan.out; then
        echo assertion
    elif grep -q '^pan:1: invalid end state' pan.out; then
        echo endstate
    elif grep -q '^pan:1: non-progress cycle' pan.out; then
        echo cycle
    elif grep -q 'Search not completed' pan.out ||
        ! grep -q 'errors: 0' pan.out; then
        echo incomplete
    else
        echo clean
    fi
}

# as_wanted SEEN WANTED UNREACHED: is this what the table asks for?
as_wanted() {
    kind=${2%%/*}
    detail=
    [ "$kind" = "$2" ] || detail=${2#*/}
    [ "$1" = "$kind" ] || return 1
    case $kind in
    clean) [ -z "$detail" ] || [ "$3" -le "$detail" ] ;;
    assertion)
        [ -z "$detail" ] || grep '^pan:1: assertion' pan.out |
            grep -q -F -e "$detail"
        ;;
    esac
}

# run_one WORK NUMBER: one line of the list, in a directory of its own.
run_one() {
    work=$1
    line=$(sed -n "${2}p" "$work/list")
    # shellcheck disable=SC2086
    set -- $line
    tier=$1 name=$2 folder=$3 model=$4 want=$5
    shift 5
    how=-DSAFETY search= compile='cc -O2' table=22
    case $name in *-loops) how=-DNP search=-l ;; esac
    # Most quick searches take less time than an optimising compiler, and than the
    # kernel to give the pages of a large table.
    case $tier$model$want in
    full* | quickinboxclean*) ;;
    quick*clean*) compile=$quick_compile table=20 ;;
    *) compile=$quick_compile table=16 ;;
    esac
    mkdir "$work/$name" && cd "$work/$name" || exit 2
    cp "$root/$folder/models/$model.pml" . || exit 2
    begin=$(date +%s%N)
    spin -a "$@" "$model.pml" >cc.out 2>&1 &&
        $compile -w $how -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=3000 \
            -o pan pan.c >>cc.out 2>&1 &&
        timeout "${RGM_MODEL_LIMIT:-300}" ./pan $search -m20000 -w$table \
            >pan.out 2>&1
    took=$((($(date +%s%N) - begin) / 100000000))
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
    depth=$(sed -n 's/.*depth reached \([0-9]*\),.*/\1/p' pan.out)
    unreached=$(grep -e '\.pml:[0-9]*, state' pan.out | grep -v -c -e '"-end-"')
    seen=$(what_came)
    verdict='not ok'
    as_wanted "$seen" "$want" "$unreached" && verdict=ok
    [ "${want%%/*}" = clean ] || unreached=-
    printf '%-6s %-24s %9s %6s %9s %5s.%s  %-23s %s\n' "$verdict" "$name" \
        "${states:--}" "${depth:--}" "$unreached" $((took / 10)) \
        $((took % 10)) "$want" "$seen" >line
    cat line
    [ -z "${trail:-}" ] || tell "$@"
    rm -f pan pan.[a-np-z]
}

# tell SWITCHES: what there is to know about one run.
tell() {
    cat cc.out
    [ "$unreached" = - ] || grep -e '\.pml:[0-9]*, state' pan.out
    [ ! -f "$model.pml.trail" ] || spin -p -g "$@" -t "$model.pml"
}

if [ "${1:-}" = --one ]; then
    run_one "$2" "$3"
    exit 0
fi

command -v spin >/dev/null || {
    echo 'no spin on this machine'
    exit 77
}
pick=${1:-quick}
trail=
quick_compile='cc -O0'
! command -v tcc >/dev/null || quick_compile=tcc
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
case $pick in
quick) runs | grep -e '^quick ' >"$work/list" ;;
full) runs >"$work/list" ;;
*)
    runs | grep -e "^[a-z]*  *$pick" >"$work/list"
    trail=yes
    ;;
esac
export trail quick_compile

printf '%-6s %-24s %9s %6s %9s %7s  %-23s %s\n' '' run states depth unreached \
    seconds expected seen
expected=$(wc -l <"$work/list")
seq 1 "$expected" |
    xargs -n 1 -P "${RGM_MODEL_JOBS:-2}" "$0" --one "$work"
good=$(cat "$work"/*/line 2>/dev/null | grep -c '^ok ')
printf '%d of %d as expected\n' "$good" "$expected"
[ "$expected" -gt 0 ] && [ "$good" -eq "$expected" ]
