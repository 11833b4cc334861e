/* layout_json.c - names and struct offsets as JSON, so that JavaScript repeats no number. */
#include "glassformer.h"
#include "base/text.h"
#include "model/config.h" /* gf_field_name, gf_field_word */
#include <stddef.h>
#include <string.h>

#define TEXT(x)                             #x
#define NUMBER(x)                           TEXT(x)
#define STATUS_ROW(name, value, code, text) "\"" #value "\":\"" code "\","
#define FIELD_NAME(type, name, ...)         "\"" #name "\","
#define OP_NAME(id, name)                   "\"" name "\","
#define LIST_NAME(name, ...)                "\"" #name "\","

static char json[16384];

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
static const char *const kv_types[] = {GF_KV_TYPES(TYPE_NAME)};

/* "enums":{"kind":["decoder","encoder"],...}, */
static void put_enums(struct gf_text *t) {
    gf_append(t, "\"enums\":{");
    for (int32_t field = 0, n = 0; field < GF_N_FIELDS; field++) {
        if (!gf_field_word(field, 0)) continue;
        gf_append(t, n++ ? ",\"" : "\"");
        gf_append(t, gf_field_name(field));
        const char *word = NULL;
        for (int32_t k = 0; (word = gf_field_word(field, k)); k++) {
            gf_append(t, k ? "\",\"" : "\":[\"");
            gf_append(t, word);
        }
        gf_append(t, "\"]");
    }
    gf_append(t, "},");
}

/* "key":["a","b"], */
static void put_names(struct gf_text *t, const char *key, const char *const *names, size_t n) {
    gf_append(t, "\"");
    gf_append(t, key);
    gf_append(t, "\":[");
    for (size_t i = 0; i < n; i++) {
        gf_append(t, i ? ",\"" : "\"");
        gf_append(t, names[i]);
        gf_append(t, "\"");
    }
    gf_append(t, "],");
}

/* "points":[["hook_embed","D",1],... */
static void put_points(struct gf_text *t) {
    gf_append(t, "\"points\":[");
    for (int i = 0; i < GF_N_POINTS; i++) {
        const int global = points[i].name[0] == '@';
        const char axes[2] = {points[i].axes, 0};
        gf_append(t, i ? ",[\"" : "[\"");
        gf_append(t, points[i].name + global);
        gf_append(t, "\",\"");
        gf_append(t, axes);
        gf_append(t, global ? "\",1]" : "\",0]");
    }
}

/* The structs that JavaScript reads and writes. */
#define TENSOR(M)                                                                                                      \
    M(tensor, name)                                                                                                    \
    M(tensor, component)                                                                                               \
    M(tensor, stack)                                                                                                   \
    M(tensor, layer)                                                                                                   \
    M(tensor, rank)                                                                                                    \
    M(tensor, rows)                                                                                                    \
    M(tensor, cols) M(tensor, dtype) M(tensor, tied_to) M(tensor, count) M(tensor, n_bytes) M(tensor, address)
#define ADJUSTMENT(M) M(adjustment, n_bias) M(adjustment, bias_id) M(adjustment, bias) M(adjustment, allowed)
#define CHOICE(M)     M(choice, id) M(choice, logprob)
#define OP_TIME(M)    M(op_time, ms) M(op_time, stack) M(op_time, layer) M(op_time, op)
#define ERROR(M)      M(error, status) M(error, text)

struct member {
    const char *of, *name;
    size_t offset;
};
#define MEMBER(of, name)    {#of, #name, offsetof(struct gf_##of, name)},
#define SIZE(of)            {#of, "bytes", sizeof(struct gf_##of)},
#define STRUCT(of, MEMBERS) MEMBERS(MEMBER) SIZE(of)
#define SAMPLING(type, name, ...) MEMBER(sampling, name)
static const struct member members[] = {STRUCT(tensor, TENSOR) GF_SAMPLING_FIELDS(SAMPLING) SIZE(sampling)
                                            STRUCT(adjustment, ADJUSTMENT) STRUCT(choice, CHOICE)
                                                STRUCT(op_time, OP_TIME) STRUCT(error, ERROR)};

/* ,"tensor":{"name":0,...,"bytes":120},"sampling":{... */
static void put_structs(struct gf_text *t) {
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct member *m = &members[i];
        const int first = !i || strcmp(m->of, m[-1].of);
        gf_append(t, !first ? "," : i ? "},\"" : ",\"");
        if (first) gf_append(t, m->of), gf_append(t, "\":{");
        gf_append(t, "\"");
        gf_append(t, m->name);
        gf_append(t, "\":");
        gf_append_whole(t, m->offset);
    }
    gf_append(t, "}");
}

const char *gf_schema(void) {
    if (json[0]) return json;
    struct gf_text t = gf_text_in(json, sizeof json);
    gf_append(&t, "{\"status\":{" GF_STATUS(STATUS_ROW) "\"\":\"\"},\"fields\":[");
    gf_append(&t, GF_CONFIG_FIELDS(FIELD_NAME) GF_CONFIG_LISTS(LIST_NAME) "\"\"],");
    put_enums(&t);
    put_names(&t, "components", components, sizeof components / sizeof *components);
    put_names(&t, "dtypes", dtypes, sizeof dtypes / sizeof *dtypes);
    put_names(&t, "kv_types", kv_types, sizeof kv_types / sizeof *kv_types);
    put_points(&t);
    gf_append(&t, "],\"ops\":[" GF_OPS(OP_NAME) "\"\"]");
    put_structs(&t);
    gf_append(&t, ",\"config_bytes\":");
    gf_append_whole(&t, sizeof(struct gf_config));
    gf_append(&t, ",\"chunk\":" NUMBER(GF_CHUNK) ",\"kv_block\":" NUMBER(GF_KV_BLOCK) "}");
    return json;
}
