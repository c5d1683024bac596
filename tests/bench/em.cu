// A step of EM clustering: each thread adds the shares of its points in every cluster, in shared memory.
// Then the first threads add the sums of all threads.
#include "bench.h"

const int CLUSTERS = 4, THREADS = 128, BLOCKS = 64;

__global__ void em(const float* points, const float* means, float* weights, int n) {
    __shared__ float share[CLUSTERS][THREADS];
    int t = threadIdx.x;
    for (int c = 0; c < CLUSTERS; c++) share[c][t] = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        float d[CLUSTERS], sum = 0;
        for (int c = 0; c < CLUSTERS; c++) {
            d[c] = 1 / (1 + (points[i] - means[c]) * (points[i] - means[c]));
            sum += d[c];
        }
        for (int c = 0; c < CLUSTERS; c++) share[c][t] += d[c] / sum;
    }
    __syncthreads();
    if (t < CLUSTERS) {
        float sum = 0;
        for (int k = 0; k < THREADS; k++) sum += share[t][k];
        weights[blockIdx.x * CLUSTERS + t] = sum;
    }
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 20, 1 << 14);
    std::vector<float> points(n), means(CLUSTERS);
    for (int i = 0; i < n; i++) points[i] = i % 40;
    for (int c = 0; c < CLUSTERS; c++) means[c] = 10 * c;
    Buffer<float> dpoints(points), dmeans(means), dweights(BLOCKS * CLUSTERS);
    bench.time("em", [] {}, [&] { LAUNCH(em, (BLOCKS), (THREADS), dpoints, dmeans, dweights, n); });
    double sum = 0;
    for (float weight : dweights.read()) sum += weight;
    expect(fabs(sum - n) < 1e-4 * n, "sum of shares", 0);
}
