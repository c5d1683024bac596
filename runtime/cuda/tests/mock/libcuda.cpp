// A driver for tests: as much of CUDA's driver API as the backend calls, in the
// host's memory. Checked kernels run the device runtime itself, compiled for the
// host, one thread after the other.
//
// It knows the kernels of the tests by name, and what they do. Of real PTX it looks for entries
// and variables: what is not there is not found. With MOCK_EXECUTED the executor runs real PTX
// (`executed.h`).
//
// Work does not run before it must: a launch, an asynchronous copy, a host function wait until
// something that comes after them in CUDA's order of streams is waited for. So a wait that is
// missing above shows as a wrong value.
//
// MOCK_LOG names a file for the calls; MOCK_DEVICES, MOCK_MEMORY (bytes) and
// MOCK_ARCH say what there is; MOCK_CHECKED_THREADS: most threads of a checked block;
// MOCK_LAUNCH_TIME: microseconds that a launch takes the host;
// MOCK_UNMAPPED: there is no memory that can be mapped; MOCK_INIT: what `cuInit` gives; MOCK_ENDLESS: what
// was launched does not end; MOCK_SITES: the numbers of the sites of each kernel, `racy:1 ordered:2,3`.
#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

// The device runtime itself.
#include "device.cpp"
#include "executed.h"

using namespace gpurace;
using Address = unsigned long long;

namespace {

enum Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidPtx = 218,
  kUnsupportedPtx = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kNotSupported = 801,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kInvalidClusterSize = 912,
};

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
// Page-locked memory of the program.
constexpr Address kPage = 4096;
std::map<Address, size_t> registered, locked;
Address next_handle = 1;

unsigned long long total() { return number("MOCK_MEMORY", 1ull << 30); }

bool take(size_t size) {
  if (used + size > total()) return false;
  used += size;
  return true;
}

// ---- order ----

struct Operation {
  std::function<void()> run;
  std::vector<size_t> after;
  bool done;
};
std::vector<Operation> operations;
constexpr size_t kNone = ~0ul;
// What was launched does not end.
const bool endless = getenv("MOCK_ENDLESS");

struct MockStream {
  bool blocking = true;
  size_t last = kNone;
  std::vector<size_t> waits;
};
MockStream legacy, own;
std::set<MockStream *> streams;
struct MockEvent {
  size_t at = kNone;
  unsigned flags;
};
std::set<MockEvent *> events;

void finish(size_t at) {
  if (at == kNone || operations[at].done) return;
  operations[at].done = true;
  for (size_t before : operations[at].after) finish(before);
  if (operations[at].run) operations[at].run();
  operations[at].run = nullptr;
}

void finish_all() {
  for (size_t at = 0; at < operations.size(); at++) finish(at);
  operations.clear();
  for (auto *stream : streams) stream->last = kNone, stream->waits.clear();
  legacy.last = own.last = kNone;
  // All that was recorded was reached: `kNone` in a recorded event says so.
  for (auto *event : events) event->at = kNone;
}

MockStream *stream_of(void *handle) {
  if (!handle || handle == (void *)1) return &legacy;
  if (handle == (void *)2) return &own;
  return streams.count((MockStream *)handle) ? (MockStream *)handle : nullptr;
}

// The default stream's work comes after that of all blocking streams, and theirs after its.
int submit(void *handle, std::function<void()> run) {
  MockStream *stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (faulted) return kIllegalAddress;
  Operation operation = {std::move(run), std::move(stream->waits), false};
  stream->waits.clear();
  operation.after.push_back(stream->last);
  if (stream == &legacy) {
    operation.after.push_back(own.last);
    for (auto *other : streams)
      if (other->blocking) operation.after.push_back(other->last);
  } else if (stream->blocking) {
    operation.after.push_back(legacy.last);
  }
  stream->last = operations.size();
  operations.push_back(std::move(operation));
  return kSuccess;
}

int status() { return faulted ? kIllegalAddress : kSuccess; }

} // namespace

#include "kernels.h"

