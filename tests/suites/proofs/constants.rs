//! Values in constant memory, which a launch reads as it reads its arguments.

/// Kernels whose places follow from constant memory. The program's argument chooses one, and what is in there.
const SOURCE: &str = r#"
#include <cstdlib>
struct Image { float scale; int width, height; };
__constant__ Image image;
__constant__ int to[64], offsets[9];
__constant__ float* rows[4];
__constant__ float* result;
// Each thread writes an element of its row.
__global__ void by_width(float* out) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < 32 && y < image.height) out[y * image.width + x] = image.scale;
}
__global__ void by_table(float* out) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[to[t]] = t;
    out[blockIdx.x * 64 + to[t]] = t;
    __syncthreads();
    out[blockIdx.x * 64 + t + 256] = tile[63 - t];
}
// A thread pushes to the neighbours of its element. Each neighbour has a part of the result.
__global__ void by_offsets(const float* in, float* out, int part) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 64;
    for (int k = 0; k < 9; ++k) out[k * part + i + offsets[k]] = in[i];
}
__global__ void by_pointer(const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    result[i] = in[i + 1];
}
__global__ void by_pointers() {
    rows[blockIdx.x][threadIdx.x] = threadIdx.x;
}
template <class T> void set(T& symbol, const T& value) { cudaMemcpyToSymbol(symbol, &value, sizeof value); }
int main(int, char** argv) {
    int which = atoi(argv[1]), table[64];
    float *a, *b;
    cudaMalloc(&a, 16384);
    cudaMalloc(&b, 16384);
    cudaMemset(a, 0, 16384);
    for (int i = 0; i < 64; ++i) table[i] = i * 27 % 64;
    Image shape{1, 64, 4}, narrow{1, 16, 4};
    float *apart[4] = {a, b, a + 64, b + 64}, *twice[4] = {a, b, b + 64, b + 64};
    int far[9], near[9];
    for (int k = 0; k < 9; ++k) {
        far[k] = (k / 3 - 1) * 16 + k % 3 - 1;
        near[k] = -k * 127;
    }
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    switch (which) {
    case 0: set(image, shape); by_width<<<4, 64>>>(a); break;
    case 1: set(image, narrow); by_width<<<4, 64>>>(a); break;
    case 2:
        set(image, shape); by_width<<<4, 64>>>(a);
        set(image, narrow); by_width<<<4, 64>>>(a);
        break;
    case 3:
        cudaMemcpyToSymbolAsync(image, &shape, sizeof shape, 0, cudaMemcpyHostToDevice, stream);
        by_width<<<4, 64, 0, stream>>>(a);
        cudaMemcpyToSymbolAsync(image, &narrow, sizeof shape, 0, cudaMemcpyHostToDevice, stream);
        by_width<<<4, 64, 0, stream>>>(a);
        break;
    case 4: case 5: {
        // What a graph copies is read at each of its launches.
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        Image now = shape;
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        cudaMemcpyToSymbolAsync(image, &now, sizeof now, 0, cudaMemcpyHostToDevice, stream);
        by_width<<<4, 64, 0, stream>>>(a);
        cudaStreamEndCapture(stream, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        if (which == 5) now = narrow;
        cudaGraphLaunch(exec, stream);
        break;
    }
    case 6: cudaMemcpyToSymbol(to, table, sizeof table); by_table<<<4, 64>>>(a); break;
    case 7: table[5] = table[60]; cudaMemcpyToSymbol(to, table, sizeof table); by_table<<<4, 64>>>(a); break;
    case 8: table[63] = table[5]; cudaMemcpyToSymbol(to, table, sizeof table); by_table<<<4, 63>>>(a); break;
    case 9: cudaMemcpyToSymbol(offsets, far, sizeof far); by_offsets<<<2, 64>>>(a, b, 256); break;
    case 10: cudaMemcpyToSymbol(offsets, near, sizeof near); by_offsets<<<2, 64>>>(a, b + 1024, 128); break;
    case 11: cudaMemcpyToSymbol(result, &b, sizeof b); by_pointer<<<4, 64>>>(a); break;
    case 12: cudaMemcpyToSymbol(result, &a, sizeof a); by_pointer<<<4, 64>>>(a); break;
    case 13: cudaMemcpyToSymbol(rows, apart, sizeof apart); by_pointers<<<4, 64>>>(); break;
    case 14: cudaMemcpyToSymbol(rows, twice, sizeof twice); by_pointers<<<4, 64>>>(); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn values_in_constant_memory_are_known_at_the_launch() {
    let clean = [0, 4, 6, 8, 9, 11, 13];
    super::compare(SOURCE, "proofs_constants", 0..=14, &clean, &clean);
}

/// Numbers in a table that never changes lead to elements of the threads' own, or to those of others.
#[test]
fn tables_of_the_source_lead_to_elements() {
    let source = r#"
#include <cstdlib>
// Each direction has a plane of its own, whose rows and columns are rings, as in a lattice Boltzmann method.
__global__ void stream(const float* in, float* out, int nx, int ny, int planes) {
    const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= nx) return;
    for (int i = 0; i < 9; ++i) {
        int to = (y + dy[i] + ny) % ny * nx + (x + dx[i] + nx) % nx;
        out[i % planes * nx * ny + to] = in[i * nx * ny + y * nx + x];
    }
}
// Each thread has a part of a table's order, in shared memory.
static __device__ const unsigned char place[2][8] = {{3, 1, 0, 2, 7, 5, 6, 4}, {0, 2, 4, 6, 1, 3, 5, 6}};
__global__ void shuffled(float* out, int row) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t / 8 * 8 + place[row][t % 8]] = t;
    __syncthreads();
    out[t] = tile[t];
}
int main(int, char** argv) {
    float *in, *out;
    cudaMalloc(&in, 9 * 4 * 40 * 20);
    cudaMalloc(&out, 9 * 4 * 40 * 20);
    cudaMemset(in, 0, 9 * 4 * 40 * 20);
    switch (atoi(argv[1])) {
    case 0: stream<<<dim3(2, 20), 32>>>(in, out, 40, 20, 9); break;
    // The last direction goes to the first plane.
    case 1: stream<<<dim3(2, 20), 32>>>(in, out, 40, 20, 8); break;
    case 2: shuffled<<<1, 64>>>(out, 0); break;
    // The place 6 is there twice.
    case 3: shuffled<<<1, 64>>>(out, 1); break;
    }
    return cudaDeviceSynchronize();
}
"#;
    super::compare(source, "proofs_fixed_tables", 0..=3, &[0, 2], &[0, 2]);
}
