//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// Scalar products of pairs of vectors, one pair after the other in each block: partial sums lie in shared memory and are
// added by halves. The racy form starts on its next pair while its first thread may still read the sum.
#include "check.h"

const int PARTS = 64, THREADS = 32;

__global__ void scalar_products(const int* a, const int* b, int* products, int vectors, int length) {
    __shared__ int sums[PARTS];
    for (int v = blockIdx.x; v < vectors; v += gridDim.x) {
        const int *x = a + v * length, *y = b + v * length;
        for (int part = threadIdx.x; part < PARTS; part += blockDim.x) {
            int sum = 0;
            for (int i = part; i < length; i += PARTS) sum += x[i] * y[i];
            sums[part] = sum; //~ A
        }
        for (int stride = PARTS / 2; stride > 0; stride /= 2) {
            __syncthreads();
            for (int part = threadIdx.x; part < stride; part += blockDim.x) sums[part] += sums[stride + part]; //~ B
        }
#ifdef FIXED
        __syncthreads();
#endif
        if (threadIdx.x == 0) products[v] = sums[0];
    }
}
//~ RACE[racy] write-read shared: A B

int main() {
    const int vectors = 16, length = 128;
    Buffer<int> a(vectors * length), b(vectors * length), products(vectors);
    for (int i = 0; i < vectors * length; i++) a[i] = i % 11, b[i] = i % 7;
    a.upload(), b.upload();
    scalar_products<<<4, THREADS>>>(a.device, b.device, products.device, vectors, length);
    SYNC();
    products.download();
    bool right = true;
    for (int v = 0; v < vectors; v++) {
        int sum = 0;
        for (int i = 0; i < length; i++) sum += a[v * length + i] * b[v * length + i];
        right &= products[v] == sum;
    }
    return finish(right);
}
