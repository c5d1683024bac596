//@ stdout: right
// A thread reads what it wrote before, also where it reads and writes several elements in a row under two names.
#include "check.h"

constexpr int N = 256;

struct Pair {
    int x, y;
};

// `in` and `out` may be the same array. Each thread has two elements, and writes one before it reads the other.
__global__ void pairs(const int* in, int* out) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    int u = in[i];
    out[i + 1] = 3 * u;
    int v = in[i + 1];
    out[i] = v - 5;
}

// The same with four elements, in an order of their own.
__global__ void fours(const int* in, int* out) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    int a = in[i + 3];
    out[i] = a + 1;
    int b = in[i];
    out[i + 2] = b * a;
    out[i + 1] = in[i + 2] - in[i + 1];
    out[i + 3] = in[i + 1];
}

// Elements of shared memory under two names.
__global__ void fields(const Pair* in, Pair* out, int shift) {
    __shared__ Pair tile[N + 1];
    int t = threadIdx.x;
    Pair* left = tile + t;
    Pair* right = tile + t + shift;
    *left = in[t];
    left->x += 2;
    right->y = left->x;
    int y = left->y;
    right->x = y + 7;
    out[t] = Pair{left->x, left->y};
}

// An array of each thread's own, which it keeps over a barrier.
__global__ void kept(const int* in, int* out) {
    __shared__ int sums[N];
    int t = threadIdx.x, own[3];
    for (int j = 0; j < 3; j++) own[j] = in[3 * t + j];
    sums[t] = own[0] + own[1] + own[2];
    __syncthreads();
    int sum = sums[(t + 1) % blockDim.x];
    int* write = own;
    for (int j = 0; j < 3; j++) {
        int next = sum + own[j];
        write[j] = sum;
        sum = next;
    }
    for (int j = 0; j < 3; j++) out[3 * t + j] = own[j];
}

int main() {
    Buffer<int> array(4 * N), result(3 * N);
    bool right = true;
    auto expect = [&](const char* name, int i, int found, int wanted) {
        if (found != wanted && right) printf("%s: element %d is %d, wanted %d\n", name, i, found, wanted);
        right = right && found == wanted;
    };

    iota(array);
    pairs<<<2, N / 2>>>(array.device, array.device);
    SYNC();
    array.download();
    for (int i = 0; i < 2 * N; i += 2) {
        expect("pairs", i, array[i], 3 * i - 5);
        expect("pairs", i + 1, array[i + 1], 3 * i);
    }

    iota(array);
    fours<<<2, N / 2>>>(array.device, array.device);
    SYNC();
    array.download();
    for (int i = 0; i < 4 * N; i += 4) {
        int first = i + 4, third = (i + 4) * (i + 3), second = third - (i + 1);
        expect("fours", i, array[i], first);
        expect("fours", i + 1, array[i + 1], second);
        expect("fours", i + 2, array[i + 2], third);
        expect("fours", i + 3, array[i + 3], second);
    }

    iota(array);
    fields<<<1, N>>>(reinterpret_cast<Pair*>(array.device), reinterpret_cast<Pair*>(array.device) + N, 0);
    SYNC();
    array.download();
    for (int t = 0; t < N; t++) {
        expect("fields", 2 * t, array[2 * (N + t)], 2 * t + 2 + 7);
        expect("fields", 2 * t + 1, array[2 * (N + t) + 1], 2 * t + 2);
    }

    iota(array);
    kept<<<1, N>>>(array.device, result.device);
    SYNC();
    result.download();
    for (int t = 0; t < N; t++) {
        int sum = 9 * ((t + 1) % N) + 3;
        for (int j = 0; j < 3; j++) {
            expect("kept", 3 * t + j, result[3 * t + j], sum);
            sum += 3 * t + j;
        }
    }
    return finish(right);
}