extern "C" {

int cuInit(unsigned) { return number("MOCK_DEVICES", 1) ? (int)number("MOCK_INIT", kSuccess) : kNoDevice; }
int cuDriverGetVersion(int *version) { return *version = (int)number("MOCK_VERSION", 12050), kSuccess; }
int cuDeviceGet(int *device, int) { return *device = 0, kSuccess; }
int cuDeviceGetName(char *name, int length, int) { return snprintf(name, length, "Mock"), kSuccess; }
int cuDeviceGetUuid_v2(char *uuid, int) { return memcpy(uuid, "mock-of-a-device", 16), kSuccess; }
int cuDeviceGetAttribute(int *value, int attribute, int) {
  int arch = (int)number("MOCK_ARCH", 80);
  switch (attribute) {
  case 75:
    *value = arch / 10;
    break;
  case 76:
    *value = arch % 10;
    break;
  case 16:
    *value = 2;
    break; // multiprocessors
  case 106:
    *value = 16;
    break; // blocks of one
  case 81:
    *value = 100 << 10;
    break; // its shared memory
  case 97:
    *value = 99 << 10;
    break; // most of a block
  default:
    // So that whoever asks for one attribute and gets another is found out.
    *value = attribute + 1000;
    return attribute > 140 ? kInvalidValue : kSuccess;
  }
  return kSuccess;
}
int cuGetErrorName(int error, const char **name) {
  switch (error) {
  case kOutOfMemory:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return kSuccess;
  case kNoDevice:
    *name = "CUDA_ERROR_NO_DEVICE";
    return kSuccess;
  case kInvalidPtx:
    *name = "CUDA_ERROR_INVALID_PTX";
    return kSuccess;
  case kUnsupportedPtx:
    *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
    return kSuccess;
  case kNotFound:
    *name = "CUDA_ERROR_NOT_FOUND";
    return kSuccess;
  case kIllegalAddress:
    *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    return kSuccess;
  default:
    return kInvalidValue;
  }
}
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = &used, kSuccess; }
thread_local void *current;
int cuCtxSetCurrent(void *context) { return current = context, kSuccess; }
int cuCtxGetCurrent(void **context) { return *context = current, kSuccess; }
int cuCtxGetStreamPriorityRange(int *least, int *greatest) { return *least = 0, *greatest = -5, kSuccess; }
int cuCtxSetLimit(int, size_t) { return kSuccess; }
int cuCtxSynchronize() {
  log("wait for all");
  if (endless) fputs("waits for ever\n", stderr), abort();
  finish_all();
  return status();
}

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  auto *made = new MockStream();
  made->blocking = !(flags & 1);
  streams.insert(made);
  log("stream %s%s", flags & 1 ? "non-blocking" : "blocking", priority < 0 ? " urgent" : "");
  return *stream = made, kSuccess;
}
int cuStreamDestroy_v2(void *stream) {
  if (!streams.count((MockStream *)stream)) return kInvalidHandle;
  finish(((MockStream *)stream)->last);
  streams.erase((MockStream *)stream);
  return kSuccess;
}
int cuStreamSynchronize(void *handle) {
  MockStream *stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  // What the default stream would come after.
  if (stream == &legacy) submit(handle, nullptr);
  finish(stream->last);
  return status();
}
int cuStreamQuery(void *handle) {
  MockStream *stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (stream->last == kNone || operations[stream->last].done) return status();
  if (endless) return kNotReady;
  // The first answer is that it is not over; then it is.
  finish(stream->last);
  return kNotReady;
}
int cuStreamWaitEvent(void *handle, void *event, unsigned) {
  MockStream *stream = stream_of(handle);
  if (!stream || !events.count((MockEvent *)event)) return kInvalidHandle;
  stream->waits.push_back(((MockEvent *)event)->at);
  return kSuccess;
}
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  return submit(stream, [=] { function(data); });
}
int cuEventCreate(void **event, unsigned flags) {
  auto *made = new MockEvent();
  made->flags = flags;
  events.insert(made);
  return *event = made, kSuccess;
}
int cuEventDestroy_v2(void *event) { return events.erase((MockEvent *)event) ? kSuccess : kInvalidHandle; }
int cuEventRecord(void *event, void *stream) {
  if (!events.count((MockEvent *)event)) return kInvalidHandle;
  int submitted = submit(stream, nullptr);
  if (submitted == kSuccess) ((MockEvent *)event)->at = operations.size() - 1;
  return submitted;
}
int cuEventSynchronize(void *event) {
  if (!events.count((MockEvent *)event)) return kInvalidHandle;
  finish(((MockEvent *)event)->at);
  return status();
}
int cuEventQuery(void *event) {
  if (!events.count((MockEvent *)event)) return kInvalidHandle;
  size_t at = ((MockEvent *)event)->at;
  if (at == kNone || operations[at].done) return status();
  finish(at);
  return kNotReady;
}
int cuEventElapsedTime(float *time, void *start, void *end) {
  if (!events.count((MockEvent *)start) || !events.count((MockEvent *)end)) return kInvalidHandle;
  return *time = 12.5f, kSuccess;
}

