// Runs the code of a kernel of `kernels.cu` with the checks for a GPU on the executor. The suite `executed`
// compiles that code for the executor and puts it into this program's fat-binary slot. This program does by
// hand what the runtime library does on a GPU. The argument names the kernel.
#include <cstdio>
#include <cstring>
#include <vector>

#include "layout.h"

using namespace gpurace;

// Stubs of the kernels. Their code is in the fat-binary slot.
#define K(name)                                                                                              \
    extern "C" __global__ void name##__gpurace_checked(int* a, int n, u64 cell) {}
#include "kernels.inc"
#undef K
extern "C" __global__ void on_gpu_begin(u64 cell, u64 turn, u64 blocks, u64 number, u64 first_uid,
                                        u64 observes, u64 slots, u64 ranges, u64 range_count, u64 before,
                                        u64 turn_before) {}
extern "C" {
__device__ CheckerState on_gpu_state;
}
__device__ int counter;

static void must(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorName(error));
    exit(2);
}

// Returns device memory that is all zeros.
static u64 zeros(size_t bytes) {
    void* address;
    must(cudaMalloc(&address, bytes), "cudaMalloc");
    must(cudaMemset(address, 0, bytes), "cudaMemset");
    return (u64)address;
}

int main(int argc, char** argv) {
    const int blocks = 8, threads = 256, n = blocks * threads, launches = 3;
    const u64 slots = 64, shared = 16 << 10, races = 1024;
    int* a = (int*)zeros(n * sizeof(int));
    u64 cells = zeros(launches * sizeof(LaunchCell));
    void* variable;
    must(cudaGetSymbolAddress(&variable, counter), "counter");
    ShadowRange range = {(u64)variable, (u64)variable + 4, zeros(8)};
    u64 ranges = zeros(sizeof range);
    must(cudaMemcpy((void*)ranges, &range, sizeof range, cudaMemcpyHostToDevice), "ranges");
    const u64 stride = 8 + 2 * shared;
    SlotSet set = {zeros(slots / 8), zeros(slots * stride), slots, stride, shared};
    u64 sets = zeros(sizeof set);
    must(cudaMemcpy((void*)sets, &set, sizeof set, cudaMemcpyHostToDevice), "slots");
    CheckerState state = {};
    state.window = (u64)a;
    state.window_size = n * sizeof(int);
    state.shadow = zeros(2 * state.window_size);
    state.counters = zeros(sizeof(Counters));
    state.races = zeros(races * sizeof(FoundRace));
    state.race_capacity = races;
    state.race_counters = zeros(kRaceCounters * 4);
    state.orders = 1;
    must(cudaMemcpyToSymbol(on_gpu_state, &state, sizeof state), "state");

    // Launches that come one after the other share shadow, slots and clocks.
    for (int launch = 0; launch < launches; launch++) {
        u64 cell = cells + launch * sizeof(LaunchCell);
        on_gpu_begin<<<1, 1>>>(cell, 1, blocks, launch + 1, launch * blocks, 0, sets, ranges, 1, 0, 0);
#define K(name)                                                                                              \
    if (!strcmp(argv[1], #name)) name##__gpurace_checked<<<blocks, threads>>>(a, n, cell);
#include "kernels.inc"
#undef K
        must(cudaGetLastError(), "launch");
        must(cudaDeviceSynchronize(), "kernel");
    }

    Counters counted;
    must(cudaMemcpy(&counted, (void*)state.counters, sizeof counted, cudaMemcpyDeviceToHost), "counters");
    std::vector<LaunchCell> of_launches(launches);
    must(cudaMemcpy(of_launches.data(), (void*)cells, launches * sizeof(LaunchCell), cudaMemcpyDeviceToHost),
         "cells");
    u64 checks = 0;
    for (auto& launch : of_launches) checks += launch.checks;
    std::vector<FoundRace> found(races);
    must(cudaMemcpy(found.data(), (void*)state.races, races * sizeof(FoundRace), cudaMemcpyDeviceToHost),
         "races");
    printf("checks %lu undecided %lu narrowed %lu outside %lu shared_outside %lu contended %lu exhausted %lu "
           "taken %d\n",
           checks, counted.undecided, counted.narrowed, counted.outside, counted.shared_outside,
           counted.contended, counted.exhausted, [&] {
               int taken = 0;
               std::vector<u32> bits(slots / 32);
               must(cudaMemcpy(bits.data(), (void*)set.bits, slots / 8, cudaMemcpyDeviceToHost), "slots");
               for (u32 word : bits) taken += __builtin_popcount(word);
               return taken;
           }());
    for (u64 at = 0; at < counted.races && at < races; at++)
        printf("race site %u op %u earlier %d op %u relation %u shared %u launch %lu\n", found[at].site,
               found[at].op, (int)found[at].earlier_site, found[at].earlier_op, found[at].relation,
               found[at].shared, found[at].launch);
}
