// A histogram whose bins are counted by plain increments.
//
//     gclang -fsanitize=gpurace -fgpurace-exec=cpu histogram.cu -o histogram
//     ./histogram
//
// `bins[b]++` is a read, an addition and a write. Threads with values of one
// bin do it at the same time, within a block and between blocks, and counts are
// lost. gpurace reports the line. With -DFIXED the increments are atomic.
#include <cstdio>
#include <cstring>

constexpr int BINS = 26;

__global__ void count_letters(const char* text, int length, int* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length) return;
    char c = text[i] | 0x20;
    if (c < 'a' || c > 'z') return;
#ifdef FIXED
    atomicAdd(&bins[c - 'a'], 1);
#else
    bins[c - 'a']++;
#endif
}

int main() {
    // Lewis Carroll, Alice's Adventures in Wonderland, 1865.
    const char text[] =
        "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
        "nothing to do: once or twice she had peeped into the book her sister was reading, but it "
        "had no pictures or conversations in it, 'and what is the use of a book,' thought Alice "
        "'without pictures or conversations?'";
    const int length = strlen(text);
    char* device_text;
    int *device_bins, bins[BINS], wanted[BINS] = {};
    cudaMalloc(&device_text, length);
    cudaMalloc(&device_bins, sizeof bins);
    cudaMemcpy(device_text, text, length, cudaMemcpyHostToDevice);
    cudaMemset(device_bins, 0, sizeof bins);

    count_letters<<<(length + 63) / 64, 64>>>(device_text, length, device_bins);

    cudaError_t error = cudaMemcpy(bins, device_bins, sizeof bins, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
        fprintf(stderr, "histogram: %s\n", cudaGetErrorString(error));
        return 2;
    }
    for (char c : text) {
        char lower = c | 0x20;
        if (lower >= 'a' && lower <= 'z') wanted[lower - 'a']++;
    }
    bool right = memcmp(bins, wanted, sizeof bins) == 0;
    printf("letter e: %d, wanted %d; all letters: %s\n", bins['e' - 'a'], wanted['e' - 'a'],
           right ? "right" : "wrong");
    cudaFree(device_text);
    cudaFree(device_bins);
    // A racy build may print either: the schedule decides. Only the report tells.
#ifdef FIXED
    return right ? 0 : 1;
#else
    return 0;
#endif
}
