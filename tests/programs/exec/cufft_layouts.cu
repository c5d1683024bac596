//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcufft
// Advanced layouts: strides, storage larger than the data, arrays in turn, and distances between them. What lies between the
// elements is neither read nor written.
#include <cufftXt.h>

#include "fft.h"

// One side of a layout, and where its elements are.
struct Side {
    int embed[3], stride, distance;

    size_t at(int array, int x, int y, int z) const {
        return size_t(array) * distance + size_t((x * embed[1] + y) * embed[2] + z) * stride;
    }
};

enum class By { Many, Many64, Xt };

// A plan of `rank` dimensions, by each of the functions that take a layout.
cufftHandle planned(By by, int rank, Sizes n, Side from, Side to, cufftType type, cudaDataType in, cudaDataType out, int batch) {
    cufftHandle plan;
    size_t size = 0, wanted = 0;
    int sizes[3] = {n.x, n.y, n.z}, skip = 3 - rank;
    if (by == By::Many) {
        CUDA(cufftPlanMany(&plan, rank, sizes + skip, from.embed + skip, from.stride, from.distance, to.embed + skip, to.stride,
                           to.distance, type, batch));
        return plan;
    }
    long long sizes64[3] = {n.x, n.y, n.z}, input[3], output[3];
    for (int i = 0; i < 3; i++) input[i] = from.embed[i], output[i] = to.embed[i];
    CUDA(cufftCreate(&plan));
    if (by == By::Many64) {
        CUDA(cufftGetSizeMany64(plan, rank, sizes64 + skip, input + skip, from.stride, from.distance, output + skip, to.stride,
                                to.distance, type, batch, &wanted));
        CUDA(cufftMakePlanMany64(plan, rank, sizes64 + skip, input + skip, from.stride, from.distance, output + skip, to.stride,
                                 to.distance, type, batch, &size));
    } else {
        cudaDataType executed = in == CUDA_R_32F ? out : in;
        CUDA(cufftXtGetSizeMany(plan, rank, sizes64 + skip, input + skip, from.stride, from.distance, in, output + skip,
                                to.stride, to.distance, out, batch, &wanted, executed));
        CUDA(cufftXtMakePlanMany(plan, rank, sizes64 + skip, input + skip, from.stride, from.distance, in, output + skip,
                                 to.stride, to.distance, out, batch, &size, executed));
    }
    if (size != wanted || size == 0) printf("sizes %zu and %zu\n", size, wanted), exit(1);
    return plan;
}

// The elements that a side has, as true.
std::vector<bool> elements(Side side, Sizes n, int batch, size_t count) {
    std::vector<bool> has(count);
    for (int array = 0; array < batch; array++)
        for (int x = 0; x < n.x; x++)
            for (int y = 0; y < n.y; y++)
                for (int z = 0; z < n.z; z++) has[side.at(array, x, y, z)] = true;
    return has;
}

constexpr size_t ROOM = 2000;

bool complex_agrees(By by, int rank, Sizes n, Side from, Side to, int batch) {
    Buffer<cufftComplex> input(ROOM), output(ROOM);
    std::vector<bool> is_read = elements(from, n, batch, ROOM), is_written = elements(to, n, batch, ROOM);
    for (size_t i = 0; i < ROOM; i++) {
        narrow(input[i], is_read[i] ? number(i) : Wide(NAN, NAN));
        narrow(output[i], PADDING);
    }
    input.upload(), output.upload();
    cufftHandle plan = planned(by, rank, n, from, to, CUFFT_C2C, CUDA_C_32F, CUDA_C_32F, batch);
    if (by == By::Xt)
        CUDA(cufftXtExec(plan, input.device, output.device, CUFFT_FORWARD));
    else
        CUDA(cufftExecC2C(plan, input.device, output.device, CUFFT_FORWARD));
    CUDA(cufftDestroy(plan));
    output.download();
    bool ok = true;
    for (int array = 0; array < batch; array++) {
        std::vector<Wide> values;
        for (size_t i = 0; i < n.count(); i++)
            values.push_back(number(from.at(array, i / (n.y * n.z), i / n.z % n.y, i % n.z)));
        std::vector<Wide> wanted = transformed(values, n, CUFFT_FORWARD);
        for (size_t i = 0; i < n.count(); i++)
            ok &= near(wide(output[to.at(array, i / (n.y * n.z), i / n.z % n.y, i % n.z)]), wanted[i], tolerance<float>());
    }
    for (size_t i = 0; i < ROOM; i++) ok &= is_written[i] || wide(output[i]) == PADDING;
    return ok;
}

