// Kernels that race only in launches that they are not for: with a length that is no power of two, more threads than rows, a
// negative size. None of these is a warning at compile time.
#include "check.h"

#define PADDED(i) ((i) + ((i) >> 5))

__global__ void add_up(const int* in, int* out, int size) {
    __shared__ int values[512];
    int t = threadIdx.x, apart = 1;
    values[PADDED(t)] = in[t];
    values[PADDED(t + size / 2)] = in[t + size / 2];
    for (int left = size >> 1; left > 0; left >>= 1) {
        __syncthreads();
        if (t < left) values[PADDED(apart * (2 * t + 2) - 1)] += values[PADDED(apart * (2 * t + 1) - 1)];
        apart <<= 1;
    }
    __syncthreads();
    if (t == 0) out[0] = values[PADDED(size - 1)];
}

// One block for each head; each of `Bc` threads has a row of the tiles.
__global__ void attention(const float* Q, const float* K, const float* V, int N, int d, int Tc, int Tr, int Bc, int Br, float* sums,
                          float* O) {
    extern __shared__ float tiles[];
    int tx = threadIdx.x, head = blockIdx.x * N * d, size = Bc * d;
    float *Qi = tiles, *Kj = &tiles[size], *Vj = &tiles[size * 2], *S = &tiles[size * 3];
    for (int j = 0; j < Tc; j++) {
        for (int x = 0; x < d; x++) {
            Kj[tx * d + x] = K[head + size * j + tx * d + x];
            Vj[tx * d + x] = V[head + size * j + tx * d + x];
        }
        __syncthreads();
        for (int i = 0; i < Tr; i++) {
            for (int x = 0; x < d; x++) Qi[tx * d + x] = Q[head + size * i + tx * d + x];
            float sum = sums[blockIdx.x * N + Br * i + tx];
            for (int y = 0; y < Bc; y++) {
                float product = 0;
                for (int x = 0; x < d; x++) product += Qi[tx * d + x] * Kj[y * d + x];
                S[Bc * tx + y] = product;
                sum += product;
            }
            for (int x = 0; x < d; x++) {
                float value = 0;
                for (int y = 0; y < Bc; y++) value += S[Bc * tx + y] * Vj[y * d + x];
                O[head + size * i + tx * d + x] += value;
            }
            sums[blockIdx.x * N + Br * i + tx] = sum;
        }
        __syncthreads();
    }
}

__global__ void turn(int* ring, int n) {
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t & (n - 1)] = ring[t];
    __syncthreads();
    ring[t] = tile[(t + 1) & (n - 1)];
}

__global__ void halve(float* a, int rows) {
    extern __shared__ float part[];
    int t = threadIdx.x;
    part[t] = a[t];
    part[t + rows] = a[t + rows];
    __syncthreads();
    a[t] = part[t] + part[t + rows];
}

int main() {
    const int N = 64, d = 8, Bc = 16;
    Buffer<int> in(256), out(1), ring(64);
    Buffer<float> Q(2 * N * d), K(2 * N * d), V(2 * N * d), O(2 * N * d), sums(2 * N), a(64);
    iota(in);
    iota(ring);
    add_up<<<1, 128>>>(in.device, out.device, 256);
    attention<<<2, Bc, (3 * Bc * d + Bc * Bc) * 4>>>(Q.device, K.device, V.device, N, d, N / Bc, N / Bc, Bc, Bc, sums.device,
                                                     O.device);
    turn<<<1, 64>>>(ring.device, 64);
    halve<<<1, 32, 64 * 4>>>(a.device, 32);
    SYNC();
    out.download();
    ring.download();
    return finish(out[0] == 255 * 128 && ring[0] == 1 && ring[63] == 0);
}
