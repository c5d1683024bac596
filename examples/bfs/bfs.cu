// Breadth-first search over a real graph, level by level.
//
//     gclang++ -fsanitize=gpurace -fgpurace-exec=cpu bfs.cu -o bfs
//     ./bfs karate.mtx
//
// One thread per vertex of the frontier visits the neighbours. Two vertices of
// the frontier often share a neighbour: both may find it unvisited, give it a
// level and a parent and put it into the next frontier, and the position in
// that queue is counted up plainly. gpurace reports the accesses to `level` and
// to the counter. With -DFIXED an atomic compare-and-swap decides who visits,
// an atomic addition gives out positions.
//
// Any graph in Matrix Market form will do: `bfs FILE [SOURCE]`, vertices from 1.
// karate.mtx is Zachary's karate club, 34 people and 78 friendships.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error = (call);                                                                          \
        if (error != cudaSuccess) {                                                                          \
            fprintf(stderr, "bfs: %s: %s\n", #call, cudaGetErrorString(error));                              \
            exit(2);                                                                                         \
        }                                                                                                    \
    } while (0)

// A graph as adjacency lists: the neighbours of v are columns[rows[v]] to columns[rows[v + 1] - 1].
struct Graph {
    int vertices = 0;
    std::vector<int> rows, columns;
};

__global__ void visit(const int* rows, const int* columns, const int* frontier, int size, int depth,
                      int* level, int* parent, int* next, int* next_size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int v = frontier[i];
    for (int e = rows[v]; e < rows[v + 1]; e++) {
        int w = columns[e];
#ifdef FIXED
        if (atomicCAS(&level[w], -1, depth) == -1) {
            parent[w] = v;
            next[atomicAdd(next_size, 1)] = w;
        }
#else
        if (level[w] == -1) {
            level[w] = depth;
            parent[w] = v;
            next[(*next_size)++] = w;
        }
#endif
    }
}

// Reads a coordinate matrix as an undirected graph; ends the program where the file is not one.
static Graph read_matrix_market(const char* path) {
    FILE* file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(2);
    }
    char line[256];
    bool header = fgets(line, sizeof line, file) && !strncmp(line, "%%MatrixMarket matrix coordinate", 32);
    while (header && fgets(line, sizeof line, file) && line[0] == '%') {
    }
    int rows = 0, columns = 0, entries = 0;
    if (!header || sscanf(line, "%d %d %d", &rows, &columns, &entries) != 3 || rows != columns) {
        fprintf(stderr, "%s: not a square coordinate matrix in Matrix Market form\n", path);
        exit(2);
    }
    std::vector<int> from, to;
    for (int a, b; fgets(line, sizeof line, file) && sscanf(line, "%d %d", &a, &b) == 2;) {
        if (a < 1 || b < 1 || a > rows || b > rows) {
            fprintf(stderr, "%s: entry `%d %d` is outside of %d rows\n", path, a, b, rows);
            exit(2);
        }
        from.insert(from.end(), {a - 1, b - 1});
        to.insert(to.end(), {b - 1, a - 1});
    }
    fclose(file);
    if (from.size() != 2 * size_t(entries)) {
        fprintf(stderr, "%s: found %zu entries, wanted %d\n", path, from.size() / 2, entries);
        exit(2);
    }
    Graph graph;
    graph.vertices = rows;
    graph.rows.assign(rows + 1, 0);
    for (int v : from) graph.rows[v + 1]++;
    for (int v = 0; v < rows; v++) graph.rows[v + 1] += graph.rows[v];
    graph.columns.resize(to.size());
    std::vector<int> fill(graph.rows);
    for (size_t e = 0; e < from.size(); e++) graph.columns[fill[from[e]]++] = to[e];
    return graph;
}

// Levels by a queue on the host, for comparison.
static std::vector<int> levels_on_host(const Graph& graph, int source) {
    std::vector<int> level(graph.vertices, -1), queue{source};
    level[source] = 0;
    for (size_t head = 0; head < queue.size(); head++)
        for (int e = graph.rows[queue[head]]; e < graph.rows[queue[head] + 1]; e++) {
            int w = graph.columns[e];
            if (level[w] == -1) {
                level[w] = level[queue[head]] + 1;
                queue.push_back(w);
            }
        }
    return level;
}

template <class T> static T* on_device(const std::vector<T>& values) {
    T* data;
    CHECK(cudaMalloc(&data, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return data;
}

int main(int argc, char** argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE.mtx [SOURCE]\n", argv[0]);
        return 2;
    }
    Graph graph = read_matrix_market(argv[1]);
    int source = argc > 2 ? atoi(argv[2]) - 1 : 0;
    if (source < 0 || source >= graph.vertices) {
        fprintf(stderr, "bfs: source is not between 1 and %d\n", graph.vertices);
        return 2;
    }
    std::vector<int> level(graph.vertices, -1), parent(graph.vertices, -1);
    level[source] = 0;
    // A racy build may put a vertex into the queue once per edge.
    std::vector<int> queue(graph.columns.size() + 1, source);
    int *rows = on_device(graph.rows), *columns = on_device(graph.columns);
    int *device_level = on_device(level), *device_parent = on_device(parent);
    int *frontier = on_device(queue), *next = on_device(queue), *next_size;
    CHECK(cudaMalloc(&next_size, sizeof(int)));

    int size = 1, depth = 0;
    while (size > 0) {
        depth++;
        CHECK(cudaMemset(next_size, 0, sizeof(int)));
        visit<<<(size + 31) / 32, 32>>>(rows, columns, frontier, size, depth, device_level, device_parent,
                                        next, next_size);
        CHECK(cudaMemcpy(&size, next_size, sizeof(int), cudaMemcpyDeviceToHost));
        int* swap = frontier;
        frontier = next;
        next = swap;
    }

    CHECK(cudaMemcpy(level.data(), device_level, level.size() * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(parent.data(), device_parent, parent.size() * sizeof(int), cudaMemcpyDeviceToHost));
    bool right = level == levels_on_host(graph, source);
    for (int v = 0; v < graph.vertices; v++)
        if (v != source && level[v] >= 0) right = right && parent[v] >= 0 && level[parent[v]] == level[v] - 1;
    printf("%d vertices, %d levels from vertex %d: %s\n", graph.vertices, depth, source + 1,
           right ? "right" : "wrong");
    for (int* data : {rows, columns, device_level, device_parent, frontier, next, next_size}) cudaFree(data);
    // A racy build may print either: the schedule decides. Only the report tells.
#ifdef FIXED
    return right ? 0 : 1;
#else
    return 0;
#endif
}
