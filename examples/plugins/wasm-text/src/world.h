// The world `clawft-plugin` (clawft-plugin.wit) as C sees it: the canonical ABI of the component model, by hand.
// A text is a pointer and a length; what is larger than one number is returned by a pointer to it.

#pragma once
#include <stdbool.h>
#include <stdint.h>

#define HOST "clawft:plugin/host@0.1.0"
#define PLUGIN "clawft:plugin/plugin@0.1.0#"
#define IMPORT(name) __attribute__((import_module(HOST), import_name(name)))
#define EXPORT(name) __attribute__((export_name(PLUGIN name)))
#define POST_RETURN(name) __attribute__((export_name("cabi_post_" PLUGIN name)))

typedef struct { const char *data; uint32_t length; } text;
typedef struct { text id, name, version; } plugin_info;
typedef struct { text content; bool is_error; } tool_result;
typedef struct { uint8_t is_error; text error; } result_void;  // result<_, string>

enum { LEVEL_TRACE, LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR };

text text_of(const char *literal);
bool is_text(text value, const char *literal);

// Memory of one call. There is no `free`: `free_all` gives back everything when the call is over.
void *allocate(uint32_t size);
void free_all(void);

// The functions of the host. False: it has none, or refuses; then `read_file` gives its reason.
bool get_config(const char *key, text *value);
bool read_file(text path, text *content);
void write_log(uint8_t level, const char *message);
