//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcusparse
// Triangular systems, products of sparse matrices, sampled products, conversions, sorts and incomplete factors agree with
// what the host computes.
#include "sparse.h"

const int N = 6;
const cusparseOperation_t PLAINLY = CUSPARSE_OPERATION_NON_TRANSPOSE;
const cusparseFormat_t FORMATS[] = {CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO};
int wrong = 0;

template <class T>
cusparseDnMatDescr_t by_rows(Buffer<T>& buffer, int rows, int cols) {
    cusparseDnMatDescr_t descriptor;
    CUDA(cusparseCreateDnMat(&descriptor, rows, cols, cols, buffer.device, TypeOf<T>::value, CUSPARSE_ORDER_ROW));
    return descriptor;
}

template <class T>
void fill(Buffer<T>& buffer, Plain<T> plain) {
    for (size_t i = 0; i < plain.values.size(); i++) buffer[i] = plain.values[i];
    buffer.upload();
}

template <class T>
void expect(Buffer<T>& buffer, Plain<T> wanted) {
    buffer.download();
    for (size_t i = 0; i < wanted.values.size(); i++) wrong += buffer[i] != wanted.values[i];
}

// The other triangle has elements too, which no solver may take. A diagonal of ones is not read.
template <class T>
void triangles(cusparseHandle_t handle) {
    cudaDataType type = TypeOf<T>::value;
    for (int upper = 0; upper < 2; upper++)
        for (int unit = 0; unit < 2; unit++)
            for (int op = 0; op < 3; op++)
                for (int columns = 1; columns < 4; columns += 2) {
                    auto all = Plain<T>::random(N, N, 70), used = Plain<T>(N, N);
                    for (int i = 0; i < N; i++) {
                        all.at(i, i) = T(i % 2 ? 1 : -1);
                        for (int j = 0; j < N; j++)
                            if (upper ? j > i : j < i) used.at(i, j) = all.at(i, j);
                        used.at(i, i) = unit ? T(1) : all.at(i, i);
                        if (unit) all.at(i, i) = T(9);
                    }
                    auto operation = cusparseOperation_t(op);
                    auto wanted = Plain<T>::random(N, columns, 90);
                    auto right = used.after(operation).times(wanted);
                    for (T& value : wanted.values) value *= T(2);
                    Stored<T, int> a(all, CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ONE);
                    auto fill_mode = cusparseFillMode_t(upper);
                    auto diagonal = cusparseDiagType_t(unit);
                    CUDA(cusparseSpMatSetAttribute(a.descriptor, CUSPARSE_SPMAT_FILL_MODE, &fill_mode, sizeof fill_mode));
                    CUDA(cusparseSpMatSetAttribute(a.descriptor, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
                    Buffer<T> b(N * columns), c(N * columns);
                    fill(b, right);
                    T alpha = T(2);
                    size_t size = 0;
                    auto from = by_rows(b, N, columns), to = by_rows(c, N, columns);
                    cusparseSpSMDescr_t solver;
                    CUDA(cusparseSpSM_createDescr(&solver));
                    CUDA(cusparseSpSM_bufferSize(handle, operation, PLAINLY, &alpha, a.descriptor, from, to, type,
                                                 CUSPARSE_SPSM_ALG_DEFAULT, solver, &size));
                    Buffer<char> buffer(size);
                    CUDA(cusparseSpSM_analysis(handle, operation, PLAINLY, &alpha, a.descriptor, from, to, type,
                                               CUSPARSE_SPSM_ALG_DEFAULT, solver, buffer.device));
                    CUDA(cusparseSpSM_solve(handle, operation, PLAINLY, &alpha, a.descriptor, from, to, type,
                                            CUSPARSE_SPSM_ALG_DEFAULT, solver));
                    expect(c, wanted);
                    CUDA(cusparseSpSM_destroyDescr(solver));
                    CUDA(cusparseDestroyDnMat(from));
                    CUDA(cusparseDestroyDnMat(to));
                    if (columns > 1) continue;

                    // In place.
                    cusparseDnVecDescr_t x;
                    CUDA(cusparseCreateDnVec(&x, N, b.device, type));
                    cusparseSpSVDescr_t vector_solver;
                    CUDA(cusparseSpSV_createDescr(&vector_solver));
                    CUDA(cusparseSpSV_analysis(handle, operation, &alpha, a.descriptor, x, x, type,
                                               CUSPARSE_SPSV_ALG_DEFAULT, vector_solver, buffer.device));
                    CUDA(cusparseSpSV_solve(handle, operation, &alpha, a.descriptor, x, x, type,
                                            CUSPARSE_SPSV_ALG_DEFAULT, vector_solver));
                    expect(b, wanted);
                    CUDA(cusparseSpSV_destroyDescr(vector_solver));
                    CUDA(cusparseDestroyDnVec(x));
                }
}

void conversions(cusparseHandle_t handle) {
    for (cusparseFormat_t format : FORMATS) {
        auto plain = Plain<double>::random(N, N + 2, 40);
        Stored<double, int64_t> stored(plain, format, CUSPARSE_INDEX_BASE_ONE);
        Stored<double, int64_t> empty(Plain<double>(N, N + 2), format, CUSPARSE_INDEX_BASE_ONE);
        Buffer<double> dense(plain.values.size()), again(plain.values.size());
        auto matrix = by_rows(dense, N, N + 2), other = by_rows(again, N, N + 2);
        CUDA(cusparseSparseToDense(handle, stored.descriptor, matrix, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr));
        expect(dense, plain);
        // And back.
        int64_t rows, cols, nnz, wanted;
        CUDA(cusparseDenseToSparse_analysis(handle, matrix, empty.descriptor, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, nullptr));
        CUDA(cusparseSpMatGetSize(empty.descriptor, &rows, &cols, &nnz));
        CUDA(cusparseSpMatGetSize(stored.descriptor, &rows, &cols, &wanted));
        wrong += rows != N || cols != N + 2 || nnz != wanted;
        CUDA(cusparseDenseToSparse_convert(handle, matrix, empty.descriptor, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, nullptr));
        CUDA(cusparseSparseToDense(handle, empty.descriptor, other, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr));
        expect(again, plain);
        CUDA(cusparseDestroyDnMat(matrix));
        CUDA(cusparseDestroyDnMat(other));
    }
}

void sparse_products(cusparseHandle_t handle) {
    const int K = 4, M = 5;
    auto plain_a = Plain<float>::random(N, K, 50), plain_b = Plain<float>::random(K, M, 50);
    Stored<float, int> a(plain_a, CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ZERO);
    Stored<float, int> b(plain_b, CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ONE);
    Stored<float, int> c(Plain<float>(N, M), CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ZERO);
    auto wanted = plain_a.times(plain_b);
    for (float& value : wanted.values) value *= 3;
    float alpha = 3, beta = 0;
    size_t size = 0;
    cusparseSpGEMMDescr_t product;
    CUDA(cusparseSpGEMM_createDescr(&product));
    for (int pass = 0; pass < 2; pass++) {
        Buffer<char> buffer(size + 1);
        void* work = pass ? buffer.device : nullptr;
        CUDA(cusparseSpGEMM_workEstimation(handle, PLAINLY, PLAINLY, &alpha, a.descriptor, b.descriptor, &beta,
                                           c.descriptor, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, product, &size, work));
        CUDA(cusparseSpGEMM_compute(handle, PLAINLY, PLAINLY, &alpha, a.descriptor, b.descriptor, &beta, c.descriptor,
                                    CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, product, &size, work));
    }
    CUDA(cusparseSpGEMM_copy(handle, PLAINLY, PLAINLY, &alpha, a.descriptor, b.descriptor, &beta, c.descriptor,
                             CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, product));
    CUDA(cusparseSpGEMM_destroyDescr(product));
    Buffer<float> dense(N * M), left(N * K), right(K * M);
    auto matrix = by_rows(dense, N, M), factor = by_rows(left, N, K), other = by_rows(right, K, M);
    CUDA(cusparseSparseToDense(handle, c.descriptor, matrix, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr));
    expect(dense, wanted);

    // A dense product at the places of a sparse matrix.
    fill(left, plain_a), fill(right, plain_b);
    auto sample = Plain<float>::random(N, M, 50), sampled = sample;
    Stored<float, int> places(sample, CUSPARSE_FORMAT_CSR, CUSPARSE_INDEX_BASE_ZERO);
    beta = 2;
    CUDA(cusparseSDDMM(handle, PLAINLY, PLAINLY, &alpha, factor, other, &beta, places.descriptor, CUDA_R_32F,
                       CUSPARSE_SDDMM_ALG_DEFAULT, nullptr));
    for (size_t i = 0; i < sample.values.size(); i++)
        if (sample.values[i] != 0) sampled.values[i] = wanted.values[i] + 2 * sample.values[i];
    CUDA(cusparseSparseToDense(handle, places.descriptor, matrix, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr));
    expect(dense, sampled);
    for (auto each : {matrix, factor, other}) CUDA(cusparseDestroyDnMat(each));
}

// Complete factors, since the matrix is full.
void factors(cusparseHandle_t handle) {
    Plain<double> lower(N, N), upper(N, N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            if (j < i) lower.at(i, j) = (i * 3 + j) % 4 + 1;
            if (j > i) upper.at(i, j) = (i + j * 5) % 3 + 1;
            if (j == i) lower.at(i, j) = 1, upper.at(i, j) = i % 2 ? 2 : -1;
        }
    auto product = lower.times(upper), wanted = upper;
    for (double& value : product.values)
        if (value == 0) value = 0.0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) wanted.at(i, j) = lower.at(i, j);
    Buffer<double> values(N * N);
    Buffer<int> offsets(N + 1), columns(N * N);
    for (int i = 0; i <= N; i++) offsets[i] = i * N;
    for (int i = 0; i < N * N; i++) columns[i] = i % N;
    offsets.upload(), columns.upload();
    cusparseMatDescr_t descriptor;
    csrilu02Info_t info;
    int position, size;
    CUDA(cusparseCreateMatDescr(&descriptor));
    CUDA(cusparseCreateCsrilu02Info(&info));
    for (int is_singular = 0; is_singular < 2; is_singular++) {
        if (is_singular) product = Plain<double>(N, N);
        fill(values, product);
        CUDA(cusparseDcsrilu02_bufferSize(handle, N, N * N, descriptor, values.device, offsets.device, columns.device,
                                          info, &size));
        Buffer<char> buffer(size);
        CUDA(cusparseDcsrilu02_analysis(handle, N, N * N, descriptor, values.device, offsets.device, columns.device,
                                        info, CUSPARSE_SOLVE_POLICY_USE_LEVEL, buffer.device));
        CUDA(cusparseDcsrilu02(handle, N, N * N, descriptor, values.device, offsets.device, columns.device, info,
                               CUSPARSE_SOLVE_POLICY_USE_LEVEL, buffer.device));
        auto status = cusparseXcsrilu02_zeroPivot(handle, info, &position);
        wrong += status != (is_singular ? CUSPARSE_STATUS_ZERO_PIVOT : CUSPARSE_STATUS_SUCCESS);
        wrong += position != (is_singular ? 0 : -1);
        if (!is_singular) expect(values, wanted);
    }
    CUDA(cusparseDestroyCsrilu02Info(info));
    CUDA(cusparseDestroyMatDescr(descriptor));
}

template <class T>
void expect(Buffer<T>& buffer, std::initializer_list<T> wanted) {
    buffer.download();
    size_t i = 0;
    for (T value : wanted) wrong += buffer[i++] != value;
}

template <class T>
void put(Buffer<T>& buffer, std::initializer_list<T> values) {
    size_t i = 0;
    for (T value : values) buffer[i++] = value;
    buffer.upload();
}

void vectors(cusparseHandle_t handle) {
    Buffer<int> indices(3);
    Buffer<float> values(3), dense(5);
    put(indices, {1, 4, 5}), put(values, {10.0f, 20.0f, 30.0f}), put(dense, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f});
    cusparseSpVecDescr_t x;
    cusparseDnVecDescr_t y;
    CUDA(cusparseCreateSpVec(&x, 5, 3, indices.device, values.device, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ONE,
                             CUDA_R_32F));
    CUDA(cusparseCreateDnVec(&y, 5, dense.device, CUDA_R_32F));
    float alpha = 2, beta = 3, result = 0;
    CUDA(cusparseSpVV(handle, PLAINLY, x, y, &result, CUDA_R_32F, nullptr));
    wrong += result != 10 + 80 + 150;
    CUDA(cusparseAxpby(handle, &alpha, x, &beta, y));
    expect(dense, {23.0f, 6.0f, 9.0f, 52.0f, 75.0f});
    CUDA(cusparseGather(handle, y, x));
    expect(values, {23.0f, 52.0f, 75.0f});
    put(values, {7.0f, 8.0f, 9.0f});
    CUDA(cusparseScatter(handle, x, y));
    expect(dense, {7.0f, 6.0f, 9.0f, 8.0f, 9.0f});
    CUDA(cusparseDestroySpVec(x));
    CUDA(cusparseDestroyDnVec(y));
}

