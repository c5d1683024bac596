// What a program may ask gpurace while it runs. For test frameworks see gpurace/testing.h.
//
// All of this works in C and C++, with any compiler, and does nothing in a program without gpurace's runtime.
#ifndef GPURACE_FINDINGS_H
#define GPURACE_FINDINGS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Defined by the runtime, if the program has it. Call the functions below instead.
__attribute__((weak)) size_t gpurace_recent_findings(const char **text);
__attribute__((weak)) void gpurace_set_exitcode(int status);

// Returns the number of findings since the last call: races, divergences, faults. A race that was seen again
// since then counts again. `*text` becomes their report, which stays until the next call of this thread;
// `text` may be null. Wait for the device first (cudaDeviceSynchronize): what still runs has not been found.
static inline size_t gpurace_findings(const char **text) {
  if (text) *text = "";
  return gpurace_recent_findings ? gpurace_recent_findings(text) : 0;
}

// Sets the exit status after a finding, in place of the option `exitcode`: for a program that handles its
// findings itself.
static inline void gpurace_exitcode(int status) {
  if (gpurace_set_exitcode) gpurace_set_exitcode(status);
}

#ifdef __cplusplus
}
#endif

#endif
