// What every component needs: texts, memory, and the host's functions in a form that is pleasant to call.

#include "world.h"

typedef struct { uint8_t tag; text value; } tagged;  // option<string>, result<string, string>

IMPORT("get-config") void host_get_config(const char *key, uint32_t length, tagged *answer);
IMPORT("read-file") void host_read_file(const char *path, uint32_t length, tagged *answer);
IMPORT("log") void host_log(uint32_t level, const char *message, uint32_t length);

extern uint8_t __heap_base;  // where the linker ends its own data
static uintptr_t next;
#define PAGE 65536u

text text_of(const char *literal) {
    uint32_t length = 0;
    while (literal[length]) length++;
    return (text){literal, length};
}

bool is_text(text value, const char *literal) {
    const text other = text_of(literal);
    if (value.length != other.length) return false;
    for (uint32_t index = 0; index < value.length; index++)
        if (value.data[index] != other.data[index]) return false;
    return true;
}

void *allocate(uint32_t size) {
    if (next == 0) next = (uintptr_t)&__heap_base;
    const uintptr_t at = (next + 7u) & ~(uintptr_t)7u;
    const uint64_t end = (uint64_t)at + size;
    const uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
    if (end > have && __builtin_wasm_memory_grow(0, (uintptr_t)((end - have + PAGE - 1) / PAGE)) == (uintptr_t)-1)
        __builtin_trap();  // there is no more: the host ends this instance, and makes a fresh one
    next = (uintptr_t)end;
    return (void *)at;
}

void free_all(void) { next = 0; }

// The host puts texts into our memory by this.
__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, uint32_t old_size, uint32_t align,
                                                                uint32_t size) {
    (void)align;
    char *made = allocate(size);
    const char *from = old;
    for (uint32_t index = 0; index < old_size && index < size; index++) made[index] = from[index];
    return made;
}

bool get_config(const char *key, text *value) {
    const text name = text_of(key);
    tagged answer;
    host_get_config(name.data, name.length, &answer);
    *value = answer.value;
    return answer.tag == 1;  // some
}

bool read_file(text path, text *content) {
    tagged answer;
    host_read_file(path.data, path.length, &answer);
    *content = answer.value;
    return answer.tag == 0;  // ok
}

void write_log(uint8_t level, const char *message) {
    const text said = text_of(message);
    host_log(level, said.data, said.length);
}

// The compiler calls these by itself.
void *memcpy(void *to, const void *from, unsigned long size) {
    for (unsigned long index = 0; index < size; index++) ((char *)to)[index] = ((const char *)from)[index];
    return to;
}

void *memset(void *to, int value, unsigned long size) {
    for (unsigned long index = 0; index < size; index++) ((char *)to)[index] = (char)value;
    return to;
}
