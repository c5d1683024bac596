//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcufft
// Transforms from and to real numbers, of even and odd sizes, out of place and in place with padded rows, agree with the
// definition. Nothing behind the rows is written.
#include "fft.h"

cufftResult forward(cufftHandle plan, float* from, cufftComplex* to) { return cufftExecR2C(plan, from, to); }
cufftResult forward(cufftHandle plan, double* from, cufftDoubleComplex* to) { return cufftExecD2Z(plan, from, to); }
cufftResult inverse(cufftHandle plan, cufftComplex* from, float* to) { return cufftExecC2R(plan, from, to); }
cufftResult inverse(cufftHandle plan, cufftDoubleComplex* from, double* to) { return cufftExecZ2D(plan, from, to); }

template <class Real, class Complex>
bool agrees(int rank, Sizes n, int batch, bool in_place) {
    bool is_double = sizeof(Real) == 8;
    int sizes[3] = {n.x, n.y, n.z}, kept = n.z / 2 + 1, pitch = in_place ? 2 * kept : n.z;
    size_t rows = size_t(n.x) * n.y * batch;
    cufftHandle to_complex, to_real;
    int* last = sizes + 3 - rank;
    CUDA(cufftPlanMany(&to_complex, rank, last, nullptr, 1, 0, nullptr, 1, 0, is_double ? CUFFT_D2Z : CUFFT_R2C, batch));
    CUDA(cufftPlanMany(&to_real, rank, last, nullptr, 1, 0, nullptr, 1, 0, is_double ? CUFFT_Z2D : CUFFT_C2R, batch));

    Buffer<Real> real(rows * pitch + 8);
    Buffer<Complex> separate(rows * kept + 8);
    for (size_t i = 0; i < real.count; i++) real[i] = Real(PADDING);
    for (size_t i = 0; i < separate.count; i++) separate[i] = {Real(PADDING), Real(PADDING)};
    for (size_t row = 0; row < rows; row++)
        for (int i = 0; i < n.z; i++) real[row * pitch + i] = Real(number(row * n.z + i).real());
    real.upload(), separate.upload();
    Complex* found = in_place ? reinterpret_cast<Complex*>(real.device) : separate.device;
    CUDA(forward(to_complex, real.device, found));
    std::vector<Complex> complex(rows * kept);
    CUDA(cudaMemcpy(complex.data(), found, complex.size() * sizeof(Complex), cudaMemcpyDeviceToHost));

    bool ok = true;
    std::vector<Wide> values(n.count());
    for (int array = 0; array < batch; array++) {
        for (size_t i = 0; i < values.size(); i++) values[i] = number(array * n.count() + i).real();
        std::vector<Wide> wanted = half(transformed(values, n, CUFFT_FORWARD), n);
        for (size_t i = 0; i < wanted.size(); i++)
            ok &= near(wide(complex[array * wanted.size() + i]), wanted[i], tolerance<Real>());
    }
    // Back again: each number times the number of elements.
    CUDA(inverse(to_real, found, real.device));
    real.download(), separate.download();
    for (size_t row = 0; row < rows; row++)
        for (int i = 0; i < n.z; i++)
            ok &= near(real[row * pitch + i] / double(n.count()), number(row * n.z + i).real(), tolerance<Real>());
    for (int i = 0; i < 8; i++) {
        ok &= real[rows * pitch + i] == Real(PADDING);
        ok &= separate[rows * kept + i].x == Real(PADDING) && separate[rows * kept + i].y == Real(PADDING);
    }
    CUDA(cufftDestroy(to_complex));
    CUDA(cufftDestroy(to_real));
    return ok;
}

int main() {
    bool ok = true;
    for (bool in_place : {false, true}) {
        for (int n : {1, 2, 3, 8, 13, 30, 101}) {
            ok &= agrees<float, cufftComplex>(1, {1, 1, n}, 3, in_place);
            ok &= agrees<double, cufftDoubleComplex>(1, {1, 1, n}, 2, in_place);
        }
        for (Sizes n : {Sizes{1, 4, 6}, {1, 5, 7}, {1, 32, 3}}) {
            ok &= agrees<float, cufftComplex>(2, n, 1, in_place);
            ok &= agrees<double, cufftDoubleComplex>(2, n, 2, in_place);
        }
        for (Sizes n : {Sizes{2, 3, 4}, {5, 4, 7}}) {
            ok &= agrees<float, cufftComplex>(3, n, 2, in_place);
            ok &= agrees<double, cufftDoubleComplex>(3, n, 1, in_place);
        }
    }
    // The functions without a rank have the same layouts.
    Buffer<float> x(4 * 6);
    Buffer<cufftComplex> y(4 * 4);
    for (size_t i = 0; i < x.count; i++) x[i] = float(number(i).real());
    x.upload();
    cufftHandle plan;
    CUDA(cufftPlan2d(&plan, 4, 6, CUFFT_R2C));
    CUDA(cufftExecR2C(plan, x.device, y.device));
    y.download();
    std::vector<Wide> values(4 * 6);
    for (size_t i = 0; i < values.size(); i++) values[i] = x[i];
    std::vector<Wide> wanted = half(transformed(values, {1, 4, 6}, CUFFT_FORWARD), {1, 4, 6});
    for (size_t i = 0; i < wanted.size(); i++) ok &= near(wide(y[i]), wanted[i], tolerance<float>());
    CUDA(cufftDestroy(plan));
    return finish(ok);
}
