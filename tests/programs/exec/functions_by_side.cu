// `__CUDA_ARCH__` chooses between a function for the host and one for the device. While clang compiles one side, it sees
// callers of the other side, too, whose function is then not there. nvcc does not judge them, and some programs rely on
// it.
#include "check.h"

struct Counter {
#ifdef __CUDA_ARCH__
    __device__ explicit Counter(int* place) : place(place) {}
    template <typename T> __device__ T take(T step) { return atomicAdd(place, step); }
#else
    explicit Counter(int* place) : place(place) {}
    template <typename T> T take(T step) {
        T old = *place;
        *place += step;
        return old;
    }
#endif
    int* place;
};

__global__ void on_the_device(int* place) { Counter(place).take(2); }

static void on_the_host(int* place) {
    Counter counter(place);
    counter.take(5);
}

int main() {
    Buffer<int> sum(1);
    on_the_host(&sum[0]);
    sum.upload();
    on_the_device<<<1, 32>>>(sum.device);
    SYNC();
    sum.download();
    return finish(sum[0] == 5 + 2 * 32);
}
