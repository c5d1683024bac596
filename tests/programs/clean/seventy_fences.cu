// One thread per block passes a token through 70 stages, with a fence at each.
#include "check.h"

__global__ void relay(int* values, int* token, int stages) {
    if (threadIdx.x) return;
    for (int stage = 0; stage < stages; stage++) {
        int turn = stage * gridDim.x + blockIdx.x;
        while (atomicAdd(token, 0) != turn) {
        }
        __threadfence();
        values[stage % 4] += turn;
        __threadfence();
        atomicAdd(token, 1);
    }
}

int main() {
    Buffer<int> values(4), token(1);
    relay<<<3, 32>>>(values.device, token.device, 70);
    SYNC();
    values.download();
    int sum = values[0] + values[1] + values[2] + values[3];
    return finish(sum == 210 * 209 / 2);
}
