# gpurace_report_tests(TEST...)              these tests leave reports
# gpurace_discover_tests(TARGET [ARGS...])   gtest_discover_tests(TARGET ARGS...), whose tests leave reports
#
# After `ctest`, the folder `gpurace` of the build has one JSON report for each process of each test
# (TEST.PID.json; of discovered tests, TARGET.PID.json), and report.json and report.html for all of them.

# Defines the tests before and after, once. ctest runs them even if only some tests are chosen.
function(gpurace_report_fixture)
  get_property(defined GLOBAL PROPERTY gpurace_report_fixture)
  if(defined)
    return()
  endif()
  set_property(GLOBAL PROPERTY gpurace_report_fixture TRUE)
  get_filename_component(bin "${CMAKE_CUDA_COMPILER}" DIRECTORY)
  foreach(step begin end)
    add_test(NAME gpurace_reports_${step} COMMAND "${CMAKE_COMMAND}" "-DSTEP=${step}" "-DTOOL=${bin}/gpurace"
      "-DFOLDER=${CMAKE_BINARY_DIR}/gpurace" "-DSOURCES=${CMAKE_SOURCE_DIR}"
      -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/reports.cmake")
  endforeach()
  set_tests_properties(gpurace_reports_begin PROPERTIES FIXTURES_SETUP gpurace)
  set_tests_properties(gpurace_reports_end PROPERTIES FIXTURES_CLEANUP gpurace)
endfunction()

# Sets `variable` to the properties of a test whose reports begin with `name`.
function(gpurace_report_properties variable name)
  gpurace_report_fixture()
  string(REGEX REPLACE "[^A-Za-z0-9_.-]" "_" name "${name}")
  # Options that the user sets stay. Of two equal ones, the last counts.
  set("${variable}" FIXTURES_REQUIRED gpurace
    ENVIRONMENT_MODIFICATION "GPURACE_OPTIONS=string_append::json=${CMAKE_BINARY_DIR}/gpurace/${name}.%p.json"
    PARENT_SCOPE)
endfunction()

function(gpurace_report_tests)
  foreach(test IN LISTS ARGV)
    gpurace_report_properties(properties "${test}")
    set_tests_properties("${test}" PROPERTIES ${properties})
  endforeach()
endfunction()

function(gpurace_discover_tests target)
  if(NOT COMMAND gtest_discover_tests)
    include(GoogleTest)
  endif()
  gpurace_report_properties(properties "${target}")
  target_include_directories("${target}" PRIVATE "$<TARGET_PROPERTY:gpurace::headers,INTERFACE_INCLUDE_DIRECTORIES>")
  set(arguments ${ARGN})
  # The caller may have given properties too.
  if(NOT PROPERTIES IN_LIST arguments)
    list(APPEND arguments PROPERTIES)
    list(APPEND arguments ${properties})
  else()
    list(FIND arguments PROPERTIES at)
    math(EXPR at "${at} + 1")
    list(INSERT arguments ${at} ${properties})
  endif()
  gtest_discover_tests("${target}" ${arguments})
endfunction()
