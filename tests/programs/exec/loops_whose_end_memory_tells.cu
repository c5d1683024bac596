// Loops with barriers whose number of iterations stands in memory. Threads may run as a loop between two barriers then.
#include <algorithm>
#include <vector>

#include "check.h"

const int THREADS = 64, BLOCKS = 6;

struct Filter {
    int steps, weight;
};

// Each block adds up its segment, whose ends an array gives.
__global__ void segments(const int* ends, const int* in, int* out) {
    __shared__ int sums[THREADS];
    int t = threadIdx.x, sum = 0;
    for (int first = ends[blockIdx.x]; first < ends[blockIdx.x + 1]; first += THREADS) {
        int i = first + t;
        sums[t] = i < ends[blockIdx.x + 1] ? in[i] : 0;
        __syncthreads();
        sum += sums[(t + 1) % THREADS] + sums[t];
        __syncthreads();
    }
    out[blockIdx.x * THREADS + t] = sum;
}

// Each block lets its numbers spread until none changes. Its first thread tells the others in shared memory.
__global__ void spread(int* numbers) {
    __shared__ int row[THREADS], moved[THREADS], changed;
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    row[t] = numbers[i];
    do {
        __syncthreads();
        int left = t ? row[t - 1] : 0, own = row[t];
        __syncthreads();
        row[t] = left > own ? left : own;
        moved[t] = left > own;
        __syncthreads();
        if (t == 0) {
            changed = 0;
            for (int i = 0; i < THREADS; i++) changed |= moved[i];
        }
        __syncthreads();
    } while (changed);
    numbers[i] = row[t];
}

// As many steps as a struct says, in another loop for each filter. One filter has no step.
__global__ void filters(const Filter* all, int count, int* numbers) {
    __shared__ int row[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    row[t] = numbers[i];
    __syncthreads();
    for (int f = 0; f < count; f++) {
        for (int step = 0; step < all[f].steps; step++) {
            int next = row[(t + 1) % THREADS] + all[f].weight * row[t];
            __syncthreads();
            row[t] = next & 0xffff;
            __syncthreads();
        }
    }
    numbers[i] = row[t];
}

int main() {
    bool right = true;
    Buffer<int> ends(BLOCKS + 1), in(1000), out(BLOCKS * THREADS), numbers(BLOCKS * THREADS), again(BLOCKS * THREADS);
    for (int i = 0; i < 1000; i++) in[i] = i % 7;
    for (int b = 1; b <= BLOCKS; b++) ends[b] = ends[b - 1] + (b % 3 ? 61 * b : 0);
    for (int i = 0; i < BLOCKS * THREADS; i++) again[i] = numbers[i] = i * 37 % 101;
    Buffer<Filter> all(3);
    all[0] = {3, 2};
    all[1] = {0, 5};
    all[2] = {2, 7};
    std::vector<int> before(BLOCKS * THREADS);
    for (int i = 0; i < BLOCKS * THREADS; i++) before[i] = numbers[i];
    ends.upload();
    in.upload();
    numbers.upload();
    again.upload();
    all.upload();
    segments<<<BLOCKS, THREADS>>>(ends.device, in.device, out.device);
    spread<<<BLOCKS, THREADS>>>(numbers.device);
    filters<<<BLOCKS, THREADS>>>(all.device, 3, again.device);
    SYNC();
    out.download();
    numbers.download();
    again.download();
    for (int b = 0; b < BLOCKS; b++) {
        std::vector<int> sums(THREADS), row(before.begin() + b * THREADS, before.begin() + (b + 1) * THREADS), next(row);
        for (int i = ends[b]; i < ends[b + 1]; i++) sums[(i - ends[b]) % THREADS] += in[i];
        int most = 0;
        for (int t = 0; t < THREADS; t++) {
            most = std::max(most, row[t]);
            right &= out[b * THREADS + t] == sums[t] + sums[(t + 1) % THREADS];
            right &= numbers[b * THREADS + t] == most;
        }
        for (int f = 0; f < 3; f++)
            for (int step = 0; step < all[f].steps; step++, row = next)
                for (int t = 0; t < THREADS; t++)
                    next[t] = (row[(t + 1) % THREADS] + all[f].weight * row[t]) & 0xffff;
        for (int t = 0; t < THREADS; t++) right &= again[b * THREADS + t] == row[t];
    }
    return finish(right);
}
