//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A counting semaphore of libcu++ hands items from one block to another: what is written after its release is not handed over.
#include <cuda/semaphore>
#include "check.h"

using Semaphore = cuda::counting_semaphore<cuda::thread_scope_device>;

__global__ void start(Semaphore* items) { new (items) Semaphore(0); }

__global__ void hand_over(Semaphore* items, int* data, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        for (int i = 0; i < 4; i++) {
#ifdef RACY
            items->release();
            data[i] = i + 1; //~ A
#else
            data[i] = i + 1;
            items->release();
#endif
        }
    } else {
        int sum = 0;
        for (int i = 0; i < 4; i++) {
            items->acquire();
            sum += data[i]; //~ B
        }
        *out = sum;
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> data(4), out(1);
    Semaphore* items;
    CUDA(cudaMalloc(&items, sizeof(Semaphore)));
    start<<<1, 1>>>(items);
    hand_over<<<2, 32>>>(items, data.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 10);
}
