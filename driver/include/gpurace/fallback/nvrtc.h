// NVRTC, which compiles device code at run time, for programs that gpurace runs on the host. Used only if the
// toolkit has no header of this name. Written from the documented interface.
#ifndef __NVRTC_H__
#define __NVRTC_H__

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
  NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  NVRTC_ERROR_INTERNAL_ERROR = 11,
  NVRTC_ERROR_TIME_FILE_WRITE_FAILED = 12,
  NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED = 13,
  NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED = 14,
  NVRTC_ERROR_PCH_CREATE = 15,
  NVRTC_ERROR_CANCELLED = 16,
  NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED = 17
} nvrtcResult;

typedef struct _nvrtcProgram *nvrtcProgram;

const char *nvrtcGetErrorString(nvrtcResult result);
nvrtcResult nvrtcVersion(int *major, int *minor);
nvrtcResult nvrtcGetNumSupportedArchs(int *count);
nvrtcResult nvrtcGetSupportedArchs(int *archs);

nvrtcResult nvrtcCreateProgram(nvrtcProgram *prog, const char *src, const char *name, int numHeaders,
                               const char *const *headers, const char *const *includeNames);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *prog);
nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions, const char *const *options);

nvrtcResult nvrtcGetPTXSize(nvrtcProgram prog, size_t *size);
nvrtcResult nvrtcGetPTX(nvrtcProgram prog, char *ptx);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, size_t *size);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char *cubin);
nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram prog, size_t *size);
nvrtcResult nvrtcGetLTOIR(nvrtcProgram prog, char *ir);
nvrtcResult nvrtcGetOptiXIRSize(nvrtcProgram prog, size_t *size);
nvrtcResult nvrtcGetOptiXIR(nvrtcProgram prog, char *ir);
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram prog, size_t *size);
nvrtcResult nvrtcGetProgramLog(nvrtcProgram prog, char *log);

nvrtcResult nvrtcAddNameExpression(nvrtcProgram prog, const char *const expression);
nvrtcResult nvrtcGetLoweredName(nvrtcProgram prog, const char *const expression, const char **name);

nvrtcResult nvrtcGetPCHHeapSize(size_t *size);
nvrtcResult nvrtcSetPCHHeapSize(size_t size);
nvrtcResult nvrtcGetPCHCreateStatus(nvrtcProgram prog);
nvrtcResult nvrtcGetPCHHeapSizeRequired(nvrtcProgram prog, size_t *size);
nvrtcResult nvrtcSetFlowCallback(nvrtcProgram prog, int (*callback)(void *, void *), void *payload);

#if defined(__cplusplus)
}

// The name of a type, for name expressions.
#if NVRTC_GET_TYPE_NAME
#include <cstdlib>
#include <cxxabi.h>
#include <string>
#include <typeinfo>

template <typename T> nvrtcResult nvrtcGetTypeName(const std::type_info &info, std::string *result) {
  int status = 0;
  char *name = abi::__cxa_demangle(info.name(), nullptr, nullptr, &status);
  if (!name) return NVRTC_ERROR_INTERNAL_ERROR;
  *result = name;
  free(name);
  return NVRTC_SUCCESS;
}

// `typeid` forgets references and the outermost qualifiers. The type of a pointer to a class template keeps
// them.
template <typename T> struct __nvrtcGetTypeName_wrapper;

template <typename T> nvrtcResult nvrtcGetTypeName(std::string *result) {
  std::string whole;
  nvrtcResult status = nvrtcGetTypeName<T>(typeid(__nvrtcGetTypeName_wrapper<T> *), &whole);
  if (status != NVRTC_SUCCESS) return status;
  size_t begin = whole.find('<') + 1, end = whole.rfind('>');
  *result = whole.substr(begin, end - begin);
  return NVRTC_SUCCESS;
}
#endif
#endif

#endif
