// The nearest cluster of each point. A point's features lie in a column.
__global__ void kmeans(int n, int clusters, int features, const float* points, const float* centres,
                       int* member) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best = 0;
    float least = 1e30f;
    for (int c = 0; c < clusters; c++) {
        float sum = 0;
        for (int f = 0; f < features; f++) {
            float d = points[f * n + i] - centres[c * features + f];
            sum += d * d;
        }
        if (sum < least) {
            least = sum;
            best = c;
        }
    }
    member[i] = best;
}
#include "kmeans.h"
