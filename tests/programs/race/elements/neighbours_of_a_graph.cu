//@ revisions: racy fixed barrier
//@[racy] findings: alias
// Each vertex takes the least label among its neighbours: in place, others may read its label meanwhile.
#include "check.h"

__global__ void spread(const int* starts, const int* neighbours, const int* from, int* to) {
    int vertex = threadIdx.x, least = vertex;
    for (int i = starts[vertex]; i < starts[vertex + 1]; i++) least = min(least, from[neighbours[i]]); //~ READ
#ifdef BARRIER
    __syncthreads();
#endif
    to[vertex] = least; //~ WRITE
}
//~ RACE[racy] read-write|write-read global: READ WRITE

int main() {
    const int vertices = 64;
    Buffer<int> starts(vertices + 1), neighbours(4 * vertices), labels(vertices), next(vertices);
    for (int v = 0; v < vertices; v++) {
        starts[v + 1] = starts[v];
        for (int k = 0; k < v % 4; k++) neighbours[starts[v + 1]++] = (v * 11 + k * 17) % vertices;
        labels[v] = v;
    }
    starts.upload(), neighbours.upload(), labels.upload();
#ifdef FIXED
    Buffer<int>& to = next;
#else
    Buffer<int>& to = labels;
#endif
    spread<<<1, vertices>>>(starts.device, neighbours.device, labels.device, to.device);
    SYNC();
    int want[vertices];
    for (int v = 0; v < vertices; v++) {
        want[v] = v;
        for (int i = starts[v]; i < starts[v + 1]; i++) want[v] = min(want[v], labels[neighbours[i]]);
    }
    to.download();
    return finish(memcmp(to.host, want, sizeof want) == 0);
}
