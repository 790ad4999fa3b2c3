#include "facts.h"

static bool is_blank(char one) { return one == ' ' || (one >= '\t' && one <= '\r'); }

// Characters are code points: every byte of UTF-8 but those that go on with one.
facts count_facts(text content) {
    facts found = {0};
    uint32_t in_line = 0;
    bool in_word = false;
    for (uint32_t index = 0; index < content.length; index++) {
        const char one = content.data[index];
        if ((one & 0xC0) == 0x80) continue;
        found.characters++;
        if (one == '\n') found.lines++, in_line = 0;
        else if (++in_line > found.longest_line) found.longest_line = in_line;
        if (!is_blank(one) && !in_word) found.words++;
        in_word = !is_blank(one);
    }
    if (content.length && content.data[content.length - 1] != '\n') found.lines++;
    return found;
}

uint32_t crc32(text content) {
    uint32_t sum = 0xFFFFFFFFu;
    for (uint32_t index = 0; index < content.length; index++) {
        sum ^= (uint8_t)content.data[index];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
    }
    return ~sum;
}

static const uint32_t ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void mix(uint32_t state[8], const uint8_t block[64]) {
    uint32_t words[64], v[8];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
                   block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = words[i - 15], b = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    for (int i = 0; i < 8; i++) v[i] = state[i];
    for (int i = 0; i < 64; i++) {
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t first = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + choice + ROUNDS[i] + words[i];
        const uint32_t second = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + majority;
        for (int k = 7; k > 0; k--) v[k] = v[k - 1];
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

void sha256_hex(text content, char hex[65]) {
    static const char digits[] = "0123456789abcdef";
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint64_t bits = (uint64_t)content.length * 8;
    const uint32_t blocks = (content.length + 8) / 64 + 1;
    uint32_t index = 0;
    for (uint32_t number = 0; number < blocks; number++) {
        uint8_t block[64];
        for (int i = 0; i < 64; i++, index++)
            block[i] = index < content.length ? (uint8_t)content.data[index] : index == content.length ? 0x80 : 0;
        for (int i = 0; number == blocks - 1 && i < 8; i++) block[63 - i] = (uint8_t)(bits >> (8 * i));
        mix(state, block);
    }
    for (int i = 0; i < 64; i++) hex[i] = digits[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = 0;
}
