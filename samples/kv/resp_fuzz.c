/* SPDX-License-Identifier: MIT */

/*
 * resp_fuzz.c - is there a cut, or garbage, that the parser minds?
 *
 * 1. Write a stream of random commands, as arrays and as inline commands, and
 *    beside it in words what must be found.
 * 2. Cut it at random and parse: what is found must be those words.
 * 3. Damage some bytes. Parse in one piece and cut at random, three times:
 *    each must find the same, errors included, and nothing may look outside
 *    its piece (build with AddressSanitizer to see that).
 *
 * RGM_FUZZ_SECONDS says how long, 2 by default; RGM_SEED repeats a run.
 */

#include "samples/kv/resp_pieces.h"

#define BULK_MAX 5000
#define STREAM_MAX (256 * 1024)

static uint64_t state;

/* xorshift64*: good enough to be anywhere. */
static uint64_t
random_bits(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(2685821657736338717);
}

static size_t
random_below(size_t limit)
{
    return (size_t)(random_bits() >> 33) % limit;
}

struct stream {
    char bytes[STREAM_MAX];
    size_t length;
    struct findings expected;
};

static void
stream_add(struct stream *stream, const void *bytes, size_t length)
{
    rgi_check(stream->length + length <= STREAM_MAX);
    memcpy(stream->bytes + stream->length, bytes, length);
    stream->length += length;
}

static void
stream_head(struct stream *stream, char type, size_t number)
{
    char text[32];

    stream_add(stream, text,
               (size_t)snprintf(text, sizeof(text), "%c%zu\r\n", type, number));
}

static void
expect_argument(struct stream *stream, const char *bytes, size_t length)
{
    char text[32];

    findings_add(&stream->expected, text,
                 (size_t)snprintf(text, sizeof(text), "[%zu]", length));
    findings_add(&stream->expected, bytes, length);
}

static void
write_array(struct stream *stream)
{
    size_t count = random_below(8) == 0 ? random_below(60) : random_below(5);
    char argument[BULK_MAX];

    stream_head(stream, '*', count);
    for (size_t i = 0; i < count; i++) {
        size_t length = random_below(random_below(20) == 0 ? BULK_MAX : 30);

        for (size_t at = 0; at < length; at++)
            argument[at] = (char)random_bits();
        stream_head(stream, '$', length);
        stream_add(stream, argument, length);
        stream_add(stream, "\r\n", 2);
        expect_argument(stream, argument, length);
    }
    if (count > 0)
        findings_add(&stream->expected, ";", 1);
}

/* A word that may hold anything, written as an inline command writes it. */
static void
write_word(struct stream *stream, const char *word, size_t length)
{
    stream_add(stream, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        char text[8];

        stream_add(stream, text,
                   (size_t)snprintf(text, sizeof(text), "\\x%02x",
                                    (unsigned)(unsigned char)word[i]));
    }
    stream_add(stream, "\"", 1);
}

static void
write_line(struct stream *stream)
{
    size_t count = random_below(5);
    char word[40];

    for (size_t i = 0; i < count; i++) {
        size_t length = random_below(sizeof(word));
        bool quoted = i == 0 || length == 0 || random_below(2) == 0;

        for (size_t at = 0; at < length; at++)
            word[at] =
                quoted ? (char)random_bits() : (char)('a' + random_below(26));
        if (quoted)
            write_word(stream, word, length);
        else
            stream_add(stream, word, length);
        stream_add(stream, "  ", 1 + random_below(2));
        expect_argument(stream, word, length);
    }
    if (random_below(2) == 0)
        stream_add(stream, "\r", 1);
    stream_add(stream, "\n", 1);
    if (count > 0)
        findings_add(&stream->expected, ";", 1);
}

static void
write_stream(struct stream *stream)
{
    size_t commands = 1 + random_below(12);

    stream->length = 0;
    stream->expected.length = 0;
    for (size_t i = 0; i < commands && stream->length < STREAM_MAX / 16; i++) {
        if (random_below(3) == 0)
            write_line(stream);
        else
            write_array(stream);
    }
}

/* Cuts are drawn as many small steps or a few large ones. */
static struct findings
parse_cut(const struct stream *stream)
{
    size_t step = random_below(3) == 0 ? 4 : 1 + random_below(4000);
    size_t *cuts = malloc((stream->length + 1) * sizeof(*cuts));
    struct findings findings;
    size_t count = 0;
    size_t at = 0;

    rgi_check(cuts != NULL);
    while ((at += random_below(step + 1)) < stream->length &&
           count < stream->length)
        cuts[count++] = at;
    findings =
        findings_of(stream->bytes, stream->length, cuts, count, BULK_MAX);
    free(cuts);
    return findings;
}

static void
check_same(const struct findings *a, const struct findings *b)
{
    rgi_check(a->length == b->length);
    rgi_check(a->length == 0 || memcmp(a->text, b->text, a->length) == 0);
}

static void
damage(struct stream *stream)
{
    static const char likely[] = "*$\r\n\"' -0129x\\";
    size_t count = 1 + random_below(4);

    while (count-- > 0 && stream->length > 0) {
        size_t at = random_below(stream->length);

        stream->bytes[at] = random_below(2) == 0
                                ? (char)random_bits()
                                : likely[random_below(sizeof(likely) - 1)];
        if (random_below(8) == 0)
            stream->length = at;
    }
}

static void
round_of(struct stream *stream)
{
    struct findings found;
    struct findings whole;

    write_stream(stream);
    found = parse_cut(stream);
    check_same(&found, &stream->expected);
    free(found.text);

    damage(stream);
    whole = findings_of(stream->bytes, stream->length, NULL, 0, BULK_MAX);
    for (int i = 0; i < 3; i++) {
        found = parse_cut(stream);
        check_same(&found, &whole);
        free(found.text);
    }
    free(whole.text);
}

static double
seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int
main(void)
{
    static struct stream stream;
    const char *text = getenv("RGM_FUZZ_SECONDS");
    double limit = seconds() + (text != NULL ? strtod(text, NULL) : 2);
    uint64_t rounds = 0;

    state = rgi_seed();
    do {
        for (int i = 0; i < 100; i++)
            round_of(&stream);
        rounds += 100;
    } while (seconds() < limit);
    free(stream.expected.text);
    printf("%" PRIu64 " streams, each cut five ways, half of them damaged\n",
           rounds);
    return 0;
}
