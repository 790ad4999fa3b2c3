#!/bin/sh
# Builds plugin.wat from src/plugin.c. Only needed after a change there: plugin.wat is all that the plugin needs.
#
#   pip install ziglang                      a C compiler for WebAssembly
#   npm install @bytecodealliance/jco        makes a component of a module
set -eu
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
PYTHON=${PYTHON:-python3}
WIT=${WIT:-$($PYTHON -c 'import clawft, os; print(os.path.join(clawft.__path__[0], "plugins/wit/clawft-plugin.wit"))')}
$PYTHON -m ziglang cc -target wasm32-freestanding -std=c17 -Os -nostdlib -fno-builtin -Wall -Wextra -Werror \
    -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384 -o "$build/core.wasm" src/plugin.c
node component.mjs "$build/core.wasm" "$WIT" plugin.wat
