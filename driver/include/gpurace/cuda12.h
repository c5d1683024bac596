// What CUDA 12 declares and CUDA 13 does not, for programs that are older: functions that are gone, and those
// that take other parameters now. gclang appends this to <cuda_runtime_api.h>. All are templates, since a
// function of the program comes before a template.
#ifndef GPURACE_CUDA12_H
#define GPURACE_CUDA12_H

#if defined(__cplusplus) && __cplusplus >= 201103L
#define GPURACE_CUDA12 template <int = 0> static inline __host__

GPURACE_CUDA12 cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
GPURACE_CUDA12 cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
GPURACE_CUDA12 cudaError_t cudaThreadSetLimit(cudaLimit __l, size_t __n) {
  return cudaDeviceSetLimit(__l, __n);
}
GPURACE_CUDA12 cudaError_t cudaThreadGetLimit(size_t *__n, cudaLimit __l) {
  return cudaDeviceGetLimit(__n, __l);
}
GPURACE_CUDA12 cudaError_t cudaThreadSetCacheConfig(cudaFuncCache __c) {
  return cudaDeviceSetCacheConfig(__c);
}
GPURACE_CUDA12 cudaError_t cudaThreadGetCacheConfig(cudaFuncCache *__c) {
  return cudaDeviceGetCacheConfig(__c);
}
// Devices have computed with doubles for so long that these do nothing in CUDA 12 either.
GPURACE_CUDA12 cudaError_t cudaSetDoubleForDevice(double *) { return cudaSuccess; }
GPURACE_CUDA12 cudaError_t cudaSetDoubleForHost(double *) { return cudaSuccess; }

// Where memory is to be. CUDA 12 has a number for it: a device, or cudaCpuDeviceId.
GPURACE_CUDA12 cudaMemLocation __gpurace_location(int __device) {
  cudaMemLocation __l = {};
  __l.type = __device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  __l.id = __device == cudaCpuDeviceId ? 0 : __device;
  return __l;
}
GPURACE_CUDA12 cudaError_t cudaMemAdvise(const void *__p, size_t __n, cudaMemoryAdvise __a, int __device) {
  return cudaMemAdvise(__p, __n, __a, __gpurace_location(__device));
}
GPURACE_CUDA12 cudaError_t cudaMemAdvise_v2(const void *__p, size_t __n, cudaMemoryAdvise __a,
                                            cudaMemLocation __l) {
  return cudaMemAdvise(__p, __n, __a, __l);
}
GPURACE_CUDA12 cudaError_t cudaMemPrefetchAsync(const void *__p, size_t __n, int __device,
                                                cudaStream_t __s = 0) {
  return cudaMemPrefetchAsync(__p, __n, __gpurace_location(__device), 0, __s);
}
GPURACE_CUDA12 cudaError_t cudaMemPrefetchAsync_v2(const void *__p, size_t __n, cudaMemLocation __l,
                                                   unsigned __flags, cudaStream_t __s) {
  return cudaMemPrefetchAsync(__p, __n, __l, __flags, __s);
}

// Graphs: dependencies have no data.
GPURACE_CUDA12 cudaError_t cudaGraphAddNode(cudaGraphNode_t *__node, cudaGraph_t __g,
                                            const cudaGraphNode_t *__after, size_t __n,
                                            cudaGraphNodeParams *__p) {
  return cudaGraphAddNode(__node, __g, __after, nullptr, __n, __p);
}
GPURACE_CUDA12 cudaError_t cudaGraphAddDependencies(cudaGraph_t __g, const cudaGraphNode_t *__from,
                                                    const cudaGraphNode_t *__to, size_t __n) {
  return cudaGraphAddDependencies(__g, __from, __to, nullptr, __n);
}
GPURACE_CUDA12 cudaError_t cudaGraphRemoveDependencies(cudaGraph_t __g, const cudaGraphNode_t *__from,
                                                       const cudaGraphNode_t *__to, size_t __n) {
  return cudaGraphRemoveDependencies(__g, __from, __to, nullptr, __n);
}
GPURACE_CUDA12 cudaError_t cudaGraphGetEdges(cudaGraph_t __g, cudaGraphNode_t *__from, cudaGraphNode_t *__to,
                                             size_t *__n) {
  return cudaGraphGetEdges(__g, __from, __to, nullptr, __n);
}
GPURACE_CUDA12 cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t __node, cudaGraphNode_t *__nodes,
                                                        size_t *__n) {
  return cudaGraphNodeGetDependencies(__node, __nodes, nullptr, __n);
}
GPURACE_CUDA12 cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t __node, cudaGraphNode_t *__nodes,
                                                          size_t *__n) {
  return cudaGraphNodeGetDependentNodes(__node, __nodes, nullptr, __n);
}
GPURACE_CUDA12 cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t __s, cudaGraphNode_t *__nodes,
                                                               size_t __n, unsigned __flags = 0) {
  return cudaStreamUpdateCaptureDependencies(__s, __nodes, nullptr, __n, __flags);
}
GPURACE_CUDA12 cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t __s, cudaStreamCaptureStatus *__status,
                                                       unsigned long long *__id = nullptr,
                                                       cudaGraph_t *__g = nullptr,
                                                       const cudaGraphNode_t **__nodes = nullptr,
                                                       size_t *__n = nullptr) {
  return cudaStreamGetCaptureInfo(__s, __status, __id, __g, __nodes, nullptr, __n);
}

#undef GPURACE_CUDA12
#endif
#endif
