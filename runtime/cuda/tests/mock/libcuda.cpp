// A driver for tests: as much of CUDA's driver API as the backend calls, in the
// host's memory. Checked kernels run the device runtime itself, compiled for the
// host, one thread after the other.
//
// MOCK_LOG names a file for the calls; MOCK_DEVICES, MOCK_MEMORY (bytes) and
// MOCK_ARCH say what there is.
#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// The device runtime itself.
#include "device.cpp"

using namespace gpurace;
using Address = unsigned long long;

namespace {

enum Result { kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidPtx = 218, kNotFound = 500, kIllegalAddress = 700 };

void log(const char *format, ...) {
  const char *path = getenv("MOCK_LOG");
  FILE *file = path ? fopen(path, "a") : nullptr;
  if (!file) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  fputc('\n', file);
  fclose(file);
}

unsigned long long number(const char *name, unsigned long long otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, nullptr, 10) : otherwise;
}

constexpr size_t kGranularity = 2 << 20;
unsigned long long used = 0;
bool faulted = false;
std::map<Address, size_t> allocated;
std::map<Address, size_t> physical, mapped;
Address next_handle = 1;

unsigned long long total() { return number("MOCK_MEMORY", 1ull << 30); }

bool take(size_t size) {
  if (used + size > total()) return false;
  used += size;
  return true;
}

struct MockModule {
  State state;
  // A variable, with something on both sides.
  alignas(8) int variables[4];
};
struct MockFunction {
  MockModule *module;
  std::string name;
};

// The kernels. All are given `int *a`.
void run(const std::string &kernel, bool checked, int *a, u64 cell, State *state, u32 blocks, u32 threads) {
  for (u32 block = 0; block < blocks; block++) {
    Control control = {};
    std::vector<u64> before(threads);
    auto each = [&](auto &&body) {
      for (u32 thread = 0; thread < threads; thread++) {
        __gpurace_simulated.control = &control;
        __gpurace_simulated.state = state;
        __gpurace_simulated.thread = thread;
        __gpurace_simulated.threads = threads;
        __gpurace_simulated.block = block;
        body(thread);
      }
    };
    auto write = [&](int *at, u32 site, int value) {
      if (checked) __gpurace_write(at, 4, site, value);
      *at = value;
    };
    if (checked) each([&](u32) { __gpurace_enter(cell); });
    if (kernel == "racy" || kernel == "faulty") {
      each([&](u32 thread) { write(a, 1, (int)thread); });
      if (kernel == "faulty") {
        faulted = true;
        return;
      }
    } else {
      each([&](u32 thread) { write(a + block * threads + thread, 2, 1); });
      each([&](u32 thread) {
        if (checked) before[thread] = __gpurace_before_barrier();
      });
      each([&](u32 thread) {
        if (checked) __gpurace_after_barrier(before[thread]);
        int *other = a + block * threads + (thread + 1) % threads;
        if (checked) __gpurace_read(other, 4, 3);
        (void)*other;
      });
    }
    if (checked) each([&](u32) { __gpurace_leave(); });
  }
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return number("MOCK_DEVICES", 1) ? kSuccess : kNoDevice; }
int cuDeviceGet(int *device, int) { return *device = 0, kSuccess; }
int cuDeviceGetName(char *name, int length, int) { return snprintf(name, length, "Mock"), kSuccess; }
int cuDeviceGetAttribute(int *value, int attribute, int) {
  int arch = (int)number("MOCK_ARCH", 80);
  switch (attribute) {
    case 75: *value = arch / 10; break;
    case 76: *value = arch % 10; break;
    case 16: *value = 2; break;            // multiprocessors
    case 106: *value = 16; break;          // blocks of one
    case 81: *value = 100 << 10; break;    // its shared memory
    default: return kInvalidValue;
  }
  return kSuccess;
}
int cuGetErrorName(int error, const char **name) {
  switch (error) {
    case kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return kSuccess;
    case kNoDevice: *name = "CUDA_ERROR_NO_DEVICE"; return kSuccess;
    case kInvalidPtx: *name = "CUDA_ERROR_INVALID_PTX"; return kSuccess;
    case kNotFound: *name = "CUDA_ERROR_NOT_FOUND"; return kSuccess;
    case kIllegalAddress: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; return kSuccess;
    default: return kInvalidValue;
  }
}
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = &used, kSuccess; }
int cuCtxSetCurrent(void *) { return kSuccess; }
int cuCtxSynchronize() { return faulted ? kIllegalAddress : kSuccess; }
int cuStreamSynchronize(void *) { return cuCtxSynchronize(); }

