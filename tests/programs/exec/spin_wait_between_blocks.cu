// A block that waits for a later block in a loop makes progress.
#include "check.h"

__global__ void turns(int* turn, int* order) {
    if (threadIdx.x) return;
    int me = gridDim.x - 1 - blockIdx.x;
    while (atomicAdd(turn, 0) != me) {
    }
    atomicExch(&order[me], blockIdx.x);
    atomicAdd(turn, 1);
}

int main() {
    Buffer<int> turn(1), order(4);
    turns<<<4, 32>>>(turn.device, order.device);
    SYNC();
    order.download();
    return finish(order[0] == 3 && order[1] == 2 && order[3] == 0);
}
