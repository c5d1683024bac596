// A program of the suite `executed`: fetches with each geometry, filter and address mode, at coordinates
// inside and outside of the texture. Another thread writes some of the texels, without order. A fetch has
// one race for each of them that it reads. An event log must give as many races as the executor.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error = call;                                                                            \
        if (error != cudaSuccess) return printf("%s: %s\n", #call, cudaGetErrorString(error)), 2;            \
    } while (0)

enum Shape {
    kLine,
    kPlane,
    kVolume,
    kLines,
    kPlanes,
    kCube,
    kCubes,
    kGather,
    kWholeLine,
    kWholePlane,
    kMemory,
    kRows,
    kBytes,
    kShapes
};
constexpr int kWidth = 6, kHeight = 4, kDepth = 3, kRounds = 24;
// The faces of cubes are squares.
constexpr int kSide = 4;

struct Place {
    float x, y, z;
    int layer;
};

template <int Of> __device__ float fetch(cudaTextureObject_t t, Place at) {
    if constexpr (Of == kLine) return tex1D<float>(t, at.x);
    if constexpr (Of == kPlane || Of == kRows) return tex2D<float>(t, at.x, at.y);
    if constexpr (Of == kVolume) return tex3D<float>(t, at.x, at.y, at.z);
    if constexpr (Of == kLines) return tex1DLayered<float>(t, at.x, at.layer);
    if constexpr (Of == kPlanes) return tex2DLayered<float>(t, at.x, at.y, at.layer);
    if constexpr (Of == kCube) return texCubemap<float>(t, at.x, at.y, at.z);
    if constexpr (Of == kCubes) return texCubemapLayered<float>(t, at.x, at.y, at.z, at.layer);
    if constexpr (Of == kGather) return tex2Dgather<float4>(t, at.x, at.y, 0).y;
    if constexpr (Of == kMemory) return tex1Dfetch<float>(t, at.layer);
    if constexpr (Of == kBytes) return tex2D<float4>(t, at.x, at.y).z;
    // By integers, of what is no linear memory.
    float r = 0, rest;
    if constexpr (Of == kWholeLine)
        asm volatile("tex.1d.v4.f32.s32 {%0, %1, %1, %1}, [%2, {%3}];"
                     : "=f"(r), "=f"(rest)
                     : "l"(t), "r"(at.layer));
    if constexpr (Of == kWholePlane)
        asm volatile("tex.2d.v4.f32.s32 {%0, %1, %1, %1}, [%2, {%3, %4}];"
                     : "=f"(r), "=f"(rest)
                     : "l"(t), "r"((int)at.x), "r"(at.layer));
    return r;
}

template <int Of> __device__ void write(cudaSurfaceObject_t s, float* memory, int x, int y, int z) {
    if constexpr (Of == kLine || Of == kWholeLine) surf1Dwrite(1.0f, s, x * 4);
    if constexpr (Of == kPlane || Of == kGather || Of == kWholePlane || Of == kBytes)
        surf2Dwrite(1.0f, s, x * 4, y);
    if constexpr (Of == kVolume) surf3Dwrite(1.0f, s, x * 4, y, z);
    if constexpr (Of == kLines) surf1DLayeredwrite(1.0f, s, x * 4, z);
    if constexpr (Of == kPlanes || Of == kCube || Of == kCubes) surf2DLayeredwrite(1.0f, s, x * 4, y, z);
    if constexpr (Of == kMemory || Of == kRows) memory[y * kWidth + x] = 1;
}

struct Made {
    cudaSurfaceObject_t surface;
    float* memory;
    int width, height, depth;
};

template <int Of>
__global__ void fetches(cudaTextureObject_t texture, Made made, Place at, unsigned some, int* flag,
                        float* out) {
    if (threadIdx.x == 32) {
        for (int z = 0; z < made.depth; z++)
            for (int y = 0; y < made.height; y++)
                for (int x = 0; x < made.width; x++)
                    if ((some * (x + 5 * y + 31 * z + 1) >> 20) & 1)
                        write<Of>(made.surface, made.memory, x, y, z);
        atomicExch(flag, 1);
    } else if (threadIdx.x == 0) {
        // Who has seen an atomic knows nothing of what was before it.
        while (atomicAdd(flag, 0) == 0) {
        }
        *out = fetch<Of>(texture, at);
    }
}

