//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcusolver
// Factors, solutions and inverses of all types agree with what the host computes from their definitions. `devInfo` says where
// a factorisation ends.
#include "solver.h"

FUNCTIONS(potrf, potrf, potrf, potrf, potrf)
FUNCTIONS(potrf_size, potrf_bufferSize, potrf_bufferSize, potrf_bufferSize, potrf_bufferSize)
FUNCTIONS(potrs, potrs, potrs, potrs, potrs)
FUNCTIONS(potri, potri, potri, potri, potri)
FUNCTIONS(potri_size, potri_bufferSize, potri_bufferSize, potri_bufferSize, potri_bufferSize)
FUNCTIONS(potrf_batched, potrfBatched, potrfBatched, potrfBatched, potrfBatched)
FUNCTIONS(potrs_batched, potrsBatched, potrsBatched, potrsBatched, potrsBatched)
FUNCTIONS(getrf, getrf, getrf, getrf, getrf)
FUNCTIONS(getrf_size, getrf_bufferSize, getrf_bufferSize, getrf_bufferSize, getrf_bufferSize)
FUNCTIONS(getrs, getrs, getrs, getrs, getrs)
FUNCTIONS(geqrf, geqrf, geqrf, geqrf, geqrf)
FUNCTIONS(geqrf_size, geqrf_bufferSize, geqrf_bufferSize, geqrf_bufferSize, geqrf_bufferSize)
FUNCTIONS(orgqr, orgqr, orgqr, ungqr, ungqr)
FUNCTIONS(ormqr, ormqr, ormqr, unmqr, unmqr)

