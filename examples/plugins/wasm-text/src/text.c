// The tool `text_facts`: what can be counted in a text, which models are bad at.
// Its functions are those of the world `clawft-plugin`; `world.h` has how they look to C.

#include "facts.h"
#include "json.h"
#include "world.h"

static const char ID[] = "org.clawft.text-facts";
static const char NAME[] = "Text facts";
static const char VERSION[] = "1.0.0";

static uint32_t words_per_minute = 200;

static tool_result refuse(const char *why) {
    writer out = {0};
    put_string(&out, text_of(why));
    return (tool_result){out.text, true};
}

// `init` reads the settings once; a number that makes no sense keeps the plugin from starting.
EXPORT("init") const result_void *init(void) {
    static result_void answer;
    text value;
    answer = (result_void){0};
    if (get_config("words_per_minute", &value)) {
        words_per_minute = parse_number(value);
        if (words_per_minute == 0) answer = (result_void){1, text_of("words_per_minute has to be more than 0")};
    }
    return &answer;
}

EXPORT("info") const plugin_info *info(void) {
    static plugin_info answer;
    answer = (plugin_info){text_of(ID), text_of(NAME), text_of(VERSION)};
    return &answer;
}

static tool_result tell(text content) {
    const facts found = count_facts(content);
    char digest[65];
    writer out = {0};
    sha256_hex(content, digest);
    put(&out, "{\"bytes\":"), put_number(&out, content.length);
    put(&out, ",\"characters\":"), put_number(&out, found.characters);
    put(&out, ",\"words\":"), put_number(&out, found.words);
    put(&out, ",\"lines\":"), put_number(&out, found.lines);
    put(&out, ",\"longest_line\":"), put_number(&out, found.longest_line);
    put(&out, ",\"reading_minutes\":"), put_number(&out, (found.words + words_per_minute - 1) / words_per_minute);
    put(&out, ",\"crc32\":\""), put_hex(&out, crc32(content));
    put(&out, "\",\"sha256\":\""), put(&out, digest);
    put(&out, "\"}");
    return (tool_result){out.text, false};
}

// A model names files as they lie in the project; without this, they would be files of the plugin.
static text in_project(text path) {
    static const char PREFIX[] = "project:";
    const uint32_t start = sizeof PREFIX - 1;
    const bool at_home = path.length > 1 && path.data[0] == '~' && path.data[1] == '/';
    if (at_home || (path.length > 0 && path.data[0] == '/')) return path;
    char *made = allocate(start + path.length);
    for (uint32_t index = 0; index < start; index++) made[index] = PREFIX[index];
    for (uint32_t index = 0; index < path.length; index++) made[start + index] = path.data[index];
    return (text){made, start + path.length};
}

static tool_result text_facts(text arguments) {
    text content, path;
    const bool has_text = find_string(arguments, "text", &content);
    const bool has_path = find_string(arguments, "path", &path);
    if (has_text == has_path) return refuse("Give either `text` or `path`");
    if (has_path && !read_file(in_project(path), &content)) {
        writer out = {0};
        put_string(&out, content);  // what the host says is wrong
        return (tool_result){out.text, true};
    }
    return tell(content);
}

EXPORT("execute-tool") const tool_result *execute_tool(const char *name, uint32_t name_length, const char *arguments,
                                                       uint32_t length) {
    static tool_result answer;
    const text called = {name, name_length};
    if (is_text(called, "text_facts")) answer = text_facts((text){arguments, length});
    else answer = refuse("There is no such tool");
    return &answer;
}

// Called by the host once it has read a result: all memory of the call is free again.
POST_RETURN("execute-tool") void after_execute_tool(const tool_result *answer) {
    (void)answer;
    free_all();
}

EXPORT("shutdown") void shutdown(void) { write_log(LEVEL_DEBUG, "done"); }
