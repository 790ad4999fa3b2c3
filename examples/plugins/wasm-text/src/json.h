// As much JSON as a tool needs: a text of an object that is flat, and a text to write.

#pragma once
#include "world.h"

// The string under a key of a flat object; false if there is none, or if this is no such object.
bool find_string(text object, const char *key, text *value);
// A whole number; 0 for anything else.
uint32_t parse_number(text digits);

typedef struct { text text; uint32_t room; } writer;

void put(writer *out, const char *literal);
void put_string(writer *out, text value);  // with its quotes
void put_number(writer *out, uint32_t number);
void put_hex(writer *out, uint32_t number);  // eight digits
