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
