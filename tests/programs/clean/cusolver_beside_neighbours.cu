//@ compile-flags: -lcusolver
// Calls of cuSOLVER touch exactly their arguments. A kernel of another stream writes all else at the same time: the other
// triangle, space between columns, vectors that are not asked for, columns that hold no reflection.
#include "solver.h"

const int N = 4, LD = 6;

__global__ void others(float* a, float* b, float* c, float* u) {
    int column = blockIdx.x, row = threadIdx.x;
    if (row < column || row >= N) a[column * LD + row] = 9;
    if (row >= N) b[column * LD + row] = 9;
    if (row >= N || column == N - 1) c[column * LD + row] = 9;
    u[column * LD + row] = 9;
}

int main() {
    cudaStream_t first, second;
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    Buffer<float> a(LD * N), b(LD * N), c(LD * N), u(LD * N), v(LD * N), values(N), tau(N), work(256), eigen(N);
    Buffer<int> info(1);
    for (int i = 0; i < N; i++) a[i * LD + i] = 4, b[i * LD + i] = float(i + 1), c[i * LD + i] = 1;
    a.upload(), b.upload(), c.upload();
    cusolverDnHandle_t handle;
    CUDA(cusolverDnCreate(&handle));
    CUDA(cusolverDnSetStream(handle, second));
    others<<<N, LD, 0, first>>>(a.device, b.device, c.device, u.device);
    const auto lower = CUBLAS_FILL_MODE_LOWER;
    CUDA(cusolverDnSpotrf(handle, lower, N, a.device, LD, work.device, 256, info.device));
    CUDA(cusolverDnSpotrs(handle, lower, N, N, a.device, LD, b.device, LD, info.device));
    CUDA(cusolverDnSpotri(handle, lower, N, a.device, LD, work.device, 256, info.device));
    // Without vectors the other triangle stays as it is.
    CUDA(cusolverDnSsyevd(handle, CUSOLVER_EIG_MODE_NOVECTOR, lower, N, a.device, LD, eigen.device, work.device, 256,
                          info.device));
    CUDA(cusolverDnSgesvd(handle, 'N', 'A', N, N, b.device, LD, values.device, u.device, LD, v.device, LD, work.device,
                          256, nullptr, info.device));
    CUDA(cusolverDnSgeqrf(handle, N, N - 1, c.device, LD, tau.device, work.device, 256, info.device));
    CUDA(cusolverDnSormqr(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, N, N, N - 1, c.device, LD, tau.device, v.device, LD,
                          work.device, 256, info.device));
    SYNC();
    values.download();
    eigen.download();
    bool right = std::abs(values[0] - 1) < 1e-5 && std::abs(values[N - 1] - 0.25f) < 1e-5;
    right &= std::abs(eigen[0] - 0.25f) < 1e-5;
    CUDA(cusolverDnDestroy(handle));
    return finish(right);
}
