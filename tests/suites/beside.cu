// Runs kernels and copies on several streams. Each argument is one operation: a letter for its kind, and
// five letters, from `a`, for the stream, two buffers, an offset and a size. The prover knows the accesses
// of all kernels but `through`, `tidy` and `untidy`.
__global__ void fill(int* a, int n, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = v;
}
__global__ void add(int* a, int n, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += v;
}
__global__ void copy(int* a, const int* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i];
}
__global__ void even(int* a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (i % 2 == 0) a[i] = i;
}
__global__ void odd(int* a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (i % 2 == 1) a[i] = i;
}
__global__ void turn(int* a, int* b) {
    int first = blockIdx.x * blockDim.x;
    a[first + threadIdx.x] = threadIdx.x;
    __syncthreads();
    b[first + threadIdx.x] = a[first + blockDim.x - 1 - threadIdx.x];
}
__global__ void pair(int* a, int* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    __syncwarp();
    b[i] = a[i ^ 1];
}
__global__ void bytes(char* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
__global__ void wide(int4* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = make_int4(i, i, i, i);
}
__global__ void through(const int* index, int* a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[index[i]] = i;
}
__global__ void count(int* a, int* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(a, 1);
    b[i] = i;
}
__global__ void count_in_block(int* a, int* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd_block(a, 1);
    b[i] = i;
}
__global__ void count_pairs(int* a, int* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd((unsigned long long*)a, 1ull);
    b[i] = i;
}
// The sum decides whether a launch adds to `a`, so it is not repeated for the checker. `untidy` forgets a
// barrier.
template <bool tidy> __device__ void sum(int* a, const int* b) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = b[t];
    for (int s = 32; s > 0; s /= 2) {
        if (tidy || s != 32) __syncthreads();
        if (t < s) tile[t] += tile[t + s];
    }
    if (t == 0 && tile[0] != -1) atomicAdd(a, tile[0]);
}
__global__ void tidy(int* a, const int* b) { sum<true>(a, b); }
__global__ void untidy(int* a, const int* b) { sum<false>(a, b); }
__global__ void again(int* a, const int* b, int times) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < times; k++) a[i] += b[i];
}
__device__ int variable[256];
__global__ void named(int* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) variable[i] = a[i];
}
int main(int argc, char** argv) {
    const int N = 512;
    int* buffers[3];
    int* index;
    int host[N];
    for (int i = 0; i < N; i++) host[i] = (i * 7) % 64;
    for (int*& b : buffers) cudaMalloc(&b, N * 4), cudaMemset(b, 0, N * 4);
    cudaMalloc(&index, N * 4);
    cudaMemcpy(index, host, N * 4, cudaMemcpyHostToDevice);
    cudaStream_t streams[4] = {0};
    cudaStreamCreate(&streams[1]);
    cudaStreamCreateWithFlags(&streams[2], cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&streams[3], cudaStreamNonBlocking);
    cudaEvent_t events[2];
    for (cudaEvent_t& e : events) cudaEventCreate(&e);
    cudaDeviceSynchronize();
    for (int k = 1; k < argc; k++) {
        const char* o = argv[k];
        int s = o[1] - 'a', p = o[2] - 'a', q = o[3] - 'a', at = (o[4] - 'a') * 16, n = (o[5] - 'a' + 1) * 16;
        cudaStream_t stream = streams[s % 4];
        int *a = buffers[p % 3] + at, *b = buffers[q % 3] + at;
        int blocks = (n + 63) / 64, threads = n < 64 ? n : 64;
        switch (o[0]) {
        case 'f':
            fill<<<blocks, 64, 0, stream>>>(a, n, k);
            break;
        case 'a':
            add<<<blocks, 64, 0, stream>>>(a, n, k);
            break;
        case 'c':
            copy<<<blocks, 64, 0, stream>>>(a, b, n);
            break;
        case 'e':
            even<<<1, 64, 0, stream>>>(a, n);
            break;
        case 'o':
            odd<<<1, 64, 0, stream>>>(a, n);
            break;
        case 't':
            turn<<<1, threads, 0, stream>>>(a, b);
            break;
        case 'p':
            pair<<<1, threads, 0, stream>>>(a, b);
            break;
        case 'b':
            bytes<<<blocks, 64, 0, stream>>>((char*)a + p, n);
            break;
        case 'w':
            wide<<<1, 64, 0, stream>>>((int4*)a, n / 4);
            break;
        case 'i':
            through<<<1, 64, 0, stream>>>(index, a);
            break;
        case 'n':
            count<<<1, 32, 0, stream>>>(a, b);
            break;
        case 'm':
            count_in_block<<<1, 32, 0, stream>>>(a, b);
            break;
        case 'x':
            count_pairs<<<1, 32, 0, stream>>>(a, b);
            break;
        case 's':
            tidy<<<1, 64, 0, stream>>>(a, b);
            break;
        case 'u':
            untidy<<<1, 64, 0, stream>>>(a, b);
            break;
        case 'l':
            again<<<2, 64, 0, stream>>>(a, b, 200000);
            break;
        case 'v':
            named<<<1, 64, 0, stream>>>(a, n);
            break;
        case 'C':
            cudaMemcpyAsync(a, b, n * 4, cudaMemcpyDeviceToDevice, stream);
            break;
        case 'M':
            cudaMemsetAsync(a, 0, n * 4, stream);
            break;
        case 'H':
            cudaMemcpyAsync(host, a, n * 4, cudaMemcpyDeviceToHost, stream);
            break;
        case 'R':
            cudaEventRecord(events[p % 2], stream);
            break;
        case 'W':
            cudaStreamWaitEvent(stream, events[p % 2], 0);
            break;
        case 'S':
            cudaStreamSynchronize(stream);
            break;
        case 'E':
            cudaEventSynchronize(events[p % 2]);
            break;
        case 'D':
            cudaDeviceSynchronize();
            break;
        case 'F':
            cudaFreeAsync(buffers[p % 3], stream);
            cudaMallocAsync((void**)&buffers[p % 3], N * 4, stream);
            break;
        }
    }
    return cudaDeviceSynchronize();
}
