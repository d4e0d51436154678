#!/usr/bin/env bash
# test_refusals.sh SOURCE_FOLDER - what Mousse cannot be built for is refused when it is configured,
# with the reason: 32-bit and big-endian processors, and compilers without what it needs. clang can
# be asked for any target without having its C library.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_refusals: $*" >&2; exit 1; }

refused() { # SENTENCE CMAKE_ARGUMENT...
  local sentence=$1 said
  shift
  rm -rf "$work/build"
  if said=$(cmake -S "$source" -B "$work/build" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY "$@" 2>&1); then
    fail "configured with $*"
  fi
  tr -s '\n ' ' ' <<<"$said" | grep -qF "$sentence" || fail "$*: not '$sentence' but: $said"
}
for target in i686-linux-gnu armv7-linux-gnueabihf; do
  refused "Mousse needs a 64-bit processor" -DCMAKE_C_COMPILER=clang -DCMAKE_C_COMPILER_TARGET=$target
done
for target in s390x-linux-gnu powerpc64-linux-gnu; do
  refused "Mousse needs a little-endian processor" -DCMAKE_C_COMPILER=clang -DCMAKE_C_COMPILER_TARGET=$target
done
# A compiler that lacks a feature, played by one that may not use it.
refused "has no __builtin_shufflevector" -DCMAKE_C_COMPILER=gcc -DCMAKE_C_FLAGS=-D__builtin_shufflevector=none,
[ "$(uname -m)" != x86_64 ] ||
  refused "cannot compile a function for several processors" -DCMAKE_C_COMPILER=gcc -DCMAKE_C_FLAGS="-Dtarget_clones=none -Werror=attributes"
echo "refusals: fine"