int cuMemGetInfo_v2(size_t *free, size_t *all) { return *free = total() - used, *all = total(), kSuccess; }
int cuMemAlloc_v2(Address *address, size_t size) {
  if (!take(size)) return kOutOfMemory;
  *address = (Address)aligned_alloc(256, (size + 255) / 256 * 256);
  allocated[*address] = size;
  return kSuccess;
}
int cuMemFree_v2(Address address) {
  used -= allocated[address];
  allocated.erase(address);
  free((void *)address);
  return kSuccess;
}
int cuMemHostAlloc(void **host, size_t size, unsigned) { return *host = aligned_alloc(4096, (size + 4095) / 4096 * 4096), kSuccess; }
int cuMemHostGetDevicePointer_v2(Address *device, void *host, unsigned) { return *device = (Address)host, kSuccess; }
int cuMemsetD8_v2(Address address, unsigned char value, size_t size) {
  log("clear %zu", size);
  return faulted ? kIllegalAddress : (memset((void *)address, value, size), kSuccess);
}
int cuMemcpyHtoD_v2(Address to, const void *from, size_t size) {
  return faulted ? kIllegalAddress : (memcpy((void *)to, from, size), kSuccess);
}
int cuMemcpyDtoH_v2(void *to, Address from, size_t size) {
  return faulted ? kIllegalAddress : (memcpy(to, (void *)from, size), kSuccess);
}

int cuMemGetAllocationGranularity(size_t *granularity, const void *, int) { return *granularity = kGranularity, kSuccess; }
int cuMemAddressReserve(Address *address, size_t size, size_t, Address, unsigned long long) {
  void *got = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return got == MAP_FAILED ? (int)kOutOfMemory : (*address = (Address)got, (int)kSuccess);
}
int cuMemCreate(Address *handle, size_t size, const void *, unsigned long long) {
  if (size % kGranularity) return kInvalidValue;
  if (!take(size)) return kOutOfMemory;
  physical[*handle = next_handle++] = size;
  return kSuccess;
}
int cuMemMap(Address address, size_t size, size_t, Address handle, unsigned long long) {
  if (physical[handle] != size || mapped.count(address)) return kInvalidValue;
  mapped[address] = size;
  return mprotect((void *)address, size, PROT_READ | PROT_WRITE) ? kInvalidValue : kSuccess;
}
int cuMemUnmap(Address address, size_t size) {
  used -= size;
  mapped.erase(address);
  return mprotect((void *)address, size, PROT_NONE) ? kInvalidValue : kSuccess;
}
int cuMemRelease(Address) { return kSuccess; }
int cuMemSetAccess(Address, size_t, const void *, size_t) { return kSuccess; }

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  const char *text = (const char *)image;
  log("load %.5s", text);
  if (strstr(text, "broken")) {
    for (unsigned i = 0; i < count; i++) {
      if (options[i] == 5) strcpy((char *)values[i], "ptxas application ptx input, line 1; fatal   : broken");
    }
    return kInvalidPtx;
  }
  *module = new MockModule();
  return kSuccess;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  std::string kernel = name;
  std::string suffix = "__gpurace_checked";
  if (kernel.size() > suffix.size() && kernel.compare(kernel.size() - suffix.size(), suffix.size(), suffix) == 0)
    kernel.resize(kernel.size() - suffix.size());
  if (kernel != "racy" && kernel != "ordered" && kernel != "faulty" && kernel != "__gpurace_begin") return kNotFound;
  *function = new MockFunction{(MockModule *)module, name};
  return kSuccess;
}
int cuModuleGetGlobal_v2(Address *address, size_t *size, void *module, const char *name) {
  if (!strcmp(name, "total")) {
    *address = (Address) & ((MockModule *)module)->variables[1];
    *size = 8;
    return kSuccess;
  }
  if (strcmp(name, "__gpurace_state")) return kNotFound;
  *address = (Address) & ((MockModule *)module)->state;
  *size = sizeof(State);
  return kSuccess;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *, void **arguments, void **) {
  auto &f = *(MockFunction *)function;
  log("launch %s %u %u %u", f.name.c_str(), gx * gy * gz, bx * by * bz, shared);
  if (faulted) return kIllegalAddress;
  if (f.name == "__gpurace_begin") {
    __gpurace_simulated.state = &f.module->state;
    __gpurace_begin(**(u64 **)arguments);
    return kSuccess;
  }
  std::string kernel = f.name;
  size_t at = kernel.find("__gpurace_checked");
  bool checked = at != std::string::npos;
  kernel.resize(checked ? at : kernel.size());
  run(kernel, checked, *(int **)arguments[0], checked ? *(u64 *)arguments[1] : 0, &f.module->state, gx * gy * gz, bx * by * bz);
  return kSuccess;
}

}  // extern "C"
