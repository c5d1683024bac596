# find_package(gpurace) defines gpurace_enable(TARGET...), which checks the CUDA sources of these targets for
# data races. It also defines gpurace_report_tests(TEST...) and gpurace_discover_tests(TARGET...), whose tests leave
# reports; see tests.cmake.

if(CMAKE_CUDA_COMPILER_LOADED AND NOT CMAKE_CUDA_COMPILER MATCHES "gclang(\\+\\+)?$")
  set(gpurace_FOUND FALSE)
  string(CONCAT gpurace_NOT_FOUND_MESSAGE "CMAKE_CUDA_COMPILER is `${CMAKE_CUDA_COMPILER}`, but gpurace needs `gclang++`\n"
    "hint: configure a new build folder with `--toolchain ${CMAKE_CURRENT_LIST_DIR}/gpurace-toolchain.cmake`")
  return()
endif()

# The flags that build for the checker. A target that links a static library or an object library with kernels
# needs them too.
set(gpurace_FLAGS -fsanitize=gpurace -fgpurace-exec=cpu)

function(gpurace_enable)
  if(NOT CMAKE_CUDA_COMPILER_LOADED)
    message(FATAL_ERROR "gpurace_enable: CUDA is not enabled\nhint: write `project(NAME LANGUAGES CXX CUDA)`")
  endif()
  foreach(target IN LISTS ARGV)
    if(NOT TARGET "${target}")
      message(FATAL_ERROR "gpurace_enable: `${target}` is not a target")
    endif()
    get_target_property(type "${target}" TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      message(FATAL_ERROR "gpurace_enable: `${target}` is an interface library and compiles nothing\n"
        "hint: enable the targets that link it")
    endif()
    target_compile_options("${target}" PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${gpurace_FLAGS}>")
    target_link_options("${target}" PUBLIC "$<$<LINK_LANGUAGE:CUDA>:${gpurace_FLAGS}>")
  endforeach()
endfunction()

# gpurace/findings.h and gpurace/testing.h for sources that gclang++ does not compile.
if(NOT TARGET gpurace::headers)
  find_path(gpurace_include_dir gpurace/findings.h NO_CACHE NO_DEFAULT_PATH
    PATHS "${CMAKE_CURRENT_LIST_DIR}/../../gpurace/include" "${CMAKE_CURRENT_LIST_DIR}/../../../include")
  add_library(gpurace::headers INTERFACE IMPORTED)
  set_target_properties(gpurace::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${gpurace_include_dir}")
endif()

include("${CMAKE_CURRENT_LIST_DIR}/tests.cmake")
