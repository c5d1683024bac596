/* A host program as clang makes it from CUDA: registration before main, stubs
   that launch. What it does is its first argument. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
typedef struct { unsigned magic, version; const void *data; void *unused; } Wrapper;

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void **);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaMallocPitch(void **, size_t *, size_t, size_t);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaMallocManaged(void **, size_t, unsigned);
int cudaDeviceSynchronize(void);
int cudaStreamCreate(void **);
int cudaStreamWaitEvent(void *, void *, unsigned);
int cudaEventCreate(void **);
int cudaEventRecord(void *, void *);
int cudaGetLastError(void);
const char *cudaGetErrorName(int);

extern const char container[];
__asm__(".section .rodata\n.balign 16\n.globl container\ncontainer:\n.incbin \"" CONTAINER "\"\n.previous\n");
static Wrapper wrapper = {0x466243b1, 1, container, 0};
static int factor;

static void launch(const void *stub, void **args) {
    dim3 grid, block;
    size_t shared;
    void *stream;
    if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 0)
        cudaLaunchKernel(stub, grid, block, args, shared, stream);
}
static void scale(int *out, const int *in, int n) { void *args[] = {&out, &in, &n}; launch((void *)scale, args); }
static void clash(int *out) { void *args[] = {&out}; launch((void *)clash, args); }
static void fault(void) { void *args[] = {0}; launch((void *)fault, args); }
static void unknown(void) { void *args[] = {0}; launch((void *)unknown, args); }

static void **handle;
static void unregister(void) { __cudaUnregisterFatBinary(handle); }
__attribute__((constructor)) static void register_all(void) {
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, (char *)scale, "", "_Z5scalePiPKii", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, (char *)clash, "", "_Z5clashPi", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, (char *)fault, "", "_Z5faultv", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(handle, (char *)&factor, "", "factor", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    atexit(unregister);
}

#define EXPECT(got, want) do { long g = (long)(got), w = (long)(want); \
    if (g != w) { printf("%s:%d: %s: %ld, wanted %ld\n", __FILE__, __LINE__, #got, g, w); exit(3); } } while (0)
#define LAUNCH(g, b, call) do { if (!__cudaPushCallConfiguration((dim3){(g), 1, 1}, (dim3){(b), 1, 1}, shared, stream)) call; } while (0)
static size_t shared;
static void *stream;

static void test_scale(void) {
    enum { N = 1000 };
    int in[N], out[N], seven = 7, got = 0, *din, *dout;
    for (int i = 0; i < N; i++) in[i] = i;
    EXPECT(cudaMalloc((void **)&din, sizeof in), 0);
    EXPECT(cudaMalloc((void **)&dout, sizeof out), 0);
    EXPECT(cudaMemcpyToSymbol(&factor, &seven, 4, 0, 1), 0);
    EXPECT(cudaMemcpyFromSymbol(&got, &factor, 4, 0, 2), 0);
    EXPECT(got, 7);
    EXPECT(cudaMemcpyToSymbol(&factor, &seven, 4, 1, 1), 1);
    EXPECT(cudaMemcpyToSymbol(&shared, &seven, 4, 0, 1), 13);
    EXPECT(cudaMemcpy(din, in, sizeof in, 1), 0);
    LAUNCH(8, 128, scale(dout, din, N));
    EXPECT(cudaGetLastError(), 13); /* that of the unknown symbol */
    EXPECT(cudaGetLastError(), 0);
    EXPECT(cudaMemcpy(out, dout, sizeof out, 2), 0);
    for (int i = 0; i < N; i++) EXPECT(out[i], 7 * i);
    EXPECT(cudaFree(din), 0);
    EXPECT(cudaFree(din), 1);
    EXPECT(cudaFree(dout), 0);
    EXPECT(cudaFree(NULL), 0);
}

static void test_copies(void) {
    char host[6 * 10], back[6 * 10], *device, *managed;
    size_t pitch = 0;
    for (int i = 0; i < 60; i++) host[i] = (char)i;
    memset(back, -1, sizeof back);
    EXPECT(cudaMallocPitch((void **)&device, &pitch, 7, 6), 0);
    EXPECT(pitch, 512);
    EXPECT(cudaMemcpy2D(device, pitch, host, 10, 7, 6, 1), 0);
    EXPECT(cudaMemcpy2D(back, 10, device, pitch, 7, 6, 2), 0);
    for (int i = 0; i < 60; i++) EXPECT(back[i], i % 10 < 7 ? i : -1);
    EXPECT(cudaMemcpy2D(back, 6, device, pitch, 7, 6, 2), 12);
    EXPECT(cudaMemcpy(device, host, 60, 9), 21);
    EXPECT(cudaMemcpy(host, back, 60, 1), 1);
    EXPECT(cudaMemcpy(device, host, 6 * 512 + 1, 1), 1);
    EXPECT(cudaMemset(device + 1, 5, 3), 0);
    EXPECT(device[0] + device[1] + device[3] + device[4], 0 + 5 + 5 + 4);
    EXPECT(cudaMemset(host, 5, 3), 1);
    EXPECT(cudaMallocManaged((void **)&managed, 100, 1), 0);
    EXPECT(cudaMemcpy(managed, host, 60, 4), 0);
    EXPECT(memcmp(managed, host, 60), 0);
    EXPECT(cudaMalloc((void **)&managed, (size_t)1 << 60), 2);
}

static void test_limits(void) {
    int *out;
    EXPECT(cudaMalloc((void **)&out, 64), 0);
    LAUNCH(0, 1, clash(out));
    EXPECT(cudaGetLastError(), 9);
    LAUNCH(1, 1025, clash(out));
    EXPECT(cudaGetLastError(), 9);
    shared = 48 * 1024 + 1;
    LAUNCH(1, 1, clash(out));
    EXPECT(cudaGetLastError(), 1);
    shared = 0;
    LAUNCH(1, 1, unknown());
    EXPECT(cudaGetLastError(), 98);
}

/* Two launches of one thread that write the same bytes. */
static void two_streams(int *out, int wait, int sync) {
    void *first, *second, *event;
    EXPECT(cudaStreamCreate(&first), 0);
    EXPECT(cudaStreamCreate(&second), 0);
    EXPECT(cudaEventCreate(&event), 0);
    stream = first;
    LAUNCH(1, 1, clash(out));
    EXPECT(cudaEventRecord(event, first), 0);
    if (wait) EXPECT(cudaStreamWaitEvent(second, event, 0), 0);
    if (sync) EXPECT(cudaDeviceSynchronize(), 0);
    stream = second;
    LAUNCH(1, 1, clash(out));
    stream = 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc((void **)&out, 64);
    if (strstr(what, "scale")) test_scale();
    if (strstr(what, "copies")) test_copies();
    if (strstr(what, "limits")) test_limits();
    if (strstr(what, "race")) LAUNCH(1, 2, clash(out)); /* the racy launch */
    if (strstr(what, "streams")) two_streams(out, !!strstr(what, "wait"), !!strstr(what, "sync"));
    if (strstr(what, "fault")) {
        LAUNCH(1, 2, fault());
        EXPECT(cudaDeviceSynchronize(), 700);
        EXPECT(cudaMalloc((void **)&out, 64), 700);
        EXPECT(cudaGetLastError(), 700);
    }
    printf("done %s\n", what);
    if (strstr(what, "abort")) abort();
    if (strstr(what, "kill")) raise(SIGTERM);
    if (strstr(what, "segv")) *(volatile int *)8 = 1;
    if (strstr(what, "three")) return 3;
    return 0;
}