bool real_agrees(By by, Sizes n, Side from, Side to, int batch) {
    Sizes kept = {n.x, n.y, n.z / 2 + 1};
    Buffer<float> input(ROOM);
    Buffer<cufftComplex> output(ROOM);
    std::vector<bool> is_read = elements(from, n, batch, ROOM), is_written = elements(to, kept, batch, ROOM);
    for (size_t i = 0; i < ROOM; i++) {
        input[i] = is_read[i] ? float(number(i).real()) : NAN;
        narrow(output[i], is_written[i] ? Wide(0) : Wide(PADDING));
    }
    input.upload(), output.upload();
    cufftHandle plan = planned(by, 2, n, from, to, CUFFT_R2C, CUDA_R_32F, CUDA_C_32F, batch);
    cufftHandle back = planned(by, 2, n, to, from, CUFFT_C2R, CUDA_C_32F, CUDA_R_32F, batch);
    if (by == By::Xt)
        CUDA(cufftXtExec(plan, input.device, output.device, CUFFT_INVERSE));
    else
        CUDA(cufftExecR2C(plan, input.device, output.device));
    output.download();
    bool ok = true;
    for (int array = 0; array < batch; array++) {
        std::vector<Wide> values;
        for (size_t i = 0; i < n.count(); i++) values.push_back(number(from.at(array, 0, i / n.z, i % n.z)).real());
        std::vector<Wide> wanted = half(transformed(values, n, CUFFT_FORWARD), n);
        for (size_t i = 0; i < kept.count(); i++)
            ok &= near(wide(output[to.at(array, 0, i / kept.z, i % kept.z)]), wanted[i], tolerance<float>());
    }
    for (size_t i = 0; i < ROOM; i++) ok &= is_written[i] || wide(output[i]) == PADDING;
    if (by == By::Xt)
        CUDA(cufftXtExec(back, output.device, input.device, CUFFT_FORWARD));
    else
        CUDA(cufftExecC2R(back, output.device, input.device));
    input.download();
    for (size_t i = 0; i < ROOM; i++)
        ok &= is_read[i] ? near(input[i] / double(n.count()), number(i).real(), tolerance<float>()) : std::isnan(input[i]);
    CUDA(cufftDestroy(plan));
    CUDA(cufftDestroy(back));
    return ok;
}

int main() {
    bool ok = true;
    for (By by : {By::Many, By::Many64, By::Xt}) {
        // Columns of a matrix, then arrays in turn and back, then arrays that share elements.
        ok &= complex_agrees(by, 1, {1, 1, 12}, {{0, 0, 12}, 5, 1}, {{0, 0, 12}, 1, 12}, 5);
        ok &= complex_agrees(by, 1, {1, 1, 7}, {{0, 0, 7}, 1, 9}, {{0, 0, 7}, 3, 1}, 3);
        ok &= complex_agrees(by, 1, {1, 1, 8}, {{0, 0, 8}, 1, 3}, {{0, 0, 8}, 2, 20}, 4);
        // Parts of larger matrices and boxes.
        ok &= complex_agrees(by, 2, {1, 4, 6}, {{0, 9, 10}, 2, 200}, {{0, 4, 7}, 1, 30}, 3);
        ok &= complex_agrees(by, 3, {2, 3, 4}, {{9, 5, 6}, 3, 1}, {{2, 3, 5}, 2, 70}, 3);
        ok &= real_agrees(by, {1, 4, 6}, {{0, 9, 10}, 2, 200}, {{0, 4, 7}, 1, 30}, 3);
        ok &= real_agrees(by, {1, 3, 5}, {{0, 3, 5}, 2, 1}, {{0, 4, 3}, 3, 50}, 2);
    }
    // Without the storage's sizes, all else of a layout counts for nothing.
    Buffer<cufftComplex> x(6), y(6);
    cufftHandle plan;
    int n[1] = {3};
    for (int i = 0; i < 6; i++) narrow(x[i], number(i));
    x.upload();
    CUDA(cufftPlanMany(&plan, 1, n, nullptr, 50, 7, nullptr, -3, 1000, CUFFT_C2C, 2));
    CUDA(cufftExecC2C(plan, x.device, y.device, CUFFT_INVERSE));
    y.download();
    for (int array = 0; array < 2; array++) {
        std::vector<Wide> wanted = transformed({number(3 * array), number(3 * array + 1), number(3 * array + 2)}, {1, 1, 3}, CUFFT_INVERSE);
        for (int i = 0; i < 3; i++) ok &= near(wide(y[3 * array + i]), wanted[i], tolerance<float>());
    }
    CUDA(cufftDestroy(plan));
    return finish(ok);
}
