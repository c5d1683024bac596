//@ revisions: proved checked
//@[checked] compile-flags: -fgpurace-prune=off
// Loops that write: threads run some side by side, and others one after the other. The host computes the same.
#include "check.h"
#include <vector>

const unsigned BLOCKS = 3, THREADS = 96, ALL = BLOCKS * THREADS, N = 5000, WIDE = 13;

#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

__host__ __device__ unsigned mix(unsigned a, unsigned b) { return (a ^ b) * 2654435761u + (a >> 15); }

// Threads step over the elements of others.
__global__ void strides(unsigned* out, const unsigned* in, unsigned n) {
    for (unsigned i = THREAD; i < n; i += gridDim.x * blockDim.x) out[i] = mix(in[i], i) + out[i];
}

// A column for each thread, whose length differs.
__global__ void columns(unsigned* out, const unsigned* in, unsigned n, unsigned pitch) {
    unsigned t = THREAD, sum = 0;
    if (t >= pitch) return;
    for (unsigned k = 0; k * pitch + t < n; k++) {
        sum = mix(sum, in[k * pitch + t]);
        out[k * pitch + t] = sum + k;
    }
}

// A row for each thread.
__global__ void rows(unsigned* out, unsigned wide) {
    unsigned sum = 0, t = THREAD;
    for (unsigned k = 0; k < wide; k++) {
        sum += out[t * wide + k];
        out[t * wide + k] = mix(sum, k);
    }
}

// Each iteration makes a longer step.
__global__ void longer(unsigned* out, const unsigned* in, unsigned n) {
    unsigned t = THREAD, step = gridDim.x * blockDim.x, shift = 0;
    for (unsigned i = t; i < n; i += step) {
        out[i] = in[i] + shift;
        shift += 3;
        if (shift > 6) step += gridDim.x * blockDim.x;
    }
}

// Rows whose ends memory tells.
__global__ void told(unsigned* out, const unsigned* ends, unsigned n) {
    unsigned t = THREAD;
    if (t >= n) return;
    for (unsigned k = ends[t]; k < ends[t + 1]; k++) out[k] = mix(t, k);
}

// Tiles: strides within a block, with barriers around.
__global__ void tiles(unsigned* out, const unsigned* in, unsigned n, unsigned size) {
    extern __shared__ unsigned tile[];
    for (unsigned first = blockIdx.x * size; first < n; first += gridDim.x * size) {
        unsigned some = n - first < size ? n - first : size;
        for (unsigned i = threadIdx.x; i < some; i += blockDim.x) tile[i] = in[first + i];
        __syncthreads();
        for (unsigned i = threadIdx.x; i < some; i += blockDim.x) out[first + i] = tile[some - 1 - i];
        __syncthreads();
    }
}

bool same(const char* what, Buffer<unsigned>& out, const std::vector<unsigned>& want) {
    for (unsigned i = 0; i < want.size(); i++) {
        if (out[i] == want[i]) continue;
        printf("%s: %u at %u, wanted %u\n", what, out[i], i, want[i]);
        return false;
    }
    return true;
}

int main() {
    Buffer<unsigned> in(N), out(N), ends(ALL + 1);
    std::vector<unsigned> want(N);
    for (unsigned i = 0; i < N; i++) in[i] = i * 2654435761u >> 7;
    in.upload();
    auto start = [&] {
        for (unsigned i = 0; i < N; i++) want[i] = out[i] = i;
        out.upload();
    };
    auto end = [&](const char* what) {
        SYNC();
        out.download();
        return same(what, out, want);
    };
    bool right = true;
    start();
    strides<<<BLOCKS, THREADS>>>(out.device, in.device, N);
    for (unsigned i = 0; i < N; i++) want[i] += mix(in[i], i);
    right &= end("strides");
    for (unsigned pitch : {17u, 200u, ALL}) {
        start();
        columns<<<BLOCKS, THREADS>>>(out.device, in.device, N, pitch);
        for (unsigned t = 0; t < pitch; t++) {
            unsigned sum = 0;
            for (unsigned k = 0; k * pitch + t < N; k++) {
                sum = mix(sum, in[k * pitch + t]);
                want[k * pitch + t] = sum + k;
            }
        }
        right &= end("columns");
    }
    start();
    rows<<<BLOCKS, THREADS>>>(out.device, WIDE);
    for (unsigned t = 0; t < ALL; t++) {
        unsigned sum = 0;
        for (unsigned k = 0; k < WIDE; k++) {
            sum += want[t * WIDE + k];
            want[t * WIDE + k] = mix(sum, k);
        }
    }
    right &= end("rows");
    start();
    longer<<<BLOCKS, THREADS>>>(out.device, in.device, N);
    for (unsigned t = 0; t < ALL; t++) {
        unsigned step = ALL, shift = 0;
        for (unsigned i = t; i < N; i += step) {
            want[i] = in[i] + shift;
            shift += 3;
            if (shift > 6) step += ALL;
        }
    }
    right &= end("longer");
    start();
    ends[0] = 3;
    for (unsigned t = 0; t < ALL; t++) ends[t + 1] = ends[t] + t * 5 % 11;
    ends.upload();
    told<<<BLOCKS, THREADS>>>(out.device, ends.device, ALL);
    for (unsigned t = 0; t < ALL; t++)
        for (unsigned k = ends[t]; k < ends[t + 1]; k++) want[k] = mix(t, k);
    right &= end("told");
    start();
    const unsigned size = 250;
    tiles<<<BLOCKS, THREADS, size * sizeof(unsigned)>>>(out.device, in.device, N, size);
    for (unsigned first = 0; first < N; first += size)
        for (unsigned i = 0; i < size; i++) want[first + i] = in[first + size - 1 - i];
    right &= end("tiles");
    return finish(right);
}
