# The interface of a built library as libabigail writes it: of what the public headers say, alone.
describe() { # BUILD_FOLDER SOURCE_FOLDER LIBRARY
  abidw --headers-dir "$2/include/mousse" --headers-dir "$1/include/mousse" --drop-private-types --drop-undefined-syms \
    --no-corpus-path --no-comp-dir-path --no-show-locs --exported-interfaces-only --type-id-style hash \
    "$1/src/$3.so"
}