void older_interface(cusparseHandle_t handle) {
    Buffer<int> rows(4), offsets(4), columns(4), order(4), of_columns(4), of_rows(4), counts(3);
    Buffer<float> values(4), transposed(4);
    put(rows, {2, 0, 2, 0}), put(columns, {1, 2, 0, 0});
    CUDA(cusparseCreateIdentityPermutation(handle, 4, order.device));
    CUDA(cusparseXcoosortByRow(handle, 3, 3, 4, rows.device, columns.device, order.device, nullptr));
    expect(rows, {0, 0, 2, 2}), expect(columns, {0, 2, 0, 1}), expect(order, {3, 1, 2, 0});
    CUDA(cusparseXcoo2csr(handle, rows.device, 4, 3, offsets.device, CUSPARSE_INDEX_BASE_ZERO));
    expect(offsets, {0, 2, 2, 4});
    CUDA(cusparseXcsr2coo(handle, offsets.device, 4, 3, order.device, CUSPARSE_INDEX_BASE_ZERO));
    expect(order, {0, 0, 2, 2});
    put(values, {1.0f, 2.0f, 3.0f, 4.0f});
    CUDA(cusparseCsr2cscEx2(handle, 3, 3, 4, values.device, offsets.device, columns.device, transposed.device,
                            of_columns.device, of_rows.device, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC,
                            CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, nullptr));
    expect(of_columns, {0, 2, 3, 4}), expect(of_rows, {0, 2, 2, 0}), expect(transposed, {1.0f, 3.0f, 4.0f, 2.0f});
    cusparseMatDescr_t descriptor;
    CUDA(cusparseCreateMatDescr(&descriptor));
    put(columns, {2, 0, 1, 0});
    CUDA(cusparseCreateIdentityPermutation(handle, 4, order.device));
    CUDA(cusparseXcsrsort(handle, 3, 3, 4, descriptor, offsets.device, columns.device, order.device, nullptr));
    expect(columns, {0, 2, 0, 1}), expect(order, {1, 0, 3, 2});
    // Two rows and two columns.
    int total = 0;
    put(values, {1.0f, 0.0f, 2.0f, 3.0f});
    CUDA(cusparseSnnz(handle, CUSPARSE_DIRECTION_COLUMN, 2, 2, descriptor, values.device, 2, counts.device, &total));
    expect(counts, {1, 2});
    wrong += total != 3;
    CUDA(cusparseSnnz(handle, CUSPARSE_DIRECTION_ROW, 2, 2, descriptor, values.device, 2, counts.device, &total));
    expect(counts, {2, 1});
    CUDA(cusparseDestroyMatDescr(descriptor));
}

int main() {
    cusparseHandle_t handle;
    CUDA(cusparseCreate(&handle));
    triangles<float>(handle), triangles<DoubleComplex>(handle);
    conversions(handle), sparse_products(handle), factors(handle), vectors(handle), older_interface(handle);
    CUDA(cusparseDestroy(handle));
    wrong += cusparseDestroy(handle) != CUSPARSE_STATUS_NOT_INITIALIZED;
    printf("%d wrong\n", wrong);
    return finish(wrong == 0);
}
