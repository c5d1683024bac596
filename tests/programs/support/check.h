// What the test programs share: buffers, error checks, the verdict of the self-check.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>

inline const char* text_of(cudaError_t error) { return cudaGetErrorString(error); }
template <class Status>
const char* text_of(Status) { return "failed"; }

// Ends the program, status 2, where a call fails. All of CUDA's libraries return 0 for success.
template <class Status>
void succeed(Status status, const char* file, int line, const char* call) {
    if (int(status) == 0) return;
    fprintf(stderr, "%s:%d: %s: %s (status %d)\n", file, line, call, text_of(status), int(status));
    exit(2);
}
#define CUDA(call) succeed((call), __FILE__, __LINE__, #call)

// Waits for the launch before it; a failed launch ends the program.
#define SYNC()                                                                                \
    do {                                                                                      \
        CUDA(cudaGetLastError());                                                             \
        CUDA(cudaDeviceSynchronize());                                                        \
    } while (0)

// `count` elements in device memory, with a copy on the host.
template <class T>
struct Buffer {
    T* device = nullptr;
    T* host = nullptr;
    size_t count;

    explicit Buffer(size_t n) : count(n) {
        CUDA(cudaMalloc(&device, n * sizeof(T)));
        CUDA(cudaMemset(device, 0, n * sizeof(T)));
        // Streams that do not block would not wait for it.
        CUDA(cudaDeviceSynchronize());
        host = static_cast<T*>(calloc(n, sizeof(T)));
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() {
        cudaFree(device);
        free(host);
    }
    void upload() { CUDA(cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice)); }
    void download() { CUDA(cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost)); }
    T& operator[](size_t i) { return host[i]; }
};

// Fills with 0, 1, 2, ...
template <class T>
void iota(Buffer<T>& buffer) {
    for (size_t i = 0; i < buffer.count; i++) buffer[i] = static_cast<T>(i);
    buffer.upload();
}

// The program's exit status. A racy program may compute anything: only its
// race-free form is held to the right answer.
inline int finish(bool right) {
#ifdef RACY
    (void)right;
    return 0;
#else
    puts(right ? "right" : "WRONG");
    return right ? 0 : 1;
#endif
}
