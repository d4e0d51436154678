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

# mousse_fuzz(NAME source... [LIBRARIES target...] [RUNS count]) adds a fuzz target, a file that defines
# LLVMFuzzerTestOneInput. In the `fuzz` preset it is a libFuzzer program for long runs; otherwise
# tests/fuzz/driver.c runs it on tests/fuzz/seeds/NAME and on inputs mutated from those with a
# fixed seed, as a quick test.
function(mousse_fuzz NAME)
  cmake_parse_arguments(FUZZ "" "RUNS" "LIBRARIES" ${ARGN})
  if(NOT FUZZ_RUNS)
    set(FUZZ_RUNS 10000)
  endif()
  set(seeds ${PROJECT_SOURCE_DIR}/tests/fuzz/seeds/${NAME})
  add_executable(fuzz_${NAME} ${FUZZ_UNPARSED_ARGUMENTS})
  target_link_libraries(fuzz_${NAME} PRIVATE ${FUZZ_LIBRARIES} mousse_internal)
  if(MOUSSE_FUZZER)
    target_compile_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
    set(found ${CMAKE_CURRENT_BINARY_DIR}/found_${NAME}) # where libFuzzer puts new inputs
    file(MAKE_DIRECTORY ${found})
    set(arguments -runs=200000 -seed=1 ${found})
  else()
    target_sources(fuzz_${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.c)
    set(arguments ${FUZZ_RUNS})
  endif()
  add_test(NAME fuzz_${NAME} COMMAND fuzz_${NAME} ${arguments} ${seeds})
  set_tests_properties(fuzz_${NAME} PROPERTIES TIMEOUT 300 LABELS "fast;fuzz")
endfunction()
