// A sum in shared memory, with a barrier missing between its rounds.
//
//     gclang -fsanitize=gpurace -fgpurace-exec=cpu reduction.cu -o reduction
//     ./reduction
//
// In each round half of the threads add the other half's partial sums. Nothing
// makes a thread wait for the sum that it reads: gpurace reports the read and
// the write, both on one line. With -DFIXED the rounds are separated by a
// barrier, and nothing is reported.
#include <cstdio>

__global__ void reduce(const float* in, float* out) {
    __shared__ float tile[256];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
#ifdef FIXED
        __syncthreads();
#endif
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}

int main() {
    const int blocks = 4, n = blocks * 256;
    float host[n], sums[blocks], *in, *out;
    for (int i = 0; i < n; i++) host[i] = i % 10;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof sums);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);

    reduce<<<blocks, 256>>>(in, out);

    cudaError_t error = cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
        fprintf(stderr, "reduction: %s\n", cudaGetErrorString(error));
        return 2;
    }
    float sum = 0, wanted = 0;
    for (float s : sums) sum += s;
    for (float x : host) wanted += x;
    printf("sum %g, wanted %g: %s\n", sum, wanted, sum == wanted ? "right" : "wrong");
    cudaFree(in);
    cudaFree(out);
    // A racy build may print either: the schedule decides. Only the report tells.
#ifdef FIXED
    return sum == wanted ? 0 : 1;
#else
    return 0;
#endif
}
