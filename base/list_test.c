/* SPDX-License-Identifier: MIT */

/* list_test.c - does the intrusive list keep order and refuse misuse? */

#include "base/list.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cases.h"

struct record {
    int number;
    struct rgm_link link;
};

static int
pop_number(struct rgm_link *list)
{
    struct rgm_link *link = rgi_list_pop_front(list);

    return link == NULL ? -1
                        : rgi_container_of(link, struct record, link)->number;
}

/* A zeroed record is in no list; an initialised list holds nothing. */
static void
zero_is_unlinked_and_a_new_list_is_empty(void)
{
    struct record record = {0};
    struct rgm_link list;

    rgi_list_init(&list);
    rgi_check(!rgi_list_is_linked(&record.link));
    rgi_check(rgi_list_empty(&list));
    rgi_check(rgi_list_first(&list) == NULL);
    rgi_check(rgi_list_pop_front(&list) == NULL);
    rgi_check(rgi_list_valid(&list));
}

/* Back keeps arrival order, front goes before it, and a pop unlinks. */
static void
pushes_keep_order(void)
{
    struct record records[4] = {
        {.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    struct rgm_link list;

    rgi_list_init(&list);
    rgi_list_push_back(&list, &records[1].link);
    rgi_list_push_back(&list, &records[2].link);
    rgi_list_push_front(&list, &records[0].link);
    rgi_list_insert_before(&records[2].link, &records[3].link);
    rgi_check(rgi_list_valid(&list));
    rgi_check(rgi_list_first(&list) == &records[0].link);
    rgi_check(pop_number(&list) == 0);
    rgi_check(!rgi_list_is_linked(&records[0].link));
    rgi_check(pop_number(&list) == 1);
    rgi_check(pop_number(&list) == 3);
    rgi_check(pop_number(&list) == 2);
    rgi_check(rgi_list_empty(&list));
}

/* A link leaves from the middle, the ends, and as the last one; and returns. */
static void
removal_needs_no_list(void)
{
    struct record records[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    struct rgm_link list;

    rgi_list_init(&list);
    for (int i = 0; i < 3; i++)
        rgi_list_push_back(&list, &records[i].link);
    rgi_list_remove(&records[1].link);
    rgi_check(rgi_list_valid(&list));
    rgi_list_remove(&records[0].link);
    rgi_list_push_back(&list, &records[0].link);
    rgi_check(rgi_list_valid(&list));
    rgi_check(pop_number(&list) == 2);
    rgi_list_remove(&records[0].link);
    rgi_check(rgi_list_empty(&list));
    rgi_check(rgi_list_valid(&list));
}

/* A splice moves everything behind what is there and empties its source. */
static void
splice_appends_in_order(void)
{
    struct record records[4] = {
        {.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    struct rgm_link list, source;

    rgi_list_init(&list);
    rgi_list_init(&source);
    rgi_list_splice_back(&list, &source);
    rgi_check(rgi_list_empty(&list));
    rgi_list_push_back(&source, &records[0].link);
    rgi_list_push_back(&source, &records[1].link);
    rgi_list_splice_back(&list, &source);
    rgi_check(rgi_list_empty(&source));
    rgi_list_push_back(&source, &records[2].link);
    rgi_list_push_back(&source, &records[3].link);
    rgi_list_splice_back(&list, &source);
    rgi_check(rgi_list_valid(&list) && rgi_list_valid(&source));
    for (int i = 0; i < 4; i++)
        rgi_check(pop_number(&list) == i);
    rgi_check(rgi_list_empty(&list));
}

/* The check sees a torn list instead of walking it for ever. */
static void
valid_sees_a_torn_list(void)
{
    struct record records[2] = {{.number = 0}, {.number = 1}};
    struct rgm_link list, *kept;

    rgi_list_init(&list);
    rgi_list_push_back(&list, &records[0].link);
    rgi_list_push_back(&list, &records[1].link);
    kept = records[0].link.next;
    records[0].link.next = NULL;
    rgi_check(!rgi_list_valid(&list));
    records[0].link.next = &records[0].link;
    rgi_check(!rgi_list_valid(&list));
    records[0].link.next = kept;
    rgi_check(rgi_list_valid(&list));
}

/* Runs `misuse` in a child and tells whether it aborted. */
static bool
aborts(void (*misuse)(struct rgm_link *list, struct rgm_link *link))
{
    struct rgm_link list, link = {0};
    int status;
    pid_t child = fork();

    rgi_check(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0};

        /* The message is expected; the log need not show it. */
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(1);
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        rgi_list_init(&list);
        misuse(&list, &link);
        _exit(0);
    }
    rgi_check(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
misuse_none(struct rgm_link *list, struct rgm_link *link)
{
    rgi_list_push_back(list, link);
    rgi_list_remove(link);
}

static void
misuse_push_twice(struct rgm_link *list, struct rgm_link *link)
{
    rgi_list_push_back(list, link);
    rgi_list_push_back(list, link);
}

static void
misuse_push_front_linked(struct rgm_link *list, struct rgm_link *link)
{
    rgi_list_push_back(list, link);
    rgi_list_push_front(list, link);
}

static void
misuse_remove_unlinked(struct rgm_link *list, struct rgm_link *link)
{
    rgi_list_push_back(list, link);
    rgi_list_remove(link);
    rgi_list_remove(link);
}

/* A second insertion, or a removal from no list, ends the process at once. */
static void
misuse_aborts(void)
{
    rgi_check(!aborts(misuse_none));
    rgi_check(aborts(misuse_push_twice));
    rgi_check(aborts(misuse_push_front_linked));
    rgi_check(aborts(misuse_remove_unlinked));
}

#define CASES(X)                                                               \
    X(list, zero_is_unlinked_and_a_new_list_is_empty)                          \
    X(list, pushes_keep_order)                                                 \
    X(list, removal_needs_no_list)                                             \
    X(list, splice_appends_in_order)                                           \
    X(list, valid_sees_a_torn_list)                                            \
    X(list, misuse_aborts)

RGI_CASES(CASES)
