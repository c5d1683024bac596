//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A sequence lock lets its reader see the payload while it is written, and throws
// the value away. The accesses race nevertheless, unless they are atomic.
#include "check.h"

#ifdef FIXED
#define SET(at, value) atomicExch(at, value)
#define GET(at) atomicAdd(at, 0)
#else
#define SET(at, value) (*(at) = (value))
#define GET(at) (*(at))
#endif

// A load, so that looking at the sequence releases nothing, as an atomic addition would.
__device__ int load(int* at) {
    int value;
    asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__global__ void run(int* sequence, int* payload, int* started, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        // Nothing but patience: the reader has begun before the writer does.
        while (atomicAdd(started, 0) == 0) {
        }
        atomicAdd(sequence, 1);
        __threadfence();
        SET(&payload[0], 5); //~ A
        SET(&payload[1], 5); //~ B
        __threadfence();
        atomicAdd(sequence, 1);
    } else {
        int before, first, second, after;
        do {
            before = load(sequence);
            __threadfence();
            first = GET(&payload[0]); //~ C
            second = GET(&payload[1]); //~ D
            atomicExch(started, 1);
            __threadfence();
            after = load(sequence);
        } while (before != after || before % 2);
        *out = first == second;
    }
}
//~ RACE[racy] write-read|read-write global grid: A C
//~ RACE[racy] write-read|read-write global grid: B D

int main() {
    Buffer<int> sequence(1), payload(2), started(1), out(1);
    run<<<2, 32>>>(sequence.device, payload.device, started.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 1);
}
