//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcusparse
//@ stderr-contains: gpurace: error: illegal address: `cusparseSpMV` reads 4 bytes at
//@ stderr-contains: gpurace: `cusparseSpGEMM_workEstimation`: gpurace's cuSPARSE multiplies compressed rows that are not transposed only
// What is not there says so. An index that leads out of all memory ends the device's work, as on a GPU. A descriptor that
// does not exist and sizes that do not fit are refused.
#include "sparse.h"

int main() {
    const auto plainly = CUSPARSE_OPERATION_NON_TRANSPOSE, transposed = CUSPARSE_OPERATION_TRANSPOSE;
    const auto any = CUSPARSE_SPMV_ALG_DEFAULT;
    Plain<float> plain(2, 3);
    plain.at(0, 0) = plain.at(1, 2) = 1;
    Stored<float, int> a(plain, CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ZERO);
    Buffer<float> x(3), y(2);
    cusparseDnVecDescr_t vec_x, vec_y;
    CUDA(cusparseCreateDnVec(&vec_x, 3, x.device, CUDA_R_32F));
    CUDA(cusparseCreateDnVec(&vec_y, 2, y.device, CUDA_R_32F));
    cusparseHandle_t handle;
    float alpha = 1, beta = 0;
    size_t size;
    auto multiply = [&](cusparseOperation_t operation, cusparseDnVecDescr_t from) {
        return cusparseSpMV(handle, operation, &alpha, a.descriptor, from, &beta, vec_y, CUDA_R_32F, any, nullptr);
    };
    CUDA(cusparseCreate(&handle));
    bool ok = multiply(plainly, nullptr) == CUSPARSE_STATUS_INVALID_VALUE;
    ok &= multiply(transposed, vec_x) == CUSPARSE_STATUS_INVALID_VALUE;
    ok &= multiply(plainly, vec_y) == CUSPARSE_STATUS_INVALID_VALUE;
    cusparseSpGEMMDescr_t product;
    CUDA(cusparseSpGEMM_createDescr(&product));
    ok &= cusparseSpGEMM_workEstimation(handle, transposed, plainly, &alpha, a.descriptor, a.descriptor, &beta,
                                        a.descriptor, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, product, &size,
                                        nullptr) == CUSPARSE_STATUS_NOT_SUPPORTED;
    ok &= multiply(plainly, vec_x) == CUSPARSE_STATUS_SUCCESS;
    a.indices[1] = 1 << 30;
    a.indices.upload();
    ok &= multiply(plainly, vec_x) == CUSPARSE_STATUS_EXECUTION_FAILED;
    ok &= cudaDeviceSynchronize() == cudaErrorIllegalAddress;
    return finish(ok);
}
