//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcusolver
// Eigenvalues and singular values of all types, and their vectors, fulfil their definitions.
#include "solver.h"

FUNCTIONS(syevd, syevd, syevd, heevd, heevd)
FUNCTIONS(syevd_size, syevd_bufferSize, syevd_bufferSize, heevd_bufferSize, heevd_bufferSize)
FUNCTIONS(syevj, syevj, syevj, heevj, heevj)
FUNCTIONS(syevj_batched, syevjBatched, syevjBatched, heevjBatched, heevjBatched)
FUNCTIONS(sygvd, sygvd, sygvd, hegvd, hegvd)
FUNCTIONS(sygvj, sygvj, sygvj, hegvj, hegvj)
FUNCTIONS(gesvd, gesvd, gesvd, gesvd, gesvd)
FUNCTIONS(gesvd_size, gesvd_bufferSize, gesvd_bufferSize, gesvd_bufferSize, gesvd_bufferSize)
FUNCTIONS(gesvdj, gesvdj, gesvdj, gesvdj, gesvdj)
FUNCTIONS(gesvdj_batched, gesvdjBatched, gesvdjBatched, gesvdjBatched, gesvdjBatched)

const int M = 9, N = 6;
const auto VECTOR = CUSOLVER_EIG_MODE_VECTOR;
const auto LOWER = CUBLAS_FILL_MODE_LOWER, UPPER = CUBLAS_FILL_MODE_UPPER;
int wrong = 0;

template <class T>
void eigenvalues(cusolverDnHandle_t handle) {
    using R = RealOf<T>;
    auto whole = Plain<T>::positive(N), metric = Plain<T>::positive(N);
    Buffer<R> values(N), again(N);
    Buffer<int> info(1);
    Matrix<T> a(whole);
    int size = 0;
    CUDA(syevd_size(T(), handle, VECTOR, LOWER, N, a.device(), a.leading, values.device, &size));
    Buffer<T> work(size);
    CUDA(syevd(T(), handle, VECTOR, LOWER, N, a.device(), a.leading, values.device, raw(work), size, info.device));
    values.download();
    auto vectors = a.plain();
    wrong += number(info) != 0 || !vectors.orthonormal();
    wrong += !whole.times(vectors).near(vectors.times(Plain<T>::diagonal(N, N, values)));
    for (int i = 1; i < N; i++) wrong += values[i] < values[i - 1];

    syevjInfo_t params;
    CUDA(cusolverDnCreateSyevjInfo(&params));
    CUDA(cusolverDnXsyevjSetTolerance(params, 1e-7));
    CUDA(cusolverDnXsyevjSetMaxSweeps(params, 15));
    Matrix<T> b(whole);
    CUDA(syevj(T(), handle, CUSOLVER_EIG_MODE_NOVECTOR, UPPER, N, b.device(), b.leading, again.device, raw(work), size,
               info.device, params));
    again.download();
    for (int i = 0; i < N; i++) wrong += !(std::abs(values[i] - again[i]) < 1e-3);

    // Two matrices behind each other.
    Matrix<T> both(N, 2 * N);
    Buffer<R> of_both(2 * N);
    Buffer<int> infos(2);
    for (int j = 0; j < 2 * N; j++)
        for (int i = 0; i < N; i++)
            both.buffer[size_t(j) * both.leading + i] = j < N ? whole.at(i, j) : metric.at(i, j - N);
    both.buffer.upload();
    CUDA(syevj_batched(T(), handle, VECTOR, LOWER, N, both.device(), both.leading, of_both.device, raw(work), size,
                       infos.device, params, 2));
    of_both.download();
    auto all = both.plain();
    for (int k = 0; k < 2; k++) {
        Plain<T> part(N, N);
        Buffer<R> of_part(N);
        for (int j = 0; j < N; j++) {
            of_part[j] = of_both[k * N + j];
            for (int i = 0; i < N; i++) part.at(i, j) = all.at(i, k * N + j);
        }
        wrong += !(k ? metric : whole).times(part).near(part.times(Plain<T>::diagonal(N, N, of_part)));
    }

    for (auto kind : {CUSOLVER_EIG_TYPE_1, CUSOLVER_EIG_TYPE_2, CUSOLVER_EIG_TYPE_3})
        for (int jacobi = 0; jacobi < 2; jacobi++) {
            Matrix<T> x(whole), factor(metric);
            auto status = jacobi ? sygvj(T(), handle, kind, VECTOR, LOWER, N, x.device(), x.leading, factor.device(),
                                         factor.leading, values.device, raw(work), size, info.device, params)
                                 : sygvd(T(), handle, kind, VECTOR, LOWER, N, x.device(), x.leading, factor.device(),
                                         factor.leading, values.device, raw(work), size, info.device);
            wrong += status != CUSOLVER_STATUS_SUCCESS;
            values.download();
            auto found = x.plain(), scaled = found.times(Plain<T>::diagonal(N, N, values));
            if (kind == CUSOLVER_EIG_TYPE_1) {
                wrong += !whole.times(found).near(metric.times(scaled));
            } else {
                // The numbers are larger by far.
                auto one = (kind == CUSOLVER_EIG_TYPE_2 ? whole.times(metric) : metric.times(whole)).times(found);
                for (size_t i = 0; i < one.values.size(); i++)
                    wrong += !(std::abs(one.values[i] - scaled.values[i]) < 1e-4 * (1 + std::abs(values[N - 1])));
            }
        }
    CUDA(cusolverDnDestroySyevjInfo(params));
}

