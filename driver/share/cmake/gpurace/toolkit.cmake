# gpurace_make_toolkit(GCLANGXX FOLDER FLAGS): makes FOLDER look like a CUDA toolkit to CMake. Its nvcc runs
# GCLANGXX with FLAGS. Sets gpurace_runtime_dir to the folder of the runtime library.
function(gpurace_make_toolkit gclangxx folder flags)
  # gclang++ prints the folders of its headers and its runtime.
  execute_process(COMMAND "${gclangxx}" -fgpurace-exec=cpu "-###" -x cuda gpurace.cu -o gpurace
    RESULT_VARIABLE status OUTPUT_VARIABLE plan ERROR_VARIABLE plan)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "gpurace: `${gclangxx}` does not work:\n${plan}")
  endif()
  if(NOT plan MATCHES "--cuda-path=([^\"]+)\"")
    message(FATAL_ERROR "gpurace: `${gclangxx}` named no CUDA toolkit:\n${plan}")
  endif()
  set(headers "${CMAKE_MATCH_1}")
  if(NOT plan MATCHES "\"-L([^\"]+)\" \"-lgpurace_rt\"")
    message(FATAL_ERROR "gpurace: `${gclangxx}` named no runtime library:\n${plan}")
  endif()
  set(runtime "${CMAKE_MATCH_1}/libgpurace_rt.so")
  set(own "${CMAKE_MATCH_1}")
  set(gpurace_runtime_dir "${CMAKE_MATCH_1}" PARENT_SCOPE)

  file(STRINGS "${headers}/include/cuda.h" version REGEX "^#define CUDA_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+$" version "${version}")
  math(EXPR major "${version} / 1000")
  math(EXPR minor "${version} % 1000 / 10")

  file(MAKE_DIRECTORY "${folder}/bin" "${folder}/lib64/stubs")
  file(CREATE_LINK "${headers}/nvvm" "${folder}/nvvm" SYMBOLIC)
  # The toolkit's headers, and gpurace's in place of those that it lacks.
  file(MAKE_DIRECTORY "${folder}/include")
  find_path(gpurace_fallback cublas_api.h NO_CACHE NO_DEFAULT_PATH
    PATHS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../gpurace/include/gpurace/fallback"
      "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../include/gpurace/fallback")
  foreach(from "${headers}/include" "${gpurace_fallback}")
    file(GLOB parts RELATIVE "${from}" "${from}/*")
    foreach(part IN LISTS parts)
      if(NOT EXISTS "${folder}/include/${part}")
        file(CREATE_LINK "${from}/${part}" "${folder}/include/${part}" SYMBOLIC)
      endif()
    endforeach()
  endforeach()
  file(CREATE_LINK "${runtime}" "${folder}/lib64/libcudart.so" SYMBOLIC)
  # CUDA::cuda_driver and CUDA::nvml.
  foreach(place lib64 lib64/stubs)
    file(CREATE_LINK "${runtime}" "${folder}/${place}/libcuda.so" SYMBOLIC)
    file(CREATE_LINK "${runtime}" "${folder}/${place}/libnvidia-ml.so" SYMBOLIC)
  endforeach()
  file(CREATE_LINK "${runtime}" "${folder}/lib64/stubs/libgpurace_rt.so" SYMBOLIC)
  # A program searches for the runtime by this name in the folder that it was linked from.
  file(CREATE_LINK "${runtime}" "${folder}/lib64/libgpurace_rt.so" SYMBOLIC)
  # A linker reads a library that is a text file as a script.
  file(WRITE "${folder}/lib64/libcudart_static.a" "INPUT(\"${runtime}\")\n")
  foreach(pair "cublas blas" "cublasLt blas" "curand rand" "cufft fft" "cusparse sparse" "cusolver solver"
      "nvrtc nvrtc")
    string(REPLACE " " ";" pair "${pair}")
    list(GET pair 0 library)
    list(GET pair 1 name)
    set(library_file "${own}/libgpurace_${name}.so")
    file(CREATE_LINK "${library_file}" "${folder}/lib64/lib${library}.so" SYMBOLIC)
    file(WRITE "${folder}/lib64/lib${library}_static.a" "INPUT(\"${library_file}\")\n")
    # A program searches for it by this name, as for the runtime.
    file(CREATE_LINK "${library_file}" "${folder}/lib64/libgpurace_${name}.so" SYMBOLIC)
  endforeach()
  # Archives without members. The runtime has the content of the first. CMake 3.25 fails without the second.
  foreach(library cudadevrt nvToolsExt culibos)
    file(WRITE "${folder}/lib64/lib${library}.a" "!<arch>\n")
  endforeach()
  string(CONCAT head "#!/bin/sh\n" "# Made by gpurace's CMake toolchain file")
  string(CONCAT nvcc
    "${head}: nvcc for build files that call it by path.\n"
    "case \"$*\" in\n"
    "  *__cmake_determine_cuda*) echo '#$ TOP=${folder}'; exit 0 ;;\n"
    "  --version | -V) echo 'gpurace: in place of nvcc: Cuda compilation tools, release ${major}.${minor}, V${major}.${minor}.0'; exit 0 ;;\n"
    "esac\n"
    "exec '${gclangxx}' ${flags} \"$@\"\n")
  string(CONCAT nvlink
    "${head}: nvlink for CMake's separable compilation.\n"
    "for word do\n"
    "  shift\n"
    "  case $word in\n"
    "    -o=*) output=\${word#-o=} ;;\n"
    "    -arch=* | --register-link-binaries=*) ;;\n"
    "    *) set -- \"$@\" \"$word\" ;;\n"
    "  esac\n"
    "done\n"
    "exec '${gclangxx}' -fgpurace-exec=cpu -dlink \"$@\" -o \"$output\"\n")
  string(CONCAT fatbinary
    "${head}: copies nvlink's output.\n"
    "for word do\n"
    "  case $word in\n"
    "    --embedded-fatbin=*) output=\${word#*=} ;;\n"
    "    *file=*) input=\${word##*file=} ;;\n"
    "  esac\n"
    "done\n"
    "exec cp \"$input\" \"$output\"\n")
  foreach(tool nvcc nvlink fatbinary)
    file(WRITE "${folder}/bin/${tool}" "${${tool}}")
    file(CHMOD "${folder}/bin/${tool}" PERMISSIONS
      OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
endfunction()
