// {{title}}: a tool that counts words, as a component of the world `clawft-plugin`.
//
// The functions are those of clawft-plugin.wit, in the canonical ABI of the component model: a text is a pointer and a
// length, and what is larger than one number is returned by a pointer to it. `sh build.sh` makes plugin.wat of this.

#include <stdbool.h>
#include <stdint.h>

#define PLUGIN "clawft:plugin/plugin@0.1.0#"
#define EXPORT(name) __attribute__((export_name(name)))
#define KEPT(name) __attribute__((section(name))) static const volatile char // in a place of its own in plugin.wat

typedef struct { const char *data; uint32_t length; } text;
typedef struct { text id, name, version; } plugin_info;
typedef struct { text content; bool is_error; } tool_result;
typedef struct { uint8_t is_error; text error; } result_void; // result<_, string>

// As in the manifest: the host compares them.
KEPT("id") ID[129] = "{{id}}";
KEPT("name") NAME[101] = "{{title}}";
KEPT("version") VERSION[65] = "0.1.0";

// --- Memory: the host puts texts here, and all of it is free again when a call is over -------------------------------

static uint8_t heap[1 << 20] __attribute__((aligned(8)));
static uint32_t used;

EXPORT("cabi_realloc") void *cabi_realloc(void *old, uint32_t old_size, uint32_t align, uint32_t size) {
    (void)old, (void)old_size, (void)align;
    if (size > sizeof heap - used) __builtin_trap(); // too long a text: this call fails, and the next is fresh
    void *at = heap + used;
    used = (used + size + 7) & ~7u;
    if (used > sizeof heap) used = sizeof heap;
    return at;
}

static text text_of(const volatile char *from) {
    uint32_t length = 0;
    while (from[length]) length++;
    return (text){(const char *)from, length};
}

// --- The tool --------------------------------------------------------------------------------------------------------

// Words in `{"text": "..."}`, which the host has checked against the manifest. Escapes of white space end a word.
static uint32_t count_words(text json) {
    uint32_t at = 0, words = 0;
    bool inside = false;
    for (uint32_t quotes = 0; at < json.length && quotes < 3; at++) // past "text", to the beginning of its value
        if (json.data[at] == '"') quotes++;
    for (; at < json.length && json.data[at] != '"'; at++) {
        char one = json.data[at];
        bool space = one == ' ';
        if (one == '\\' && at + 1 < json.length) {
            one = json.data[++at];
            space = one == 'n' || one == 't' || one == 'r' || one == 'f';
        }
        if (!space && !inside) words++;
        inside = !space;
    }
    return words;
}

// A result is JSON: here a text in quotes.
static text say_words(uint32_t words) {
    static char said[] = "\"0123456789 words\"";
    static const char after[] = " words\"";
    char digits[10];
    uint32_t count = 0, at = 1;
    do digits[count++] = (char)('0' + words % 10);
    while (words /= 10);
    while (count) said[at++] = digits[--count];
    for (uint32_t index = 0; after[index]; index++) said[at++] = after[index];
    return (text){said, at};
}

EXPORT(PLUGIN "execute-tool")
const tool_result *execute_tool(const char *name, uint32_t name_length, const char *arguments, uint32_t length) {
    static tool_result answer;
    (void)name, (void)name_length; // there is only one
    const uint32_t words = count_words((text){arguments, length});
    static const char none[] = "\"There are no words in this text\"";
    answer = words ? (tool_result){say_words(words), false} : (tool_result){{none, sizeof none - 1}, true};
    return &answer;
}

EXPORT("cabi_post_" PLUGIN "execute-tool") void after_execute_tool(const tool_result *answer) {
    (void)answer;
    used = 0;
}

// --- What every plugin has -------------------------------------------------------------------------------------------

EXPORT(PLUGIN "info") const plugin_info *info(void) {
    static plugin_info answer;
    answer = (plugin_info){text_of(ID), text_of(NAME), text_of(VERSION)};
    return &answer;
}

EXPORT(PLUGIN "init") const result_void *init(void) {
    static const result_void fine = {0};
    return &fine;
}

EXPORT(PLUGIN "shutdown") void shutdown(void) {}
