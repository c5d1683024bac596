//@ seeds: 0
//@ stderr-contains: illegal read of address 0x1000 in kernel `add(Node const*, int*, int*)`, block (0,0,0), thread (37,0,0)
//@ findings: missing-barrier
// One thread of many comes to an address that is none in a loop of its own: the report names the address, and the
// race of those before it.
#include "check.h"

struct Node {
    int value;
    const Node* next;
};

__global__ void add(const Node* nodes, int* weights, int* sums) {
    weights[63 - threadIdx.x] = threadIdx.x; //~ B
    int sum = 0;
    for (const Node* node = nodes + threadIdx.x; node; node = node->next) {
        sum += node->value + weights[threadIdx.x]; //~ A
    }
    sums[threadIdx.x] = sum;
}
//~ RACE read-write|write-read global: A B

int main() {
    Buffer<Node> nodes(64);
    Buffer<int> weights(64), sums(64);
    for (int i = 0; i < 64; i++) nodes[i].next = i == 37 ? (Node*)0x1000 : nullptr;
    nodes.upload();
    add<<<1, 64>>>(nodes.device, weights.device, sums.device);
    return finish(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}
