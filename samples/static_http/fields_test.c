/* SPDX-License-Identifier: MIT */

/* fields_test.c - are targets, ranges, tags and dates read as they are meant? */

#include "samples/static_http/fields.h"

#include <errno.h>
#include <string.h>

#include "base/cases.h"
#include "samples/static_http/path.h"

static void
targets_become_paths(void)
{
    static const struct {
        const char *target;
        int status;
        const char *path;
    } targets[] = {
        {"/", 0, "index.html"},
        {"/a.txt", 0, "a.txt"},
        {"/a.txt?b=/../c", 0, "a.txt"},
        {"/dir/", 0, "dir/index.html"},
        {"/a%20b%2Fc", 0, "a b/c"},
        {"//a///b", 0, "a/b"},
        {"/./a/./b", 0, "a/b"},
        {"/a/../b", 0, "b"},
        {"/../../etc/passwd", 0, "etc/passwd"},
        {"/%2e%2e/%2E%2E/etc/passwd", 0, "etc/passwd"},
        {"/a/..", 0, "index.html"},
        {"/a/b/..", 0, "a/index.html"},
        {"/..%2f..", 0, "index.html"},
        {"/%252e%252e/a", 0, "%2e%2e/a"},
        {"http://host/x", 0, "x"},
        {"http://host", 0, "index.html"},
        {"HTTP://host?q", 0, "index.html"},
        {"/.well-known/x", 0, ".well-known/x"},
        {"/.git/config", 404, NULL},
        {"/a/.hidden", 404, NULL},
        {"/...", 404, NULL},
        {"/%00", 400, NULL},
        {"/%", 400, NULL},
        {"/%2", 400, NULL},
        {"/%zz", 400, NULL},
        {"*", 400, NULL},
        {"host:443", 400, NULL},
    };
    char path[PATH_MAX_BYTES];

    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        const char *target = targets[i].target;

        rgi_check(path_from_target(target, strlen(target), path) ==
                  targets[i].status);
        rgi_check(targets[i].status != 0 ||
                  strcmp(path, targets[i].path) == 0);
    }
}

static void
long_targets_are_not_found(void)
{
    char target[PATH_MAX_BYTES + 1];
    char path[PATH_MAX_BYTES];

    memset(target, 'x', sizeof(target));
    target[0] = '/';
    rgi_check(path_from_target(target, sizeof(target), path) == 404);
    rgi_check(path_from_target(target, PATH_MAX_BYTES - 10, path) == 404);
    rgi_check(path_from_target(target, PATH_MAX_BYTES - 11, path) == 0);
    target[PATH_MAX_BYTES - 12] = '/';
    rgi_check(path_from_target(target, PATH_MAX_BYTES - 11, path) == 0);
    rgi_check(strcmp(strrchr(path, '/'), "/index.html") == 0);
}

static void
ranges_are_one_part_or_none(void)
{
    static const struct {
        const char *field;
        enum range_kind kind;
        uint64_t first, length;
    } ranges[] = {
        {"bytes=0-0", RANGE_PART, 0, 1},
        {"Bytes=2-5", RANGE_PART, 2, 4},
        {"bytes=2-", RANGE_PART, 2, 8},
        {"bytes=2-100", RANGE_PART, 2, 8},
        {"bytes=9-9", RANGE_PART, 9, 1},
        {"bytes=-3", RANGE_PART, 7, 3},
        {"bytes=-100", RANGE_PART, 0, 10},
        {"bytes=0-99999999999999999999999", RANGE_PART, 0, 10},
        {"bytes=10-", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=99999999999999999999999-", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=-0", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=0-1,3-4", RANGE_WHOLE, 0, 0},
        {"bytes=5-2", RANGE_WHOLE, 0, 0},
        {"bytes=-", RANGE_WHOLE, 0, 0},
        {"bytes=", RANGE_WHOLE, 0, 0},
        {"bytes=a-b", RANGE_WHOLE, 0, 0},
        {"lines=0-1", RANGE_WHOLE, 0, 0},
        {"", RANGE_WHOLE, 0, 0},
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        uint64_t first = 0, length = 0;

        rgi_check(range_read(ranges[i].field, 10, &first, &length) ==
                  ranges[i].kind);
        rgi_check(first == ranges[i].first && length == ranges[i].length);
    }
}

static void
tags_are_found_in_lists(void)
{
    rgi_check(tags_have("\"a\"", "\"a\""));
    rgi_check(tags_have("*", "\"a\""));
    rgi_check(tags_have("W/\"a\"", "\"a\""));
    rgi_check(tags_have("\"b\", W/\"c\" ,\"a\"", "\"a\""));
    rgi_check(!tags_have("\"ab\"", "\"a\""));
    rgi_check(!tags_have("\"a\"b", "\"a\""));
    rgi_check(!tags_have("a", "\"a\""));
    rgi_check(!tags_have("", "\"a\""));
    rgi_check(!tags_have(",,,", "\"a\""));
}

static void
dates_go_both_ways(void)
{
    static const int64_t moments[] = {0, 784111777, 951782400, 1767225599,
                                      253402300799};
    char text[DATE_BYTES];
    int64_t seconds = 1;

    date_write(784111777, text);
    rgi_check(strcmp(text, "Sun, 06 Nov 1994 08:49:37 GMT") == 0);
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        date_write(moments[i], text);
        rgi_check(date_read(text, &seconds) && seconds == moments[i]);
    }
    rgi_check(!date_read("", &seconds));
    rgi_check(!date_read("Sun, 31 Feb 2021 08:49:37 GMT", &seconds));
    rgi_check(!date_read("Mon, 06 Nov 1994 08:49:37 GMT", &seconds));
    rgi_check(!date_read("Sunday, 06-Nov-94 08:49:37 GMT", &seconds));
    rgi_check(!date_read("Sun, 06 Nov 1994 08:49:37 GMT ", &seconds));
}

static void
types_follow_endings(void)
{
    rgi_check(strcmp(path_media_type("a/b.PNG"), "image/png") == 0);
    rgi_check(strcmp(path_media_type("a.b/c"), "application/octet-stream") ==
              0);
    rgi_check(strcmp(path_media_type("x"), "application/octet-stream") == 0);
}

#define CASES(X)                                                               \
    X(static_http, targets_become_paths)                                       \
    X(static_http, long_targets_are_not_found)                                 \
    X(static_http, ranges_are_one_part_or_none)                                \
    X(static_http, tags_are_found_in_lists)                                    \
    X(static_http, dates_go_both_ways)                                         \
    X(static_http, types_follow_endings)

RGI_CASES(CASES)
