//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A step of EM clustering: each thread holds one point's share of every cluster in shared memory, and the
// first threads add the shares up. The racy form adds before all threads have stored theirs.
#include "check.h"

const int CLUSTERS = 4, THREADS = 64;

__global__ void expectation(const float* points, const float* means, float* weights, int n) {
    __shared__ float share[CLUSTERS][THREADS];
    int t = threadIdx.x;
    for (int c = 0; c < CLUSTERS; c++) share[c][t] = 0; //~ Z
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        float d[CLUSTERS], sum = 0;
        for (int c = 0; c < CLUSTERS; c++) {
            d[c] = 1 / (1 + (points[i] - means[c]) * (points[i] - means[c]));
            sum += d[c];
        }
        for (int c = 0; c < CLUSTERS; c++) share[c][t] += d[c] / sum; //~ A
    }
#ifdef FIXED
    __syncthreads();
#endif
    if (t < CLUSTERS) {
        float sum = 0;
        for (int k = 0; k < THREADS; k++) sum += share[t][k]; //~ B
        weights[blockIdx.x * CLUSTERS + t] = sum;
    }
}
//~ RACE[racy] write-read shared: A B
//~ RACE[racy] write-read shared: Z B

int main() {
    const int n = 512, blocks = 4;
    Buffer<float> points(n), means(CLUSTERS), weights(blocks * CLUSTERS);
    for (int i = 0; i < n; i++) points[i] = i % 40;
    for (int c = 0; c < CLUSTERS; c++) means[c] = 10 * c;
    points.upload(), means.upload();
    expectation<<<blocks, THREADS>>>(points.device, means.device, weights.device, n);
    SYNC();
    weights.download();
    float sum = 0;
    for (int i = 0; i < blocks * CLUSTERS; i++) sum += weights[i];
    return finish(sum > n - 0.5f && sum < n + 0.5f);
}