int cuMemGetInfo_v2(size_t *free, size_t *all) { return *free = total() - used, *all = total(), kSuccess; }
int cuMemAlloc_v2(Address *address, size_t size) {
  if (!take(size)) return kOutOfMemory;
  *address = (Address)aligned_alloc(512, (size + 511) / 512 * 512);
  allocated[*address] = size;
  return kSuccess;
}
int cuMemFree_v2(Address address) {
  if (!allocated.count(address)) return kInvalidValue;
  used -= allocated[address];
  allocated.erase(address);
  free((void *)address);
  return kSuccess;
}
int cuMemAllocManaged(Address *address, size_t size, unsigned flags) {
  return flags == 1 ? cuMemAlloc_v2(address, size) : (int)kInvalidValue;
}
int cuMemHostAlloc(void **host, size_t size, unsigned) {
  *host = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  return locked[(Address)*host] = size, kSuccess;
}
int cuMemFreeHost(void *host) { return locked.erase((Address)host), free(host), kSuccess; }
int cuMemHostRegister_v2(void *host, size_t size, unsigned) {
  if (!size) return kInvalidValue;
  // Pages are locked, each once.
  Address start = (Address)host / kPage, end = ((Address)host + size - 1) / kPage;
  for (auto &[at, bytes] : registered)
    if (start <= (at + bytes - 1) / kPage && at / kPage <= end) return kAlreadyRegistered;
  return registered[(Address)host] = size, kSuccess;
}
int cuMemHostUnregister(void *host) { return registered.erase((Address)host) ? kSuccess : kNotRegistered; }
int cuMemHostGetDevicePointer_v2(Address *device, void *host, unsigned) {
  return *device = (Address)host, kSuccess;
}

// Whether some of these bytes are registered and others are not: the driver refuses to copy them.
static bool is_in_part_registered(Address at, size_t size) {
  size_t locked = 0;
  for (auto &[start, bytes] : registered) {
    Address from = start > at ? start : at, to = start + bytes < at + size ? start + bytes : at + size;
    if (from < to) locked += to - from;
  }
  return locked && locked != size;
}

// Fills and copies of rows; what is one-dimensional has one.
static int fill(Address to, size_t pitch, unsigned value, size_t element, size_t width, size_t rows,
                void *stream) {
  log("fill %zu", width * element * rows);
  return submit(stream, [=] {
    for (size_t row = 0; row < rows; row++)
      for (size_t i = 0; i < width; i++) memcpy((char *)to + row * pitch + i * element, &value, element);
  });
}
int cuMemsetD8Async(Address to, unsigned char value, size_t n, void *stream) {
  return fill(to, n, value, 1, n, 1, stream);
}
int cuMemsetD16Async(Address to, unsigned short value, size_t n, void *stream) {
  return fill(to, n, value, 2, n, 1, stream);
}
int cuMemsetD32Async(Address to, unsigned value, size_t n, void *stream) {
  return fill(to, n, value, 4, n, 1, stream);
}
int cuMemsetD2D8Async(Address to, size_t pitch, unsigned char value, size_t width, size_t rows,
                      void *stream) {
  return fill(to, pitch, value, 1, width, rows, stream);
}
int cuMemsetD2D16Async(Address to, size_t pitch, unsigned short value, size_t width, size_t rows,
                       void *stream) {
  return fill(to, pitch, value, 2, width, rows, stream);
}
int cuMemsetD2D32Async(Address to, size_t pitch, unsigned value, size_t width, size_t rows, void *stream) {
  return fill(to, pitch, value, 4, width, rows, stream);
}
int cuMemcpyAsync(Address to, Address from, size_t size, void *stream) {
  log("copy %zu", size);
  if (is_in_part_registered(to, size) || is_in_part_registered(from, size)) return kInvalidValue;
  return submit(stream, [=] { memmove((void *)to, (void *)from, size); });
}
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t size, void *stream) {
  return cuMemcpyAsync(to, (Address)from, size, stream);
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t size, void *stream) {
  return cuMemcpyAsync((Address)to, from, size, stream);
}
// ---- arrays, textures, surfaces ----

