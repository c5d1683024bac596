//@ opt: O2
//@ seeds: 0
//@ stdout: right
// CUB's algorithms for blocks, with several items for each thread.
#include <algorithm>
#include <cub/cub.cuh>
#include "check.h"

constexpr int THREADS = 96, ITEMS = 3, TILE = THREADS * ITEMS, TILES = 4;

template <cub::BlockScanAlgorithm SCAN>
__global__ void scans(const int* in, int* out) {
    using Scan = cub::BlockScan<int, THREADS, SCAN>;
    __shared__ typename Scan::TempStorage storage;
    int own[ITEMS], first = blockIdx.x * TILE + threadIdx.x * ITEMS;
    for (int i = 0; i < ITEMS; i++) own[i] = in[first + i];
    Scan(storage).ExclusiveSum(own, own);
    for (int i = 0; i < ITEMS; i++) out[first + i] = own[i];
}

__global__ void sorts(const int* in, int* out) {
    using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<int, THREADS, ITEMS>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Sort::TempStorage sort;
        typename Store::TempStorage store;
    } storage;
    int own[ITEMS];
    Load(storage.load).Load(in + blockIdx.x * TILE, own);
    __syncthreads();
    Sort(storage.sort).Sort(own);
    __syncthreads();
    Store(storage.store).Store(out + blockIdx.x * TILE, own);
}

__global__ void sums(const int* in, int* out) {
    using Reduce = cub::BlockReduce<int, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    int own[ITEMS];
    for (int i = 0; i < ITEMS; i++) own[i] = in[blockIdx.x * TILE + threadIdx.x * ITEMS + i];
    int sum = Reduce(storage).Sum(own);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

int main() {
    Buffer<int> in(TILE * TILES), out(TILE * TILES);
    for (int i = 0; i < TILE * TILES; i++) in[i] = i * 7919 % 1009;
    in.upload();
    bool right = true;
    auto expect = [&](const char* name, int i, int wanted) {
        if (out[i] != wanted && right) printf("%s: element %d is %d, wanted %d\n", name, i, out[i], wanted);
        right = right && out[i] == wanted;
    };
    auto each = [&](const char* name, auto kernel, auto check) {
        kernel<<<TILES, THREADS>>>(in.device, out.device);
        SYNC();
        out.download();
        for (int t = 0; t < TILES; t++) check(name, t * TILE, &in[t * TILE]);
    };
    auto prefixes = [&](const char* name, int first, const int* tile) {
        for (int i = 0, sum = 0; i < TILE; sum += tile[i++]) expect(name, first + i, sum);
    };
    each("raking", scans<cub::BLOCK_SCAN_RAKING>, prefixes);
    each("warps", scans<cub::BLOCK_SCAN_WARP_SCANS>, prefixes);
    each("sorted", sorts, [&](const char* name, int first, const int* tile) {
        int sorted[TILE];
        std::copy(tile, tile + TILE, sorted);
        std::sort(sorted, sorted + TILE);
        for (int i = 0; i < TILE; i++) expect(name, first + i, sorted[i]);
    });
    each("sum", sums, [&](const char* name, int first, const int* tile) {
        int sum = 0;
        for (int i = 0; i < TILE; i++) sum += tile[i];
        expect(name, first / TILE, sum);
    });
    return finish(right);
}
