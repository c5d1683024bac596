//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcublas -lcublasLt
//@ stderr-contains: gpurace: `cublasLtMatmulAlgoGetHeuristic`: gpurace's cuBLAS does not support this order of elements
// cublasLtMatmul with its epilogues, batches, and matrices in rows.
#include <cublasLt.h>

#include "blas.h"

cublasLtHandle_t handle;
bool ok = true;

template <class V>
void set(cublasLtMatmulDesc_t to, cublasLtMatmulDescAttributes_t attribute, V value) {
    CUDA(cublasLtMatmulDescSetAttribute(to, attribute, &value, sizeof value));
}

template <class V>
void set(cublasLtMatrixLayout_t to, cublasLtMatrixLayoutAttribute_t attribute, V value) {
    CUDA(cublasLtMatrixLayoutSetAttribute(to, attribute, &value, sizeof value));
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double gelu_slope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

template <class T>
void test(cudaDataType type, cublasLtEpilogue_t epilogue, bool in_rows, int count, float beta, double tolerance) {
    const int m = 16, n = 6, k = 5, lda = in_rows ? m + 2 : k + 1, ldb = in_rows ? n + 1 : k + 2;
    const int ldc = in_rows ? n + 3 : m + 3, sa = lda * 20, sb = ldb * 20, sc = ldc * 20, lde = m + 16, se = lde * n;
    bool bits = epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
    Elements<T> a(sa * count, 1), b(sb * count, 2), c(sc * count, 3), d(sc * count, 0, false), bias(20 * count, 4);
    Elements<T> kept(se * count, 5);
    Elements<T> kept_before(se * count, 5), bias_before(20 * count, 4);
    Buffer<unsigned char> mask(128 * n / 8 * count);

    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layouts[4];
    cublasLtMatmulPreference_t preference;
    CUDA(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    // In columns, op(a) is a transposition.
    set(operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, (void*)bias.device);
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, int64_t(20));
    if (bits) {
        set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, (void*)mask.device);
        set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(128));
        set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, int64_t(128 * n));
    } else {
        set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, (void*)kept.device);
        set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(lde));
        set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, int64_t(se));
    }
    CUDA(cublasLtMatrixLayoutCreate(&layouts[0], type, k, m, lda));
    CUDA(cublasLtMatrixLayoutCreate(&layouts[1], type, k, n, ldb));
    CUDA(cublasLtMatrixLayoutCreate(&layouts[2], type, m, n, ldc));
    CUDA(cublasLtMatrixLayoutCreate(&layouts[3], type, m, n, ldc));
    int64_t strides[] = {sa, sb, sc, sc};
    for (int i = 0; i < 4; i++) {
        set(layouts[i], CUBLASLT_MATRIX_LAYOUT_ORDER, in_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL);
        set(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
        set(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, strides[i]);
    }
    size_t bytes = 1 << 20;
    CUDA(cublasLtMatmulPreferenceCreate(&preference));
    CUDA(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
    cublasLtMatmulHeuristicResult_t result;
    int found;
    CUDA(cublasLtMatmulAlgoGetHeuristic(handle, operation, layouts[0], layouts[1], layouts[2], layouts[3], preference, 1,
                                        &result, &found));
    ok &= found == 1 && result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= bytes;
    float alpha = 0.5;
    CUDA(cublasLtMatmul(handle, operation, &alpha, a.device, layouts[0], b.device, layouts[1], &beta, c.device, layouts[2],
                        d.device, layouts[3], &result.algo, nullptr, 0, nullptr));
    SYNC();
    d.download(), kept.download(), bias.download(), mask.download();

    for (int s = 0; s < count; s++) {
        auto at_a = [&](int i, int l) { return a.at(s * sa + (in_rows ? l * lda + i : i * lda + l)); };
        auto at_b = [&](int l, int j) { return b.at(s * sb + (in_rows ? l * ldb + j : j * ldb + l)); };
        auto place = [&](int i, int j) { return size_t(s * sc + (in_rows ? i * ldc + j : j * ldc + i)); };
        std::vector<double> row_sums(m);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double value = 0;
                for (int l = 0; l < k; l++) value += (at_a(i, l) * at_b(l, j)).real();
                value = 0.5 * value + (beta != 0 ? beta * c.at(place(i, j)).real() : 0);
                double added = bias_before.at(s * 20 + i).real();
                double old = kept_before.at(s * se + j * lde + i).real();
                switch (epilogue) {
                case CUBLASLT_EPILOGUE_BIAS: value += added; break;
                case CUBLASLT_EPILOGUE_RELU: value = std::max(value, 0.0); break;
                case CUBLASLT_EPILOGUE_GELU_BIAS: value = gelu(value + added); break;
                case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
                    value += added;
                    ok &= near(kept.at(s * se + j * lde + i), value, tolerance);
                    value = gelu(value);
                    break;
                case CUBLASLT_EPILOGUE_RELU_AUX_BIAS: {
                    value += added;
                    int bit = j * 128 + i;
                    ok &= (mask[s * 128 * n / 8 + bit / 8] >> bit % 8 & 1) == (value > 0);
                    value = std::max(value, 0.0);
                    break;
                }
                case CUBLASLT_EPILOGUE_DGELU: value *= gelu_slope(old); break;
                case CUBLASLT_EPILOGUE_DGELU_BGRAD: value *= gelu_slope(old), row_sums[i] += value; break;
                default: break;
                }
                ok &= near(d.at(place(i, j)), value, tolerance);
            }
        for (int i = 0; i < m; i++) {
            double sum = row_sums[i];
            if (epilogue == CUBLASLT_EPILOGUE_BGRADA || (epilogue == CUBLASLT_EPILOGUE_BGRADB && i < n)) {
                sum = 0;
                for (int l = 0; l < k; l++) sum += (epilogue == CUBLASLT_EPILOGUE_BGRADA ? at_a(i, l) : at_b(l, i)).real();
            } else if (epilogue != CUBLASLT_EPILOGUE_DGELU_BGRAD) {
                sum = bias_before.at(s * 20 + i).real();
            }
            ok &= near(bias.at(s * 20 + i), sum, tolerance * 10);
        }
        for (int i = m; i < lde; i++) ok &= kept.at(s * se + i) == kept_before.at(s * se + i);
    }
    uint64_t rows;
    size_t written;
    CUDA(cublasLtMatrixLayoutGetAttribute(layouts[3], CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &written));
    ok &= rows == m && written == 8;
    CUDA(cublasLtMatmulPreferenceDestroy(preference));
    for (auto layout : layouts) CUDA(cublasLtMatrixLayoutDestroy(layout));
    CUDA(cublasLtMatmulDescDestroy(operation));
}

