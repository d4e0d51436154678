#!/usr/bin/env bash
# test_install.sh BUILD_FOLDER SOURCE_FOLDER C_COMPILER - installs the library into a temporary
# folder and builds outside programs against it: in C and C++, static and shared, by pkg-config and
# by find_package, from a project in C++ alone, with -static, over MPI, and the examples; runs them
# all; looks at the exported symbols.
set -euo pipefail
build=$1 source=$2 here=$2/tests/install cc=$3 cxx=${CXX:-c++}
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
version=$(cat "$source/VERSION")
[ "$(pkg-config --modversion mousse)" = "$version" ] || fail "the version in mousse.pc is not the project's"

run() { LD_LIBRARY_PATH=$libdir "$@" || fail "$1 failed"; }
read -ra cflags <<<"$(pkg-config --cflags mousse)"
read -ra libs <<<"$(pkg-config --libs mousse)"
read -ra all_libs <<<"$(pkg-config --static --libs mousse)"
read -ra static_libs <<<"$(pkg-config --static --libs mousse | sed 's/-lmousse\b/-l:libmousse.a/')"
strict=(-Wall -Wextra -Wpedantic -Werror)
"$cc" -std=c11 "${strict[@]}" "${cflags[@]}" "$work/program.c" -o "$work/c_shared" "${libs[@]}"
"$cc" -std=c11 "${strict[@]}" "${cflags[@]}" "$work/program.c" -o "$work/c_static" "${static_libs[@]}"
programs=(c_shared c_static cpp_shared cpp_static)
case " ${all_libs[*]} " in
  *" -lomp "*) ;; # Debian has no static version of LLVM's OpenMP
  *) "$cc" -std=c11 "${strict[@]}" "${cflags[@]}" "$work/program.c" -static -o "$work/c_all_static" "${all_libs[@]}"
     programs+=(c_all_static) ;;
esac
"$cxx" -std=c++17 "${strict[@]}" "${cflags[@]}" "$work/program.cpp" -o "$work/cpp_shared" "${libs[@]}"
"$cxx" -std=c++17 "${strict[@]}" "${cflags[@]}" "$work/program.cpp" -o "$work/cpp_static" "${static_libs[@]}"
for program in "${programs[@]}"; do run "$work/$program"; done
readelf -d "$work/c_shared" | grep -q 'NEEDED.*libmousse\.so' || fail "c_shared is not linked to the shared library"
readelf -d "$work/c_static" | grep -q 'NEEDED.*libmousse' && fail "c_static needs the shared library"
if [ -e "$work/c_all_static" ]; then
  readelf -d "$work/c_all_static" | grep -q 'NEEDED' && fail "-static left a shared library"
fi

# The examples, as they were installed.
docs=$prefix/share/doc/mousse
for example in quickstart llm_layout compare; do
  "$cc" -std=c11 -O2 "${strict[@]}" "${cflags[@]}" "$docs/examples/$example.c" -o "$work/$example" "${libs[@]}" -lm
done
run "$work/quickstart" >/dev/null
run "$work/llm_layout" >/dev/null
for page in state-format.md optimizers.md into-your-trainer.md CHANGELOG.md; do
  [ -s "$docs/$page" ] || fail "$page was not installed"
done

# find_package(mousse): a project in C and C++, and one in C++ alone.
outside() { # FOLDER LIST
  mkdir -p "$work/$1"
  cp "$here/$2" "$work/$1/CMakeLists.txt"
  cp "$work/program.c" "$work/program.cpp" "$here/program_mpi.c" "$work/$1/"
  cmake -S "$work/$1" -B "$work/$1/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" >"$work/configure.log" 2>&1 || { cat "$work/configure.log"; fail "find_package(mousse) failed in $1"; }
  cmake --build "$work/$1/build" >"$work/build.log" 2>&1 || { cat "$work/build.log"; fail "$1 does not build"; }
}
outside both outside.cmake.txt
outside cxx_alone cxx_alone.cmake.txt
for program in "$work"/*/build/outside_*_c "$work"/*/build/outside_*_cpp; do run "$program"; done
readelf -d "$work/both/build/outside_mousse_c" | grep -q 'NEEDED.*libmousse\.so' || fail "mousse::mousse is not the shared library"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if [ -f "${pc%/*}/mousse_mpi.pc" ]; then # not in a build without MPI
  read -ra mpi_flags <<<"$(pkg-config --cflags mousse_mpi)"
  read -ra mpi_libs <<<"$(pkg-config --libs mousse_mpi)"
  "$cc" -std=c11 "${strict[@]}" "${mpi_flags[@]}" "$here/program_mpi.c" -o "$work/mpi_pkg_config" "${mpi_libs[@]}" -lm
  for program in "$work/mpi_pkg_config" "$work"/*/build/outside_mpi_*; do run mpirun -n 2 --oversubscribe "$program"; done
fi

# As a part of another project; that it builds is what everything else here shows.
mkdir "$work/inside"
cp "$work/program.c" "$work/inside/"
printf '%s\n' 'cmake_minimum_required(VERSION 3.21)' 'project(inside C)' "add_subdirectory(\"$source\" mousse EXCLUDE_FROM_ALL)" \
  'add_executable(inside program.c)' 'target_link_libraries(inside PRIVATE mousse::mousse mousse::static)' >"$work/inside/CMakeLists.txt"
cmake -S "$work/inside" -B "$work/inside/build" -DCMAKE_C_COMPILER="$cc" >"$work/inside.log" 2>&1 ||
  { cat "$work/inside.log"; fail "add_subdirectory does not work"; }

# The defaults ask for nothing but BLAS and LAPACK.
PKG_CONFIG_PATH="" cmake -S "$source" -B "$work/library" -DCMAKE_C_COMPILER="$cc" -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_BZip2=ON >"$work/library.log" 2>&1 || { cat "$work/library.log"; fail "the library alone cannot be configured"; }
grep -qiE 'cmocka|jansson|pcre|yaml|curl' "$work/library.log" && fail "the library alone looks for the program's packages"

library=$(readlink -f "$libdir/libmousse.so")
readelf -d "$library" | grep -q 'NEEDED.*libmpi' && fail "libmousse needs MPI"
readelf -d "$library" | grep -q "SONAME.*libmousse\.so\.${version%.*}\]" || fail "the soname is not that of version ${version%.*}"
others=$(nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | grep -v '^mousse_' |
  grep -vxF "MOUSSE_${version%.*}" || true) # the version of the symbols is one itself
[ -z "$others" ] || fail "exported besides mousse_*: $others"
for call in $(sed -n 's/^MOUSSE_API .*\b\(mousse_[a-z_]*\)(.*/\1/p' "$prefix/include/mousse/mousse.h"); do
  nm -D --defined-only "$library" | grep -q " T $call@@MOUSSE_${version%.*}\$" || fail "$call is declared and not exported, or without its version"
done
echo "installed library: fine"
