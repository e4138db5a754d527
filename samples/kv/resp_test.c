/* SPDX-License-Identifier: MIT */

/*
 * resp_test.c - does the parser find what was written, however it is cut?
 */

#include "samples/kv/resp_pieces.h"

#define BULK_MAX 1000

static void
expect(const char *bytes, size_t length, const size_t *cuts, size_t count,
       const char *expected)
{
    struct findings found = findings_of(bytes, length, cuts, count, BULK_MAX);
    size_t expected_length = strlen(expected);

    if (found.length != expected_length ||
        (expected_length > 0 &&
         memcmp(found.text, expected, expected_length) != 0)) {
        fprintf(stderr, "expected %s\nfound    %.*s\n", expected,
                (int)found.length, found.text);
        abort();
    }
    free(found.text);
}

/* In one piece, in two cut anywhere, and byte by byte. */
static void
expect_however_cut(const char *bytes, size_t length, const char *expected)
{
    size_t *cuts = malloc((length + 1) * sizeof(*cuts));

    rgi_check(cuts != NULL);
    expect(bytes, length, NULL, 0, expected);
    for (size_t at = 0; at <= length; at++)
        expect(bytes, length, &at, 1, expected);
    for (size_t at = 0; at < length; at++)
        cuts[at] = at + 1;
    expect(bytes, length, cuts, length > 0 ? length - 1 : 0, expected);
    free(cuts);
}

#define EXPECT(literal, expected)                                              \
    expect_however_cut((literal), sizeof(literal) - 1, (expected))

static void
arrays_of_bulk_strings(void)
{
    EXPECT("*1\r\n$4\r\nPING\r\n", "[4]PING;");
    EXPECT("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n",
           "[3]GET[1]k;[4]PING;");
    EXPECT("*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n", "[0][2]\r\n;");
    EXPECT("*7\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n"
           "$1\r\nf\r\n$1\r\ng\r\n",
           "[1]a[1]b[1]c[1]d[1]e[1]f[1]g;");
}

/* The bytes after a bulk string and after a number's CR are not looked at. */
static void
line_ends_are_counted_not_read(void)
{
    EXPECT("*1\rx$4\rxPINGxx*1\r\n$4\r\nPING\r\n", "[4]PING;[4]PING;");
}

static void
nothing_is_no_command(void)
{
    EXPECT("*0\r\n*-1\r\n\r\n\n   \r\nPING\r\n", "[4]PING;");
}

/* A command that lies whole in its piece is found in one go, if its numbers are
 * short and it has few arguments: what is just not so is found all the same, and what
 * only looks so is the error it is. */
static void
short_commands_and_what_is_none(void)
{
    EXPECT("*1\r\n$0\r\n\r\n*1\r\n$10\r\n0123456789\r\n",
           "[0];[10]0123456789;");
    EXPECT("*4\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n",
           "[1]a[1]b[1]c[1]d;");
    EXPECT("*5\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n",
           "[1]a[1]b[1]c[1]d[1]e;");
    EXPECT("*1\r\n$05\r\nabcde\r\n",
           "!ERR Protocol error: invalid bulk length");
    EXPECT("*1\r\n$00\r\n\r\n\r\n", "!ERR Protocol error: invalid bulk length");
    EXPECT("*1\r\n$1x\r\na\r\n", "!ERR Protocol error: invalid bulk length");
    EXPECT("*1\r\n$:\r\n0123456789\r\n",
           "!ERR Protocol error: invalid bulk length");
    EXPECT("*1\r\n$10000\r\nabcd\r\n",
           "!ERR Protocol error: invalid bulk length");
    EXPECT("*1\r\n:1\r\na\r\n", "!ERR Protocol error: expected '$', got ':'");
}

/* The limit is the same for what lies whole in its piece. */
static void
a_whole_bulk_has_a_limit(void)
{
    char text[BULK_MAX + 32];
    struct findings found;
    int length;

    memset(text, 'x', sizeof(text));
    length = snprintf(text, sizeof(text), "*1\r\n$%d\r\n", BULK_MAX);
    text[length] = 'x';
    found = findings_of(text, (size_t)length + BULK_MAX + 2, NULL, 0, BULK_MAX);
    rgi_check(found.length == BULK_MAX + strlen("[1000];"));
    free(found.text);
    length = snprintf(text, sizeof(text), "*1\r\n$%d\r\n", BULK_MAX + 1);
    expect(text, (size_t)length + BULK_MAX + 3, NULL, 0,
           "!ERR Protocol error: invalid bulk length");
}

