// Buffers and launches over OpenCL, on the first CPU device. The kernels are in the file BENCH_SOURCE.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static size_t buffer_bytes;
static cl_context context;
static cl_command_queue queue;
static cl_program program;

inline void must(cl_int error) {
    if (error != CL_SUCCESS) {
        fprintf(stderr, "OpenCL error %d\n", error);
        exit(1);
    }
}

// OpenCL has no query for it.
inline size_t device_memory() { return 0; }

inline void start(const char*) {
    cl_platform_id platforms[8];
    cl_uint count = 0;
    must(clGetPlatformIDs(8, platforms, &count));
    cl_device_id device = nullptr;
    for (cl_uint i = 0; i < count && !device; i++)
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, nullptr);
    if (!device) {
        fprintf(stderr, "no OpenCL device of the CPU\n");
        exit(1);
    }
    FILE* file = fopen(BENCH_SOURCE, "rb");
    if (!file) {
        perror(BENCH_SOURCE);
        exit(1);
    }
    std::vector<char> text(1 << 16);
    size_t length = fread(text.data(), 1, text.size(), file);
    fclose(file);
    const char* source = text.data();
    cl_int error;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    must(error);
    queue = clCreateCommandQueue(context, device, 0, &error);
    must(error);
    program = clCreateProgramWithSource(context, 1, &source, &length, &error);
    must(error);
    must(clBuildProgram(program, 1, &device, "", nullptr, nullptr));
}

inline void finish() { must(clFinish(queue)); }

template <class T> struct Buffer {
    cl_mem data;
    size_t count;
    explicit Buffer(size_t n) : count(n) {
        cl_int error;
        data = clCreateBuffer(context, CL_MEM_READ_WRITE, n * sizeof(T), nullptr, &error);
        must(error);
        buffer_bytes += n * sizeof(T);
    }
    explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) { write(from); }
    void write(const std::vector<T>& from) {
        must(clEnqueueWriteBuffer(queue, data, CL_TRUE, 0, count * sizeof(T), from.data(), 0, nullptr,
                                  nullptr));
    }
    std::vector<T> read() const {
        std::vector<T> to(count);
        must(clEnqueueReadBuffer(queue, data, CL_TRUE, 0, count * sizeof(T), to.data(), 0, nullptr, nullptr));
        return to;
    }
};

struct Dim {
    unsigned x, y;
    Dim(unsigned x, unsigned y = 1) : x(x), y(y) {}
};

template <class T> void set(cl_kernel kernel, cl_uint index, const Buffer<T>& buffer) {
    must(clSetKernelArg(kernel, index, sizeof(cl_mem), &buffer.data));
}
template <class T> void set(cl_kernel kernel, cl_uint index, const T& value) {
    must(clSetKernelArg(kernel, index, sizeof(T), &value));
}

template <class... Args> void launch(const char* name, Dim grid, Dim block, const Args&... args) {
    // Made once for each name, as a program would.
    static std::vector<std::pair<const char*, cl_kernel>> known;
    cl_kernel kernel = nullptr;
    for (auto& k : known)
        if (!strcmp(k.first, name)) kernel = k.second;
    if (!kernel) {
        cl_int error;
        kernel = clCreateKernel(program, name, &error);
        must(error);
        known.push_back({name, kernel});
    }
    cl_uint index = 0;
    (set(kernel, index++, args), ...);
    size_t local[2] = {block.x, block.y};
    size_t global[2] = {(size_t)grid.x * block.x, (size_t)grid.y * block.y};
    must(clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr));
}

#define LAUNCH(kernel, grid, block, ...) launch(#kernel, Dim grid, Dim block, __VA_ARGS__)
