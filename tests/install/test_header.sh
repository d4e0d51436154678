#!/usr/bin/env bash
# test_header.sh BUILD_FOLDER SOURCE_FOLDER - the public headers compile without a warning for every
# user: C11 to C2x and C++11 to C++20, GCC and clang, pedantic, and with all that clang can warn of.
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_header: $*" >&2; exit 1; }

headers=(mousse.h)
mpi=()
if [ -f "$build/mousse_mpi.pc" ]; then
  headers+=(mousse_mpi.h)
  # MPI's own header is not ours to judge.
  mpi=($(pkg-config --cflags-only-I ompi-c 2>/dev/null | sed 's/-I/-isystem /g'))
fi
common=(-fsyntax-only -Werror -Wall -Wextra -pedantic -pedantic-errors -Wconversion -Wshadow
  -I"$source/include" -I"$build/include" "${mpi[@]}")
# A language's own past is no mistake; padding and the missing prototypes of a header alone neither.
everything=(-Weverything -Wno-padded -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-c++11-compat
  -Wno-declaration-after-statement -Wno-c99-compat -Wno-pre-c2x-compat)

count=0
check() { # COMPILER LANGUAGE STANDARD FLAGS...
  local compiler=$1 language=$2 standard=$3
  shift 3
  for header in "${headers[@]}"; do
    printf '#include <mousse/%s>\n#include <mousse/%s>\n' "$header" "$header" >"$work/use.c"
    "$compiler" -x "$language" -std="$standard" "${common[@]}" "$@" "$work/use.c" || fail "$header with $compiler -std=$standard $*"
    count=$((count + 1))
  done
}
for standard in c11 c17 c2x; do
  check gcc c $standard -Wstrict-prototypes
  check clang c $standard -Wno-unknown-warning-option "${everything[@]}"
done
for standard in c++11 c++14 c++17 c++20; do
  check g++ c++ $standard -Wold-style-cast
  check clang++ c++ $standard -Wno-unknown-warning-option "${everything[@]}"
done

# What the guide shows for C++ is complete, and as strict.
{ printf '#include <memory>\n#include <mousse/mousse.h>\n#include <stdexcept>\nnamespace {\n'
  sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$source/docs/into-your-trainer.md"
  printf '} // namespace\nint main()\n{\n  optimizer opt = make_optimizer();\n  check(mousse_observe(opt.get(), nullptr, nullptr), opt);\n}\n'
} >"$work/guide.cpp"
grep -q 'unique_ptr' "$work/guide.cpp" || fail "into-your-trainer.md shows no C++"
for standard in c++11 c++20; do
  g++ -std=$standard "${common[@]}" -Wold-style-cast "$work/guide.cpp" || fail "the guide's C++ with g++ -std=$standard"
  clang++ -std=$standard "${common[@]}" -Wno-unknown-warning-option "${everything[@]}" "$work/guide.cpp" ||
    fail "the guide's C++ with clang++ -std=$standard"
done

# A header with a mistake would be found.
mkdir -p "$work/mousse"
printf 'static inline int mousse_wrong(long x) { return x; }\n' >"$work/mousse/wrong.h"
headers=(wrong.h)
(check gcc c c11 -I"$work") 2>/dev/null && fail "a wrong header passed"
echo "$count compilations of the headers: fine"
