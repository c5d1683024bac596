// What a program may ask gpurace while it runs. For test frameworks see gpurace/testing.h.
//
// All of this works in C and C++, with any compiler, and does nothing in a program without gpurace's runtime.
#ifndef GPURACE_FINDINGS_H
#define GPURACE_FINDINGS_H

#include <dlfcn.h>
#include <stddef.h>

// Returns the number of findings since the last call: races, divergences, faults. A race that was seen again
// since then counts again. `*text` becomes their report, which stays until the next call of this thread;
// `text` may be null. Wait for the device first (cudaDeviceSynchronize): what still runs has not been found.
static inline size_t gpurace_findings(const char **text) {
  // The runtime may come with a library that this program was not linked with directly. The null pointer
  // means all libraries.
  void *found = dlsym(NULL, "gpurace_recent_findings");
  if (text) *text = "";
  return found ? ((size_t (*)(const char **))found)(text) : 0;
}

// Begins a named region on this host thread, such as a test or a phase. Named regions nest. The report shows
// a launch with those that it was made in: `in `outer / inner``, and `launch.regions` in JSON.
static inline void gpurace_region_begin(const char *name) {
  void *found = dlsym(NULL, "gpurace_enter_region");
  if (found) ((void (*)(const char *))found)(name);
}

// Ends the innermost named region of this host thread.
static inline void gpurace_region_end(void) {
  void *found = dlsym(NULL, "gpurace_leave_region");
  if (found) ((void (*)(void))found)();
}

// Sets the exit status after a finding, in place of the option `exitcode`: for a program that handles its
// findings itself.
static inline void gpurace_exitcode(int status) {
  void *found = dlsym(NULL, "gpurace_set_exitcode");
  if (found) ((void (*)(int))found)(status);
}

#endif
