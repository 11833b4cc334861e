/* schema.c - names and struct offsets as JSON, so that JavaScript repeats no number. */
#include "glassformer.h"
#include <stddef.h>

#define TEXT(x)                             #x
#define NUMBER(x)                           TEXT(x)
#define STATUS_ROW(name, value, code, text) "\"" #value "\":\"" code "\","
#define FIELD_NAME(type, name, ...)         "\"" #name "\","
#define OP_NAME(id, name)                   "\"" name "\","
#define LIST_NAME(name, ...)                "\"" #name "\","
/* E(kind, "decoder", "encoder"): up to eight names */
#define NAMES(a, b, c, d, e, f, g, h, ...)                                                                             \
    "\"" a "\",\"" b "\",\"" c "\",\"" d "\",\"" e "\",\"" f "\",\"" g "\",\"" h "\""
#define ENUM_ROW(name, ...) "\"" #name "\":[" NAMES(__VA_ARGS__, "", "", "", "", "", "", "") "],"

static char json[16384];

struct text {
    char *at;
};

static void put(struct text *t, const char *s) {
    while (*s && t->at < json + sizeof json - 1) *t->at++ = *s++;
    *t->at = 0;
}

static void put_number(struct text *t, size_t n) {
    char digits[24], *d = digits + sizeof digits;
    *--d = 0;
    do *--d = (char)('0' + n % 10);
    while (n /= 10);
    put(t, d);
}

static void put_member(struct text *t, const char *name, size_t offset) {
    put(t, "\"");
    put(t, name);
    put(t, "\":");
    put_number(t, offset);
    put(t, ",");
}

struct point {
    const char *name;
    char axes;
};
#define POINT(id, name, axes) {name, axes},
static const struct point points[] = {GF_POINTS(POINT)};

#define COMPONENT_NAME(id, name)        name,
#define TYPE_NAME(id, value, name, ...) name,
static const char *const components[] = {GF_COMPONENTS(COMPONENT_NAME)};
static const char *const dtypes[] = {GF_DTYPES(TYPE_NAME)};
#undef TYPE_NAME
#define TYPE_NAME(id, value, name) name,
static const char *const kv_types[] = {GF_KV_TYPES(TYPE_NAME)};

/* "key":["a","b"], */
static void put_names(struct text *t, const char *key, const char *const *names, size_t n) {
    put(t, "\"");
    put(t, key);
    put(t, "\":[");
    for (size_t i = 0; i < n; i++) {
        put(t, i ? ",\"" : "\"");
        put(t, names[i]);
        put(t, "\"");
    }
    put(t, "],");
}

/* "points":[["hook_embed","D",1],... */
static void put_points(struct text *t) {
    put(t, "\"points\":[");
    for (int i = 0; i < GF_N_POINTS; i++) {
        const int global = points[i].name[0] == '@';
        const char axes[2] = {points[i].axes, 0};
        put(t, i ? ",[\"" : "[\"");
        put(t, points[i].name + global);
        put(t, "\",\"");
        put(t, axes);
        put(t, global ? "\",1]" : "\",0]");
    }
}

const char *gf_schema(void) {
    if (json[0]) return json;
    struct text t = {json};
    put(&t, "{\"status\":{" GF_STATUS(STATUS_ROW) "\"\":\"\"},\"fields\":[");
    put(&t, GF_CONFIG_FIELDS(FIELD_NAME) GF_CONFIG_LISTS(LIST_NAME) "\"\"],\"enums\":{" GF_ENUMS(ENUM_ROW) "\"\":[]},");
    put_names(&t, "components", components, sizeof components / sizeof *components);
    put_names(&t, "dtypes", dtypes, sizeof dtypes / sizeof *dtypes);
    put_names(&t, "kv_types", kv_types, sizeof kv_types / sizeof *kv_types);
    put_points(&t);
    put(&t, "],\"ops\":[" GF_OPS(OP_NAME) "\"\"],\"tensor\":{");
    put_member(&t, "name", offsetof(struct gf_tensor, name));
    put_member(&t, "component", offsetof(struct gf_tensor, component));
    put_member(&t, "stack", offsetof(struct gf_tensor, stack));
    put_member(&t, "layer", offsetof(struct gf_tensor, layer));
    put_member(&t, "rank", offsetof(struct gf_tensor, rank));
    put_member(&t, "rows", offsetof(struct gf_tensor, rows));
    put_member(&t, "cols", offsetof(struct gf_tensor, cols));
    put_member(&t, "dtype", offsetof(struct gf_tensor, dtype));
    put_member(&t, "tied_to", offsetof(struct gf_tensor, tied_to));
    put_member(&t, "count", offsetof(struct gf_tensor, count));
    put_member(&t, "n_bytes", offsetof(struct gf_tensor, n_bytes));
    put_member(&t, "address", offsetof(struct gf_tensor, address));
    put_member(&t, "bytes", sizeof(struct gf_tensor));
    put(&t, "\"\":0},\"sampling\":{");
    put_member(&t, "temperature", offsetof(struct gf_sampling, temperature));
    put_member(&t, "top_p", offsetof(struct gf_sampling, top_p));
    put_member(&t, "min_p", offsetof(struct gf_sampling, min_p));
    put_member(&t, "repetition_penalty", offsetof(struct gf_sampling, repetition_penalty));
    put_member(&t, "top_k", offsetof(struct gf_sampling, top_k));
    put_member(&t, "bytes", sizeof(struct gf_sampling));
    put(&t, "\"\":0},\"adjustment\":{");
    put_member(&t, "n_bias", offsetof(struct gf_adjustment, n_bias));
    put_member(&t, "bias_id", offsetof(struct gf_adjustment, bias_id));
    put_member(&t, "bias", offsetof(struct gf_adjustment, bias));
    put_member(&t, "allowed", offsetof(struct gf_adjustment, allowed));
    put_member(&t, "bytes", sizeof(struct gf_adjustment));
    put(&t, "\"\":0},\"choice\":{");
    put_member(&t, "id", offsetof(struct gf_choice, id));
    put_member(&t, "logprob", offsetof(struct gf_choice, logprob));
    put_member(&t, "bytes", sizeof(struct gf_choice));
    put(&t, "\"\":0},\"op_time\":{");
    put_member(&t, "ms", offsetof(struct gf_op_time, ms));
    put_member(&t, "stack", offsetof(struct gf_op_time, stack));
    put_member(&t, "layer", offsetof(struct gf_op_time, layer));
    put_member(&t, "op", offsetof(struct gf_op_time, op));
    put_member(&t, "bytes", sizeof(struct gf_op_time));
    put(&t, "\"\":0},\"error\":{");
    put_member(&t, "status", offsetof(struct gf_error, status));
    put_member(&t, "text", offsetof(struct gf_error, text));
    put_member(&t, "bytes", sizeof(struct gf_error));
    put(&t, "\"\":0},\"config_bytes\":");
    put_number(&t, sizeof(struct gf_config));
    put(&t, ",\"chunk\":" NUMBER(GF_CHUNK) ",\"kv_block\":" NUMBER(GF_KV_BLOCK) "}");
    return json;
}
