// A program of the suite `backend`. The mock of the driver knows these kernels by name. The argument
// names what the program does.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error = (call);                                                                          \
        if (error != cudaSuccess) {                                                                          \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error));                   \
            exit(3);                                                                                         \
        }                                                                                                    \
    } while (0)
#define EXPECT(what)                                                                                         \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            printf("%s:%d: wrong: %s\n", __FILE__, __LINE__, #what);                                         \
            exit(4);                                                                                         \
        }                                                                                                    \
    } while (0)

__device__ int total;
__constant__ int table[4];

extern "C" __global__ void racy(int* a) {
    a[0] = threadIdx.x; // racy-write
}

extern "C" __global__ void racy_shared(int* a) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;                                  // shared-write
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x ^ 1]; // shared-read
}

extern "C" __global__ void racy_total() {
    total = total + 1; // total
}

extern "C" __global__ void ordered(int* a) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    __syncthreads();
    int other = a[blockIdx.x * blockDim.x + (threadIdx.x + 1) % blockDim.x];
    if (other != 1) a[0] = table[other & 3];
}

extern "C" __global__ void scale(int* a, int factor, long offset, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * factor + (int)offset;
}

extern "C" __global__ void faulty(int* a) {
    a[0] = threadIdx.x;
    __trap();
}

static void note(void* data) { ++*(int*)data; }
static void called(cudaStream_t, cudaError_t status, void* data) {
    *(int*)data += status == cudaSuccess ? 10 : 100;
}

