//@ revisions: racy
//@ findings: loop-back-edge loop-back-edge loop-back-edge loop-back-edge loop-back-edge
//@ fixes: 4
// The barrier belongs at the end of a loop's body, which has no braces, or has them on one line. A body whose end some
// threads skip has no such place.
#include "check.h"

#define WIDTH 256

__global__ void sum_in_a_line(int* data) {
    __shared__ int tile[WIDTH];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int s = WIDTH / 2; s > 0; s /= 2) if (t < s) tile[t] += tile[t + s]; //~ LINE
    if (t == 0) data[0] = tile[0];
}
//~ RACE read-write|write-read shared: LINE LINE

__global__ void sum_in_lines(int* data) {
    __shared__ int tile[WIDTH];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int s = WIDTH / 2; s > 0; s /= 2)
        if (t < s)
            tile[t] += tile[t + s]; //~ LINES
    if (t == 0) data[0] = tile[0];
}
//~ RACE read-write|write-read shared: LINES LINES

__global__ void sum_in_braces(int* data) {
    __shared__ int tile[WIDTH];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int s = WIDTH / 2; s > 0; s /= 2) { if (t < s) tile[t] += tile[t + s]; } //~ BRACES
    if (t == 0) data[0] = tile[0];
}
//~ RACE read-write|write-read shared: BRACES BRACES

__global__ void sum_of_inner_loops(int* data) {
    __shared__ int tile[WIDTH];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int s = WIDTH / 4; s > 0; s /= 4)
        for (int i = 1; i < 4; i++)
            if (t < s) tile[t] += tile[t + i * s]; //~ INNER
    if (t == 0) data[0] = tile[0];
}
//~ RACE read-write|write-read shared: INNER INNER

__global__ void sum_with_continue(int* data) {
    __shared__ int tile[WIDTH];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int s = WIDTH / 2; s > 0; s /= 2) if (t >= s) continue; else tile[t] += tile[t + s]; //~ CONTINUE
    if (t == 0) data[0] = tile[0];
}
//~ RACE read-write|write-read shared: CONTINUE CONTINUE

int main() {
    Buffer<int> data(WIDTH);
    iota(data);
    sum_in_a_line<<<1, WIDTH>>>(data.device);
    sum_in_lines<<<1, WIDTH>>>(data.device);
    sum_in_braces<<<1, WIDTH>>>(data.device);
    sum_of_inner_loops<<<1, WIDTH>>>(data.device);
    sum_with_continue<<<1, WIDTH>>>(data.device);
    SYNC();
    return finish(true);
}
