//@ revisions: racy fixed
//@[racy] findings: unordered-operations unordered-operations
//@ compile-flags: -lcusparse
// A kernel of another stream writes the vector that a product reads, another one reads the result, and two products share
// one buffer. An element of the vector that no element of the matrix meets is another's.
#include "sparse.h"

const int N = 4;

__global__ void produce(float* x) { x[threadIdx.x] = 1; } //~ WRITE

__global__ void beside(float* x) { x[N] = 2; }

__global__ void consume(const float* y, float* sum) { sum[threadIdx.x] = y[threadIdx.x]; } //~ READ

int main() {
    cudaStream_t first, second;
    cudaEvent_t produced, multiplied;
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&produced));
    CUDA(cudaEventCreate(&multiplied));
    // The last column is empty.
    Plain<float> plain(N, N + 1);
    for (int i = 0; i < N; i++) plain.at(i, i) = 2, plain.at(i, (i + 1) % N) = 3;
    Stored<float, int> a(plain, CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ZERO);
    Buffer<float> x(N + 1), y(N), other(N), sum(N);
    cusparseDnVecDescr_t vec_x, vec_y, vec_other;
    CUDA(cusparseCreateDnVec(&vec_x, N + 1, x.device, CUDA_R_32F));
    CUDA(cusparseCreateDnVec(&vec_y, N, y.device, CUDA_R_32F));
    CUDA(cusparseCreateDnVec(&vec_other, N, other.device, CUDA_R_32F));
    cusparseHandle_t handle;
    CUDA(cusparseCreate(&handle));
    CUDA(cusparseSetStream(handle, second));
    float alpha = 1, beta = 0;
    size_t size = 0;
    const cusparseOperation_t plainly = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const cusparseSpMVAlg_t any = CUSPARSE_SPMV_ALG_DEFAULT;
    CUDA(cusparseSpMV_bufferSize(handle, plainly, &alpha, a.descriptor, vec_x, &beta, vec_y, CUDA_R_32F, any, &size));
    Buffer<char> buffer(size);

    produce<<<1, N, 0, first>>>(x.device);
#ifdef FIXED
    CUDA(cudaEventRecord(produced, first));
    CUDA(cudaStreamWaitEvent(second, produced, 0));
#endif
    CUDA(cusparseSpMV(handle, plainly, &alpha, a.descriptor, vec_x, &beta, vec_y, CUDA_R_32F, any, buffer.device)); //~ SPMV
    beside<<<1, 1, 0, first>>>(x.device);
#ifdef FIXED
    CUDA(cudaEventRecord(multiplied, second));
    CUDA(cudaStreamWaitEvent(first, multiplied, 0));
#endif
    consume<<<1, N, 0, first>>>(y.device, sum.device);
    CUDA(cusparseSetStream(handle, first));
    CUDA(cusparseSpMV(handle, plainly, &alpha, a.descriptor, vec_x, &beta, vec_other, CUDA_R_32F, any, buffer.device)); //~ AGAIN
    SYNC();
    sum.download();
    CUDA(cusparseDestroy(handle));
    return finish(sum[0] == 5 && sum[N - 1] == 5);
}
//~ RACE[racy] write-copy global device: WRITE SPMV
//~ RACE[racy] read-copy global device: READ SPMV
//~ RACE[racy] copy-copy global device: SPMV AGAIN