static unsigned state = 1;
static unsigned random_below(unsigned n) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

// The coordinates are a quarter of a texel apart, or much more. Some lie outside of the texture.
static float random_place(bool normalized, int size) {
    float at = (int)random_below(size * 8 + 16) / 4.0f - size / 2 - 2;
    return normalized ? at / size : at;
}

template <int Of> static int run(int* flag, float* out) {
    constexpr bool is_cube = Of == kCube || Of == kCubes, is_array = Of != kMemory && Of != kRows;
    constexpr bool is_line = Of == kLine || Of == kLines || Of == kWholeLine || Of == kMemory;
    constexpr bool has_slices = Of == kVolume || Of == kLines || Of == kPlanes;
    Made made = {0, nullptr, is_cube ? kSide : kWidth,
                 is_line   ? 1
                 : is_cube ? kSide
                           : kHeight,
                 Of == kCube    ? 6
                 : Of == kCubes ? 12
                 : has_slices   ? kDepth
                                : 1};
    cudaChannelFormatDesc format =
        Of == kBytes ? cudaCreateChannelDesc<uchar4>() : cudaCreateChannelDesc<float>();
    cudaResourceDesc resource = {};
    cudaArray_t array = nullptr;
    if (is_array) {
        unsigned flags = cudaArraySurfaceLoadStore | (is_cube ? cudaArrayCubemap : 0);
        if (Of == kLines || Of == kPlanes || Of == kCubes) flags |= cudaArrayLayered;
        if (Of == kGather) flags |= cudaArrayTextureGather;
        cudaExtent extent =
            make_cudaExtent(made.width, is_line ? 0 : made.height, is_cube || has_slices ? made.depth : 0);
        CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        CHECK(cudaCreateSurfaceObject(&made.surface, &resource));
    } else {
        CHECK(cudaMalloc(&made.memory, kWidth * kHeight * sizeof(float)));
        resource.resType = Of == kMemory ? cudaResourceTypeLinear : cudaResourceTypePitch2D;
        if (Of == kMemory) {
            resource.res.linear.devPtr = made.memory;
            resource.res.linear.desc = format;
            resource.res.linear.sizeInBytes = kWidth * sizeof(float);
        } else {
            resource.res.pitch2D.devPtr = made.memory;
            resource.res.pitch2D.desc = format;
            resource.res.pitch2D.width = kWidth;
            resource.res.pitch2D.height = kHeight;
            resource.res.pitch2D.pitchInBytes = kWidth * sizeof(float);
        }
    }
    for (int round = 0; round < kRounds; round++) {
        cudaTextureDesc desc = {};
        desc.normalizedCoords = random_below(2);
        for (auto& mode : desc.addressMode) mode = (cudaTextureAddressMode)random_below(4);
        desc.filterMode = random_below(3) ? cudaFilterModeLinear : cudaFilterModePoint;
        if (Of == kBytes) desc.readMode = cudaReadModeNormalizedFloat;
        if (Of == kMemory) desc.filterMode = cudaFilterModePoint;
        cudaTextureObject_t texture;
        CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
        bool normalized = desc.normalizedCoords;
        Place at = {random_place(normalized, made.width), random_place(normalized, made.height),
                    random_place(normalized, made.depth), (int)random_below(kWidth + 2) - 1};
        if (Of == kLines || Of == kPlanes || Of == kCubes) at.layer = random_below(4);
        CHECK(cudaMemset(flag, 0, sizeof(int)));
        fetches<Of><<<1, 64>>>(texture, made, at, state, flag, out);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaDestroyTextureObject(texture));
    }
    if (array) {
        CHECK(cudaDestroySurfaceObject(made.surface));
        CHECK(cudaFreeArray(array));
    } else {
        CHECK(cudaFree(made.memory));
    }
    return 0;
}

template <int Of> static int run_all(int* flag, float* out) {
    if constexpr (Of == kShapes)
        return 0;
    else
        return run<Of>(flag, out) || run_all<Of + 1>(flag, out);
}

int main() {
    int* flag;
    float* out;
    CHECK(cudaMalloc(&flag, sizeof(int)));
    CHECK(cudaMalloc(&out, sizeof(float)));
    return run_all<0>(flag, out) ? 2 : 0;
}
