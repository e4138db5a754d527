/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_ORDERS_H
#define RGI_ACTORS_ORDERS_H

/*
 * orders.h - how does a test go through all orders, and not only some?
 *
 *     struct orders orders;
 *
 *     orders_begin(&orders, 2);
 *     do
 *         scenario(&orders);       the same each time but for who goes next
 *     while (orders_next(&orders));
 *
 * A run is a list of choices: at each place where several players could go on,
 * which does. The list is counted through like a number: in the first run each
 * player goes on as long as it can; in the end each was interrupted by each
 * other at each place, with up to so many interruptions in one run. A failure
 * prints its list.
 *
 * In the scenario, rgm_stepper_choose(stepper, orders_choose, orders) begins
 * the part that is gone through, and NULL ends it.
 */

#include <stdbool.h>

#include "base/cases.h"

#define ORDERS_CHOICES_MAX 4096

struct orders_choice {
    uint8_t count; /* how many there were */
    uint8_t taken;
};

struct orders {
    struct orders_choice choices[ORDERS_CHOICES_MAX];
    unsigned known; /* these are made again; later ones are new */
    unsigned made;
    unsigned interruptions;
    unsigned interruptions_max;
    uint64_t runs;
};

static struct orders *orders_running; /* the one a failure is of */

__attribute__((noreturn)) static void
orders_failed(const char *file, int line, const char *expression)
{
    static char text[4000];
    const struct orders *orders = orders_running;
    size_t length = (size_t)snprintf(text, 500, "%s, choices", expression);

    for (unsigned i = 0; i < orders->made && length < sizeof(text) - 10; i++)
        length += (size_t)snprintf(text + length, 10, " %u",
                                   orders->choices[i].taken);
    rgi_check_failed(file, line, text);
}

/* Instead of rgi_check: says in which order. */
#define orders_check(expression)                                               \
    ((expression) ? (void)0                                                    \
                  : orders_failed(__FILE__, __LINE__, #expression))

static void
orders_begin(struct orders *orders, unsigned interruptions_max)
{
    memset(orders, 0, sizeof(*orders));
    orders->interruptions_max = interruptions_max;
    orders->runs = 1;
    orders_running = orders;
}

static uint32_t
orders_choose(void *argument, uint32_t count)
{
    struct orders *orders = argument;
    struct orders_choice *choice = &orders->choices[orders->made];

    rgi_check(orders->made < ORDERS_CHOICES_MAX && count <= UINT8_MAX);
    if (orders->interruptions == orders->interruptions_max)
        count = 1;
    if (orders->made++ == orders->known) {
        *choice = (struct orders_choice){(uint8_t)count, 0};
        orders->known++;
    }
    orders_check(choice->count == count); /* the same past, the same present */
    orders->interruptions += choice->taken != 0;
    return choice->taken;
}

/* The next list of choices. Returns: false after the last. */
static bool
orders_next(struct orders *orders)
{
    orders->made = 0;
    orders->interruptions = 0;
    while (orders->known > 0) {
        struct orders_choice *last = &orders->choices[orders->known - 1];

        if (++last->taken < last->count) {
            orders->runs++;
            return true;
        }
        orders->known--;
    }
    return false;
}

#endif /* RGI_ACTORS_ORDERS_H */
