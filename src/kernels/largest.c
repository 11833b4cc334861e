/* largest.c - the k largest of n values: the active features of a TopK dictionary (src/train/dictionary.h). */
#include "kernels/kernels.h"

/* Whether index a of value x is chosen after index b of value y: the first of equals is chosen. */
static int after(float x, int32_t a, float y, int32_t b) { return x < y || (x == y && a > b); }

/* Move the entry at the root of a heap of n entries, whose last chosen is at the root, to its place. */
static void sift(float *y, int32_t *index, int32_t n) {
    const float x = y[0];
    const int32_t a = index[0];
    int32_t at = 0;
    for (int32_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && after(y[child + 1], index[child + 1], y[child], index[child])) child++;
        if (!after(y[child], index[child], x, a)) break;
        y[at] = y[child];
        index[at] = index[child];
        at = child;
    }
    y[at] = x;
    index[at] = a;
}

/* Order n entries by index, by insertion: n is small. */
static void order(float *y, int32_t *index, int32_t n) {
    for (int32_t j = 1; j < n; j++) {
        const float x = y[j];
        const int32_t a = index[j];
        int32_t at = j;
        for (; at > 0 && index[at - 1] > a; at--) index[at] = index[at - 1], y[at] = y[at - 1];
        index[at] = a;
        y[at] = x;
    }
}

void gf_largest(float *y, int32_t *index, const float *x, const float *bias, int32_t n, int32_t k) {
    for (int32_t j = 0; j < k; j++) y[j] = 0, index[j] = n; /* all are equal, so this is a heap */
    for (int32_t i = 0; i < n; i++) {
        const float v = x[i] + bias[i];
        if (!(v > y[0])) continue;
        y[0] = v;
        index[0] = i;
        sift(y, index, k);
    }
    order(y, index, k);
    for (int32_t j = 0; j < k; j++)
        if (index[j] == n) index[j] = -1;
}
