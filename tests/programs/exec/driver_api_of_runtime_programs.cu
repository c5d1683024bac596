//@ stdout: right
// A program of the runtime API asks the driver API for contexts and functions, without cuInit, as Kokkos and
// CCCL do.
#include "driver.h"

#include <thread>

int main() {
    CUcontext context, found;
    CUdevice device;
    cudaStream_t stream;
    int version = 0;
    CUDA(cudaStreamCreate(&stream));
    CU(cuStreamGetCtx(stream, &context));
    expect(context != nullptr, "a stream has a context");
    CU(cuCtxPushCurrent(context));
    CU(cuCtxGetDevice(&device));
    CU(cuCtxPopCurrent(&found));
    expect(device == 0 && found == context, "the context of the stream, and its device");
    CU(cuDevicePrimaryCtxRetain(&found, 0));
    expect(found == context, "the runtime API uses the primary context");
    CU(cuDevicePrimaryCtxRelease(0));

    std::thread([&] {
        // A new thread has no context until it uses the runtime API.
        CU(cuCtxGetCurrent(&found));
        expect(!found, "no context in a new thread");
        CUDA(cudaSetDevice(0));
        CU(cuCtxGetCurrent(&found));
        expect(found == context, "the primary context in a new thread");
    }).join();

    CUresult (*get_version)(int*) = nullptr;
    cudaDriverEntryPointQueryResult status;
    CUDA(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", reinterpret_cast<void**>(&get_version), 12000,
                                          cudaEnableDefault, &status));
    expect(status == cudaDriverEntryPointSuccess && get_version, "a function of the driver API by name");
    CU(get_version(&version));
    void* other;
    CUDA(cudaGetDriverEntryPointByVersion("cuStreamSynchronize", &other, 12000, cudaEnablePerThreadDefaultStream, &status));
    expect(other && other != reinterpret_cast<void*>(cuStreamSynchronize), "its form for streams of threads");
    expect(cuMemFree(1) == CUDA_ERROR_INVALID_VALUE && cudaGetLastError() == cudaSuccess, "no last error");
    return finish(version >= CUDA_VERSION);
}
