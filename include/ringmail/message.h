/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_MESSAGE_H
#define RINGMAIL_MESSAGE_H

/*
 * message.h - addresses, one-way messages and requests: what crosses threads.
 *
 *     sender --- message ---> addressed actor          a one-way message ...
 *        ^------ return ------------'                  ... comes home
 *     asker  --- request ---> actor --- forward ---> actor
 *        ^------ reply (the same memory) ---------------'
 *
 * Every message comes home exactly once, to the worker that made it. Until
 * then its memory belongs to the runtime; nobody but the handler that is
 * running on it may touch it.
 *
 * A message is a struct of yours whose first member is `struct rgm_message
 * message`; a request one whose first member is `struct rgm_request request`.
 * RGM_MESSAGE(t) and RGM_REQUEST(t) declare the type once, in a header or a
 * source file, at file scope:
 *
 *     struct add { struct rgm_message message; long amount; };
 *     RGM_MESSAGE(add);
 *
 *     struct get { struct rgm_request request; long value; };
 *     RGM_REQUEST(get);
 */

#include <ringmail/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_actor;
struct rgm_order;
struct rgm_gather;
struct rgm_request;
struct rgm_runtime;
struct rgm_scope;
struct rgm_timeout;

/*
 * Where an actor is: worker (10 bits), slot (24), generation (30). By value,
 * and never followed when stale. Zero is nobody.
 */
struct rgm_address {
    uint64_t bits;
};

#define RGM_ADDRESS_WORKER_BITS 10
#define RGM_ADDRESS_SLOT_BITS 24
#define RGM_ADDRESS_GENERATION_BITS 30

static inline bool
rgm_address_same(struct rgm_address a, struct rgm_address b)
{
    return a.bits == b.bits;
}

/* The number of the worker the address is on. */
static inline uint32_t
rgm_address_worker(struct rgm_address address)
{
    return (uint32_t)(address.bits >> 54);
}

enum rgm_message_kind {
    RGM_KIND_MESSAGE,   /* one way; comes home as a return */
    RGM_KIND_REQUEST,   /* comes home as its own reply */
    RGM_KIND_OPERATION, /* a request to the worker itself: a capability */
    RGM_KIND_CONTROL    /* the runtime's own */
};

/*
 * What the runtime knows about a type. Made by RGM_MESSAGE and RGM_REQUEST;
 * identity is the object's address.
 */
struct rgm_message_type {
    const char *name;
    uint32_t size_bytes;    /* of the whole struct, without trailing bytes */
    uint16_t header_offset; /* of struct rgm_message in it */
    uint8_t kind;           /* enum rgm_message_kind */
    uint8_t late;           /* answered late: has lanes of its own */
    /* One-way messages: told on the owner's thread that the message is home,
     * before its memory is given back. NULL: nobody wants to know. Requests:
     * told the same of one that was abandoned; NULL: none can be. */
    void (*returned)(void *record, int status);
};

/*
 * The header of everything that is passed: 48 bytes, so that 16 bytes of
 * payload share its first cache line. All fields are the runtime's.
 */
struct rgm_message {
    struct rgm_message *next; /* whoever holds the message links it here */
    const struct rgm_message_type *type;
    struct rgm_address to;   /* the addressed actor */
    struct rgm_address from; /* the actor it comes from; its home */
    uint32_t charged_bytes;  /* size, trailing bytes included */
    int32_t status;          /* how it came home: 0 or negative errno */
    uint16_t lane;           /* what it is charged to; 0: nothing */
    uint8_t state;           /* actors/request.h */
    uint8_t flags;
    uint16_t holder; /* the worker it is at, or on its way to */
    uint8_t hops;    /* forwards so far */
    uint8_t control; /* the runtime's own messages: which */
};

typedef void rgm_answer_function(struct rgm_actor *, struct rgm_request *);

/*
 * A request: three parts of a cache line each. The first is the asker's too,
 * but touched only when there is a deadline, a cancel, or another request on
 * behalf of this one; the second is the asker's and is touched by its worker
 * alone; the header and the payload behind it travel.
 */
struct rgm_request {
    /* The timer of its deadline, and when that is over, the node that goes
     * after it. */
    union {
        struct rgm_message cancel;
        uint64_t timer[4];
    } aside;
    uint64_t deadline_ns; /* not yet asked: may be a duration */
    union {
        struct rgm_request *children; /* asked for it; its holder's */
        uint64_t domain;              /* at home: where the deadline is from */
        struct rgm_runtime *origin; /* in another one: its own, abroad.c */
    } hold;

    rgm_answer_function *answer;
    struct rgm_actor *asker;
    union {
        struct rgm_link link; /* in the list of what a stop reaches */
        struct rgm_scope *named; /* at home: it will be asked in */
    } scope;
    union {
        struct {
            struct rgm_order *order;
            struct rgm_request *next;
        } line; /* asked in an order */
        struct {
            struct rgm_request *next;
            struct rgm_request **previous;
        } family; /* asked for another */
        struct rgm_timeout *wrapper; /* with a timeout */
        struct rgm_address next; /* its asker has moved: to there */
    } with;
    struct rgm_gather *gather;
    uint32_t asker_flags;
    uint8_t life; /* enum rgi_request_life, actors/request.h */
    uint8_t bond; /* enum rgi_request_bond, actors/request.h */
    uint16_t owners; /* an operation's: what it holds, capabilities/owners.h */
    struct rgm_message message;
};

