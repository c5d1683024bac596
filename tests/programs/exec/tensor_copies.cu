//@ compile-flags: --cuda-gpu-arch=sm_90
//@ stdout: right
// Copies of tensors, compared byte for byte with the host: boxes within, at the edges and outside of tensors of one to
// five dimensions, elements of each size, swizzles, steps, both ways.
#include "tensor_map.h"

const int MOST = 16384;

// Loads a box, and shows shared memory as it is then.
template <int RANK>
__global__ void load(const __grid_constant__ CUtensorMap map, const int* at, int bytes, char* out) {
    extern __shared__ __align__(1024) char box[];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async(ptx::space_shared);
        int32_t coordinates[RANK];
        for (int n = 0; n < RANK; n++) coordinates[n] = at[n];
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &map, coordinates, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, bytes);
    }
    __syncthreads();
    wait(&full, 0);
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = box[i];
}

// Stores a box.
template <int RANK>
__global__ void store(const __grid_constant__ CUtensorMap map, const int* at, int bytes, const char* in) {
    extern __shared__ __align__(1024) char box[];
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = in[i];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        int32_t coordinates[RANK];
        for (int n = 0; n < RANK; n++) coordinates[n] = at[n];
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, coordinates, box);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// Where an element of the box is in the tensor; -1 if it is outside.
static long place(const Tensor& of, const int* at, size_t element) {
    long place = 0;
    for (size_t n = 0; n < of.rank(); n++) {
        long c = at[n] + long(element % of.extent(n) * of.step(n));
        element /= of.extent(n);
        if (c < 0 || c >= long(of.sizes[n])) return -1;
        place += c * long(of.stride(n));
    }
    return place;
}

// Where a byte of the box is in shared memory.
static size_t moved(const Tensor& of, size_t byte) {
    size_t chunk = byte / 16 % 8, line = byte / 128;
    switch (of.swizzle) {
        case CU_TENSOR_MAP_SWIZZLE_32B: chunk ^= line % 2; break;
        case CU_TENSOR_MAP_SWIZZLE_64B: chunk ^= line % 4; break;
        case CU_TENSOR_MAP_SWIZZLE_128B: chunk ^= line % 8; break;
        default: break;
    }
    return line * 128 + chunk * 16 + byte % 16;
}

template <int RANK>
static bool both_ways(const Tensor& of, const int (&at)[RANK]) {
    Buffer<char> tensor(of.bytes()), box(MOST);
    Buffer<int> coordinates(RANK);
    std::vector<char> wanted(MOST), stored(of.bytes());
    for (int n = 0; n < RANK; n++) coordinates[n] = at[n];
    coordinates.upload();
    for (size_t i = 0; i < of.bytes(); i++) stored[i] = tensor[i] = char(i * 7 + i / 256 + 1);
    tensor.upload();
    CUtensorMap map = of.map(tensor.device);
    size_t bytes = of.box_bytes();
    char fill = of.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ? 0 : -1;
    for (size_t i = 0; i < bytes; i++) {
        long from = place(of, at, i / of.element);
        wanted[moved(of, i)] = from < 0 ? fill : tensor[from + i % of.element];
    }
    load<RANK><<<1, 64, MOST>>>(map, coordinates.device, bytes, box.device);
    SYNC();
    box.download();
    bool right = memcmp(box.host, wanted.data(), bytes) == 0;

    for (size_t i = 0; i < bytes; i++) box[i] = char(i * 5 + 3);
    box.upload();
    for (size_t i = 0; i < bytes; i++) {
        long to = place(of, at, i / of.element);
        if (to >= 0) stored[to + i % of.element] = box[moved(of, i)];
    }
    store<RANK><<<1, 64, MOST>>>(map, coordinates.device, bytes, box.device);
    SYNC();
    tensor.download();
    right &= memcmp(tensor.host, stored.data(), of.bytes()) == 0;
    if (!right) printf("%d dimensions, swizzle %d, at %d\n", RANK, int(of.swizzle), at[0]);
    return right;
}

int main() {
    bool right = true;
    Tensor row = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {50}, {32}};
    for (int x : {0, 3, -5, 30, 50, -32}) right &= both_ways<1>(row, {x});

    Tensor plane = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {70, 20}, {16, 8}};
    for (auto swizzle : {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B,
                         CU_TENSOR_MAP_SWIZZLE_128B}) {
        plane.swizzle = swizzle;
        plane.spans[0] = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 64 : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 32 : 16;
        for (int x : {0, 5, 60, -3})
            for (int y : {0, 3, 17, -2}) right &= both_ways<2>(plane, {x, y});
    }
    plane.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    right &= both_ways<2>(plane, {40, -1});

    Tensor space = {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, {40, 6, 5}, {32, 4, 3}};
    for (int x : {0, 20, -1}) right &= both_ways<3>(space, {x, 4, -1}) & both_ways<3>(space, {x, 1, 1});
    space.steps = {1, 2, 3};
    right &= both_ways<3>(space, {0, 1, 0});

    Tensor four = {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, {6, 4, 3, 3}, {4, 2, 2, 2}};
    right &= both_ways<4>(four, {3, 1, 2, -1}) & both_ways<4>(four, {0, 0, 0, 0});
    Tensor five = {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, {8, 3, 2, 3, 2}, {8, 2, 2, 2, 2}};
    right &= both_ways<5>(five, {-2, 1, 1, 2, 0}) & both_ways<5>(five, {0, 0, 0, 0, 0});

    // What makes no map.
    CUtensorMap map;
    Buffer<char> memory(4096);
    right &= row.encode(&map, memory.device + 8) == CUDA_ERROR_INVALID_VALUE;
    right &= Tensor{row.type, 4, {50}, {3}}.encode(&map, memory.device) == CUDA_ERROR_INVALID_VALUE;
    right &= Tensor{row.type, 4, {}, {}}.encode(&map, memory.device) == CUDA_ERROR_INVALID_VALUE;
    return finish(right);
}
