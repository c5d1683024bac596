//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcublas
// Level 1 in all types, with distances of both signs and scalars on both sides.
#include "blas.h"

cublasHandle_t handle;
bool ok = true;

template <class T>
Wide x_at(Elements<T>& x, int n, int step, int i) {
    return x.at(size_t(step < 0 ? (i - n + 1) * step : i * step));
}

double abs1(Wide z) { return std::abs(z.real()) + std::abs(z.imag()); }

#define LEVEL_1(T, R, letter, sum_of, norm_of, index, dot)                                                        \
    void test(int n, int incx, int incy, bool on_device, T) {                                                \
        using Real = R;                                                                                      \
        Elements<T> x(n * abs(incx) + 1, 1), y(n * abs(incy) + 1, 2), old(n * abs(incy) + 1, 2);             \
        Wide alpha_value = is_complex<T> ? Wide(2, -1) : Wide(2);                                            \
        Buffer<T> scalar(2);                                                                                 \
        Buffer<R> real(2);                                                                                   \
        Buffer<int> place(2);                                                                                \
        scalar[0] = narrow<T>(alpha_value);                                                                  \
        scalar.upload();                                                                                     \
        CUDA(cublasSetPointerMode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST)); \
        T* scalars = on_device ? scalar.device : scalar.host;                                                \
        R* reals = on_device ? real.device : real.host;                                                      \
        int* places = on_device ? place.device : place.host;                                                 \
        CUDA(cublas##dot(handle, n, x.device, incx, y.device, incy, scalars + 1));                           \
        CUDA(cublas##sum_of(handle, n, x.device, abs(incx), reals));                                            \
        CUDA(cublas##norm_of(handle, n, x.device, abs(incx), reals + 1));                                       \
        CUDA(cublasI##index##amax(handle, n, x.device, abs(incx), places));                                  \
        CUDA(cublasI##index##amin(handle, n, x.device, abs(incx), places + 1));                              \
        if (on_device) scalar.download(), real.download(), place.download();                                 \
        Wide dots = 0;                                                                                       \
        double sums = 0, squares = 0;                                                                        \
        int most = 0, least = 0;                                                                             \
        for (int i = 0; i < n; i++) {                                                                        \
            dots += std::conj(x_at(x, n, incx, i)) * x_at(y, n, incy, i);                                    \
            Wide value = x_at(x, n, abs(incx), i);                                                           \
            sums += abs1(value), squares += std::norm(value);                                                \
            if (abs1(value) > abs1(x_at(x, n, abs(incx), most))) most = i;                                   \
            if (abs1(value) < abs1(x_at(x, n, abs(incx), least))) least = i;                                 \
        }                                                                                                    \
        ok &= near(wide(scalar[1]), dots) && near(real[0], sums) && near(real[1], std::sqrt(squares));       \
        ok &= near(place[0], n == 0 ? 0 : most + 1) && near(place[1], n == 0 ? 0 : least + 1);               \
        CUDA(cublas##letter##axpy(handle, n, scalars, x.device, incx, y.device, incy));                      \
        y.download();                                                                                        \
        for (int i = 0; i < n; i++)                                                                          \
            ok &= near(x_at(y, n, incy, i), alpha_value * x_at(x, n, incx, i) + x_at(old, n, incy, i));      \
        CUDA(cublas##letter##copy(handle, n, x.device, incx, y.device, incy));                               \
        CUDA(cublas##letter##scal(handle, n, scalars, x.device, abs(incx)));                                 \
        CUDA(cublas##letter##swap(handle, n, x.device, incx, y.device, incy));                               \
        Elements<T> given(n * abs(incx) + 1, 1);                                                             \
        x.download(), y.download();                                                                          \
        for (int i = 0; i < n; i++) {                                                                        \
            ok &= near(x_at(x, n, incx, i), x_at(given, n, incx, i));                                        \
            ok &= near(x_at(y, n, incy, i), alpha_value * x_at(given, n, incx, i));                          \
        }                                                                                                    \
        ok &= near(x.at(n * abs(incx)), given.at(n * abs(incx)));                                            \
        real[0] = Real(0.6), scalar[1] = narrow<T>(is_complex<T> ? Wide(0, 0.8) : Wide(0.8));                \
        real.upload(), scalar.upload(), given.download();                                                    \
        Elements<T> a(n, 3), b(n, 4), a0(n, 3), b0(n, 4);                                                    \
        CUDA(cublas##letter##rot(handle, n, a.device, 1, b.device, 1, reals, scalars + 1));                  \
        a.download(), b.download();                                                                          \
        Wide s = wide(scalar[1]);                                                                            \
        for (int i = 0; i < n; i++) {                                                                        \
            ok &= near(a.at(i), 0.6 * a0.at(i) + s * b0.at(i));                                              \
            ok &= near(b.at(i), 0.6 * b0.at(i) - std::conj(s) * a0.at(i));                                   \
        }                                                                                                    \
        Buffer<T> g(3);                                                                                      \
        Buffer<R> c(1);                                                                                      \
        g[0] = number<T>(2), g[1] = number<T>(4);                                                            \
        Wide a1 = wide(g[0]), b1 = wide(g[1]);                                                               \
        g.upload();                                                                                          \
        T* gs = on_device ? g.device : g.host;                                                               \
        CUDA(cublas##letter##rotg(handle, gs, gs + 1, on_device ? c.device : c.host, gs + 2));               \
        if (on_device) g.download(), c.download();                                                           \
        s = wide(g[2]);                                                                                      \
        ok &= near(Wide(c[0]) * a1 + s * b1, wide(g[0])) && near(Wide(c[0]) * b1 - std::conj(s) * a1, 0);    \
        CUDA(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));                                        \
    }
LEVEL_1(float, float, S, Sasum, Snrm2, s, Sdot)
LEVEL_1(double, double, D, Dasum, Dnrm2, d, Ddot)
LEVEL_1(cuComplex, float, C, Scasum, Scnrm2, c, Cdotc)
LEVEL_1(cuDoubleComplex, double, Z, Dzasum, Dznrm2, z, Zdotc)

template <class T>
void all() {
    for (bool on_device : {false, true})
        for (int n : {0, 1, 7, 200}) {
            test(n, 1, 1, on_device, T{});
            test(n, 2, 3, on_device, T{});
            test(n, -2, 1, on_device, T{});
        }
}

int main() {
    CUDA(cublasCreate(&handle));
    all<float>();
    all<double>();
    all<cuComplex>();
    all<cuDoubleComplex>();

    // Squares neither overflow nor vanish.
    Elements<float> x(2);
    float norm;
    for (float size : {1e30f, 1e-30f}) {
        x[0] = 3 * size, x[1] = 4 * size;
        x.upload();
        CUDA(cublasSnrm2(handle, 2, x.device, 1, &norm));
        ok &= near(norm / size, 5);
    }
    // Vectors and matrices go to the device and back by rows.
    float host[12], back[12] = {};
    for (int i = 0; i < 12; i++) host[i] = float(i);
    Elements<float> device(24);
    CUDA(cublasSetVector(6, sizeof(float), host, 2, device.device, 3));
    CUDA(cublasGetVector(6, sizeof(float), device.device, 3, back, 1));
    for (int i = 0; i < 6; i++) ok &= back[i] == float(2 * i);
    CUDA(cublasSetMatrix(2, 3, sizeof(float), host, 4, device.device, 5));
    CUDA(cublasGetMatrixAsync(2, 3, sizeof(float), device.device, 5, back, 2, nullptr));
    SYNC();
    for (int i = 0; i < 6; i++) ok &= back[i] == float(i / 2 * 4 + i % 2);
    ok &= cublasSetMatrix(2, 3, sizeof(float), host, 1, device.device, 5) == CUBLAS_STATUS_INVALID_VALUE;
    CUDA(cublasDestroy(handle));
    return finish(ok);
}