/* How the request came home: 0 or negative errno. Valid in its callback. */
static inline int
rgm_request_status(const struct rgm_request *request)
{
    return request->message.status;
}

/* The same for any struct that begins with a request. */
#define rgm_status(record) rgm_request_status(&(record)->request)

/*
 * Take a zeroed message or request from the own worker's slab, with
 * trailing_bytes behind the struct, which are not zeroed. Allocates nothing
 * once warm, up to 2,048 bytes in all; larger ones are allocated one by one.
 *
 * Thread:  owner of the actor (or guest).
 * Owns:    the caller, until it sends or asks it, or gives it back.
 * Returns: NULL when there is no memory, or the size exceeds 32 bits.
 */
RGM_API RGM_MUST_USE void *
rgm_take(struct rgm_actor *self, const struct rgm_message_type *type,
         size_t trailing_bytes);

/*
 * Give back what rgm_take gave. It must be home.
 *
 * Thread:  owner of the actor that took it, or another of the same worker.
 */
RGM_API void rgm_give(struct rgm_actor *self,
                      const struct rgm_message_type *type, void *record);

/*
 * Make memory of one's own (a member of an actor, a static) into a message or
 * request that is at home. Not needed after rgm_take.
 *
 * Thread:  setup.
 */
RGM_API void rgm_init(const struct rgm_message_type *type, void *record);

/* Set where a request goes. Thread: owner; the request is at home. */
RGM_API void rgm_request_to(struct rgm_request *request,
                            struct rgm_address to);

/*
 * Declare a one-way message type. It gives
 *
 *   t_type                       what rgm_take and the handlers know it by
 *   t_take(actor, trailing)      a message from the actor's worker's slab
 *   t_give(actor, message)       give back one that was not sent
 *   t_init(message)              make memory of one's own into a message
 *
 * RGM_MESSAGE_RETURNED also names `static void f(struct t *, int status)`,
 * called on the home worker when one comes home; its memory is given back
 * after that.
 */
#define RGM_MESSAGE(t)                                                        \
    RGM_TYPE_(t, message, 0, RGM_KIND_MESSAGE, 0, NULL)                       \
    RGM_TYPE_HELPERS_(t, message)

#define RGM_MESSAGE_RETURNED(t, f)                                            \
    static void f(struct t *message, int status);                             \
    static inline void t##_returned_(void *record, int status)                \
    {                                                                         \
        f((struct t *)record, status);                                        \
    }                                                                         \
    static RGM_TYPE_OBJECT_(t, 0, RGM_KIND_MESSAGE, 0, t##_returned_)         \
    RGM_TYPE_HELPERS_(t, message)

/*
 * Declare a request type: as above, and t_prepare(request, address), which
 * makes memory of one's own into a request to that actor, ready to be asked.
 * RGM_REQUEST_LATE is for requests that are answered late (blocking pops,
 * subscriptions): they have lanes of their own.
 */
#define RGM_REQUEST(t) RGM_REQUEST_(t, 0)
#define RGM_REQUEST_LATE(t) RGM_REQUEST_(t, 1)

#define RGM_REQUEST_(t, late)                                                 \
    RGM_TYPE_(t, request, offsetof(struct rgm_request, message),              \
              RGM_KIND_REQUEST, late, NULL)                                   \
    RGM_PREPARE_(t)                                                           \
    RGM_TYPE_HELPERS_(t, request)

#define RGM_PREPARE_(t)                                                       \
    __attribute__((unused)) static inline void t##_prepare(                   \
        struct t *request_, struct rgm_address to)                            \
    {                                                                         \
        rgm_init(&t##_type, request_);                                        \
        rgm_request_to(&request_->request, to);                               \
    }

#define RGM_TYPE_OBJECT_(t, header_offset, kind, late, returned)              \
    const struct rgm_message_type t##_type = {                                \
        #t, (uint32_t)sizeof(struct t), (uint16_t)(header_offset),            \
        (uint8_t)(kind), (uint8_t)(late), (returned)};

/* Weak: the same object in every translation unit that includes it. */
#define RGM_TYPE_(t, first, header_offset, kind, late, returned)              \
    extern const struct rgm_message_type t##_type                             \
        __attribute__((weak, visibility("default")));                         \
    RGM_TYPE_OBJECT_(t, header_offset, kind, late, returned)

#define RGM_TYPE_HELPERS_(t, first)                                           \
    __attribute__((unused)) static inline struct t *t##_take(                 \
        struct rgm_actor *actor, size_t trailing_bytes)                       \
    {                                                                         \
        return (struct t *)rgm_take(actor, &t##_type, trailing_bytes);        \
    }                                                                         \
    __attribute__((unused)) static inline void t##_give(                      \
        struct rgm_actor *actor, struct t *record)                            \
    {                                                                         \
        rgm_give(actor, &t##_type, record);                                   \
    }                                                                         \
    __attribute__((unused)) static inline void t##_init(struct t *record)     \
    {                                                                         \
        rgm_init(&t##_type, record);                                          \
    }                                                                         \
    RGM_STATIC_ASSERT_(offsetof(struct t, first) == 0,                        \
                       #t " must begin with its " #first)

#ifdef __cplusplus
#define RGM_STATIC_ASSERT_(condition, text) static_assert(condition, text)
#else
#define RGM_STATIC_ASSERT_(condition, text) _Static_assert(condition, text)
#endif

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_MESSAGE_H */