static void
inline_commands(void)
{
    EXPECT("PING\r\n", "[4]PING;");
    EXPECT("  SET a\tb \nGET a\r\n", "[3]SET[1]a[1]b;[3]GET[1]a;");
    EXPECT("ECHO \"a b\"\r\n", "[4]ECHO[3]a b;");
    EXPECT("ECHO \"\\x41\\n\\\"\\q\\xg\"\r\n", "[4]ECHO[6]A\n\"qxg;");
    EXPECT("ECHO 'a \\' \\n'\r\n", "[4]ECHO[6]a ' \\n;");
    EXPECT("ECHO ''\r\n", "[4]ECHO[0];");
    EXPECT("a'b c'\r\n", "[4]ab c;");
}

static void
errors_have_redis_texts(void)
{
    EXPECT("*x\r\n", "!ERR Protocol error: invalid multibulk length");
    EXPECT("*\r\n", "!ERR Protocol error: invalid multibulk length");
    EXPECT("*01\r\n", "!ERR Protocol error: invalid multibulk length");
    EXPECT("*1048577\r\n", "!ERR Protocol error: invalid multibulk length");
    EXPECT("*99999999999999999999\r\n",
           "!ERR Protocol error: invalid multibulk length");
    EXPECT("*1\r\n$-1\r\n", "!ERR Protocol error: invalid bulk length");
    EXPECT("*1\r\n$1001\r\n", "!ERR Protocol error: invalid bulk length");
    EXPECT("*1\r\n:4\r\n", "!ERR Protocol error: expected '$', got ':'");
    EXPECT("*1\r\n\r\n", "!ERR Protocol error: expected '$', got ' '");
    EXPECT("A 'b\r\n", "!ERR Protocol error: unbalanced quotes in request");
    EXPECT("A \"b\"c\r\n", "!ERR Protocol error: unbalanced quotes in request");
}

/* Commands before the error are found, those behind it are not. */
static void
an_error_is_the_end(void)
{
    EXPECT("PING\r\n*1\r\nx\r\nPING\r\n",
           "[4]PING;!ERR Protocol error: expected '$', got 'x'");
}

static void
line_of(char first, size_t length, const char *expected)
{
    size_t cuts[] = {1, 1000, length / 2};
    char *line = malloc(length + 2);

    rgi_check(line != NULL);
    memset(line, '1', length);
    line[0] = first;
    memcpy(line + length, "\r\n", 2);
    expect(line, length + 2, NULL, 0, expected);
    expect(line, length + 2, cuts, 3, expected);
    cuts[0] = length;
    expect(line, length + 2, cuts, 1, expected);
    cuts[0] = length + 1;
    expect(line, length + 2, cuts, 1, expected);
    free(line);
}

static void
lines_have_a_limit(void)
{
    line_of('*', RESP_LINE_MAX,
            "!ERR Protocol error: invalid multibulk length");
    line_of('*', RESP_LINE_MAX + 1,
            "!ERR Protocol error: too big mbulk count string");
    line_of('P', RESP_LINE_MAX + 1,
            "!ERR Protocol error: too big inline request");
}

static void
a_line_at_the_limit_is_a_command(void)
{
    char *line = malloc(RESP_LINE_MAX + 1);
    struct findings found;

    rgi_check(line != NULL);
    memset(line, 'a', RESP_LINE_MAX);
    line[RESP_LINE_MAX] = '\n';
    found = findings_of(line, RESP_LINE_MAX + 1, NULL, 0, BULK_MAX);
    rgi_check(found.length == RESP_LINE_MAX + strlen("[65536];"));
    free(found.text);
    free(line);
}

static void
what_is_incomplete_waits(void)
{
    EXPECT("", "");
    EXPECT("PIN", "...");
    EXPECT("*2\r\n$3\r\nGET\r\n$5\r\nab", "...");
    EXPECT("PING\r\n*1", "[4]PING;...");
}

/* A whole command is not copied, and a held one outlives the parser. */
static void
a_whole_command_points_into_its_piece(void)
{
    static const char text[] = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";
    struct rgm_view held;
    struct resp resp;
    struct bytes key;
    size_t own = 1;
    const char *piece;

    resp_init(&resp, BULK_MAX);
    resp_feed(&resp, piece_of(text, sizeof(text) - 1));
    piece = resp.input.data;
    rgi_check(resp_next(&resp) == RESP_COMMAND);
    rgi_check(resp_next(&resp) == RESP_COMMAND);
    key = resp_argument(&resp, 1);
    rgi_check(key.data == piece + 17);
    held = resp_hold(&resp, &own);
    rgi_check(own == 0);
    resp_consume(&resp);
    resp_close(&resp);
    rgi_check(pieces_live == 1 && memcmp(key.data, "key", 3) == 0);
    rgm_view_drop(&held);
    rgi_check(pieces_live == 0);
}