template <class T>
void singular_values(cusolverDnHandle_t handle) {
    using R = RealOf<T>;
    auto whole = Plain<T>::random(M, N);
    Buffer<R> values(N);
    Buffer<int> info(1);
    int size = 0;
    CUDA(gesvd_size(T(), handle, M, N, &size));
    Buffer<T> work(size);
    for (signed char job : {'A', 'S', 'O', 'N'}) {
        Matrix<T> a(whole), u(M, job == 'A' ? M : N), v(N, N);
        CUDA(gesvd(T(), handle, job, job == 'O' ? 'A' : job, M, N, a.device(), a.leading, values.device, u.device(),
                   u.leading, v.device(), v.leading, raw(work), size, nullptr, info.device));
        wrong += number(info) != 0;
        values.download();
        for (int i = 1; i < N; i++) wrong += values[i] > values[i - 1];
        if (job == 'N') continue;
        auto left = (job == 'O' ? a : u).plain(), right = v.plain();
        wrong += !left.orthonormal() || !right.adjoint().orthonormal();
        wrong += !left.times(Plain<T>::diagonal(left.cols, N, values)).times(right).near(whole);
    }

    // These have `v` itself, and wide matrices too.
    gesvdjInfo_t params;
    CUDA(cusolverDnCreateGesvdjInfo(&params));
    for (int thin = 0; thin < 2; thin++)
        for (int turned = 0; turned < 2; turned++) {
            auto used = turned ? whole.adjoint() : whole;
            int m = used.rows, n = used.cols;
            Matrix<T> a(used), u(m, thin ? N : m), v(n, thin ? N : n);
            CUDA(gesvdj(T(), handle, VECTOR, thin, m, n, a.device(), a.leading, values.device, u.device(), u.leading,
                        v.device(), v.leading, raw(work), size, info.device, params));
            values.download();
            auto left = u.plain(), right = v.plain();
            wrong += !left.orthonormal() || !right.orthonormal();
            wrong += !left.times(Plain<T>::diagonal(u.cols, v.cols, values)).times(right.adjoint()).near(used);
        }
    Matrix<T> a(M, 2 * N), u(M, 2 * M), v(N, 2 * N);
    Buffer<R> of_both(2 * N);
    Buffer<int> infos(2);
    for (int j = 0; j < 2 * N; j++)
        for (int i = 0; i < M; i++) a.buffer[size_t(j) * a.leading + i] = whole.at(i, j % N) * T(1 + j / N);
    a.buffer.upload();
    CUDA(gesvdj_batched(T(), handle, VECTOR, M, N, a.device(), a.leading, of_both.device, u.device(), u.leading,
                        v.device(), v.leading, raw(work), size, infos.device, params, 2));
    of_both.download();
    for (int i = 0; i < N; i++)
        wrong += !(std::abs(of_both[i] - values[i]) < 1e-3) + !(std::abs(of_both[N + i] - 2 * values[i]) < 1e-3);
    CUDA(cusolverDnDestroyGesvdjInfo(params));
}

template <class T>
void wide(cusolverDnHandle_t handle) {
    using R = RealOf<T>;
    const cudaDataType type = TypeOf<T>::value, real = TypeOf<R>::value;
    auto square = Plain<T>::positive(N), whole = Plain<T>::random(M, N);
    Matrix<T> a(square), b(whole), u(M, N), v(N, N);
    Buffer<R> values(N);
    Buffer<int> info(1);
    size_t device_size = 0, host_size = 1;
    CUDA(cusolverDnXsyevd_bufferSize(handle, nullptr, VECTOR, UPPER, N, type, a.device(), a.leading, real, values.device,
                                     type, &device_size, &host_size));
    Buffer<char> work(device_size);
    CUDA(cusolverDnXsyevd(handle, nullptr, VECTOR, UPPER, N, type, a.device(), a.leading, real, values.device, type,
                          work.device, device_size, nullptr, 0, info.device));
    values.download();
    auto vectors = a.plain();
    wrong += !square.times(vectors).near(vectors.times(Plain<T>::diagonal(N, N, values)));
    CUDA(cusolverDnXgesvd(handle, nullptr, 'S', 'S', M, N, type, b.device(), b.leading, real, values.device, type,
                          u.device(), u.leading, type, v.device(), v.leading, type, work.device, device_size, nullptr,
                          0, info.device));
    values.download();
    wrong += !u.plain().times(Plain<T>::diagonal(N, N, values)).times(v.plain()).near(whole);
}

template <class T>
void all(cusolverDnHandle_t handle) {
    eigenvalues<T>(handle);
    singular_values<T>(handle);
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
