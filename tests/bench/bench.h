// Buffers, launches and timing for the host side of every benchmark, over CUDA or, with BENCH_OPENCL, over
// OpenCL. Both sides of a comparison run the same host program with the same input, and check the result
// alike.
//
// A program prints its name, the nanoseconds of each repetition, and the bytes of its buffers, on one line.
// It fails if its result is wrong.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#ifdef BENCH_OPENCL
#include "opencl.h"
#else
#include "cuda.h"
#endif

struct Bench {
    // Whether to run at a size at which only the result matters.
    bool tiny;
    int repetitions;

    Bench(int argc, char** argv) {
        tiny = argc > 1 && !strcmp(argv[1], "tiny");
        repetitions = tiny ? 2 : argc > 1 ? atoi(argv[1]) : 5;
        start(argv[0]);
    }

    int size(int full, int small) const { return tiny ? small : full; }

    // Times `run`, after one time that does not count: code is loaded, or with
    // OpenCL compiled, when it first runs. `prepare` comes before each, untimed.
    template <class Prepare, class Run> void time(const char* name, Prepare prepare, Run run) const {
        printf("%s", name);
        for (int i = 0; i <= repetitions; i++) {
            prepare();
            finish();
            auto begin = std::chrono::steady_clock::now();
            run();
            finish();
            auto end = std::chrono::steady_clock::now();
            if (i > 0) printf(" %lld", (long long)std::chrono::nanoseconds(end - begin).count());
        }
        printf(" bytes %zu\n", buffer_bytes);
        fflush(stdout);
        if (getenv("BENCH_MEMORY")) fprintf(stderr, "memory %zu\n", device_memory());
    }
};

// Gives the same numbers on each machine.
struct Random {
    uint32_t state = 12345;
    uint32_t next() {
        state = state * 1664525u + 1013904223u;
        return state >> 8;
    }
    float unit() { return (float)(next() & 0xffff) / 65536.0f; }
};

inline void expect(bool holds, const char* what, long at) {
    if (!holds) {
        fprintf(stderr, "wrong result: %s at %ld\n", what, at);
        exit(1);
    }
}
