# mousse_test(NAME source... [LIBRARIES target...] [LABELS label...] [TIMEOUT seconds])
# adds one cmocka program to CTest.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

function(mousse_test NAME)
  cmake_parse_arguments(TEST "" "TIMEOUT" "LIBRARIES;LABELS" ${ARGN})
  add_executable(test_${NAME} ${TEST_UNPARSED_ARGUMENTS})
  target_include_directories(test_${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_${NAME} PRIVATE ${TEST_LIBRARIES} mousse_internal PkgConfig::CMOCKA)
  add_test(NAME ${NAME} COMMAND test_${NAME})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  # passive: on a busy machine, waiting threads must not take the others' time. TSan: the OpenMP
  # runtime is not instrumented; its tool (archer) reports the barriers, but not its own memory.
  set_tests_properties(${NAME} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}"
    ENVIRONMENT "OMP_WAIT_POLICY=passive;TSAN_OPTIONS=ignore_noninstrumented_modules=1")
endfunction()

# mousse_fuzz(NAME source... [LIBRARIES target...]) builds a fuzz target, a file that defines
# LLVMFuzzerTestOneInput: with libFuzzer where the compiler is clang (fuzz_NAME -max_total_time=3600
# FOLDER), otherwise with tests/fuzz/driver.c, which mutates the seeds itself. A short run with a
# fixed seed over tests/fuzz/seeds/NAME is part of CTest.
function(mousse_fuzz NAME)
  cmake_parse_arguments(FUZZ "" "" "LIBRARIES" ${ARGN})
  set(seeds ${PROJECT_SOURCE_DIR}/tests/fuzz/seeds/${NAME})
  add_executable(fuzz_${NAME} ${FUZZ_UNPARSED_ARGUMENTS})
  target_link_libraries(fuzz_${NAME} PRIVATE ${FUZZ_LIBRARIES} mousse_internal)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND NOT MOUSSE_SANITIZE MATCHES thread)
    target_compile_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
    set(found ${CMAKE_CURRENT_BINARY_DIR}/corpus_${NAME}) # libFuzzer adds to the first folder
    file(MAKE_DIRECTORY ${found})
    add_test(NAME fuzz_${NAME} COMMAND fuzz_${NAME} -seed=1 -runs=5000 ${found} ${seeds})
  else()
    target_sources(fuzz_${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.c)
    add_test(NAME fuzz_${NAME} COMMAND fuzz_${NAME} 5000 ${seeds})
  endif()
  set_tests_properties(fuzz_${NAME} PROPERTIES TIMEOUT 300 LABELS fast)
endfunction()
