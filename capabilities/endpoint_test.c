/* SPDX-License-Identifier: MIT */

/* endpoint_test.c - do addresses survive text and the kernel's form? */

#include "capabilities/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "base/cases.h"

#define LONGEST                                                               \
    "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
    const char *text;
    uint16_t port;
    uint8_t family;
    const char *printed;
} good[] = {
    {"127.0.0.1", 80, RGM_IPV4, "127.0.0.1:80"},
    {"0.0.0.0", 0, RGM_IPV4, "0.0.0.0:0"},
    {"255.255.255.255", 65535, RGM_IPV4, "255.255.255.255:65535"},
    {"::1", 80, RGM_IPV6, "[::1]:80"},
    {"::", 1, RGM_IPV6, "[::]:1"},
    {"2001:DB8:0:0::1", 443, RGM_IPV6, "[2001:db8::1]:443"},
    {"::ffff:1.2.3.4", 5, RGM_IPV6, "[::ffff:1.2.3.4]:5"},
    {"fe80::1%3", 80, RGM_IPV6, "[fe80::1%3]:80"},
    {"/tmp/socket", 80, RGM_UNIX, "/tmp/socket"},
    {LONGEST, 0, RGM_UNIX, LONGEST},
};

static const char *const bad[] = {
    "",           "localhost",     "1.2.3",       "1.2.3.4.5",
    "256.0.0.1",  "1.2.3.4 ",      " 1.2.3.4",    "01.2.3.4",
    "1.2.3.4:80", ":",             ":::",         "[::1]",
    "12345::",    "fe80::1%",      "fe80::1%x",   "fe80::1%1x",
    "fe80::1%-1", "fe80::1%4294967296", "%1",     "1.2.3.4%1",
    "name/path",  LONGEST "b",
    "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc",
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void
text_round_trip(void)
{
    struct rgm_endpoint endpoint;
    char text[128];

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        rgi_check(rgm_endpoint_parse(good[i].text, good[i].port, &endpoint) ==
                  0);
        rgi_check(endpoint.family == good[i].family);
        rgi_check(rgi_endpoint_is_valid(&endpoint));
        rgi_check(rgm_endpoint_format(&endpoint, text, sizeof(text)) ==
                  (int)strlen(good[i].printed));
        rgi_check(strcmp(text, good[i].printed) == 0);
    }
}

static void
bad_text_leaves_the_output(void)
{
    struct rgm_endpoint endpoint;
    struct rgm_endpoint before;

    memset(&before, 0x5a, sizeof(before));
    endpoint = before;
    errno = ELOOP;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        rgi_check(rgm_endpoint_parse(bad[i], 1, &endpoint) == -EINVAL);
        rgi_check(memcmp(&endpoint, &before, sizeof(before)) == 0);
    }
    rgi_check(rgm_endpoint_parse(NULL, 1, &endpoint) == -EINVAL);
    rgi_check(errno == ELOOP);
}

/* Too small by one, by all, and just large enough. */
static void
format_says_when_it_has_no_space(void)
{
    struct rgm_endpoint endpoint;
    struct rgm_endpoint none = {0};
    char text[16];

    rgi_check(rgm_endpoint_parse("1.2.3.4", 56, &endpoint) == 0);
    rgi_check(rgm_endpoint_format(&endpoint, text, 11) == 10);
    rgi_check(rgm_endpoint_format(&endpoint, text, 10) == -ENOSPC);
    rgi_check(strcmp(text, "1.2.3.4:5") == 0);
    text[0] = 'x';
    rgi_check(rgm_endpoint_format(&endpoint, text, 0) == -ENOSPC);
    rgi_check(text[0] == 'x');
    rgi_check(rgm_endpoint_format(&none, text, sizeof(text)) > 0);
}

static void
kernel_round_trip(void)
{
    struct rgm_endpoint endpoint, back;
    struct sockaddr_storage address;
    socklen_t length;

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        rgi_check(rgm_endpoint_parse(good[i].text, good[i].port, &endpoint) ==
                  0);
        length = rgi_endpoint_to_kernel(&endpoint, &address);
        rgi_check(length <= sizeof(address));
        memset(&back, 0x5a, sizeof(back));
        rgi_endpoint_from_kernel(&address, length, &back);
        rgi_check(memcmp(&endpoint, &back, sizeof(back)) == 0);
    }
}

/* A Unix socket that is bound to nothing, a path that is not ended, a family
 * that is none of ours, and no address at all. */
static void
kernel_oddities(void)
{
    struct sockaddr_storage storage;
    struct sockaddr_un *address = (struct sockaddr_un *)(void *)&storage;
    struct rgm_endpoint endpoint;

    memset(&storage, 'p', sizeof(storage));
    address->sun_family = AF_UNIX;
    rgi_endpoint_from_kernel(&storage, sizeof(sa_family_t), &endpoint);
    rgi_check(endpoint.family == RGM_UNIX && endpoint.path[0] == '\0');
    rgi_check(!rgi_endpoint_is_valid(&endpoint));
    rgi_endpoint_from_kernel(&storage, sizeof(*address), &endpoint);
    rgi_check(strlen(endpoint.path) == sizeof(endpoint.path) - 1);
    storage.ss_family = AF_PACKET;
    rgi_endpoint_from_kernel(&storage, sizeof(storage), &endpoint);
    rgi_check(endpoint.family == 0);
    rgi_endpoint_from_kernel(&storage, 0, &endpoint);
    rgi_check(endpoint.family == 0);
}

static void
what_cannot_be_bound_is_not_valid(void)
{
    struct rgm_endpoint endpoint = {0};

    rgi_check(!rgi_endpoint_is_valid(NULL));
    rgi_check(!rgi_endpoint_is_valid(&endpoint));
    endpoint.family = RGM_UNIX;
    rgi_check(!rgi_endpoint_is_valid(&endpoint));
    memset(endpoint.path, 'p', sizeof(endpoint.path)); /* not ended */
    rgi_check(!rgi_endpoint_is_valid(&endpoint));
    endpoint.family = 9;
    rgi_check(!rgi_endpoint_is_valid(&endpoint));
    endpoint.family = RGM_IPV6;
    rgi_check(rgi_endpoint_is_valid(&endpoint));
}

#define CASES(X)                                                              \
    X(endpoint, text_round_trip)                                              \
    X(endpoint, bad_text_leaves_the_output)                                   \
    X(endpoint, format_says_when_it_has_no_space)                             \
    X(endpoint, kernel_round_trip)                                            \
    X(endpoint, kernel_oddities)                                              \
    X(endpoint, what_cannot_be_bound_is_not_valid)

RGI_CASES(CASES)