// Memory, copies, fills, symbols, streams and events: each value follows from CUDA's order.
static void values() {
    const int n = 1000;
    int host[n], back[n];
    for (int i = 0; i < n; i++) host[i] = i;
    int *a, *b;
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMalloc(&b, sizeof host));
    CHECK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
    scale<<<8, 128>>>(a, 2, 5, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(b, a, sizeof host, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(back, b, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(back[i] == 2 * i + 5);

    // Two streams, the second waits for the first; a third has nothing to do with them.
    cudaStream_t first, second, other;
    cudaEvent_t done, end;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -1));
    CHECK(cudaEventCreate(&done));
    CHECK(cudaEventCreate(&end));
    int* pinned;
    CHECK(cudaMallocHost(&pinned, sizeof host));
    memset(pinned, 0, sizeof host);
    CHECK(cudaMemsetAsync(a, 0, sizeof host, first));
    scale<<<8, 128, 0, first>>>(a, 1, 7, n);
    CHECK(cudaEventRecord(done, first));
    CHECK(cudaStreamWaitEvent(second, done, 0));
    scale<<<8, 128, 0, second>>>(a, 3, 0, n);
    CHECK(cudaMemcpyAsync(pinned, a, sizeof host, cudaMemcpyDeviceToHost, second));
    CHECK(cudaEventRecord(end, second));
    int count = 0;
    CHECK(cudaLaunchHostFunc(second, note, &count));
    CHECK(cudaStreamAddCallback(second, called, &count, 0));
    while (cudaEventQuery(end) == cudaErrorNotReady) {
    }
    CHECK(cudaEventSynchronize(end));
    for (int i = 0; i < n; i++) EXPECT(pinned[i] == 21);
    CHECK(cudaStreamSynchronize(second));
    EXPECT(count == 11);
    CHECK(cudaStreamQuery(other));
    float time = -1;
    CHECK(cudaEventElapsedTime(&time, done, end));
    EXPECT(time >= 0);

    // Rows, of two and of three dimensions; fills of rows.
    char* rows;
    size_t pitch;
    CHECK(cudaMallocPitch(&rows, &pitch, 100, 10));
    EXPECT(pitch >= 100);
    CHECK(cudaMemset2D(rows, pitch, 1, 100, 10));
    CHECK(cudaMemset2D(rows + 2 * pitch + 3, pitch, 2, 5, 2));
    char flat[10][100];
    CHECK(cudaMemcpy2D(flat, 100, rows, pitch, 100, 10, cudaMemcpyDeviceToHost));
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 100; x++) EXPECT(flat[y][x] == (y >= 2 && y < 4 && x >= 3 && x < 8 ? 2 : 1));
    cudaPitchedPtr box;
    CHECK(cudaMalloc3D(&box, make_cudaExtent(10, 3, 2)));
    char cube[2][3][10], again[2][3][10];
    for (int i = 0; i < 60; i++) (&cube[0][0][0])[i] = (char)i;
    cudaMemcpy3DParms there = {};
    there.srcPtr = make_cudaPitchedPtr(cube, 10, 10, 3);
    there.dstPtr = box;
    there.extent = make_cudaExtent(10, 3, 2);
    there.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&there));
    cudaMemcpy3DParms here = {};
    here.srcPtr = box;
    here.dstPtr = make_cudaPitchedPtr(again, 10, 10, 3);
    here.extent = there.extent;
    here.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&here));
    EXPECT(!memcmp(cube, again, 60));

    // Variables.
    int value = 41, got = 0;
    CHECK(cudaMemcpyToSymbol(total, &value, sizeof value));
    CHECK(cudaMemcpyFromSymbol(&got, total, sizeof got));
    EXPECT(got == 41);
    int numbers[4] = {1, 2, 3, 4}, read[4] = {};
    CHECK(cudaMemcpyToSymbol(table, numbers, sizeof numbers));
    CHECK(cudaMemcpyFromSymbol(read, table, 8, 8));
    EXPECT(read[0] == 3 && read[1] == 4);
    size_t size;
    CHECK(cudaGetSymbolSize(&size, table));
    EXPECT(size == sizeof table);

    // Managed, registered and page-locked memory; what pointers are.
    int* managed;
    CHECK(cudaMallocManaged(&managed, sizeof host));
    for (int i = 0; i < n; i++) managed[i] = i;
    scale<<<8, 128>>>(managed, 10, 0, n);
    CHECK(cudaDeviceSynchronize());
    EXPECT(managed[999] == 9990);
    static int own[1024];
    CHECK(cudaHostRegister(own, sizeof own, 0));
    int* on_device;
    CHECK(cudaHostGetDevicePointer(&on_device, own, 0));
    scale<<<8, 128>>>(on_device, 1, 4, n);
    CHECK(cudaDeviceSynchronize());
    EXPECT(own[0] == 4 && own[999] == 4);
    CHECK(cudaHostUnregister(own));
    cudaPointerAttributes of;
    CHECK(cudaPointerGetAttributes(&of, a + 5));
    EXPECT(of.type == cudaMemoryTypeDevice);
    CHECK(cudaPointerGetAttributes(&of, managed));
    EXPECT(of.type == cudaMemoryTypeManaged);

    // Stream-ordered allocations.
    int* later;
    CHECK(cudaMallocAsync(&later, sizeof host, first));
    CHECK(cudaMemsetAsync(later, 0, sizeof host, first));
    scale<<<8, 128, 0, first>>>(later, 0, 9, n);
    CHECK(cudaMemcpyAsync(back, later, sizeof host, cudaMemcpyDeviceToHost, first));
    CHECK(cudaFreeAsync(later, first));
    CHECK(cudaStreamSynchronize(first));
    EXPECT(back[0] == 9 && back[999] == 9);

    // Cooperative launches, as large as fits and no larger.
    int blocks = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 128, 0));
    EXPECT(blocks > 0);
    int device_blocks = 0;
    CHECK(cudaDeviceGetAttribute(&device_blocks, cudaDevAttrMultiProcessorCount, 0));
    int factor = 2, m = n;
    long offset = 0;
    void* arguments[] = {&a, &factor, &offset, &m};
    CHECK(cudaLaunchCooperativeKernel((void*)scale, dim3(1), dim3(128), arguments, 0, 0));
    EXPECT(cudaLaunchCooperativeKernel((void*)scale, dim3(1000000), dim3(128), arguments, 0, 0) ==
           cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaDeviceSynchronize());
    EXPECT(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);

    // What is not right is refused as ever.
    EXPECT(cudaMemcpy(a, host, sizeof host + 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    EXPECT(cudaFree((char*)a + 1) == cudaErrorInvalidValue);
    EXPECT(cudaMalloc(&later, (size_t)1 << 50) == cudaErrorMemoryAllocation);
    CHECK(cudaStreamDestroy(first));
    EXPECT(cudaStreamSynchronize(first) == cudaErrorInvalidResourceHandle);
    for (void* pointer : {(void*)a, (void*)b, (void*)rows, box.ptr, (void*)managed}) CHECK(cudaFree(pointer));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaEventDestroy(done));
    cudaGetLastError();
    puts("all values are right");
}

