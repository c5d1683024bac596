//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcublas
// Captured calls of cuBLAS become nodes. They run when the graph is launched, with the scalars of the capture, or with
// those in the device's memory at the launch.
#include "blas.h"

int main() {
    cublasHandle_t handle;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t launched;
    bool ok = true;
    const int n = 8;
    Elements<float> a(n * n, 1), b(n * n, 2), c(n * n, 3), before(n * n, 3), factor(1);
    CUDA(cublasCreate(&handle));
    CUDA(cudaStreamCreate(&stream));
    CUDA(cublasSetStream(handle, stream));
    cudaStream_t set;
    CUDA(cublasGetStream(handle, &set));
    ok &= set == stream;

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    {
        float one = 1, zero = 0;
        CUDA(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a.device, n, b.device, n, &zero, c.device, n));
        one = 100;
    }
    CUDA(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    CUDA(cublasSscal(handle, n * n, factor.device, c.device, 1));
    CUDA(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    CUDA(cudaStreamEndCapture(stream, &graph));
    c.download();
    for (int i = 0; i < n * n; i++) ok &= near(c.at(i), before.at(i));

    CUDA(cudaGraphInstantiate(&launched, graph, nullptr, nullptr, 0));
    for (float value : {2.0f, -3.0f}) {
        factor[0] = value;
        factor.upload();
        CUDA(cudaGraphLaunch(launched, stream));
        SYNC();
        c.download();
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                Wide sum = 0;
                for (int l = 0; l < n; l++) sum += a.at(i + l * n) * b.at(j + l * n);
                ok &= near(c.at(i + j * n), double(value) * sum);
            }
    }
    // A result on the host would need a wait.
    float norm;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ok &= cublasSnrm2(handle, n, a.device, 1, &norm) != CUBLAS_STATUS_SUCCESS;
    ok &= cudaStreamEndCapture(stream, &graph) != cudaSuccess;
    cudaGetLastError();
    CUDA(cublasDestroy(handle));
    return finish(ok);
}
