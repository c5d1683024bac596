// Each thread walks through a tree of its own. The nodes that it still has to visit lie on a stack, in a row
// of shared memory: how deep the stack gets, only the tree says.
#include "bench.h"

const int THREADS = 64, NODES = 256, DEPTH = 24;

struct Children {
    int left, right;
};

__global__ void stacks(const Children* children, const int* values, int* sums) {
    __shared__ int stack[THREADS][DEPTH];
    int t = threadIdx.x, tree = blockIdx.x * THREADS + t, top = 0, sum = 0;
    stack[t][top++] = tree * NODES;
    while (top > 0) {
        int node = stack[t][--top];
        sum += values[node];
        Children of = children[node];
        if (of.left) stack[t][top++] = of.left;
        if (of.right) stack[t][top++] = of.right;
    }
    sums[tree] = sum;
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int blocks = bench.size(32, 2), trees = blocks * THREADS;
    Random random;
    std::vector<Children> children(trees * NODES, Children{0, 0});
    std::vector<int> values, depth(NODES);
    for (int i = 0; i < trees * NODES; i++) values.push_back(random.next() % 16);
    for (int tree = 0; tree < trees; tree++)
        for (int i = 1; i < NODES;) {
            int above = random.next() % i;
            Children& of = children[tree * NODES + above];
            int& child = random.next() % 2 ? of.left : of.right;
            if (child || depth[above] + 2 >= DEPTH) continue;
            child = tree * NODES + i;
            depth[i++] = depth[above] + 1;
        }
    Buffer<Children> dchildren(children);
    Buffer<int> dvalues(values), sums(trees);
    bench.time("stacks", [] {}, [&] { LAUNCH(stacks, (blocks), (THREADS), dchildren, dvalues, sums); });
    std::vector<int> got = sums.read();
    for (int tree = 0; tree < trees; tree++) {
        int sum = 0;
        for (int i = 0; i < NODES; i++) sum += values[tree * NODES + i];
        expect(got[tree] == sum, "sum", tree);
    }
}
