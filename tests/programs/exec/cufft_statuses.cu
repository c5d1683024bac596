//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcufft
// Wrong uses of cuFFT return its statuses and write nothing. Sizes of work areas agree.
#include <cufftXt.h>

#include "fft.h"

int wrong = 0;

#define EXPECT(status, call)                                                                   \
    do {                                                                                       \
        cufftResult found = (call);                                                            \
        if (found != CUFFT_##status) printf("%s: status %d\n", #call, int(found)), wrong++;    \
    } while (0)

int main() {
    const int N = 16;
    Buffer<cufftComplex> x(N), y(N);
    Buffer<float> real(N);
    Buffer<cufftDoubleComplex> wide(N);
    for (int i = 0; i < N; i++) x[i] = {1, 2};
    x.upload();
    int value = 0, n[4] = {4, 4, 4, 4}, zero[1] = {0};
    long long n64[1] = {N};
    size_t size = 0, other = 0;
    cufftHandle plan, destroyed;
    EXPECT(SUCCESS, cufftGetVersion(&value));
    if (value != CUFFT_VERSION) wrong++;
    EXPECT(SUCCESS, cufftGetProperty(MAJOR_VERSION, &value));
    if (value != CUFFT_VER_MAJOR) wrong++;
    EXPECT(INVALID_VALUE, cufftGetProperty(libraryPropertyType(3), &value));
    EXPECT(INVALID_VALUE, cufftGetVersion(nullptr));

    // Sizes, types, ranks and layouts.
    EXPECT(INVALID_SIZE, cufftPlan1d(&plan, 0, CUFFT_C2C, 1));
    EXPECT(INVALID_SIZE, cufftPlan1d(&plan, -4, CUFFT_C2C, 1));
    EXPECT(INVALID_SIZE, cufftPlan1d(&plan, N, CUFFT_C2C, 0));
    EXPECT(INVALID_SIZE, cufftPlan2d(&plan, N, 0, CUFFT_C2C));
    EXPECT(INVALID_SIZE, cufftPlan3d(&plan, N, -1, N, CUFFT_C2C));
    EXPECT(INVALID_SIZE, cufftPlan3d(&plan, 1 << 30, 1 << 30, 1 << 30, CUFFT_C2C));
    EXPECT(INVALID_TYPE, cufftPlan1d(&plan, N, cufftType(0x2b), 1));
    EXPECT(INVALID_VALUE, cufftPlan1d(nullptr, N, CUFFT_C2C, 1));
    EXPECT(INVALID_VALUE, cufftPlanMany(&plan, 0, n, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, 1));
    EXPECT(INVALID_VALUE, cufftPlanMany(&plan, 4, n, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, 1));
    EXPECT(INVALID_VALUE, cufftPlanMany(&plan, 1, nullptr, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, 1));
    EXPECT(INVALID_VALUE, cufftPlanMany(&plan, 1, n, n, 0, 4, n, 1, 4, CUFFT_C2C, 1));
    EXPECT(INVALID_VALUE, cufftPlanMany(&plan, 1, n, n, 1, 4, zero, 1, 4, CUFFT_C2C, 1));
    EXPECT(INVALID_VALUE, cufftPlanMany(&plan, 1, n, n, 1, -4, n, 1, 4, CUFFT_C2C, 2));
    EXPECT(ALLOC_FAILED, cufftPlan2d(&plan, 1 << 23, 1 << 23, CUFFT_Z2Z));
    cudaGetLastError();

    // Handles that name no plan, and plans that are not made.
    EXPECT(INVALID_VALUE, cufftCreate(nullptr));
    EXPECT(SUCCESS, cufftCreate(&destroyed));
    EXPECT(SUCCESS, cufftDestroy(destroyed));
    for (cufftHandle no : {destroyed, 0, -1}) {
        EXPECT(INVALID_PLAN, cufftDestroy(no));
        EXPECT(INVALID_PLAN, cufftSetStream(no, nullptr));
        EXPECT(INVALID_PLAN, cufftSetAutoAllocation(no, 1));
        EXPECT(INVALID_PLAN, cufftSetWorkArea(no, x.device));
        EXPECT(INVALID_PLAN, cufftGetSize(no, &size));
        EXPECT(INVALID_PLAN, cufftGetSize1d(no, N, CUFFT_C2C, 1, &size));
        EXPECT(INVALID_PLAN, cufftMakePlan1d(no, N, CUFFT_C2C, 1, &size));
        EXPECT(INVALID_PLAN, cufftExecC2C(no, x.device, y.device, CUFFT_FORWARD));
        EXPECT(INVALID_PLAN, cufftXtExec(no, x.device, y.device, CUFFT_FORWARD));
    }
    EXPECT(SUCCESS, cufftCreate(&plan));
    EXPECT(INVALID_PLAN, cufftGetSize(plan, &size));
    EXPECT(INVALID_PLAN, cufftExecC2C(plan, x.device, y.device, CUFFT_FORWARD));
    EXPECT(INVALID_VALUE, cufftMakePlan1d(plan, N, CUFFT_C2C, 1, nullptr));
    EXPECT(INVALID_SIZE, cufftMakePlan1d(plan, 0, CUFFT_C2C, 1, &size));
    EXPECT(INVALID_TYPE, cufftMakePlan2d(plan, N, N, cufftType(1), &size));
    EXPECT(SUCCESS, cufftMakePlan1d(plan, N, CUFFT_C2C, 1, &size));
    EXPECT(INVALID_PLAN, cufftMakePlan1d(plan, N, CUFFT_C2C, 1, &size));
    EXPECT(INVALID_PLAN, cufftMakePlanMany64(plan, 1, n64, nullptr, 1, 1, nullptr, 1, 1, CUFFT_C2C, 1, &size));

    // What a call runs must fit the plan.
    EXPECT(INVALID_TYPE, cufftExecR2C(plan, real.device, y.device));
    EXPECT(INVALID_TYPE, cufftExecC2R(plan, x.device, real.device));
    EXPECT(INVALID_TYPE, cufftExecZ2Z(plan, wide.device, wide.device, CUFFT_FORWARD));
    EXPECT(INVALID_VALUE, cufftExecC2C(plan, nullptr, y.device, CUFFT_FORWARD));
    EXPECT(INVALID_VALUE, cufftExecC2C(plan, x.device, nullptr, CUFFT_FORWARD));
    EXPECT(INVALID_VALUE, cufftExecC2C(plan, x.device, y.device, 0));
    EXPECT(INVALID_VALUE, cufftXtExec(plan, x.device, y.device, 2));
    y.download(), real.download();
    for (int i = 0; i < N; i++) wrong += y[i].x != 0 || y[i].y != 0 || real[i] != 0;

    // Work areas of the program.
    EXPECT(SUCCESS, cufftGetSize(plan, &other));
    wrong += size == 0 || other != size;
    EXPECT(SUCCESS, cufftEstimate1d(N, CUFFT_C2C, 1, &other));
    wrong += other != size;
    EXPECT(SUCCESS, cufftGetSizeMany(plan, 1, n, n, 1, 4, n, 1, 4, CUFFT_C2C, 4, &other));
    wrong += other != size;
    EXPECT(SUCCESS, cufftDestroy(plan));
    EXPECT(SUCCESS, cufftCreate(&plan));
    EXPECT(SUCCESS, cufftSetAutoAllocation(plan, 0));
    EXPECT(SUCCESS, cufftMakePlan1d(plan, N, CUFFT_C2C, 1, &size));
    EXPECT(NO_WORKSPACE, cufftExecC2C(plan, x.device, y.device, CUFFT_FORWARD));
    Buffer<char> area(size);
    EXPECT(SUCCESS, cufftSetWorkArea(plan, area.device));
    EXPECT(SUCCESS, cufftExecC2C(plan, x.device, y.device, CUFFT_FORWARD));
    y.download();
    wrong += y[0].x != N || y[0].y != 2 * N;

    // Properties change nothing.
    long long property = 0;
    EXPECT(SUCCESS, cufftSetPlanPropertyInt64(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, 1));
    EXPECT(SUCCESS, cufftGetPlanPropertyInt64(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, &property));
    wrong += property != 1;
    EXPECT(SUCCESS, cufftResetPlanProperty(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT));
    EXPECT(INVALID_VALUE, cufftSetPlanPropertyInt64(plan, cufftProperty(9), 1));
    EXPECT(SUCCESS, cufftDestroy(plan));
    return finish(wrong == 0);
}
