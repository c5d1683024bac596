// Each value becomes the mean of itself and its neighbours in the block. The programs in `rust` and `python`
// load this kernel with the CUDA driver API:
//
//   gclang++ -fsanitize=gpurace -fgpurace-exec=cpu --cuda-device-only smooth.cu -o smooth.fatbin
//   cd rust; gpurace run -- cargo run ../smooth.fatbin
//   pip install cuda-bindings; gpurace run -- python3 python/smooth.py smooth.fatbin
//
// `gpurace run -- python3 python/smooth.py smooth.cu` compiles this file while it runs.
//
// A thread reads its neighbours' values before they are there. `-DFIXED` adds the barrier.

extern "C" __global__ void smooth(const float* in, float* out, int n) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? in[i] : 0;
#ifdef FIXED
    __syncthreads();
#endif
    float left = tile[t > 0 ? t - 1 : t];
    float right = tile[t + 1 < blockDim.x ? t + 1 : t];
    if (i < n) out[i] = (left + tile[t] + right) / 3;
}
