# Compiler flags shared by everything in the project, as one interface target.
add_library(mousse_flags INTERFACE)

target_compile_options(mousse_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
  $<$<BOOL:${MOUSSE_WERROR}>:-Werror>
  $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed> # a loop that it cannot vectorise is no mistake
  # It takes the versions of a function (base/simd.h) for others than what picks them. GCC warns, too.
  $<$<C_COMPILER_ID:Clang>:-Wno-undefined-internal -Wno-unused-function -Wno-missing-prototypes>
  # Fused multiply-add where the machine has it. Never -ffast-math: it deletes NaN checks and
  # turns denormals off for the whole host process.
  # The two others change no result: they only give up errno and the processor's exception flags,
  # without which loops with a comparison do not vectorise.
  -ffp-contract=fast -fno-math-errno -fno-trapping-math)
target_compile_definitions(mousse_flags INTERFACE _GNU_SOURCE)

# -O2 vectorises only what is free; the kernels want -O3.
string(REPLACE "-O2" "-O3" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")

if(MOUSSE_FUZZER) # every file tells libFuzzer which branches an input takes
  target_compile_options(mousse_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(mousse_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(MOUSSE_SANITIZE)
  target_compile_options(mousse_flags INTERFACE
    -fsanitize=${MOUSSE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(mousse_flags INTERFACE -fsanitize=${MOUSSE_SANITIZE})
endif()
if(MOUSSE_SANITIZE OR NOT MOUSSE_CLONES)
  # Function multi-versioning resolves before the sanitizers' run-time is up.
  target_compile_definitions(mousse_flags INTERFACE MO_NO_CLONES)
endif()
