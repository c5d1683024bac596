// A lock whose second block does not release: only a trial, in which it comes first, shows the race. The
// first argument says what the program does besides.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

__device__ int lock, counter;

__global__ void count() {
    if (threadIdx.x) return;
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    counter += 1; // racy
    if (blockIdx.x == 0) __threadfence();
    atomicExch(&lock, 0);
}

__global__ void correct_count() {
    if (threadIdx.x) return;
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    counter += 1;
    printf("block %u counts\n", blockIdx.x);
    __threadfence();
    atomicExch(&lock, 0);
}

// Each thread adds up its share first.
__global__ void add_up(const int* in, int n) {
    __shared__ int sum;
    int own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += in[i];
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, own);
    __syncthreads();
    if (threadIdx.x) return;
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    counter += sum;
    __threadfence();
    atomicExch(&lock, 0);
}

__global__ void plain(int* out) { out[threadIdx.x % 16] = 1; }

// Block 0 must come first, which nothing ensures.
__global__ void relies_on_order() {
    if (threadIdx.x) return;
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    assert(counter == blockIdx.x);
    counter += 1;
    __threadfence();
    atomicExch(&lock, 0);
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    int* out;
    cudaMalloc(&out, 64);
    auto launch = [] { count<<<2, 32>>>(); };
    if (!strcmp(what, "correct")) {
        correct_count<<<2, 32>>>();
    } else if (!strcmp(what, "many")) {
        for (int i = 0; i < atoi(argv[2]); i++) correct_count<<<2, 32>>>();
    } else if (!strcmp(what, "sum")) {
        const int n = atoi(argv[2]);
        int* in;
        cudaMalloc(&in, n * sizeof(int));
        cudaMemset(in, 0, n * sizeof(int));
        add_up<<<64, 128>>>(in, n);
    } else if (!strcmp(what, "plain")) {
        plain<<<1, 16>>>(out);
    } else if (!strcmp(what, "assert")) {
        relies_on_order<<<2, 32>>>();
    } else if (!strcmp(what, "thread")) {
        bool ends = false;
        std::thread other([&] {
            while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) std::this_thread::yield();
        });
        launch();
        __atomic_store_n(&ends, true, __ATOMIC_RELAXED);
        other.join();
    } else {
        launch();
    }
    cudaDeviceSynchronize();
    int counted = 0;
    cudaMemcpyFromSymbol(&counted, counter, 4);
    printf("%d %s\n", counted, cudaGetErrorString(cudaGetLastError()));
    return 0;
}
