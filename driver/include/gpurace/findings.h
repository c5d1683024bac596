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

// Changes options while the program runs, as in `GPURACE_OPTIONS`: `"kernels=solve*:every=4"` chooses what is
// checked from now on, `"exitcode=0"` leaves the exit status to the program. docs/host-api.md says which ones
// can change. Returns 0, or 1 if an option is wrong; then none changes, and an error is printed.
static inline int gpurace_options(const char *options) {
  void *found = dlsym(NULL, "gpurace_change_options");
  return found ? ((int (*)(const char *))found)(options) : 0;
}

// Adds suppressions, as lines of a file of suppressions: `"race:reduce_flag"`. They leave out what is found
// from now on. Returns 0, or 1 if a line is wrong; then none is added, and an error is printed.
static inline int gpurace_suppress(const char *lines) {
  void *found = dlsym(NULL, "gpurace_add_suppressions");
  return found ? ((int (*)(const char *))found)(lines) : 0;
}

// From here on, races on these bytes of memory that kernels reach are intended. In device code this is
// `GPURACE_BENIGN_RACE` of gpurace/gpurace.h.
static inline void gpurace_benign(const void *pointer, size_t size) {
  void *found = dlsym(NULL, "__gpurace_host_benign");
  if (found) ((void (*)(const void *, size_t))found)(pointer, size);
}

// From here on, races are expected, as in a test of a racy kernel. Wait for the device first, and also before
// the end.
static inline void gpurace_expect_begin(void) {
  void *found = dlsym(NULL, "gpurace_begin_expecting");
  if (found) ((void (*)(void))found)();
}

// Returns the number of races since `gpurace_expect_begin`, on all threads; 1 in a program without gpurace's
// runtime. The report leaves them out, and the exit status does not count them. A race that is found again
// afterwards is reported. Divergences and faults are reported as ever. The pairs nest.
static inline size_t gpurace_expect_end(void) {
  void *found = dlsym(NULL, "gpurace_end_expecting");
  return found ? ((size_t (*)(void))found)() : 1;
}

// From here on, calls `call` with the text of each new finding and with `data`. The thread that found it
// calls when its function of CUDA returns. `call` may call CUDA and gpurace, but not before a halt
// (`halt_on_error=1`). A null pointer ends the calls.
// What is only found at the program's end is not told.
static inline void gpurace_on_finding(void (*call)(const char *text, void *data), void *data) {
  void *found = dlsym(NULL, "gpurace_call_on_finding");
  if (found) ((void (*)(void (*)(const char *, void *), void *))found)(call, data);
}

// Writes the report so far: the JSON, if the options name a file, and the text of what was not printed. The
// end of the program writes it again. Does nothing while races are expected.
static inline void gpurace_flush(void) {
  void *found = dlsym(NULL, "gpurace_write_report");
  if (found) ((void (*)(void))found)();
}

#endif
