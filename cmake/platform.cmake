# What the compiler and its target must have, said before anything is built (docs/platforms.md).
include(CheckCSourceCompiles)

if(CMAKE_SIZEOF_VOID_P LESS 8)
  message(FATAL_ERROR "${CMAKE_C_COMPILER} makes 32-bit programs. Mousse needs a 64-bit processor: weights, "
          "gradients and token shards are mapped and counted with size_t, and models of ordinary size do not "
          "fit into 4 GiB.")
endif()
if(CMAKE_C_BYTE_ORDER STREQUAL "BIG_ENDIAN")
  message(FATAL_ERROR "${CMAKE_C_COMPILER} makes big-endian programs. Mousse needs a little-endian processor: "
          "token shards, safetensors, llm.c's files and saved optimizer state are little-endian, and are read "
          "and written as they are in memory.")
endif()

# Vector types and shuffles of theirs (linalg/lanes.h).
check_c_source_compiles("
  typedef float lanes __attribute__((vector_size(32)));
  lanes f(lanes a, lanes b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13); }
  int main(void) { return 0; }" MOUSSE_COMPILER_SHUFFLES)
if(NOT MOUSSE_COMPILER_SHUFFLES)
  message(FATAL_ERROR "${CMAKE_C_COMPILER} has no __builtin_shufflevector: GCC 12, clang 14 or newer is needed")
endif()

# Function multi-versioning (base/simd.h); it takes the C library, too.
if(MOUSSE_CLONES AND NOT MOUSSE_SANITIZE)
  set(CMAKE_REQUIRED_INCLUDES ${PROJECT_SOURCE_DIR}/src)
  check_c_source_compiles("
    #include \"base/simd.h\"
    MO_CLONES(static void twice(float *x, int n)) { for (int i = 0; i < n; i++) x[i] += x[i]; }
    int main(int argc, char **argv) { float x = 1; twice(&x, argc); (void)argv; return (int)x; }"
    MOUSSE_COMPILER_CLONES)
  unset(CMAKE_REQUIRED_INCLUDES)
  if(NOT MOUSSE_COMPILER_CLONES)
    message(FATAL_ERROR "${CMAKE_C_COMPILER} cannot compile a function for several processors "
            "(target_clones, or cpu_specific with clang): GCC 12 or clang 14 with glibc is needed. "
            "-DMOUSSE_CLONES=OFF builds for the baseline, with CMAKE_C_FLAGS=-march=x86-64-v3 for machines with AVX2 alone.")
  endif()
endif()
