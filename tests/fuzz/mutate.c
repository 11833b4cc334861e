/* mutate.c - see mutate.h. */
#include "mutate.h"
#include <math.h>
#include <string.h>

uint64_t any(struct gf_rng *r, uint64_t n) { return gf_rng_u64(r) % n; }

/* A random offset in n bytes. Half of them are among the first 512, where files have their lengths. */
static size_t place(struct gf_rng *r, size_t n) { return (size_t)any(r, n > 512 && any(r, 2) ? 512 : n); }

/* A random length from 1 to `most`, short ones more often than long ones. */
static size_t length(struct gf_rng *r, size_t most) {
    const size_t bound = (size_t)1 << any(r, 14);
    return 1 + (size_t)any(r, bound < most ? bound : most);
}

/* Replace bytes [at, at + cut) by n others, unless the result exceeds the capacity. Returns the new number of bytes. */
static size_t splice(uint8_t *bytes, size_t size, size_t capacity, size_t at, size_t cut, const uint8_t *with,
                     size_t n) {
    if (size - cut + n > capacity) return size;
    memmove(bytes + at + n, bytes + at + cut, size - at - cut);
    memcpy(bytes + at, with, n);
    return size - cut + n;
}

static const uint8_t edge_bytes[] = {0, 1, 0x20, 0x22, 0x5c, 0x5d, 0x7f, 0x80, 0xc4, 0xfe, 0xff};
static const uint64_t edge_words[] = {0,
                                      1,
                                      2,
                                      31,
                                      0x7f,
                                      0xff,
                                      0xffff,
                                      0x10000,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0x100000000,
                                      0x7f800000, /* infinity, NaN as f32 */
                                      0x7fc00000,
                                      0x7fffffffffffffff,
                                      0x8000000000000000,
                                      0xfffffffffffffff0,
                                      0xffffffffffffffff};
static const char *const edge_numbers[] = {
    "0",   "-0",  "1",    "-1",   "2147483647", "2147483648", "4294967296", "9223372036854775808",
    "1e9", "3.5", "1e-9", "1e40", "1e999",      "-1e999",     "nan",        "0x10",
};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Replace a number written in digits by another one. */
static size_t replace_number(struct gf_rng *r, uint8_t *bytes, size_t n, size_t capacity) {
    size_t at = place(r, n), end;
    while (at < n && !(bytes[at] >= '0' && bytes[at] <= '9')) at++;
    for (end = at; end < n && bytes[end] >= '0' && bytes[end] <= '9';) end++;
    const char *to = edge_numbers[any(r, COUNT(edge_numbers))];
    return end > at ? splice(bytes, n, capacity, at, end - at, (const uint8_t *)to, strlen(to)) : n;
}

static const float edge_floats[] = {0,     -0.0f, 1e-45f,    -1e-38f,  3.4e38f, -3.4e38f,
                                    65504, 65520, -INFINITY, INFINITY, NAN,     -1};

/* Change a field of a binary header or array: an aligned number of 4 or 8 bytes becomes an edge value, changes by at
 * most 16, or becomes a float. */
static void change_field(struct gf_rng *r, uint8_t *bytes, size_t n) {
    const size_t size = any(r, 2) ? 8 : 4, at = place(r, n) / size * size;
    if (at + size > n) return;
    uint64_t word = 0;
    memcpy(&word, bytes + at, size);
    switch (any(r, 3)) {
    case 0: word = edge_words[any(r, COUNT(edge_words))]; break;
    case 1: word += any(r, 33) - 16; break;
    default: memcpy(&word, &edge_floats[any(r, COUNT(edge_floats))], sizeof(float));
    }
    memcpy(bytes + at, &word, size);
}

static int is_delimiter(uint8_t c) { return memchr("\n\t ,\"=:[]{}", c, 12) != NULL; }

/* The end of the item of a text (a line, word, string or number) that starts at `at`. */
static size_t item_end(const uint8_t *bytes, size_t n, size_t at) {
    while (at < n && !is_delimiter(bytes[at])) at++;
    return at;
}

/* Remove or double an item of a text, or replace it by another item of this text or of `other`. */
static size_t change_item(struct gf_rng *r, uint8_t *bytes, size_t n, size_t capacity, const uint8_t *other,
                          size_t n_other) {
    uint8_t piece[512];
    size_t at = place(r, n);
    while (at && !is_delimiter(bytes[at - 1])) at--;
    const size_t cut = item_end(bytes, n, at) - at;
    const uint8_t *from = n_other && any(r, 3) == 0 ? other : bytes;
    const size_t all = from == other ? n_other : n;
    size_t with = place(r, all), m;
    switch (any(r, 3)) {
    case 0: return splice(bytes, n, capacity, at, cut + (at + cut < n), bytes, 0);
    case 1: with = at, from = bytes, m = cut + (at + cut < n); break;
    default:
        while (with && !is_delimiter(from[with - 1])) with--;
        m = item_end(from, all, with) - with;
    }
    m = m < sizeof piece ? m : sizeof piece;
    memcpy(piece, from + with, m);
    return splice(bytes, n, capacity, at, with == at && from == bytes ? 0 : cut, piece, m);
}

/* Make one random change. */
static size_t change_once(struct gf_rng *r, uint8_t *bytes, size_t n, size_t capacity, const uint8_t *other,
                          size_t n_other) {
    uint8_t piece[1 << 13];
    if (!n) return n;
    const size_t at = place(r, n);
    size_t m = length(r, n - at);
    switch (any(r, 13)) {
    case 0: bytes[at] ^= (uint8_t)(1 << any(r, 8)); return n;
    case 1: bytes[at] = edge_bytes[any(r, COUNT(edge_bytes))]; return n;
    case 2: bytes[at] = (uint8_t)any(r, 256); return n;
    case 3: { /* a length of a binary header, at any offset */
        const uint64_t word = edge_words[any(r, COUNT(edge_words))] + (any(r, 2) ? 0 : any(r, 3));
        const size_t size = any(r, 2) ? 8 : 4;
        if (at + size <= n) memcpy(bytes + at, &word, size);
        return n;
    }
    case 4: return splice(bytes, n, capacity, at, m, bytes, 0);
    case 5:
        m = m < sizeof piece ? m : sizeof piece;
        memcpy(piece, bytes + at, m);
        return splice(bytes, n, capacity, place(r, n), 0, piece, m);
    case 6: {
        if (!n_other) return n;
        const size_t from = place(r, n_other);
        m = length(r, n_other - from);
        return splice(bytes, n, capacity, at, any(r, 2) || m > n - at ? 0 : m, other + from, m);
    }
    case 7: return any(r, 4) ? n : at;
    case 8:
    case 9: change_field(r, bytes, n); return n;
    case 10:
    case 11: return change_item(r, bytes, n, capacity, other, n_other);
    default: return replace_number(r, bytes, n, capacity);
    }
}

size_t mutate(struct gf_rng *r, uint8_t *bytes, size_t n, size_t capacity, const uint8_t *other, size_t n_other) {
    do n = change_once(r, bytes, n, capacity, other, n_other);
    while (any(r, 3));
    return n;
}