const int N = 7, COLUMNS = 3;
const cublasFillMode_t FILLS[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
int wrong = 0;

template <class T>
void cholesky(cusolverDnHandle_t handle) {
    for (cublasFillMode_t fill : FILLS) {
        auto whole = Plain<T>::positive(N), right = Plain<T>::random(N, COLUMNS), half = whole;
        // The other triangle is not looked at.
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                if (fill == CUBLAS_FILL_MODE_LOWER ? i < j : i > j) half.at(i, j) = T(99);
        Matrix<T> a(half), b(right);
        Buffer<int> info(1);
        int size = 0;
        CUDA(potrf_size(T(), handle, fill, N, a.device(), a.leading, &size));
        Buffer<T> work(size);
        CUDA(potrf(T(), handle, fill, N, a.device(), a.leading, raw(work), size, info.device));
        wrong += number(info) != 0;
        auto found = a.plain();
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                if (fill == CUBLAS_FILL_MODE_LOWER ? i < j : i > j) wrong += found.at(i, j) != T(99);
        CUDA(potrs(T(), handle, fill, N, COLUMNS, a.device(), a.leading, b.device(), b.leading, info.device));
        wrong += !whole.times(b.plain()).near(right);
        CUDA(potri_size(T(), handle, fill, N, a.device(), a.leading, &size));
        CUDA(potri(T(), handle, fill, N, a.device(), a.leading, raw(work), size, info.device));
        auto inverse = a.plain();
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                if (fill == CUBLAS_FILL_MODE_LOWER ? i < j : i > j) inverse.at(i, j) = conjugate(inverse.at(j, i));
        Plain<T> one(N, N);
        for (int i = 0; i < N; i++) one.at(i, i) = T(1);
        wrong += !whole.times(inverse).near(one);

        // The third leading minor is negative.
        whole.at(2, 2) = T(-1);
        Matrix<T> broken(whole);
        CUDA(potrf(T(), handle, fill, N, broken.device(), broken.leading, raw(work), size, info.device));
        wrong += number(info) != 3;
    }
}

template <class T>
void batches(cusolverDnHandle_t handle) {
    using Device = typename TypeOf<T>::Device;
    auto first = Plain<T>::positive(N), second = Plain<T>::positive(N), third = second;
    third.at(0, 0) = T(0);
    auto right = Plain<T>::random(N, 1);
    Matrix<T> a(first), b(second), c(third), x(right), y(right);
    Buffer<Device*> matrices(3), columns(2);
    matrices[0] = a.device(), matrices[1] = b.device(), matrices[2] = c.device();
    columns[0] = x.device(), columns[1] = y.device();
    matrices.upload(), columns.upload();
    Buffer<int> infos(3);
    CUDA(potrf_batched(T(), handle, CUBLAS_FILL_MODE_LOWER, N, matrices.device, a.leading, infos.device, 3));
    infos.download();
    wrong += infos[0] != 0 || infos[1] != 0 || infos[2] != 1;
    CUDA(potrs_batched(T(), handle, CUBLAS_FILL_MODE_LOWER, N, 1, matrices.device, a.leading, columns.device, x.leading,
                       infos.device, 2));
    wrong += !first.times(x.plain()).near(right) + !second.times(y.plain()).near(right);
}

template <class T>
void lu(cusolverDnHandle_t handle) {
    for (int pivoting = 0; pivoting < 2; pivoting++)
        for (int op = 0; op < 3; op++) {
            auto whole = pivoting ? Plain<T>::random(N, N) : Plain<T>::positive(N);
            auto right = Plain<T>::random(N, COLUMNS);
            Matrix<T> a(whole), b(right);
            Buffer<int> info(1), pivots(N);
            int size = 0;
            CUDA(getrf_size(T(), handle, N, N, a.device(), a.leading, &size));
            Buffer<T> work(size);
            int* rows = pivoting ? pivots.device : nullptr;
            CUDA(getrf(T(), handle, N, N, a.device(), a.leading, raw(work), rows, info.device));
            wrong += number(info) != 0;
            auto operation = cublasOperation_t(op);
            CUDA(getrs(T(), handle, operation, N, COLUMNS, a.device(), a.leading, rows, b.device(), b.leading,
                       info.device));
            auto used = op == CUBLAS_OP_N ? whole : whole.adjoint();
            if (op == CUBLAS_OP_T)
                for (T& value : used.values) value = conjugate(value);
            wrong += !used.times(b.plain()).near(right);
        }
}

template <class T>
void qr(cusolverDnHandle_t handle) {
    const int M = 9;
    auto whole = Plain<T>::random(M, N), right = Plain<T>::random(M, COLUMNS), left = Plain<T>::random(COLUMNS, M);
    Matrix<T> a(whole), b(right), c(left);
    Buffer<T> tau(N);
    Buffer<int> info(1);
    int size = 0;
    CUDA(geqrf_size(T(), handle, M, N, a.device(), a.leading, &size));
    Buffer<T> work(size);
    CUDA(geqrf(T(), handle, M, N, a.device(), a.leading, raw(tau), raw(work), size, info.device));
    auto r = a.plain().upper(N);
    // Twice, so that all of Q is seen.
    for (auto op : {CUBLAS_OP_C, CUBLAS_OP_N}) {
        CUDA(ormqr(T(), handle, CUBLAS_SIDE_LEFT, op, M, COLUMNS, N, a.device(), a.leading, raw(tau), b.device(),
                   b.leading, raw(work), size, info.device));
        CUDA(ormqr(T(), handle, CUBLAS_SIDE_RIGHT, op, COLUMNS, M, N, a.device(), a.leading, raw(tau), c.device(),
                   c.leading, raw(work), size, info.device));
        if (op == CUBLAS_OP_N) wrong += !b.plain().near(right) + !c.plain().near(left);
    }
    CUDA(orgqr(T(), handle, M, N, N, a.device(), a.leading, raw(tau), raw(work), size, info.device));
    auto q = a.plain();
    wrong += !q.orthonormal() + !q.times(r).near(whole);
}

// The functions of 64 bits: pivots have 64 bits too.
template <class T>
void wide(cusolverDnHandle_t handle) {
    const cudaDataType type = TypeOf<T>::value;
    auto whole = Plain<T>::random(N, N), right = Plain<T>::random(N, COLUMNS), square = Plain<T>::positive(N);
    Matrix<T> a(whole), b(right), c(square), d(right), e(whole);
    Buffer<int64_t> pivots(N);
    Buffer<int> info(1);
    Buffer<T> tau(N);
    size_t device_size = 0, host_size = 1;
    cusolverDnParams_t params;
    CUDA(cusolverDnCreateParams(&params));
    CUDA(cusolverDnXgetrf_bufferSize(handle, params, N, N, type, a.device(), a.leading, type, &device_size, &host_size));
    wrong += host_size != 0;
    Buffer<char> work(device_size);
    CUDA(cusolverDnXgetrf(handle, params, N, N, type, a.device(), a.leading, pivots.device, type, work.device,
                          device_size, nullptr, 0, info.device));
    CUDA(cusolverDnXgetrs(handle, params, CUBLAS_OP_N, N, COLUMNS, type, a.device(), a.leading, pivots.device, type,
                          b.device(), b.leading, info.device));
    wrong += !whole.times(b.plain()).near(right);
    CUDA(cusolverDnXpotrf(handle, params, CUBLAS_FILL_MODE_UPPER, N, type, c.device(), c.leading, type, work.device,
                          device_size, nullptr, 0, info.device));
    CUDA(cusolverDnXpotrs(handle, params, CUBLAS_FILL_MODE_UPPER, N, COLUMNS, type, c.device(), c.leading, type,
                          d.device(), d.leading, info.device));
    wrong += !square.times(d.plain()).near(right);
    auto factor = c.plain().upper(N);
    CUDA(cusolverDnXtrtri(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_DIAG_NON_UNIT, N, type, c.device(), c.leading,
                          work.device, device_size, nullptr, 0, info.device));
    auto one = factor.times(c.plain().upper(N));
    wrong += !one.orthonormal();
    CUDA(cusolverDnXgeqrf(handle, params, N, N, type, e.device(), e.leading, type, raw(tau), type, work.device,
                          device_size, nullptr, 0, info.device));
    auto r = e.plain().upper(N);
    wrong += !r.adjoint().times(r).near(whole.adjoint().times(whole));
    CUDA(cusolverDnDestroyParams(params));
}

template <class T>
void all(cusolverDnHandle_t handle) {
    cholesky<T>(handle);
    batches<T>(handle);
    lu<T>(handle);
    qr<T>(handle);
    wide<T>(handle);
}

int main() {
    cusolverDnHandle_t handle;
    CUDA(cusolverDnCreate(&handle));
    all<float>(handle);
    all<double>(handle);
    all<Complex>(handle);
    all<DoubleComplex>(handle);
    CUDA(cusolverDnDestroy(handle));
    return finish(wrong == 0);
}
