// Maps for copies of tensors.
#pragma once
#include <cuda.h>
#include <cuda/ptx>
#include <initializer_list>
#include <vector>
#include "check.h"

namespace ptx = cuda::ptx;

// A tensor and a box; the innermost dimension comes first. Rows begin at multiples of 16 bytes.
struct Tensor {
    CUtensorMapDataType type;
    size_t element;
    std::vector<cuuint64_t> sizes;
    std::vector<cuuint32_t> spans;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
    std::vector<cuuint32_t> steps = {};
    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

    size_t rank() const { return sizes.size(); }
    size_t step(size_t n) const { return steps.empty() ? 1 : steps[n]; }
    // The elements of the box in a dimension.
    size_t extent(size_t n) const { return (spans[n] + step(n) - 1) / step(n); }
    // The bytes from one index of a dimension to the next.
    size_t stride(size_t n) const {
        size_t stride = element;
        for (size_t i = 0; i < n; i++) {
            stride *= sizes[i];
            if (i == 0) stride = (stride + 15) / 16 * 16;
        }
        return stride;
    }
    size_t bytes() const { return stride(rank()); }
    size_t box_bytes() const {
        size_t bytes = element;
        for (size_t n = 0; n < rank(); n++) bytes *= extent(n);
        return bytes;
    }
    CUresult encode(CUtensorMap* map, void* address) const {
        // As programs do that are not linked with the driver.
        void* function = nullptr;
        cudaDriverEntryPointQueryResult found;
        CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
        if (found != cudaDriverEntryPointSuccess) return CUDA_ERROR_NOT_FOUND;
        std::vector<cuuint64_t> strides;
        std::vector<cuuint32_t> all;
        for (size_t n = 1; n < rank(); n++) strides.push_back(stride(n));
        for (size_t n = 0; n < rank(); n++) all.push_back(step(n));
        return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
            map, type, rank(), address, sizes.data(), strides.data(), spans.data(), all.data(),
            CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
    }
    CUtensorMap map(void* address) const {
        CUtensorMap map;
        if (encode(&map, address) != CUDA_SUCCESS) {
            fprintf(stderr, "no tensor map\n");
            exit(2);
        }
        return map;
    }
};

// A matrix of numbers, and boxes of it.
inline Tensor matrix(unsigned width, unsigned height, unsigned box_width, unsigned box_height) {
    return {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, {width, height}, {box_width, box_height}};
}

__device__ inline void wait(uint64_t* barrier, int phase) {
    while (!ptx::mbarrier_try_wait_parity(barrier, phase % 2)) {
    }
}
