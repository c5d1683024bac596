//@ module: yes
//@ stdout: right
//@ stderr-contains: note: races between several contexts may be missed
// The parts of the driver API beside modules: the device, contexts, memory, copies and fills, streams, events,
// graphs, occupancy, and what the runtime API then sees.
#include "driver.h"

#include <cooperative_groups.h>
#include <vector>

extern "C" __global__ void add_one(int* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i]++;
}
extern "C" __global__ void over_the_grid(int* data) {
    if (threadIdx.x == 0) atomicAdd(data, 1);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0) data[1 + blockIdx.x] = data[0];
}

template <class T>
std::vector<T> download(CUdeviceptr from, size_t count) {
    std::vector<T> host(count);
    CU(cuMemcpyDtoH(host.data(), from, count * sizeof(T)));
    return host;
}

void device() {
    CUdevice device;
    int count, version, value;
    char name[64];
    size_t total, free;
    CUuuid uuid;
    CU(cuDeviceGet(&device, 0));
    CU(cuDeviceGetCount(&count));
    CU(cuDriverGetVersion(&version));
    CU(cuDeviceGetName(name, 5, device));
    CU(cuDeviceTotalMem(&total, device));
    CU(cuDeviceGetUuid(&uuid, device));
    CU(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    CU(cuMemGetInfo(&free, &total));
    expect(device == 0 && count == 1 && version >= CUDA_VERSION && value == 32, "one device with warps of 32 threads");
    CU(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
    expect(value == 0, "virtual memory is not supported, and the device says so");
    expect(std::strlen(name) == 4 && free <= total && total > 0, "a name that is cut to its room");
    cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    expect(std::memcmp(&uuid, &properties.uuid, sizeof uuid) == 0, "both APIs see the same device");
}

void contexts() {
    CUcontext primary, made, found;
    CUdevice device;
    unsigned flags;
    int active;
    CU(cuCtxGetCurrent(&primary));
    CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
    expect(active == 1, "the primary context was retained");
    CU(cuCtxCreate(&made, nullptr, CU_CTX_SCHED_SPIN, 0));
    CU(cuCtxGetCurrent(&found));
    expect(found == made && made != primary, "a new context is current");
    CU(cuCtxGetFlags(&flags));
    CU(cuCtxGetDevice(&device));
    expect(flags == CU_CTX_SCHED_SPIN && device == 0, "its flags");
    CU(cuCtxPushCurrent(primary));
    CU(cuCtxPopCurrent(&found));
    expect(found == primary, "what was pushed is popped");
    CU(cuCtxDestroy(made));
    CU(cuCtxGetCurrent(&found));
    expect(found == primary, "the context before it is current again");
    expect(cuCtxPushCurrent(made) == CUDA_ERROR_INVALID_CONTEXT, "a destroyed context cannot be used");
    CUstream stream;
    CU(cuStreamCreate(&stream, 0));
    CU(cuStreamGetCtx(stream, &found));
    expect(found == primary, "the context of a stream");
    CU(cuStreamDestroy(stream));
    expect(cuStreamQuery(stream) == CUDA_ERROR_INVALID_HANDLE, "a destroyed stream");
}

void memory() {
    CUdeviceptr data, start;
    size_t size, pitch;
    CU(cuMemAlloc(&data, 100));
    CU(cuMemGetAddressRange(&start, &size, data + 50));
    expect(start == data && size == 100, "the range of an address");
    CU(cuMemsetD8(data, 7, 100));
    expect(download<char>(data, 100)[99] == 7, "a fill of bytes");
    CU(cuMemsetD16(data, 0x0102, 10));
    expect(download<short>(data, 10)[9] == 0x0102, "a fill of 16 bits");
    expect(cuMemsetD32(data + 2, 1, 1) == CUDA_ERROR_INVALID_VALUE, "a fill is aligned");
    CU(cuMemsetD32Async(data, 0x01020304, 10, nullptr));
    expect(download<int>(data, 10)[9] == 0x01020304, "a fill of 32 bits");
    unsigned kind;
    bool managed;
    CUdeviceptr pointer;
    CU(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, data));
    expect(kind == CU_MEMORYTYPE_DEVICE, "device memory");
    int local;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void* answers[] = {&kind, &pointer, &managed};
    CU(cuPointerGetAttributes(3, asked, answers, data));
    expect(kind == CU_MEMORYTYPE_DEVICE && pointer == data && !managed, "attributes of device memory");
    CU(cuPointerGetAttributes(3, asked, answers, reinterpret_cast<CUdeviceptr>(&local)));
    expect(kind == 0 && !pointer && !managed, "no attributes of other memory");
    expect(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&local)) ==
               CUDA_ERROR_INVALID_VALUE,
           "other memory has no type");
    cudaPointerAttributes runtime;
    CUDA(cudaPointerGetAttributes(&runtime, reinterpret_cast<void*>(data)));
    expect(runtime.type == cudaMemoryTypeDevice, "the runtime API knows the allocation");
    CUDA(cudaFree(reinterpret_cast<void*>(data)));

    // A rectangle of 3 columns and 2 rows, from the middle of the host's to the middle of the device's.
    CU(cuMemAllocPitch(&data, &pitch, 8, 4, 4));
    char host[4][8];
    for (int i = 0; i < 32; i++) host[i / 8][i % 8] = static_cast<char>(i);
    CU(cuMemsetD2D8(data, pitch, 0, 8, 4));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.srcPitch = 8;
    copy.srcXInBytes = 2;
    copy.srcY = 1;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = data;
    copy.dstPitch = pitch;
    copy.dstXInBytes = 4;
    copy.dstY = 2;
    copy.WidthInBytes = 3;
    copy.Height = 2;
    CU(cuMemcpy2D(&copy));
    std::vector<char> all = download<char>(data, pitch * 4);
    expect(all[2 * pitch + 4] == 10 && all[3 * pitch + 6] == 20 && all[3 * pitch + 7] == 0 && all[pitch + 4] == 0,
           "the rectangle");
    CU(cuMemFree(data));

    void* pinned;
    CU(cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer(&pointer, pinned, 0));
    CU(cuMemsetD8(pointer, 3, 64));
    expect(static_cast<char*>(pinned)[63] == 3, "memory of the host");
    CU(cuMemFreeHost(pinned));
    CU(cuMemAllocManaged(&data, 64, CU_MEM_ATTACH_GLOBAL));
    CU(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, data));
    expect(managed, "managed memory");
    CU(cuMemFree(data));
    CU(cuMemAllocAsync(&data, 64, nullptr));
    CU(cuMemFreeAsync(data, nullptr));
}

