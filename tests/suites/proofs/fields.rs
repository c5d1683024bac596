//! Numbers that share a register: the ranks of tiles, and the bit fields of structs.

const SOURCE: &str = r#"
#include <cooperative_groups.h>
#include <cstdlib>
namespace cg = cooperative_groups;
// The sum of a block, warp by warp. With `late`, all warps write to the place behind the last one.
template <int width, int late> __device__ void sum(cg::thread_block_tile<width>& tile, double x, double* result) {
    __shared__ double tmp[1024 / width + 1];
    for (int by = width / 2; by > 0; by /= 2) x += tile.shfl_down(x, by);
    if (tile.thread_rank() == 0) tmp[late ? tile.meta_group_size() : tile.meta_group_rank()] = x;
    __syncthreads();
    if (tile.meta_group_rank() == 0) {
        double all = tile.thread_rank() < tile.meta_group_size() ? tmp[tile.thread_rank()] : 0;
        for (int by = width / 2; by > 0; by /= 2) all += tile.shfl_down(all, by);
        if (tile.thread_rank() == 0) *result = all;
    }
}
template <int width, int late> __global__ void of_blocks(const float* a, double* partial) {
    cg::thread_block_tile<width> tile = cg::tiled_partition<width>(cg::this_thread_block());
    sum<width, late>(tile, a[blockIdx.x * blockDim.x + threadIdx.x], partial + blockIdx.x);
}
// The same, then the sum of all blocks. With `late`, it does not wait for the blocks.
template <int late> __global__ void of_grid(float* a, double* partial, int n) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
    double x = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) x += a[i];
    sum<32, 0>(tile, x, partial + blockIdx.x);
    if (!late) grid.sync();
    if (blockIdx.x == 0) {
        x = 0;
        for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) x += partial[i];
        sum<32, 0>(tile, x, partial);
    }
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] /= partial[0];
}
struct Packed {
    unsigned kind : 7;
    unsigned place : 25;
};
__device__ Packed packed(unsigned kind, unsigned place) {
    Packed made;
    made.kind = kind;
    made.place = place;
    return made;
}
// A struct of two numbers in one word. With `late`, the place is in the field that is too short for it.
template <int late> __global__ void structs(const int* kind, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Packed of = late ? packed(i, kind[i]) : packed(kind[i], i);
    out[late ? of.kind : of.place] = i;
}
// The same by hand. With `late`, the two numbers share a bit.
template <int late> __global__ void by_hand(const int* kind, float* out) {
    int i = threadIdx.x;
    int word = (kind[i] & 31) | i << (late ? 4 : 5);
    out[word >> (late ? 4 : 5)] = i;
}
int main(int, char** argv) {
    float *a, *out;
    double* partial;
    int* kind;
    cudaMalloc(&a, 8192);
    cudaMalloc(&out, 8192);
    cudaMalloc(&partial, 1024);
    cudaMalloc(&kind, 4096);
    cudaMemset(a, 0, 8192);
    int kinds[1024];
    for (int i = 0; i < 1024; i++) kinds[i] = i * 7 % 32;
    cudaMemcpy(kind, kinds, 4096, cudaMemcpyHostToDevice);
    int n = 2048;
    void* of_grid_arguments[] = {&a, &partial, &n};
    switch (atoi(argv[1])) {
        case 0: of_blocks<32, 0><<<4, 256>>>(a, partial); break;
        case 1: of_blocks<32, 1><<<4, 256>>>(a, partial); break;
        case 2: of_blocks<16, 0><<<4, 256>>>(a, partial); break;
        case 3: of_blocks<16, 1><<<4, 256>>>(a, partial); break;
        case 4: cudaLaunchCooperativeKernel((void*)of_grid<0>, 4, 256, of_grid_arguments); break;
        case 5: cudaLaunchCooperativeKernel((void*)of_grid<1>, 4, 256, of_grid_arguments); break;
        case 6: structs<0><<<4, 256>>>(kind, out); break;
        case 7: structs<1><<<4, 256>>>(kind, out); break;
        case 8: by_hand<0><<<1, 64>>>(kind, out); break;
        case 9: by_hand<1><<<1, 64>>>(kind, out); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn a_field_is_proved_whatever_lies_beside_it() {
    super::compare(SOURCE, "proofs-fields", 0..=9, &[0, 2, 4, 6, 8], &[0, 2, 4, 6, 8]);
}
