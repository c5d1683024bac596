//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A node is filled and then published by its pointer. The reader follows the
// pointer, but a pointer alone orders nothing: fences must stand on both sides.
#include "check.h"

struct Node {
    int first, second;
};

__global__ void publish(Node* pool, unsigned long long* head, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        pool[1].first = 20; //~ A
        pool[1].second = 22; //~ B
#ifdef FIXED
        __threadfence();
#endif
        atomicExch(head, (unsigned long long)&pool[1]);
    } else {
        Node* node;
        while ((node = (Node*)atomicAdd(head, 0ull)) == nullptr) {
        }
#ifdef FIXED
        __threadfence();
#endif
        int sum = node->first; //~ C
        sum += node->second; //~ D
        *out = sum;
    }
}
//~ RACE[racy] write-read global grid: A C
//~ RACE[racy] write-read global grid: B D

int main() {
    Buffer<Node> pool(2);
    Buffer<unsigned long long> head(1);
    Buffer<int> out(1);
    publish<<<2, 32>>>(pool.device, head.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
