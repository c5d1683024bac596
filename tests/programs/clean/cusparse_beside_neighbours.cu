//@ compile-flags: -lcusparse
// Calls of cuSPARSE touch exactly the elements that their indices name. A kernel of another stream writes all others at the
// same time: rows of a factor that no column names, space between columns, elements of a vector that nobody gathers.
#include "sparse.h"

const int M = 4, K = 6, N = 3, LD = 8;

__global__ void others(float* b, float* c, float* y) {
    int column = blockIdx.x, row = threadIdx.x;
    // The matrix has the columns 0, 2 and 3.
    if (row != 0 && row != 2 && row != 3) b[column * LD + row] = 9;
    if (row >= M) c[column * LD + row] = 9;
    if (column == 0 && row < K && row != 1 && row != 4) y[row] = 9;
}

int main() {
    cudaStream_t first, second;
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    Plain<float> plain(M, K);
    plain.at(0, 0) = 1, plain.at(1, 2) = 2, plain.at(2, 3) = 3, plain.at(3, 0) = 4;
    cusparseHandle_t handle;
    CUDA(cusparseCreate(&handle));
    CUDA(cusparseSetStream(handle, second));
    bool right = true;
    for (cusparseFormat_t format : {CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO}) {
        Stored<float, int> a(plain, format, CUSPARSE_INDEX_BASE_ONE);
        Buffer<float> b(LD * N), c(LD * N), x(2), y(K);
        Buffer<int> indices(2);
        indices[0] = 1, indices[1] = 4;
        indices.upload();
        for (size_t i = 0; i < b.count; i++) b[i] = float(i % LD + 1);
        b.upload();
        cusparseDnMatDescr_t factor, result;
        cusparseSpVecDescr_t sparse;
        cusparseDnVecDescr_t dense;
        CUDA(cusparseCreateDnMat(&factor, K, N, LD, b.device, CUDA_R_32F, CUSPARSE_ORDER_COL));
        CUDA(cusparseCreateDnMat(&result, M, N, LD, c.device, CUDA_R_32F, CUSPARSE_ORDER_COL));
        CUDA(cusparseCreateSpVec(&sparse, K, 2, indices.device, x.device, CUSPARSE_INDEX_32I,
                                 CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
        CUDA(cusparseCreateDnVec(&dense, K, y.device, CUDA_R_32F));

        others<<<N, LD, 0, first>>>(b.device, c.device, y.device);
        float alpha = 1, beta = 0, one = 1;
        CUDA(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha,
                          a.descriptor, factor, &beta, result, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, nullptr));
        CUDA(cusparseGather(handle, dense, sparse));
        CUDA(cusparseAxpby(handle, &alpha, sparse, &one, dense));
        CUDA(cusparseScatter(handle, sparse, dense));
        SYNC();
        c.download();
        for (int j = 0; j < N; j++)
            right &= c[j * LD] == 1 && c[j * LD + 1] == 6 && c[j * LD + 2] == 12 && c[j * LD + 3] == 4;
        CUDA(cusparseDestroyDnMat(factor));
        CUDA(cusparseDestroyDnMat(result));
        CUDA(cusparseDestroySpVec(sparse));
        CUDA(cusparseDestroyDnVec(dense));
    }
    CUDA(cusparseDestroy(handle));
    return finish(right);
}
