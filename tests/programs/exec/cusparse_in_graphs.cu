//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcusparse
// A captured product is a node. Each launch takes the values and the scalars on the device of its time, also after the
// descriptors were destroyed.
#include "sparse.h"

__global__ void step(float* x, float* alpha) {
    x[threadIdx.x] += 1;
    if (threadIdx.x == 0) alpha[0] = 2;
}

int main() {
    const int N = 3;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    Plain<float> plain(N, N);
    for (int i = 0; i < N; i++) plain.at(i, i) = float(i + 1);
    Buffer<float> x(N), y(N), scalars(2);
    scalars[0] = 1, scalars[1] = 1;
    scalars.upload();
    cusparseHandle_t handle;
    cusparseDnVecDescr_t vec_x, vec_y;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cusparseCreate(&handle));
    CUDA(cusparseSetStream(handle, stream));
    CUDA(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
    CUDA(cusparseCreateDnVec(&vec_x, N, x.device, CUDA_R_32F));
    CUDA(cusparseCreateDnVec(&vec_y, N, y.device, CUDA_R_32F));
    Stored<float, int> a(plain, CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ZERO);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    step<<<1, N, 0, stream>>>(x.device, scalars.device);
    CUDA(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, scalars.device, a.descriptor, vec_x,
                      scalars.device + 1, vec_y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&instance, graph, 0));
    CUDA(cusparseDestroyDnVec(vec_x));
    CUDA(cusparseDestroyDnVec(vec_y));
    CUDA(cusparseDestroy(handle));
    for (int i = 0; i < 2; i++) CUDA(cudaGraphLaunch(instance, stream));
    CUDA(cudaStreamSynchronize(stream));
    y.download();
    bool right = true;
    // The vector is 1 in the first launch, and 2 in the second.
    for (int i = 0; i < N; i++) right &= y[i] == float((i + 1) * 2 * (1 + 2));
    return finish(right);
}
