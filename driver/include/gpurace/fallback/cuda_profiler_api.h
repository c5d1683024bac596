// Replaces the toolkit's header of this name if the toolkit's profiler is not installed. gclang searches this
// folder last.
#ifndef __CUDA_PROFILER_API_H__
#define __CUDA_PROFILER_API_H__

#include <driver_types.h>

#if defined(__cplusplus)
extern "C" {
#endif
extern __host__ cudaError_t CUDARTAPI cudaProfilerStart(void);
extern __host__ cudaError_t CUDARTAPI cudaProfilerStop(void);
#if defined(__cplusplus)
}
#endif

#endif
