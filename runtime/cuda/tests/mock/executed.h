// Runs kernels of real PTX by the executor. The driver would compile the PTX; here code for a GPU
// that was lowered for the host takes its place (see the suite `executed`). The executor is the
// runtime library, opened a second time in a namespace of its own: it shares no state with the one
// that the program is linked to.
//
// MOCK_EXECUTED: the file with the lowered code; MOCK_RUNTIME: the runtime library;
// MOCKRUN_OPTIONS: the GPURACE_OPTIONS of the executor.
#pragma once
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace executed {

using u64 = unsigned long;

struct Dim3 {
  unsigned x, y, z;
};

// The checker's own symbols, which the executor has too, have other names in lowered code.
inline std::string lowered_name(const std::string &name) {
  const std::string own = "__gpurace_";
  return name.compare(0, own.size(), own) ? name : "on_gpu_" + name.substr(own.size());
}

class Executor {
public:
  // Null if there is none.
  static Executor *get() {
    static Executor *opened = getenv("MOCK_EXECUTED") ? new Executor() : nullptr;
    return opened;
  }

  // The stub of a kernel, registered once.
  void *kernel(const std::string &name) {
    std::string &stub = stubs_[name];
    if (stub.empty()) {
      stub = lowered_name(name);
      register_function_(module_, stub.c_str(), nullptr, stub.c_str(), -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
    }
    return (void *)stub.c_str();
  }

  // Address and size of a variable. False if there is none.
  bool variable(const std::string &name, void **address, size_t *size) {
    std::string &host = variables_[name];
    if (host.empty()) {
      host = lowered_name(name);
      register_var_(module_, host.c_str(), nullptr, host.c_str(), 0, 0, 0, 0);
    }
    return !symbol_address_(address, host.c_str()) && !symbol_size_(size, host.c_str());
  }

  // Makes an array: rows at the address that it returns, or null. `format`: a
  // cudaChannelFormatDesc; `extent`: a cudaExtent.
  struct Extent {
    size_t width, height, depth;
  };
  void *array(const int (&format)[5], Extent extent, unsigned flags) {
    void *made = nullptr;
    return array_(&made, format, extent, flags) ? nullptr : made;
  }
  int free_array(void *array) { return free_array_(array); }

  // Makes a texture, of a cudaResourceDesc and a cudaTextureDesc, or a surface, without the latter.
  // Returns 0 on an error.
  u64 object(const void *resource, const void *texture) {
    u64 made = 0;
    int error = texture ? texture_(&made, resource, texture, nullptr) : surface_(&made, resource);
    return error ? 0 : made;
  }
  int free_object(u64 object, bool is_texture) {
    return (is_texture ? free_texture_ : free_surface_)(object);
  }

  // Bytes of its static shared memory.
  int shared(void *stub) {
    size_t attributes[64] = {};
    return attributes_(attributes, stub) ? 0 : (int)attributes[0];
  }

  // Runs a launch to its end. Returns the error, or 0.
  int run(void *stub, Dim3 grid, Dim3 block, unsigned shared, bool cooperative, Dim3 cluster,
          void **arguments) {
    // cudaLaunchAttribute, cudaLaunchConfig_t.
    struct Attribute {
      int id;
      char padding[4];
      union {
        Dim3 cluster;
        int cooperative;
        char value[64];
      };
    } attributes[2] = {};
    struct Config {
      Dim3 grid, block;
      size_t shared;
      void *stream;
      Attribute *attributes;
      unsigned count;
    } config = {grid, block, shared, nullptr, attributes, 0};
    if (cooperative) attributes[config.count].id = 2, attributes[config.count++].cooperative = 1;
    if (cluster.x) attributes[config.count].id = 4, attributes[config.count++].cluster = cluster;
    allow_(stub, 8, (int)shared);
    int error = launch_(&config, stub, arguments);
    if (!error) error = wait_();
    flush_(nullptr);
    if (error) fprintf(stderr, "executed: %s: error %d\n", (char *)stub, error);
    return error;
  }

private:
  Executor() {
    // When it is opened, the library reads its options from the environment that the process began
    // with. They are put there for the moment.
    const std::string first = "GPURACE", second = "MOCKRUN", behind = "_OPTIONS=";
    auto swap = [&] {
      for (char **variable = environ; *variable; variable++) {
        for (auto &[from, to] : {std::pair(first, second), std::pair(second, first)}) {
          if (strncmp(*variable, (from + behind).c_str(), 16)) continue;
          memcpy(*variable, to.data(), 7);
          break;
        }
      }
    };
    swap();
    library_ = dlmopen(LM_ID_NEWLM, getenv("MOCK_RUNTIME"), RTLD_NOW);
    swap();
    if (!library_) fail(dlerror());
    FILE *file = fopen(getenv("MOCK_EXECUTED"), "rb");
    if (!file) fail("no lowered code");
    for (int c; (c = fgetc(file)) != EOF;) code_.push_back((char)c);
    fclose(file);
    static struct {
      int magic, version;
      const void *data;
      void *unused;
    } wrapper;
    // An aligned copy.
    void *aligned = aligned_alloc(64, (code_.size() + 63) / 64 * 64);
    memcpy(aligned, code_.data(), code_.size());
    wrapper = {0x466243b1, 1, aligned, nullptr};
    module_ = ((void *(*)(void *))find("__cudaRegisterFatBinary"))(&wrapper);
    *(void **)&register_function_ = find("__cudaRegisterFunction");
    *(void **)&register_var_ = find("__cudaRegisterVar");
    *(void **)&symbol_address_ = find("cudaGetSymbolAddress");
    *(void **)&symbol_size_ = find("cudaGetSymbolSize");
    *(void **)&attributes_ = find("cudaFuncGetAttributes");
    *(void **)&allow_ = find("cudaFuncSetAttribute");
    *(void **)&launch_ = find("cudaLaunchKernelExC");
    *(void **)&wait_ = find("cudaDeviceSynchronize");
    *(void **)&flush_ = find("fflush");
    *(void **)&array_ = find("cudaMalloc3DArray");
    *(void **)&free_array_ = find("cudaFreeArray");
    *(void **)&texture_ = find("cudaCreateTextureObject");
    *(void **)&surface_ = find("cudaCreateSurfaceObject");
    *(void **)&free_texture_ = find("cudaDestroyTextureObject");
    *(void **)&free_surface_ = find("cudaDestroySurfaceObject");
  }

  void *find(const char *name) {
    void *found = dlsym(library_, name);
    if (!found) fail(name);
    return found;
  }

  [[noreturn]] static void fail(const char *why) {
    fprintf(stderr, "executed: %s\n", why);
    abort();
  }

  void *library_;
  std::vector<char> code_;
  void *module_;
  std::map<std::string, std::string> stubs_, variables_;
  void (*register_function_)(void *, const char *, void *, const char *, int, void *, void *, void *, void *,
                             void *);
  void (*register_var_)(void *, const char *, void *, const char *, int, size_t, int, int);
  int (*symbol_address_)(void **, const void *);
  int (*symbol_size_)(size_t *, const void *);
  int (*attributes_)(void *, const void *);
  int (*allow_)(const void *, int, int);
  int (*launch_)(const void *, const void *, void **);
  int (*wait_)();
  int (*flush_)(void *);
  int (*array_)(void **, const void *, Extent, unsigned);
  int (*free_array_)(void *);
  int (*texture_)(u64 *, const void *, const void *, const void *);
  int (*surface_)(u64 *, const void *);
  int (*free_texture_)(u64);
  int (*free_surface_)(u64);
};

} // namespace executed