// A graph of one root, two branches and their join, made by nodes and by capture. It is launched several
// times and changed between the launches.
static void graphs() {
    const int n = 64;
    int *a, *b, host[2 * n];
    CHECK(cudaMalloc(&a, sizeof host));
    b = a + n;
    auto kernel = [&](int*& to, int& factor, long& offset, int& count, void** arguments) {
        arguments[0] = &to, arguments[1] = &factor, arguments[2] = &offset, arguments[3] = &count;
        cudaKernelNodeParams p = {};
        p.func = (void*)scale;
        p.gridDim = dim3(2);
        p.blockDim = dim3(64);
        p.kernelParams = arguments;
        return p;
    };
    static int calls;
    auto called = [](void* data) { ++*(int*)data; };
    int three = 3, two = 2, both = 2 * n, half = n;
    long one = 1, four = 4, none = 0;
    void* arguments[4];
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t root, left, right, join, late, told;
    cudaMemsetParams fill = {};
    fill.dst = a, fill.value = 0, fill.elementSize = 4, fill.width = 2 * n, fill.height = 1;
    CHECK(cudaGraphAddMemsetNode(&root, graph, nullptr, 0, &fill));
    auto p = kernel(a, three, one, half, arguments);
    CHECK(cudaGraphAddKernelNode(&left, graph, &root, 1, &p));
    p = kernel(b, three, four, half, arguments);
    CHECK(cudaGraphAddKernelNode(&right, graph, &root, 1, &p));
    cudaGraphNode_t branches[] = {left, right};
    p = kernel(a, two, none, both, arguments);
    CHECK(cudaGraphAddKernelNode(&join, graph, branches, 2, &p));
    CHECK(cudaGraphAddMemcpyNode1D(&late, graph, &join, 1, host, a, sizeof host, cudaMemcpyDeviceToHost));
    cudaHostNodeParams function = {called, &calls};
    CHECK(cudaGraphAddHostNode(&told, graph, &late, 1, &function));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    for (int launch = 0; launch < 3; launch++) {
        // One launch comes after the last, whatever stream it is on.
        CHECK(cudaGraphLaunch(exec, launch % 2 ? second : first));
    }
    CHECK(cudaStreamSynchronize(first));
    EXPECT(calls == 3 && host[0] == 2 && host[n] == 8);
    p = kernel(b, three, one, half, arguments);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, right, &p));
    CHECK(cudaGraphNodeSetEnabled(exec, left, 0));
    CHECK(cudaGraphLaunch(exec, second));
    CHECK(cudaStreamSynchronize(second));
    EXPECT(calls == 4 && host[0] == 0 && host[n] == 2);
    CHECK(cudaGraphExecUpdate(exec, graph, nullptr));
    CHECK(cudaGraphNodeSetEnabled(exec, left, 1));
    CHECK(cudaGraphLaunch(exec, first));
    CHECK(cudaStreamSynchronize(first));
    EXPECT(host[0] == 2 && host[n] == 8);
    CHECK(cudaGraphExecDestroy(exec));

    // The same by capture.
    cudaEvent_t forked, joined;
    CHECK(cudaEventCreate(&forked));
    CHECK(cudaEventCreate(&joined));
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(a, 0, sizeof host, first));
    CHECK(cudaEventRecord(forked, first));
    CHECK(cudaStreamWaitEvent(second, forked, 0));
    scale<<<2, 64, 0, second>>>(b, 3, 5, n);
    CHECK(cudaEventRecord(joined, second));
    scale<<<2, 64, 0, first>>>(a, 3, 1, n);
    CHECK(cudaStreamWaitEvent(first, joined, 0));
    scale<<<2, 64, 0, first>>>(a, 2, 0, 2 * n);
    CHECK(cudaMemcpyAsync(host, a, sizeof host, cudaMemcpyDeviceToHost, first));
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    memset(host, 0, sizeof host);
    for (int launch = 0; launch < 2; launch++) CHECK(cudaGraphLaunch(exec, second));
    CHECK(cudaStreamSynchronize(second));
    EXPECT(host[0] == 2 && host[n] == 10);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(a));
    puts("all graphs are right");
}