// CUDA_ARRAY3D_DESCRIPTOR
struct ArrayDescription {
  size_t width, height, depth;
  unsigned format, channels, flags;
};
static unsigned bits_of(unsigned format) {
  switch (format) {
  case 1:
  case 8:
    return 8;
  case 2:
  case 9:
  case 16:
    return 16;
  case 3:
  case 10:
  case 32:
    return 32;
  default:
    return 0;
  }
}
// As a cudaChannelFormatDesc.
static void to_channels(int (&to)[5], unsigned format, unsigned channels) {
  for (unsigned n = 0; n < 4; n++) to[n] = n < channels ? (int)bits_of(format) : 0;
  to[4] = format >= 16 ? 2 : format < 8 ? 1 : 0;
}
struct MockArray {
  ArrayDescription is;
  char *rows_at;
  size_t row() const { return is.width * is.channels * bits_of(is.format) / 8; }
  size_t rows() const { return is.height ? is.height : 1; }
  size_t slices() const { return is.depth ? is.depth : 1; }
};
static std::set<MockArray *> arrays;
static std::set<u64> textures, surfaces;
int cuArray3DCreate_v2(void **array, const ArrayDescription *is) {
  if (!bits_of(is->format) || !is->width || (is->channels != 1 && is->channels != 2 && is->channels != 4))
    return kInvalidValue;
  auto *made = new MockArray{*is, nullptr};
  if (Executor::get()) {
    int format[5];
    to_channels(format, is->format, is->channels);
    made->rows_at = (char *)Executor::get()->array(format, {is->width, is->height, is->depth}, is->flags);
    if (!made->rows_at) return kOutOfMemory;
  } else {
    made->rows_at = (char *)calloc(made->row() * made->rows(), made->slices());
  }
  arrays.insert(made);
  log("array %zu %zu %zu format %u channels %u flags %u", is->width, is->height, is->depth, is->format,
      is->channels, is->flags);
  return *array = made, kSuccess;
}
int cuArrayDestroy(void *handle) {
  auto *array = (MockArray *)handle;
  if (!arrays.erase(array)) return kInvalidHandle;
  log("array gone");
  if (Executor::get())
    Executor::get()->free_array(array->rows_at);
  else
    free(array->rows_at);
  delete array;
  return kSuccess;
}
// CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC
struct Resource {
  unsigned type;
  struct {
    Address at;
    unsigned format, channels;
    size_t sizes[14];
  } of;
  unsigned flags;
};
static_assert(sizeof(Resource) == 144, "the driver's");
struct Sampling {
  unsigned modes[3], filter, flags, anisotropy, mipmap_filter;
  float levels[3], border[4];
  int reserved[12];
};
static int make_object(u64 *object, const Resource &resource, const Sampling *sampling) {
  bool is_array = resource.type == 0;
  if (is_array && !arrays.count((MockArray *)resource.of.at)) return kInvalidHandle;
  if (!is_array && (!sampling || !bits_of(resource.of.format))) return kInvalidValue;
  // The alignment of textures.
  if (!is_array && resource.of.at % 512) return kInvalidValue;
  static u64 next = 1;
  *object = next++;
  if (Executor::get()) {
    // As the runtime API has them.
    struct {
      unsigned type;
      u64 words[7];
    } shown = {resource.type, {resource.of.at}};
    if (is_array) {
      shown.words[0] = (u64)((MockArray *)resource.of.at)->rows_at;
    } else {
      int format[5];
      to_channels(format, resource.of.format, resource.of.channels);
      memcpy((char *)shown.words + 8, format, sizeof format);
      memcpy((char *)shown.words + 32, resource.of.sizes, 24);
    }
    struct {
      unsigned modes[3], filter, as_float;
      int srgb;
      float border[4];
      int normalized;
      unsigned rest[7];
    } how = {};
    if (sampling) {
      memcpy(how.modes, sampling->modes, sizeof how.modes);
      memcpy(how.border, sampling->border, sizeof how.border);
      how.filter = sampling->filter, how.as_float = !(sampling->flags & 1),
      how.normalized = sampling->flags >> 1 & 1;
      how.srgb = sampling->flags >> 4 & 1;
    }
    *object = Executor::get()->object(&shown, sampling ? &how : nullptr);
    if (!*object) return kInvalidValue;
  }
  (sampling ? textures : surfaces).insert(*object);
  return kSuccess;
}
int cuTexObjectCreate(u64 *texture, const Resource *resource, const Sampling *sampling, const void *view) {
  if (view) return kInvalidValue;
  log("texture of %u format %u channels %u sizes %zu %zu %zu modes %u %u %u filter %u flags %u",
      resource->type, resource->type ? resource->of.format : 0, resource->type ? resource->of.channels : 0,
      resource->type ? resource->of.sizes[0] : 0, resource->type == 3 ? resource->of.sizes[1] : 0,
      resource->type == 3 ? resource->of.sizes[2] : 0, sampling->modes[0], sampling->modes[1],
      sampling->modes[2], sampling->filter, sampling->flags);
  return make_object(texture, *resource, sampling);
}
int cuSurfObjectCreate(u64 *surface, const Resource *resource) {
  if (resource->type != 0) return kInvalidValue;
  log("surface");
  return make_object(surface, *resource, nullptr);
}
int cuTexObjectDestroy(u64 texture) {
  if (!textures.erase(texture)) return kInvalidValue;
  return Executor::get() ? Executor::get()->free_object(texture, true) : kSuccess;
}
int cuSurfObjectDestroy(u64 surface) {
  if (!surfaces.erase(surface)) return kInvalidValue;
  return Executor::get() ? Executor::get()->free_object(surface, false) : kSuccess;
}

