/* abi.c - the functions that the wasm binaries export in addition to those of glassformer.h: memory for arguments, and
 * 64-bit values without BigInt (counts as doubles, exact up to 2^53; seeds as two halves).
 *
 * exports.txt lists the exported names. Pointers are offsets into linear memory. The caller, web/lib/engine/engine.js,
 * frees with gf_abi_free what it has allocated with gf_abi_alloc. */
#include "glassformer.h"
#include <stdlib.h>

extern unsigned char __heap_base; /* set by the linker: constants and the stack are below it */

void *gf_abi_alloc(uint32_t n_bytes) { return malloc(n_bytes); }
void gf_abi_free(void *p) { free(p); }
const void *gf_abi_heap_base(void) { return &__heap_base; }

static uint64_t whole(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

double gf_abi_count_parameters(const struct gf_config *cfg) { return (double)gf_count_parameters(cfg); }
double gf_abi_model_bytes(const struct gf_model *m) { return (double)gf_model_bytes(m); }
int32_t gf_abi_randomize(struct gf_model *m, uint32_t seed_low, uint32_t seed_high, float std, struct gf_error *err) {
    return gf_model_randomize(m, whole(seed_low, seed_high), std, err);
}
void gf_abi_seed(struct gf_session *s, uint32_t low, uint32_t high) { gf_session_seed(s, whole(low, high)); }
double gf_abi_kv_bytes(const struct gf_session *s) { return (double)gf_session_kv_bytes(s); }
double gf_abi_block_bytes(const struct gf_session *s) { return (double)gf_session_block_bytes(s); }
double gf_abi_scratch_bytes(const struct gf_session *s) { return (double)gf_session_scratch_bytes(s); }
