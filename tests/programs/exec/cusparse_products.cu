//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcusparse
// Products of sparse and dense matrices agree with those of dense ones, for all formats, types, operations, orders and
// kinds of indices. Nothing but the result is written.
#include "sparse.h"

const int M = 7, K = 5, N = 3;
const cusparseFormat_t FORMATS[] = {CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO};
const cusparseIndexBase_t BASES[] = {CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE};

// A dense matrix on the device, with room between its rows or columns.
template <class T>
struct Room {
    int rows, cols, ld;
    bool by_rows;
    Buffer<T> buffer;
    cusparseDnMatDescr_t descriptor;

    Room(Plain<T> plain, cusparseOrder_t order)
        : rows(plain.rows), cols(plain.cols), ld((order == CUSPARSE_ORDER_ROW ? cols : rows) + 2),
          by_rows(order == CUSPARSE_ORDER_ROW), buffer(size_t(ld) * (by_rows ? rows : cols)) {
        for (size_t i = 0; i < buffer.count; i++) buffer[i] = T(77);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++) buffer[place(i, j)] = plain.at(i, j);
        buffer.upload();
        CUDA(cusparseCreateDnMat(&descriptor, rows, cols, ld, buffer.device, TypeOf<T>::value, order));
    }
    ~Room() { CUDA(cusparseDestroyDnMat(descriptor)); }
    size_t place(int i, int j) { return by_rows ? size_t(i) * ld + j : size_t(j) * ld + i; }
    bool holds(Plain<T> wanted) {
        buffer.download();
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                if (buffer[place(i, j)] != wanted.at(i, j)) return false;
        size_t others = 0;
        for (size_t i = 0; i < buffer.count; i++) others += buffer[i] == T(77);
        return others >= buffer.count - size_t(rows) * cols;
    }
};

template <class T>
Plain<T> combined(T alpha, Plain<T> product, T beta, Plain<T> before) {
    for (size_t i = 0; i < product.values.size(); i++)
        product.values[i] = alpha * product.values[i] + beta * before.values[i];
    return product;
}

template <class T, class I>
int wrong_products(cusparseHandle_t handle) {
    int wrong = 0;
    cudaDataType type = TypeOf<T>::value;
    for (cusparseFormat_t format : FORMATS)
        for (cusparseIndexBase_t base : BASES)
            for (int op_a = 0; op_a < 3; op_a++)
                for (int op_b = 0; op_b < 3; op_b++)
                    for (int orders = 0; orders < 4; orders++) {
                        T alpha, beta;
                        random_number(alpha, 4, RealOf<T>(1)), random_number(beta, 4, RealOf<T>(1));
                        auto a = cusparseOperation_t(op_a), b = cusparseOperation_t(op_b);
                        auto plain_a = op_a ? Plain<T>::random(K, M, 40) : Plain<T>::random(M, K, 40);
                        auto plain_b = op_b ? Plain<T>::random(N, K, 90) : Plain<T>::random(K, N, 90);
                        auto before = Plain<T>::random(M, N, 90);
                        Stored<T, I> stored(plain_a, format, base);
                        Room<T> factor(plain_b, orders & 1 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL);
                        Room<T> result(before, orders & 2 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL);
                        size_t size = 0;
                        CUDA(cusparseSpMM_bufferSize(handle, a, b, &alpha, stored.descriptor, factor.descriptor, &beta,
                                                     result.descriptor, type, CUSPARSE_SPMM_ALG_DEFAULT, &size));
                        Buffer<char> buffer(size);
                        CUDA(cusparseSpMM(handle, a, b, &alpha, stored.descriptor, factor.descriptor, &beta,
                                          result.descriptor, type, CUSPARSE_SPMM_ALG_DEFAULT, buffer.device));
                        auto product = plain_a.after(a).times(plain_b.after(b));
                        wrong += !result.holds(combined(alpha, product, beta, before));
                        if (op_b || orders) continue;

                        // The same with one column.
                        auto x = Plain<T>::random(K, 1, 90), y = Plain<T>::random(M, 1, 90);
                        Buffer<T> on_x(K), on_y(M);
                        for (int i = 0; i < K; i++) on_x[i] = x.values[i];
                        for (int i = 0; i < M; i++) on_y[i] = y.values[i];
                        on_x.upload(), on_y.upload();
                        cusparseDnVecDescr_t vec_x, vec_y;
                        CUDA(cusparseCreateDnVec(&vec_x, K, on_x.device, type));
                        CUDA(cusparseCreateDnVec(&vec_y, M, on_y.device, type));
                        CUDA(cusparseSpMV_preprocess(handle, a, &alpha, stored.descriptor, vec_x, &beta, vec_y, type,
                                                     CUSPARSE_SPMV_ALG_DEFAULT, buffer.device));
                        CUDA(cusparseSpMV(handle, a, &alpha, stored.descriptor, vec_x, &beta, vec_y, type,
                                          CUSPARSE_SPMV_ALG_DEFAULT, buffer.device));
                        on_y.download();
                        auto wanted = combined(alpha, plain_a.after(a).times(x), beta, y);
                        for (int i = 0; i < M; i++) wrong += on_y[i] != wanted.values[i];
                        CUDA(cusparseDestroyDnVec(vec_x));
                        CUDA(cusparseDestroyDnVec(vec_y));
                    }
    return wrong;
}

int main() {
    cusparseHandle_t handle;
    CUDA(cusparseCreate(&handle));
    int wrong = wrong_products<float, int>(handle) + wrong_products<double, int64_t>(handle) +
                wrong_products<Complex, int64_t>(handle) + wrong_products<DoubleComplex, int>(handle);
    CUDA(cusparseDestroy(handle));
    printf("%d wrong\n", wrong);
    return finish(wrong == 0);
}