// Arrays of two and three dimensions, copies to and from them that may start in the middle of a row, and
// texture and surface objects of them.
static void arrays() {
    const int w = 6, h = 4, n = w * h;
    int host[n], back[n];
    for (int i = 0; i < n; i++) host[i] = 100 + i;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>(), bytes = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array, other, cube;
    CHECK(cudaMallocArray(&array, &format, w, h));
    CHECK(cudaMallocArray(&other, &format, w + 3, h, cudaArraySurfaceLoadStore));
    CHECK(cudaMalloc3DArray(&cube, &bytes, make_cudaExtent(4, 3, 2), cudaArrayLayered));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, host, w * 4, w * 4, h, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DFromArray(back, w * 4, array, 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
    EXPECT(!memcmp(host, back, sizeof host));
    // A rectangle, by way of another array and of memory.
    int *memory, rectangle[2][3];
    CHECK(cudaMalloc(&memory, sizeof host));
    CHECK(cudaMemcpy2DArrayToArray(other, 8, 1, array, 4, 1, 12, 2));
    CHECK(cudaMemcpy2DFromArray(memory, 12, other, 8, 1, 12, 2, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(rectangle, memory, sizeof rectangle, cudaMemcpyDeviceToHost));
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 3; x++) EXPECT(rectangle[y][x] == 100 + (y + 1) * w + x + 1);
    // Bytes that go on from row to row, between arrays whose rows have other lengths.
    CHECK(cudaMemcpyArrayToArray(other, 4, 0, array, 8, 0, 16 * 4));
    CHECK(cudaMemcpyFromArray(back, other, 4, 0, 16 * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++) EXPECT(back[i] == 102 + i);
    // Slices.
    char slices[2][3][16], again[2][3][16];
    for (int i = 0; i < 96; i++) (&slices[0][0][0])[i] = (char)i;
    cudaMemcpy3DParms there = {};
    there.srcPtr = make_cudaPitchedPtr(slices, 16, 4, 3);
    there.dstArray = cube;
    there.extent = make_cudaExtent(4, 3, 2);
    there.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&there));
    cudaMemcpy3DParms here = {};
    here.srcArray = cube;
    here.srcPos = make_cudaPos(1, 1, 1);
    here.dstPtr = make_cudaPitchedPtr(again, 16, 4, 3);
    here.extent = make_cudaExtent(2, 2, 1);
    here.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&here));
    EXPECT(!memcmp(again[0][0], &slices[1][1][4], 8) && !memcmp(again[0][1], &slices[1][2][4], 8));
    // What does not lie in it is refused as ever, and what an array is, is known.
    EXPECT(cudaMemcpy2DToArray(array, 0, 1, host, w * 4, w * 4, h, cudaMemcpyHostToDevice) ==
           cudaErrorInvalidValue);
    EXPECT(cudaFree(array) == cudaErrorInvalidValue);
    cudaExtent extent;
    CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, cube));
    EXPECT(extent.width == 4 && extent.height == 3 && extent.depth == 2);

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = cube;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.addressMode[2] = cudaAddressModeBorder;
    how.filterMode = cudaFilterModeLinear;
    how.readMode = cudaReadModeNormalizedFloat;
    how.normalizedCoords = 1;
    cudaTextureObject_t of_array, of_memory, of_rows;
    CHECK(cudaCreateTextureObject(&of_array, &resource, &how, nullptr));
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = sizeof host;
    how = {};
    CHECK(cudaCreateTextureObject(&of_memory, &resource, &how, nullptr));
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float2>();
    resource.res.pitch2D.width = 3, resource.res.pitch2D.height = 2, resource.res.pitch2D.pitchInBytes = 32;
    CHECK(cudaCreateTextureObject(&of_rows, &resource, &how, nullptr));
    cudaSurfaceObject_t surface;
    EXPECT(cudaCreateSurfaceObject(&surface, &resource) == cudaErrorInvalidValue);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = other;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    for (auto texture : {of_array, of_memory, of_rows}) CHECK(cudaDestroyTextureObject(texture));
    EXPECT(cudaDestroyTextureObject(of_rows) == cudaErrorInvalidValue);
    CHECK(cudaDestroySurfaceObject(surface));
    for (auto gone : {array, other, cube}) CHECK(cudaFreeArray(gone));
    EXPECT(cudaFreeArray(cube) == cudaErrorInvalidResourceHandle);
    CHECK(cudaFree(memory));
    cudaGetLastError();
    puts("all arrays are right");
}

// Launches on several streams that all write the same memory. One host thread launches all of them, or
// each stream has a host thread.
static void overlapping(bool by_threads) {
    const int n = 64;
    int* a;
    CHECK(cudaMalloc(&a, n * sizeof(int)));
    cudaStream_t streams[4];
    for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int round = 0; round < 16; round++) {
        std::vector<std::thread> threads;
        for (auto stream : streams) {
            auto launch = [=] { scale<<<1, n, 0, stream>>>(a, 1, 1, n); };
            if (by_threads)
                threads.emplace_back(launch);
            else
                launch();
        }
        for (auto& thread : threads) thread.join();
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaFree(a));
}