int main() {
    CUDA(cublasLtCreate(&handle));
    for (auto epilogue :
         {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_GELU_BIAS,
          CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_RELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
          CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB}) {
        test<float>(CUDA_R_32F, epilogue, false, 1, 0, 1e-4);
        test<float>(CUDA_R_32F, epilogue, false, 3, 2, 1e-4);
        test<__nv_bfloat16>(CUDA_R_16BF, epilogue, false, 1, 0, 2e-2);
        test<__half>(CUDA_R_16F, epilogue, true, 2, 1, 4e-3);
    }
    // The order of matrices is refused by name.
    cublasLtMatmulDescOpaque_t operation;
    cublasLtMatrixLayoutOpaque_t layout;
    cublasLtMatmulHeuristicResult_t result;
    int found;
    CUDA(cublasLtMatmulDescInit(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CUDA(cublasLtMatrixLayoutInit(&layout, CUDA_R_32F, 4, 4, 4));
    set(&layout, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL32);
    ok &= cublasLtMatmulAlgoGetHeuristic(handle, &operation, &layout, &layout, &layout, &layout, nullptr, 1, &result,
                                         &found) == CUBLAS_STATUS_NOT_SUPPORTED;
    ok &= found == 0;
    CUDA(cublasLtDestroy(handle));
    return finish(ok);
}
