//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcublas
//@ stderr-contains: gpurace: `cublasGemmEx`: gpurace's cuBLAS does not support these types
// Functions whose elements' types are parameters.
#include "blas.h"

cublasHandle_t handle;
bool ok = true;

template <class A, class C, class S>
void product(cudaDataType a_type, cudaDataType c_type, cublasComputeType_t compute, double tolerance) {
    int m = 6, n = 5, k = 4, lda = 7, ldb = 8, ldc = 9, sa = lda * 8, sb = ldb * 8, sc = ldc * n, count = 2;
    S scalars[] = {narrow<S>(2), narrow<S>(0)};
    for (auto ta : OPERATIONS)
        for (auto tb : OPERATIONS)
            for (int way = 0; way < 3; way++) {
                Elements<A> a(sa * count, 1), b(sb * count, 2);
                Elements<C> c(sc * count, 0, std::is_same_v<C, int>);
                if (way == 0)
                    CUDA(cublasGemmEx(handle, ta, tb, m, n, k, scalars, a.device, a_type, lda, b.device, a_type, ldb,
                                      scalars + 1, c.device, c_type, ldc, compute, CUBLAS_GEMM_DEFAULT));
                if (way == 1)
                    CUDA(cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, scalars, a.device, a_type, lda, sa,
                                                    b.device, a_type, ldb, sb, scalars + 1, c.device, c_type, ldc, sc,
                                                    count, compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
                Buffer<void*> as(count), bs(count), cs(count);
                for (int i = 0; i < count; i++)
                    as[i] = a.device + i * sa, bs[i] = b.device + i * sb, cs[i] = c.device + i * sc;
                as.upload(), bs.upload(), cs.upload();
                if (way == 2)
                    CUDA(cublasGemmBatchedEx(handle, ta, tb, m, n, k, scalars, as.device, a_type, lda, bs.device,
                                             a_type, ldb, scalars + 1, cs.device, c_type, ldc, count, compute,
                                             CUBLAS_GEMM_DEFAULT));
                c.download();
                for (int s = 0; s < (way == 0 ? 1 : count); s++)
                    for (int j = 0; j < n; j++)
                        for (int i = 0; i < m; i++) {
                            Wide sum = 0;
                            for (int l = 0; l < k; l++)
                                sum += element(a, lda, ta, i, l, s * sa) * element(b, ldb, tb, l, j, s * sb);
                            ok &= near(c.at(s * sc + i + j * ldc), 2.0 * sum, tolerance);
                        }
            }
}

int main() {
    CUDA(cublasCreate(&handle));
    product<__half, __half, __half>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, 2e-3);
    product<__half, __half, float>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 2e-3);
    product<__half, float, float>(CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6);
    product<__nv_bfloat16, __nv_bfloat16, float>(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1e-2);
    product<float, float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 1e-6);
    product<double, double, double>(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 1e-12);
    product<cuComplex, cuComplex, cuComplex>(CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F, 1e-6);
    product<cuDoubleComplex, cuDoubleComplex, cuDoubleComplex>(CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, 1e-12);
    product<signed char, int, int>(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 0);
    product<signed char, float, float>(CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0);

    // A type of elements stands for the type of the computation.
    Elements<float> a(16, 1), b(16, 2), c(16, 0, false);
    float one = 1, zero = 0;
    CUDA(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a.device, CUDA_R_32F, 4, b.device, CUDA_R_32F, 4,
                      &zero, c.device, CUDA_R_32F, 4, CUDA_R_32F, CUBLAS_GEMM_DEFAULT));
    CUDA(cublasSgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a.device, CUDA_R_32F, 4, b.device, CUDA_R_32F,
                       4, &one, c.device, CUDA_R_32F, 4));
    c.download();
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            Wide sum = 0;
            for (int l = 0; l < 4; l++) sum += a.at(i + 4 * l) * b.at(l + 4 * j);
            ok &= near(c.at(i + 4 * j), 2.0 * sum);
        }

    int n = 20;
    Elements<__half> x(2 * n, 1), y(n, 2), before(n, 2);
    float alpha = 3;
    __half dot, norm;
    int most;
    CUDA(cublasDotEx(handle, n, x.device, CUDA_R_16F, 2, y.device, CUDA_R_16F, 1, &dot, CUDA_R_16F, CUDA_R_32F));
    CUDA(cublasNrm2Ex(handle, n, y.device, CUDA_R_16F, 1, &norm, CUDA_R_16F, CUDA_R_32F));
    CUDA(cublasIamaxEx(handle, n, y.device, CUDA_R_16F, 1, &most));
    CUDA(cublasAxpyEx(handle, n, &alpha, CUDA_R_32F, x.device, CUDA_R_16F, 2, y.device, CUDA_R_16F, 1, CUDA_R_32F));
    CUDA(cublasScalEx(handle, n, &alpha, CUDA_R_32F, y.device, CUDA_R_16F, 1, CUDA_R_32F));
    y.download();
    Wide sum = 0;
    double squares = 0;
    int largest = 0;
    for (int i = 0; i < n; i++) {
        sum += x.at(2 * i) * before.at(i), squares += std::norm(before.at(i));
        if (std::abs(before.at(i)) > std::abs(before.at(largest))) largest = i;
        ok &= near(y.at(i), 3.0 * (3.0 * x.at(2 * i) + before.at(i)), 2e-3);
    }
    ok &= near(wide(dot), sum, 2e-3) && near(wide(norm), std::sqrt(squares), 2e-3) && most == largest + 1;

    ok &= cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a.device, CUDA_R_4I, 4, b.device, CUDA_R_4I, 4,
                       &zero, c.device, CUDA_R_32F, 4, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) ==
          CUBLAS_STATUS_NOT_SUPPORTED;
    CUDA(cublasDestroy(handle));
    return finish(ok);
}
