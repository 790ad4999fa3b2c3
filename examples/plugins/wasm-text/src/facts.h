// What there is to count in a text, and its checksums.

#pragma once
#include "world.h"

typedef struct { uint32_t characters, words, lines, longest_line; } facts;

facts count_facts(text content);
uint32_t crc32(text content);
void sha256_hex(text content, char hex[65]);
