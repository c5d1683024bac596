// A mock driver for tests: the functions of CUDA's driver API that the backend calls, in the host's
// memory. Checked kernels run the device runtime itself, compiled for the host, one thread after
// the other.
//
// It knows the kernels of the tests by their names. In real PTX it searches for entries and
// variables. With MOCK_EXECUTED the executor runs real PTX (`executed.h`).
//
// Work runs as late as possible: a launch, an asynchronous copy or a host function runs when
// somebody waits for it, or for an operation that CUDA's order of streams puts after it. A missing
// wait in the backend therefore shows as a wrong value.
//
//   MOCK_LOG              file to which calls are written
//   MOCK_DEVICES          number of devices
//   MOCK_MEMORY           bytes of the device's memory
//   MOCK_ARCH             compute capability, 80 for 8.0
//   MOCK_VERSION          version of the driver
//   MOCK_CHECKED_THREADS  most threads of a checked block
//   MOCK_LAUNCH_TIME      microseconds that a launch takes on the host
//   MOCK_UNMAPPED         no memory can be mapped
//   MOCK_INIT             result of `cuInit`
//   MOCK_ENDLESS          launches never end
//   MOCK_SITES            numbers of the sites of each kernel: `racy:1 ordered:2,3`
#include "state.h"

#include "executed.h"
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
  case 111:
    // Shared memory that the system keeps: an older driver does not tell.
    return kInvalidValue;
  default:
    // A value of its own for each attribute, so that tests notice a mixed-up one.
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

#include "arrays.h"
#include "memory.h"
#include "streams.h"

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
  static const std::set<std::string> known = {"racy",       "ordered", "faulty",    "racy_shared",
                                              "racy_total", "scale",   "_Z5emptyv", "__gpurace_begin"};
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
    return *address = (Address)&of.state, *size = sizeof(CheckerState), kSuccess;
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
    // Shared memory: the checker's, and an array of 64 numbers.
    *value = (checked ? 384 : 0) + (bare_name(f.name) == "racy_shared" ? 256 : 0);
    break;
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
// The functions that may have clusters of more than eight blocks.
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
