__kernel void kmeans(int n, int clusters, int features, __global const float* points,
                     __global const float* centres, __global int* member) {
    int i = get_global_id(0);
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
