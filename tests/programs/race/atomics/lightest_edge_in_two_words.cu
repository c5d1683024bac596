//@ revisions: racy fixed
//@[racy] findings: several-writers
// Boruvka's step: each node wants the lightest edge at it, weight and number. Packed into
// one word an `atomicMin` finds it; weight by atomic and number by a store do not agree.
#include "check.h"

typedef unsigned long long Word;

__global__ void choose(const int* node, const unsigned* weight, unsigned* lightest, int* number, Word* packed) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    atomicMin(&packed[node[e]], (Word)weight[e] << 32 | e);
#else
    if (atomicMin(&lightest[node[e]], weight[e]) > weight[e]) number[node[e]] = e; //~ A
#endif
}
//~ RACE[racy] write-write global other-value: A A

int main() {
    const int n = 8, m = 128;
    Buffer<int> node(m), number(n);
    Buffer<unsigned> weight(m), lightest(n);
    Buffer<Word> packed(n);
    for (int e = 0; e < m; e++) {
        node[e] = e % n;
        weight[e] = 1000 - e;
    }
    for (int v = 0; v < n; v++) {
        packed[v] = ~0ull;
        lightest[v] = ~0u;
    }
    node.upload(), weight.upload(), packed.upload(), lightest.upload();
    choose<<<2, 64>>>(node.device, weight.device, lightest.device, number.device, packed.device);
    SYNC();
    packed.download();
    bool right = true;
    for (int v = 0; v < n; v++) right &= (int)packed[v] == m - n + v;
    return finish(right);
}
