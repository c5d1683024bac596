//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcufft
// Complex transforms of one, two and three dimensions, of any size, in both directions and precisions, in place and not,
// agree with the definition.
#include "fft.h"

cufftResult execute(cufftHandle plan, cufftComplex* from, cufftComplex* to, int direction) {
    return cufftExecC2C(plan, from, to, direction);
}
cufftResult execute(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleComplex* to, int direction) {
    return cufftExecZ2Z(plan, from, to, direction);
}

template <class Real, class Complex>
bool agrees(cufftHandle plan, Sizes n, int batch) {
    bool ok = true;
    for (int direction : {CUFFT_FORWARD, CUFFT_INVERSE}) {
        for (bool in_place : {false, true}) {
            Buffer<Complex> from(n.count() * batch), to(n.count() * batch);
            for (size_t i = 0; i < from.count; i++) narrow(from[i], number(i));
            from.upload();
            CUDA(execute(plan, from.device, in_place ? from.device : to.device, direction));
            Buffer<Complex>& found = in_place ? from : to;
            std::vector<Wide> values(n.count());
            for (int array = 0; array < batch; array++) {
                size_t first = array * n.count();
                for (size_t i = 0; i < values.size(); i++) values[i] = number(first + i);
                std::vector<Wide> wanted = transformed(values, n, direction);
                if (array == 0) found.download();
                for (size_t i = 0; i < values.size(); i++) ok &= near(wide(found[first + i]), wanted[i], tolerance<Real>());
            }
            if (in_place) continue;
            from.download();
            for (size_t i = 0; i < from.count; i++) ok &= wide(from[i]) == number(i);
        }
    }
    CUDA(cufftDestroy(plan));
    return ok;
}

int main() {
    bool ok = true;
    cufftHandle plan;
    for (int n : {1, 2, 3, 8, 12, 17, 30, 97, 128, 243}) {
        CUDA(cufftPlan1d(&plan, n, CUFFT_C2C, 3));
        ok &= agrees<float, cufftComplex>(plan, {1, 1, n}, 3);
        CUDA(cufftPlan1d(&plan, n, CUFFT_Z2Z, 2));
        ok &= agrees<double, cufftDoubleComplex>(plan, {1, 1, n}, 2);
    }
    for (Sizes n : {Sizes{1, 4, 6}, {1, 5, 7}, {1, 16, 1}, {1, 3, 32}}) {
        CUDA(cufftPlan2d(&plan, n.y, n.z, CUFFT_C2C));
        ok &= agrees<float, cufftComplex>(plan, n, 1);
        CUDA(cufftPlan2d(&plan, n.y, n.z, CUFFT_Z2Z));
        ok &= agrees<double, cufftDoubleComplex>(plan, n, 1);
    }
    for (Sizes n : {Sizes{2, 3, 4}, {5, 1, 7}, {8, 8, 8}}) {
        size_t size = 0;
        CUDA(cufftPlan3d(&plan, n.x, n.y, n.z, CUFFT_C2C));
        ok &= agrees<float, cufftComplex>(plan, n, 1);
        CUDA(cufftCreate(&plan));
        CUDA(cufftMakePlan3d(plan, n.x, n.y, n.z, CUFFT_Z2Z, &size));
        ok &= agrees<double, cufftDoubleComplex>(plan, n, 1);
    }
    return finish(ok);
}
