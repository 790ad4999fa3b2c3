#include "json.h"

typedef struct { const char *at, *end; } reader;

static void skip_blanks(reader *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' || *in->at == '\t')) in->at++;
}

static bool take(reader *in, char wanted) {
    skip_blanks(in);
    if (in->at >= in->end || *in->at != wanted) return false;
    in->at++;
    return true;
}

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    digit |= 32;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool take_unit(reader *in, uint32_t *unit) {
    if (in->end - in->at < 4) return false;
    *unit = 0;
    for (int index = 0; index < 4; index++) {
        const int digit = hex_digit(*in->at++);
        if (digit < 0) return false;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return true;
}

static uint32_t encode(uint32_t point, char *to) {
    if (point < 0x80) return to[0] = (char)point, 1;
    if (point < 0x800) return to[0] = (char)(0xC0 | point >> 6), to[1] = (char)(0x80 | (point & 63)), 2;
    if (point < 0x10000) {
        to[0] = (char)(0xE0 | point >> 12), to[1] = (char)(0x80 | (point >> 6 & 63)), to[2] = (char)(0x80 | (point & 63));
        return 3;
    }
    to[0] = (char)(0xF0 | point >> 18), to[1] = (char)(0x80 | (point >> 12 & 63));
    to[2] = (char)(0x80 | (point >> 6 & 63)), to[3] = (char)(0x80 | (point & 63));
    return 4;
}

// `\uD83D\uDE00` is one character; half of such a pair becomes the sign for what cannot be shown.
static bool take_point(reader *in, uint32_t *point) {
    uint32_t low;
    if (!take_unit(in, point)) return false;
    if (*point < 0xD800 || *point > 0xDFFF) return true;
    if (*point < 0xDC00 && in->end - in->at >= 6 && in->at[0] == '\\' && in->at[1] == 'u') {
        reader ahead = {in->at + 2, in->end};
        if (take_unit(&ahead, &low) && low >= 0xDC00 && low <= 0xDFFF) {
            in->at = ahead.at;
            *point = 0x10000 + ((*point - 0xD800) << 10) + (low - 0xDC00);
            return true;
        }
    }
    *point = 0xFFFD;
    return true;
}

static bool take_escape(reader *in, char *to, uint32_t *length) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (in->at >= in->end) return false;
    const char kind = *in->at++;
    if (kind == 'u') {
        uint32_t point;
        if (!take_point(in, &point)) return false;
        *length += encode(point, to + *length);
        return true;
    }
    for (uint32_t index = 0; from[index]; index++)
        if (from[index] == kind) return to[(*length)++] = into[index], true;
    return false;
}

static bool take_string(reader *in, text *value) {
    if (!take(in, '"')) return false;
    char *made = allocate((uint32_t)(in->end - in->at));  // no escape is shorter than what it stands for
    uint32_t length = 0;
    while (in->at < in->end) {
        const char one = *in->at++;
        if (one == '"') return *value = (text){made, length}, true;
        if (one != '\\') made[length++] = one;
        else if (!take_escape(in, made, &length)) return false;
    }
    return false;
}

static void skip_word(reader *in) {
    skip_blanks(in);
    while (in->at < in->end && *in->at != ',' && *in->at != '}') in->at++;
}

bool find_string(text object, const char *key, text *value) {
    reader in = {object.data, object.data + object.length};
    text name, found;
    if (!take(&in, '{')) return false;
    do {
        if (!take_string(&in, &name) || !take(&in, ':')) return false;
        skip_blanks(&in);
        const bool is_string = in.at < in.end && *in.at == '"';
        if (is_string && !take_string(&in, &found)) return false;
        if (!is_string) skip_word(&in);
        if (is_string && is_text(name, key)) return *value = found, true;
    } while (take(&in, ','));
    return false;
}

uint32_t parse_number(text digits) {
    uint32_t number = 0;
    if (digits.length == 0 || digits.length > 9) return 0;
    for (uint32_t index = 0; index < digits.length; index++) {
        if (digits.data[index] < '0' || digits.data[index] > '9') return 0;
        number = number * 10 + (uint32_t)(digits.data[index] - '0');
    }
    return number;
}

static void put_byte(writer *out, char byte) {
    if (out->text.length == out->room) {
        out->room = out->room ? out->room * 2 : 256;
        char *made = allocate(out->room);
        for (uint32_t index = 0; index < out->text.length; index++) made[index] = out->text.data[index];
        out->text.data = made;
    }
    ((char *)out->text.data)[out->text.length++] = byte;
}

void put(writer *out, const char *literal) {
    while (*literal) put_byte(out, *literal++);
}

void put_string(writer *out, text value) {
    static const char digits[] = "0123456789abcdef";
    put_byte(out, '"');
    for (uint32_t index = 0; index < value.length; index++) {
        const char one = value.data[index];
        if (one == '"' || one == '\\') put_byte(out, '\\'), put_byte(out, one);
        else if ((uint8_t)one < 32) put(out, "\\u00"), put_byte(out, digits[one >> 4]), put_byte(out, digits[one & 15]);
        else put_byte(out, one);
    }
    put_byte(out, '"');
}

void put_number(writer *out, uint32_t number) {
    char digits[10];
    int count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count) put_byte(out, digits[--count]);
}

void put_hex(writer *out, uint32_t number) {
    static const char digits[] = "0123456789abcdef";
    for (int shift = 28; shift >= 0; shift -= 4) put_byte(out, digits[number >> shift & 15]);
}
