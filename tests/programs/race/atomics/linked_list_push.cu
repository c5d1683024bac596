//@ revisions: racy fixed
//@[racy] findings: several-writers
// Nodes are put in front of a list: by compare-and-swap on its head, or by a store.
#include "check.h"

struct Node {
    int next, value;
};

__global__ void push(Node* nodes, int* head) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    nodes[i].value = i;
#ifdef FIXED
    int seen = atomicAdd(head, 0), old;
    do {
        old = seen;
        nodes[i].next = old;
        seen = atomicCAS(head, old, i);
    } while (seen != old);
#else
    nodes[i].next = *head; //~ R
    *head = i; //~ W
#endif
}
//~ RACE[racy] write-read|read-write global: W R
//~ RACE[racy] write-write global other-value: W W

int main() {
    const int n = 96;
    Buffer<Node> nodes(n);
    Buffer<int> head(1);
    head[0] = -1;
    head.upload();
    push<<<3, 32>>>(nodes.device, head.device);
    SYNC();
    nodes.download();
    head.download();
    int count = 0, sum = 0;
    for (int i = head[0]; i >= 0 && count < n; i = nodes[i].next) count++, sum += nodes[i].value;
    return finish(count == n && sum == n * (n - 1) / 2);
}