// CUDA_MEMCPY3D: each side is eleven words.
struct Side3 {
  size_t x, y, z, lod, type, host, device, array, reserved, pitch, height;
};
struct Copy3 {
  Side3 from, to;
  size_t width, height, depth;
};
// Memory that the driver has given out or locked.
static bool is_known(Address address) {
  for (auto *known : {&allocated, &mapped, &registered, &locked}) {
    auto behind = known->upper_bound(address);
    if (behind != known->begin() && address - std::prev(behind)->first < std::prev(behind)->second)
      return true;
  }
  return false;
}
int cuPointerGetAttribute(void *value, int attribute, Address address) {
  if (attribute != 2 || !is_known(address)) return kInvalidValue;
  return *(unsigned *)value = 2, kSuccess;
}
int cuMemcpy3DAsync_v2(const Copy3 *copy, void *stream) {
  auto is_right = [&](const Side3 &side) {
    // CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_HOST
    if ((unsigned)side.type == 4) return side.pitch >= copy->width && is_known(side.device);
    if ((unsigned)side.type == 1) return side.pitch >= copy->width && !is_known(side.host);
    if ((unsigned)side.type != 3 || !arrays.count((MockArray *)side.array)) return false;
    auto &array = *(MockArray *)side.array;
    return side.x + copy->width <= array.row() && side.y + copy->height <= array.rows() &&
           side.z + copy->depth <= array.slices();
  };
  if (!is_right(copy->from) || !is_right(copy->to)) return kInvalidValue;
  for (size_t row = 0; row < copy->height * copy->depth; row++) {
    auto is_split = [&](const Side3 &side) {
      size_t z = row / copy->height, y = row % copy->height;
      return !side.array &&
             is_in_part_registered((side.host ? side.host : side.device) + (z * side.height + y) * side.pitch,
                                   copy->width);
    };
    if (is_split(copy->from) || is_split(copy->to)) return kInvalidValue;
  }
  auto name = [](const Side3 &side) { return side.array ? "array" : "memory"; };
  log("copy rows %zu %zu %zu from %s to %s", copy->width, copy->height, copy->depth, name(copy->from),
      name(copy->to));
  return submit(stream, [copy = *copy] {
    auto at = [](const Side3 &side, size_t y, size_t z) {
      if (!side.array)
        return (char *)(side.host ? side.host : side.device) + (z * side.height + y) * side.pitch;
      auto &array = *(MockArray *)side.array;
      return array.rows_at + ((side.z + z) * array.rows() + side.y + y) * array.row() + side.x;
    };
    for (size_t z = 0; z < copy.depth; z++)
      for (size_t y = 0; y < copy.height; y++) memcpy(at(copy.to, y, z), at(copy.from, y, z), copy.width);
  });
}

