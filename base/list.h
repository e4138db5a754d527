/* SPDX-License-Identifier: MIT */
#ifndef RGI_BASE_LIST_H
#define RGI_BASE_LIST_H

/*
 * list.h - how do records wait in line without memory of their own?
 *
 * A list is a `struct rgm_link` that stands for no record: its `next` is the
 * first record's link, its `previous` the last one's, and an empty list points
 * at itself. A record carries a link per list it may be in at the same time.
 *
 *     head -> a -> b -> c -> (head)
 *
 * A link in no list is zero, so a zeroed record is ready for use. Inserting a
 * link that is already in a list, or removing one that is in none, aborts:
 * both would corrupt a stranger's list long before anybody notices.
 *
 * Not safe against other threads. A link may be removed while its list is
 * walked only if the walk took the next one first.
 */

#include <stddef.h>

#include <ringmail/base.h>

#include "base/assert.h"

/* The record that `pointer`, its member called `member`, lies in. */
#define rgi_container_of(pointer, type, member)                                \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline void
rgi_list_init(struct rgm_link *list)
{
    list->next = list;
    list->previous = list;
}

static inline bool
rgi_list_empty(const struct rgm_link *list)
{
    return list->next == list;
}

/* Whether a record's link is in any list. */
static inline bool
rgi_list_is_linked(const struct rgm_link *link)
{
    return link->next != NULL;
}

/* Puts `link` before `place`; before the list itself means at its end. */
static inline void
rgi_list_insert_before(struct rgm_link *place, struct rgm_link *link)
{
    rgi_assert(!rgi_list_is_linked(link));
    rgi_assert(rgi_list_is_linked(place));
    link->next = place;
    link->previous = place->previous;
    place->previous->next = link;
    place->previous = link;
}

static inline void
rgi_list_push_back(struct rgm_link *list, struct rgm_link *link)
{
    rgi_list_insert_before(list, link);
}

/* At the end, on the hot path: the caller knows that the link is in no list. */
static inline void
rgi_list_push_known(struct rgm_link *list, struct rgm_link *link)
{
    struct rgm_link *last = list->previous;

    rgi_assert_slow(!rgi_list_is_linked(link) && rgi_list_is_linked(list));
    link->next = list;
    link->previous = last;
    last->next = link;
    list->previous = link;
}

static inline void
rgi_list_push_front(struct rgm_link *list, struct rgm_link *link)
{
    rgi_list_insert_before(list->next, link);
}

/* Takes `link` out of whatever list it is in; that list need not be known. */
static inline void
rgi_list_remove(struct rgm_link *link)
{
    rgi_assert(rgi_list_is_linked(link));
    link->next->previous = link->previous;
    link->previous->next = link->next;
    link->next = NULL;
    link->previous = NULL;
}

/* The same on the hot path: the caller knows that it is in one. */
static inline void
rgi_list_remove_known(struct rgm_link *link)
{
    struct rgm_link *next = link->next, *previous = link->previous;

    rgi_assert_slow(rgi_list_is_linked(link));
    next->previous = previous;
    previous->next = next;
    link->next = NULL;
    link->previous = NULL;
}

/* The first link, left where it is; NULL when the list is empty. */
static inline struct rgm_link *
rgi_list_first(const struct rgm_link *list)
{
    return list->next == list ? NULL : list->next;
}

static inline struct rgm_link *
rgi_list_pop_front(struct rgm_link *list)
{
    struct rgm_link *link = rgi_list_first(list);

    if (link != NULL)
        rgi_list_remove(link);
    return link;
}

/* Moves everything from `source`, in order, to the end of `list`. */
static inline void
rgi_list_splice_back(struct rgm_link *list, struct rgm_link *source)
{
    if (rgi_list_empty(source))
        return;
    source->next->previous = list->previous;
    list->previous->next = source->next;
    source->previous->next = list;
    list->previous = source->previous;
    rgi_list_init(source);
}

/*
 * Whether both directions agree all the way round. Returns false, rather than
 * running for ever, for a list that never comes back to its head: every step
 * is checked against the step back.
 */
static inline bool
rgi_list_valid(const struct rgm_link *list)
{
    const struct rgm_link *link = list;

    do {
        if (link->next == NULL || link->next->previous != link)
            return false;
        link = link->next;
    } while (link != list);
    return true;
}

#endif /* RGI_BASE_LIST_H */
