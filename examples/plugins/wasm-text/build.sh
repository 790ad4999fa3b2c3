#!/bin/sh
# Builds text.wat from src/. Only needed after a change there: text.wat is all that the plugin needs.
#
#   pip install ziglang                      a C compiler for WebAssembly
#   npm install @bytecodealliance/jco        makes a component of a module
#
# Run it where both are found: `python -m ziglang`, and `node` with jco in a node_modules above this folder or in
# $JCO_MODULES.
set -eu
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
${PYTHON:-python3} -m ziglang cc -target wasm32-freestanding -std=c17 -Os -nostdlib -fno-builtin -Wall -Wextra -Werror \
    -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384 -o "$build/text.core.wasm" src/*.c
JCO_MODULES=${JCO_MODULES:-$PWD/node_modules} node component.mjs "$build/text.core.wasm" "${WIT:-../../../src/clawft/plugins/wit/clawft-plugin.wit}" text.wat
LC_ALL=C; export LC_ALL
cat src/* | sha256sum | cut -d" " -f1 > sources.sha256
