// Kernels for the run on a GPU: each takes an array of as many numbers as there
// are threads. The name says whether it races. `scripts/gpu` runs them; a test
// has the executor say the same of each.
#define KERNEL extern "C" __global__ void

constexpr int kThreads = 256;

__device__ int counter;

KERNEL clean_saxpy(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 3 * a[i] + i;
}

KERNEL racy_one_word(int *a, int n) { a[0] = threadIdx.x; }

KERNEL racy_between_blocks(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = i;
  __syncthreads();
  int other = a[(i + blockDim.x) % n];
  __syncthreads();
  a[i] = other;
}

KERNEL clean_shared_reverse(int *a, int n) {
  __shared__ int s[kThreads];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = a[i];
  __syncthreads();
  a[i] = s[kThreads - 1 - threadIdx.x];
}

KERNEL racy_shared_reverse(int *a, int n) {
  __shared__ int s[kThreads];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = a[i];
  a[i] = s[kThreads - 1 - threadIdx.x];
}

KERNEL clean_tree(int *a, int n) {
  __shared__ int s[kThreads];
  s[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) a[blockIdx.x * blockDim.x] = s[0];
}

KERNEL racy_tree_tail(int *a, int n) {
  __shared__ int s[kThreads];
  s[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (half >= 32) __syncthreads();
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) a[blockIdx.x * blockDim.x] = s[0];
}

KERNEL clean_warp_sync(int *a, int n) {
  __shared__ int s[kThreads];
  int lane = threadIdx.x % 32, warp = threadIdx.x - lane;
  for (int round = 0; round < 100; round++) {
    s[threadIdx.x] = round;
    __syncwarp();
    int other = s[warp + (lane + 1) % 32];
    __syncwarp();
    a[blockIdx.x * blockDim.x + threadIdx.x] += other;
  }
}

KERNEL racy_warp_sync_missing(int *a, int n) {
  __shared__ int s[kThreads];
  int lane = threadIdx.x % 32, warp = threadIdx.x - lane;
  s[threadIdx.x] = lane;
  a[blockIdx.x * blockDim.x + threadIdx.x] = s[warp + (lane + 1) % 32];
}

KERNEL clean_histogram(int *a, int n) {
  __shared__ int s[32];
  if (threadIdx.x < 32) s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s[threadIdx.x * 7 % 32], 1);
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&a[threadIdx.x], s[threadIdx.x]);
}

KERNEL racy_block_atomics(int *a, int n) { atomicAdd_block(&a[threadIdx.x], 1); }

KERNEL clean_many_barriers(int *a, int n) {
  __shared__ int s[kThreads];
  int sum = 0;
  for (int round = 0; round < 300; round++) {
    s[threadIdx.x] = round;
    __syncthreads();
    sum += s[(threadIdx.x + round) % kThreads];
    __syncthreads();
  }
  a[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Right, by fences and atomics: no race may be reported; the GPU leaves it undecided.
KERNEL clean_last_block(int *a, int n) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    a[blockIdx.x * blockDim.x] = 1;
    __threadfence();
    last = atomicInc((unsigned *)&counter, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    int sum = 0;
    for (int block = 0; block < gridDim.x; block++) sum += ((volatile int *)a)[block * blockDim.x];
    a[0] = sum;
  }
}

#ifdef WITH_MAIN
#include <cstdio>
#include <cstring>
// Runs the kernel whose name is the argument, as scripts/gpu does.
int main(int argc, char **argv) {
  int blocks = 8, n = blocks * kThreads, *a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
#define RUN(name) if (!strcmp(argv[1], #name)) name<<<blocks, kThreads>>>(a, n)
  RUN(clean_saxpy);
  RUN(racy_one_word);
  RUN(racy_between_blocks);
  RUN(clean_shared_reverse);
  RUN(racy_shared_reverse);
  RUN(clean_tree);
  RUN(racy_tree_tail);
  RUN(clean_warp_sync);
  RUN(racy_warp_sync_missing);
  RUN(clean_histogram);
  RUN(racy_block_atomics);
  RUN(clean_many_barriers);
  RUN(clean_last_block);
  return cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}
#endif