void work(CUmodule module) {
    const int n = 100;
    CUfunction add = function(module, "add_one");
    CUdeviceptr data;
    CUstream stream;
    CUevent start, end;
    float time;
    CU(cuMemAlloc(&data, n * sizeof(int)));
    CU(cuMemsetD32(data, 0, n));
    CU(cuCtxSynchronize());
    CU(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -1));
    CU(cuEventCreate(&start, CU_EVENT_DEFAULT));
    CU(cuEventCreate(&end, CU_EVENT_DEFAULT));
    int count = n;
    void* arguments[] = {&data, &count};
    CU(cuEventRecord(start, stream));
    CU(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
    CU(cuEventRecord(end, stream));
    CU(cuEventSynchronize(end));
    CU(cuEventElapsedTime(&time, start, end));
    expect(time >= 0 && cuEventQuery(end) == CUDA_SUCCESS, "the time between two events");
    int called = 0;
    CU(cuLaunchHostFunc(stream, [](void* to) { *static_cast<int*>(to) = 1; }, &called));
    CU(cuStreamSynchronize(stream));
    expect(called == 1, "a function of the host on a stream");

    // A graph from a capture, with one more node.
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    size_t nodes = 0;
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphGetNodes(graph, &node, &(nodes = 1)));
    CUDA_KERNEL_NODE_PARAMS more = {};
    more.func = add;
    more.gridDimX = 4;
    more.blockDimX = 32;
    more.gridDimY = more.gridDimZ = more.blockDimY = more.blockDimZ = 1;
    more.kernelParams = arguments;
    CUgraphNode second;
    CU(cuGraphAddKernelNode(&second, graph, &node, 1, &more));
    CU(cuGraphInstantiate(&exec, graph, 0));
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    std::vector<int> host = download<int>(data, n);
    expect(host[0] == 3 && host[n - 1] == 3, "a launch, and the two of the graph");

    // The runtime API launches by the driver API's handle.
    CUDA(cudaLaunchKernel(reinterpret_cast<void*>(add), dim3(4), dim3(32), arguments, 0, stream));
    CUDA(cudaStreamSynchronize(stream));
    expect(download<int>(data, n)[n - 1] == 4, "a launch of the runtime API");

    int blocks, threads, most;
    CU(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add));
    CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 128, 0));
    expect(most == 1024 && blocks > 0, "attributes and occupancy");
    CU(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, add, nullptr, 0, 0));
    expect(blocks > 0 && threads > 0 && threads <= most, "the best size of a block");
    CU(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
    CU(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add));
    expect(most == 64 << 10, "an attribute that was set");
    const char* name;
    CUmodule owner;
    CU(cuFuncGetName(&name, add));
    CU(cuFuncGetModule(&owner, add));
    expect(std::string(name) == "add_one" && owner == module, "the name and the module of a kernel");

    CU(cuMemsetD32Async(data, 0, n, stream));
    void* one[] = {&data};
    CU(cuLaunchCooperativeKernel(function(module, "over_the_grid"), 4, 1, 1, 32, 1, 1, 0, stream, one));
    CU(cuStreamSynchronize(stream));
    expect(download<int>(data, 5)[4] == 4, "a barrier of the grid");
    CU(cuEventDestroy(start));
    CU(cuEventDestroy(end));
    CU(cuStreamDestroy(stream));
    CU(cuMemFree(data));
}

int main(int, char** argv) {
    CUmodule module = own_module(argv[0]);
    device();
    contexts();
    memory();
    work(module);
    CUlibrary library;
    CUkernel kernel;
    CUfunction unit;
    unsigned kernels;
    CU(cuLibraryLoadFromFile(&library, (std::string(argv[0]) + ".fatbin").c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    CU(cuLibraryGetKernelCount(&kernels, library));
    CU(cuLibraryGetKernel(&kernel, library, "add_one"));
    CU(cuKernelGetFunction(&unit, kernel));
    CU(cuLibraryUnload(library));
    const char* text;
    CU(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
    return finish(kernels == 2 && unit && std::string(text) == "invalid argument");
}