static void
a_long_bulk_is_read_to_its_place(void)
{
    static const char head[] = "*2\r\n$3\r\nSET\r\n$1000\r\nab";
    struct rgm_view held;
    struct resp resp;
    void *room = NULL;
    size_t own;

    resp_init(&resp, BULK_MAX);
    resp_feed(&resp, piece_of(head, sizeof(head) - 1));
    rgi_check(resp_next(&resp) == RESP_MORE);
    rgi_check(resp_room(&resp, 1001, &room) == 0 && room == NULL);
    rgi_check(resp_room(&resp, 1000, &room) == 1000);
    memset(room, 'x', 999);
    resp_filled(&resp, 999);
    rgi_check(resp_next(&resp) == RESP_MORE);
    rgi_check(resp_room(&resp, 1, &room) == 1);
    resp_feed(&resp, piece_of("\nPING\r\n", 7));
    rgi_check(resp_next(&resp) == RESP_COMMAND);
    rgi_check(resp_argument(&resp, 1).length_bytes == 1000);
    held = resp_hold(&resp, &own);
    rgi_check(own >= 1000);
    resp_consume(&resp);
    rgi_check(resp_next(&resp) == RESP_COMMAND);
    rgi_check(resp_argument(&resp, 0).length_bytes == 4);
    resp_close(&resp);
    rgm_view_drop(&held);
    rgi_check(pieces_live == 0);
}

static void
spilling_lets_the_piece_go(void)
{
    static const char text[] = "*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n*1\r\n$1";
    struct findings findings = {0};
    struct resp resp;

    resp_init(&resp, BULK_MAX);
    rgi_check(resp_spill(&resp) == 0);
    resp_feed(&resp, piece_of(text, sizeof(text) - 1));
    rgi_check(resp_next(&resp) == RESP_COMMAND);
    rgi_check(resp_spill(&resp) == 0 && pieces_live == 0);
    rgi_check(resp_argument(&resp, 0).data[0] == 'a');
    resp_consume(&resp);
    rgi_check(resp_spill(&resp) == 0);
    rgi_check(findings_read(&findings, &resp));
    resp_feed(&resp, piece_of("\r\nc\r\n", 5));
    rgi_check(findings_read(&findings, &resp));
    rgi_check(findings.length == 10 &&
              memcmp(findings.text, "[1]b;[1]c;", 10) == 0);
    free(findings.text);
    resp_close(&resp);
}

static bool
number_is(const char *text, int64_t expected)
{
    struct bytes bytes = {text, strlen(text)};
    int64_t number = expected ^ 1;
    char back[BYTES_NUMBER_MAX];

    return bytes_to_number(bytes, &number) && number == expected &&
           bytes_from_number(number, back) == bytes.length_bytes &&
           memcmp(back, text, bytes.length_bytes) == 0;
}

static bool
is_no_number(const char *text)
{
    struct bytes bytes = {text, strlen(text)};
    int64_t number = 77;

    return !bytes_to_number(bytes, &number) && number == 77;
}

static void
numbers_are_strict(void)
{
    rgi_check(number_is("0", 0));
    rgi_check(number_is("9", 9) && number_is("10", 10));
    rgi_check(number_is("-1", -1) && number_is("-9", -9));
    rgi_check(number_is("9223372036854775807", INT64_MAX));
    rgi_check(number_is("-9223372036854775808", INT64_MIN));
    rgi_check(is_no_number("") && is_no_number("-") && is_no_number("-0"));
    rgi_check(is_no_number("01") && is_no_number("+1") && is_no_number(" 1"));
    rgi_check(is_no_number("1 ") && is_no_number("1.5") && is_no_number("a"));
    rgi_check(is_no_number("9223372036854775808"));
    rgi_check(is_no_number("-9223372036854775809"));
    rgi_check(is_no_number("99999999999999999999"));
    rgi_check(is_no_number("100000000000000000000"));
}

#define CASES(X)                                                               \
    X(resp, arrays_of_bulk_strings)                                            \
    X(resp, line_ends_are_counted_not_read)                                    \
    X(resp, nothing_is_no_command)                                             \
    X(resp, short_commands_and_what_is_none)                                   \
    X(resp, a_whole_bulk_has_a_limit)                                          \
    X(resp, inline_commands)                                                   \
    X(resp, errors_have_redis_texts)                                           \
    X(resp, an_error_is_the_end)                                               \
    X(resp, lines_have_a_limit)                                                \
    X(resp, a_line_at_the_limit_is_a_command)                                  \
    X(resp, what_is_incomplete_waits)                                          \
    X(resp, a_whole_command_points_into_its_piece)                             \
    X(resp, a_long_bulk_is_read_to_its_place)                                  \
    X(resp, spilling_lets_the_piece_go)                                        \
    X(resp, numbers_are_strict)

RGI_CASES(CASES)