int cuMemGetAllocationGranularity(size_t *granularity, const void *, int) {
  // A virtual machine may have no memory to be mapped.
  if (getenv("MOCK_UNMAPPED")) return kNotSupported;
  return *granularity = kGranularity, kSuccess;
}
int cuMemAddressReserve(Address *address, size_t size, size_t, Address, unsigned long long) {
  if (!size || size % kGranularity) return kInvalidValue;
  void *got =
      mmap(nullptr, size + kGranularity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return kOutOfMemory;
  // What lies before and behind stays reserved.
  *address = ((Address)got + kGranularity - 1) / kGranularity * kGranularity;
  return kSuccess;
}
int cuMemAddressFree(Address address, size_t size) {
  return munmap((void *)address, size) ? kInvalidValue : kSuccess;
}
int cuMemCreate(Address *handle, size_t size, const void *, unsigned long long) {
  if (!size || size % kGranularity) return kInvalidValue;
  if (!take(size)) return kOutOfMemory;
  physical[ *handle = next_handle++] = size;
  return kSuccess;
}
int cuMemMap(Address address, size_t size, size_t offset, Address handle, unsigned long long flags) {
  if (offset || flags || address % kGranularity) return kInvalidValue;
  if (physical[handle] != size || mapped.count(address)) return kInvalidValue;
  mapped[address] = size;
  return mprotect((void *)address, size, PROT_READ | PROT_WRITE) ? kInvalidValue : kSuccess;
}
int cuMemUnmap(Address address, size_t size) {
  if (!mapped.count(address) || mapped[address] != size) return kInvalidValue;
  log("unmap %zu", size);
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
  if (const char *target = strstr(text, "\n.target "))
    log("target %.*s", (int)strcspn(target + 9, " ,\n"), target + 9);
  const char *version = strstr(text, ".version ");
  int major, minor;
  if (version && sscanf(version, ".version %d.%d", &major, &minor) == 2) {
    log("version %d.%d", major, minor);
    // CUDA 11.m and 12.m know PTX 7.m and 8.m.
    int known = (int)number("MOCK_VERSION", 12050);
    if (major * 10 + minor > (known / 1000 - 4) * 10 + known % 1000 / 10) return kUnsupportedPtx;
  }
  auto *made = new MockModule();
  made->text = text;
  return *module = made, kSuccess;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  auto *of = (MockModule *)module;
  static const std::set<std::string> known = {"racy",        "ordered",         "faulty",
                                              "racy_shared", "racy_total",      "scale",
                                              "_Z5emptyv",   "__gpurace_begin", "__gpurace_touch"};
  if (of->is_real() && of->text.find(std::string(".entry ") + name + "(") == std::string::npos)
    return kNotFound;
  if (of->is_real() && Executor::get()) {
    *function = new MockFunction{of, name, 0, Executor::get()->kernel(name), parameters_of(of->text, name)};
    return kSuccess;
  }
  if (!known.count(bare_name(name))) return kNotFound;
  log("ready %s", name);
  *function = new MockFunction{of, name, 0, nullptr, {}};
  return kSuccess;
}
// A variable that PTX declares: `.global .align 4 .u32 total;`
static std::pair<char *, size_t> *declared(MockModule &module, const std::string &name) {
  auto found = module.named.find(name);
  if (found != module.named.end()) return &found->second;
  for (size_t at = 0; (at = module.text.find(" " + name, at)) != std::string::npos; at++) {
    size_t line = module.text.rfind('\n', at) + 1;
    std::string before = module.text.substr(line, at - line);
    char next = module.text[at + 1 + name.size()];
    if ((before.find(".global") == std::string::npos && before.find(".const") == std::string::npos) ||
        !strchr(";[ ", next))
      continue;
    size_t dot = before.rfind('.');
    size_t bytes = strtoul(before.c_str() + dot + 2, nullptr, 10) / 8;
    if (next == '[') bytes *= strtoul(module.text.c_str() + at + 2 + name.size(), nullptr, 10);
    return &(module.named[name] = {(char *)calloc(1, (bytes + 255) / 256 * 256), bytes});
  }
  return nullptr;
}
int cuModuleGetGlobal_v2(Address *address, size_t *size, void *module, const char *name) {
  auto &of = *(MockModule *)module;
  if (of.is_real() && Executor::get()) {
    void *found;
    if (!Executor::get()->variable(name, &found, size)) return kNotFound;
    return *address = (Address)found, kSuccess;
  }
  if (!strcmp(name, "__gpurace_state")) {
    if (of.is_real() && of.text.find(name) == std::string::npos) return kNotFound;
    return *address = (Address)&of.state, *size = sizeof(State), kSuccess;
  }
  if (!of.is_real()) {
    if (strcmp(name, "total")) return kNotFound;
    return *address = (Address)&of.variables[1], *size = 8, kSuccess;
  }
  auto *found = declared(of, name);
  if (!found) return kNotFound;
  return *address = (Address)found->first, *size = found->second, kSuccess;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  auto &f = *(MockFunction *)function;
  bool checked = bare_name(f.name) != f.name;
  if (f.stub && attribute == 1) return *value = Executor::get()->shared(f.stub), kSuccess;
  switch (attribute) {
  case 0:
    *value = checked ? (int)number("MOCK_CHECKED_THREADS", 1024) : 1024;
    break;
  case 1:
    *value = checked ? 256 : 0;
    break; // shared memory
  case 4:
    *value = checked ? 64 : 20;
    break; // registers
  case 5:
  case 6:
    *value = 80;
    break;
  default:
    *value = 0;
  }
  return kSuccess;
}
// Those that may have clusters of more than eight blocks.
static std::set<void *> of_wide_clusters;
int cuFuncSetAttribute(void *function, int attribute, int value) {
  auto &f = *(MockFunction *)function;
  if (attribute == 14 && value) of_wide_clusters.insert(function);
  if (attribute == 8) f.dynamic_shared = value;
  return attribute == 8 && value > 99 << 10 ? kInvalidValue : kSuccess;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t) {
  auto &f = *(MockFunction *)function;
  return *blocks = (bare_name(f.name) != f.name ? 1024 : 2048) / threads, kSuccess;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **arguments, void **) {
  return launch(function, "launch", {gx, gy, gz}, {bx, by, bz}, shared, false, {}, stream, arguments);
}
int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared, void *stream, void **arguments) {
  return launch(function, "launch together", {gx, gy, gz}, {bx, by, bz}, shared, true, {}, stream, arguments);
}
struct Config {
  Dim3 grid, block;
  unsigned shared;
  void *stream;
  struct Attribute {
    int id;
    char padding[4];
    union {
      Dim3 cluster;
      int cooperative;
      char value[64];
    };
  } *attributes;
  unsigned count;
};
int cuLaunchKernelEx(const Config *config, void *function, void **arguments, void **) {
  Dim3 cluster = {};
  bool cooperative = false;
  for (unsigned n = 0; n < config->count; n++) {
    auto &attribute = config->attributes[n];
    if (attribute.id == 4)
      cluster = attribute.cluster;
    else if (attribute.id == 2)
      cooperative = attribute.cooperative;
    else
      return kInvalidValue;
  }
  if (cluster.x * cluster.y * cluster.z > 8 && !of_wide_clusters.count(function)) return kInvalidClusterSize;
  std::string how = "launch clusters of " + std::to_string(cluster.x * cluster.y * cluster.z) +
                    (cooperative ? " together" : "");
  return launch(function, how.c_str(), config->grid, config->block, config->shared, cooperative, cluster,
                config->stream, arguments);
}

} // extern "C"
