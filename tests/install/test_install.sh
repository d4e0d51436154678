#!/usr/bin/env bash
# test_install.sh BUILD_FOLDER SOURCE_FOLDER C_COMPILER - installs the library into a temporary
# folder and builds an outside program against it, in C and C++, static and shared, by
# pkg-config and by find_package; runs them all; looks at the exported symbols.
set -euo pipefail
build=$1 here=$2/tests/install cc=$3 cxx=${CXX:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
fail() { echo "test_install: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$prefix" >"$work/install.log" || fail "cmake --install failed"
cp "$here/program.c" "$work/program.c"
cp "$here/program.c" "$work/program.cpp"

[ -d "$prefix" ] || fail "cmake --install installed nothing"
pc=$(find "$prefix" -name mousse.pc)
[ -n "$pc" ] || fail "no mousse.pc was installed"
export PKG_CONFIG_PATH=${pc%/*}
libdir=$(pkg-config --variable=libdir mousse)
case $libdir in "$prefix"/*) ;; *) fail "libdir of mousse.pc is $libdir, not below $prefix" ;; esac
[ "$(pkg-config --modversion mousse)" = "$(sed -n 's/^project(mousse VERSION \([0-9.]*\).*/\1/p' "$2/CMakeLists.txt")" ] ||
  fail "the version in mousse.pc is not the project's"

run() { LD_LIBRARY_PATH=$libdir "$@" || fail "$1 failed"; }
read -ra cflags <<<"$(pkg-config --cflags mousse)"
read -ra libs <<<"$(pkg-config --libs mousse)"
read -ra static_libs <<<"$(pkg-config --static --libs mousse | sed 's/-lmousse\b/-l:libmousse.a/')"
strict=(-Wall -Wextra -Wpedantic -Werror)
"$cc" -std=c11 "${strict[@]}" "${cflags[@]}" "$work/program.c" -o "$work/c_shared" "${libs[@]}"
"$cc" -std=c11 "${strict[@]}" "${cflags[@]}" "$work/program.c" -o "$work/c_static" "${static_libs[@]}"
"$cxx" -std=c++17 "${strict[@]}" "${cflags[@]}" "$work/program.cpp" -o "$work/cpp_shared" "${libs[@]}"
"$cxx" -std=c++17 "${strict[@]}" "${cflags[@]}" "$work/program.cpp" -o "$work/cpp_static" "${static_libs[@]}"
for program in c_shared c_static cpp_shared cpp_static; do run "$work/$program"; done
readelf -d "$work/c_shared" | grep -q 'NEEDED.*libmousse\.so' || fail "c_shared is not linked to the shared library"
readelf -d "$work/c_static" | grep -q 'NEEDED.*libmousse' && fail "c_static needs the shared library"

cp "$here/outside.cmake.txt" "$work/CMakeLists.txt"
cp "$here/program_mpi.c" "$work/"
cmake -S "$work" -B "$work/outside" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  >"$work/configure.log" 2>&1 || { cat "$work/configure.log"; fail "find_package(mousse) failed"; }
cmake --build "$work/outside" >"$work/build.log" 2>&1 || { cat "$work/build.log"; fail "outside build failed"; }
for program in "$work"/outside/outside_*_c "$work"/outside/outside_*_cpp; do run "$program"; done
readelf -d "$work/outside/outside_mousse_c" | grep -q 'NEEDED.*libmousse\.so' || fail "mousse::mousse is not the shared library"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for program in "$work"/outside/outside_mpi_*; do # none in a build without MPI
  [ -x "$program" ] && run mpirun -n 2 --oversubscribe "$program"
done

library=$(readlink -f "$libdir/libmousse.so")
readelf -d "$library" | grep -q 'NEEDED.*libmpi' && fail "libmousse needs MPI"
readelf -d "$library" | grep -q 'SONAME.*libmousse\.so\.[0-9]' || fail "the shared library has no versioned soname"
others=$(nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | grep -v '^mousse_' || true)
[ -z "$others" ] || fail "exported besides mousse_*: $others"
[ "$(nm -D --defined-only "$library" | grep -c ' T mousse_')" -ge 20 ] || fail "too few mousse_* symbols"
echo "installed library: fine"
