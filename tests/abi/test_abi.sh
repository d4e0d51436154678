#!/usr/bin/env bash
# test_abi.sh BUILD_FOLDER SOURCE_FOLDER - programs that were linked to this version's library go on
# running: abidiff compares the interface of libmousse and libmousse_mpi with the one in this folder.
# Additions are fine. What takes away or changes needs another MINOR in VERSION, or, before that version
# is released, tests/abi/update.
set -euo pipefail
build=$1 source=$2
. "$source/tests/abi/common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_abi: $*" >&2; exit 1; }

compare() { # OLD NEW: abidiff's status is a set: 1 and 2 are mistakes of ours, 4 is a change, 8 one that breaks
  local status=0
  abidiff --no-show-locs "$1" "$2" || status=$?
  [ $((status & 3)) -eq 0 ] || fail "abidiff failed with $status"
  [ $((status & 8)) -eq 0 ]
}
soversion=$(cut -d. -f1,2 "$source/VERSION")
for library in libmousse libmousse_mpi; do
  [ -f "$build/src/$library.so" ] || continue
  known=$source/tests/abi/$library-$soversion.abi
  [ -f "$known" ] || fail "no $known: tests/abi/update makes it"
  describe "$build" "$source" $library >"$work/$library.abi"
  grep -q "mousse_" "$work/$library.abi" || fail "$library.so has no debug information"
  compare "$known" "$work/$library.abi" ||
    fail "the interface of $library has changed: bring it back, raise MINOR in VERSION, or, if $soversion is not released yet, tests/abi/update"
done

# An interface from which a function is gone, and one with another type, would be found.
broken() { sed "$1" "$work/libmousse.abi" >"$work/broken.abi" && ! cmp -s "$work/libmousse.abi" "$work/broken.abi" || fail "nothing to break"; }
broken "/elf-symbol name='mousse_step'/d; /function-decl name='mousse_step'/,/<\/function-decl>/d"
(compare "$source/tests/abi/libmousse-$soversion.abi" "$work/broken.abi") >/dev/null 2>&1 && fail "a lost function passed"
echo "the interface is that of $soversion"