// Copies and fills that may overlap launches and each other. The first ones come before any launch.
static void copies() {
    const int n = 64, bytes = n * sizeof(int);
    int *a, *b, *host;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMallocHost(&host, bytes));
    cudaStream_t s, t;
    for (auto stream : {&s, &t}) CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(a, 0, bytes, s));
    scale<<<1, n, 0, t>>>(a, 1, 1, n);
    CHECK(cudaDeviceSynchronize());
    scale<<<1, n, 0, t>>>(a, 1, 1, n);
    CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, s));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyAsync(host, a, bytes, cudaMemcpyDeviceToHost, s));
    CHECK(cudaMemcpyAsync(host, b, bytes, cudaMemcpyDeviceToHost, t));
    CHECK(cudaDeviceSynchronize());
    // In one stream.
    CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, s));
    scale<<<1, n, 0, s>>>(b, 1, 1, n);
    CHECK(cudaDeviceSynchronize());
}

// Memory that is allocated and freed in a stream's order. All allocations together exceed the memory.
static void stream_ordered() {
    const size_t size = 32 << 20;
    int *a, *first, back = 0;
    cudaStream_t stream, beside;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    // What nothing waits for.
    CHECK(cudaMalloc(&a, 4096));
    CHECK(cudaMemsetAsync(a, 0, 4096, beside));
    ordered<<<1, 64, 0, beside>>>(a);
    CHECK(cudaMallocAsync(&first, size, stream));
    racy<<<1, 64, 0, stream>>>(first);
    CHECK(cudaFreeAsync(first, stream));
    EXPECT(cudaFreeAsync(first, stream) == cudaErrorInvalidValue);
    EXPECT(cudaFreeAsync((char*)a + 4, stream) == cudaErrorInvalidValue);
    cudaGetLastError();
    for (int round = 0; round < 30; round++) {
        int* memory;
        CHECK(cudaMallocAsync(&memory, size, stream));
        CHECK(cudaMemsetAsync(memory, 0, 256, stream));
        scale<<<1, 64, 0, stream>>>(memory, 1, round, 64);
        CHECK(cudaMemcpyAsync(&back, memory + 5, 4, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(memory, stream));
    }
    // Memory for another is there as soon as what was freed is no longer used.
    int *large, *next;
    CHECK(cudaMallocAsync(&large, 200 << 20, stream));
    scale<<<1, 64, 0, stream>>>(large, 0, 1, 64);
    CHECK(cudaFreeAsync(large, stream));
    CHECK(cudaMalloc(&next, 201 << 20));
    CHECK(cudaMemsetAsync(next, 0, 256, stream));
    puts("all are there");
    fflush(stdout);
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(back == 29);
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "values";
    auto is = [&](const char* name) { return !strcmp(what, name); };
    if (is("values")) return values(), 0;
    if (is("graphs")) return graphs(), 0;
    if (is("arrays")) return arrays(), 0;
    if (is("copies")) return copies(), 0;
    if (is("stream_ordered")) return stream_ordered(), 0;
    if (is("overlapping") || is("overlapping threads")) return overlapping(is("overlapping threads")), 0;
    if (is("properties")) {
        cudaDeviceProp p;
        CHECK(cudaGetDeviceProperties(&p, 0));
        int l2 = 0;
        CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
        EXPECT(l2 == p.l2CacheSize);
        printf("%s %d.%d, %d, %d, %zu\n", p.name, p.major, p.minor, p.multiProcessorCount, p.l2CacheSize,
               p.totalGlobalMem);
        return 0;
    }
    int* a;
    CHECK(cudaMalloc(&a, 4096));
    if (is("racy")) racy<<<2, 64>>>(a + 1); // launch-of-racy
    if (is("shared")) racy_shared<<<1, 64>>>(a);
    if (is("total")) racy_total<<<1, 32>>>();
    if (is("scale")) scale<<<4, 64>>>(a, 3, 1, 256);
    if (is("ordered")) ordered<<<4, 64>>>(a);
    if (is("unfinished")) {
        // Nobody waits for it.
        racy<<<2, 64>>>(a);
        return 0;
    }
    if (is("fault")) {
        faulty<<<1, 64>>>(a);
        printf("then: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        printf("later: %s\n", cudaGetErrorName(cudaMalloc(&a, 16)));
        return 5;
    }
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(a));
    return 0;
}
