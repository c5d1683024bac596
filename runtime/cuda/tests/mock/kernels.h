// The mock driver's modules and kernels: those that it knows by name, and the checker's own. A part
// of `libcuda.cpp`.
#pragma once

namespace {

struct MockModule {
  CheckerState state;
  std::string text;
  // A variable, with other bytes on both sides.
  alignas(8) int variables[4];
  std::map<std::string, std::pair<char *, size_t>> named;

  bool is_real() const { return text.find(".entry") != std::string::npos; }
};
struct MockFunction {
  MockModule *module;
  std::string name;
  int dynamic_shared;
  // If the executor runs it: its handle there, and the bytes of its parameters.
  void *stub;
  std::vector<size_t> parameters;
};
using executed::Dim3;
using executed::Executor;

const char *const kSuffix = "__gpurace_checked";

std::string bare_name(const std::string &name) { return name.substr(0, name.find(kSuffix)); }

// The number of a kernel's nth site.
u32 site(const std::string &kernel, u32 n, u32 otherwise) {
  const char *all = getenv("MOCK_SITES");
  if (!all) return otherwise;
  std::string text = std::string(" ") + all + " ";
  size_t at = text.find(" " + kernel + ":");
  if (at == std::string::npos) return otherwise;
  const char *from = text.c_str() + at + kernel.size() + 2;
  for (; n > 0; n--) from = strchr(from, ',') + 1;
  return (u32)strtoul(from, nullptr, 10);
}

// Runs a kernel. `argument(n)` is its nth argument.
void run(const std::string &kernel, bool checked, void **arguments, u64 cell, CheckerState *state, u32 blocks,
         u32 threads) {
  auto pointer = [&](u32 n) { return *(int **)arguments[n]; };
  static std::vector<u32> shared(1 << 14);
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
        __gpurace_simulated.shared = (u64)shared.data();
        __gpurace_simulated.shared_size = shared.size() * 4;
        body(thread);
      }
    };
    auto write = [&](int *at, u32 site, int value) {
      if (checked) __gpurace_write(at, 4, site, value);
      *at = value;
    };
    auto read = [&](int *at, u32 site) {
      if (checked) __gpurace_read(at, 4, site);
      return *at;
    };
    if (checked) each([&](u32) { __gpurace_enter(cell); });
    if (kernel == "racy" || kernel == "faulty") {
      each([&](u32 thread) { write(pointer(0), site(kernel, 0, 1), (int)thread); });
      if (kernel == "faulty") {
        faulted = true;
        return;
      }
    } else if (kernel == "_Z5emptyv") {
      // The kernel of tests/bench/launch.cu.
    } else if (kernel == "racy_shared") {
      // s[t] = t; a[t] = s[t ^ 1], without a barrier.
      each([&](u32 thread) {
        write((int *)&shared[thread], site(kernel, 0, 1), (int)thread);
        int value = read((int *)&shared[thread ^ 1], site(kernel, 1, 2));
        write(pointer(0) + block * threads + thread, site(kernel, 2, 3), value);
      });
    } else if (kernel == "racy_total") {
      // total = total + 1, of a device variable.
      int *total = (int *)((u64)arguments[-1]);
      each([&](u32) { write(total, site(kernel, 1, 2), read(total, site(kernel, 0, 1)) + 1); });
    } else if (kernel == "scale") {
      // a[i] = a[i] * factor + offset for i < n
      int factor = *(int *)arguments[1], n = *(int *)arguments[3];
      long offset = *(long *)arguments[2];
      each([&](u32 thread) {
        int i = (int)(block * threads + thread);
        if (i < n)
          write(pointer(0) + i, site(kernel, 1, 2),
                read(pointer(0) + i, site(kernel, 0, 1)) * factor + (int)offset);
      });
    } else {
      each([&](u32 thread) { write(pointer(0) + block * threads + thread, site(kernel, 0, 2), 1); });
      each([&](u32 thread) {
        if (checked) before[thread] = __gpurace_before_barrier();
      });
      each([&](u32 thread) {
        if (checked) __gpurace_after_barrier(before[thread]);
        read(pointer(0) + block * threads + (thread + 1) % threads, site(kernel, 1, 3));
      });
    }
    if (checked) each([&](u32) { __gpurace_leave(); });
  }
}

// Bytes of a parameter of a kernel, or 0 behind the last.
size_t parameter(const std::string &kernel, u32 n) {
  if (kernel == "__gpurace_begin") return n < 14 ? 8 : 0;
  if (kernel == "racy_total" || kernel == "_Z5emptyv") return 0;
  if (kernel == "scale") return n < 4 ? (n % 2 ? 4 : 8) : 0;
  return n < 1 ? 8 : 0;
}

// The same for an entry of real PTX: `.param .u64 .ptr .align 1 k_param_0,`, `.param .align 8 .b8
// k_param_1[24]`.
std::vector<size_t> parameters_of(const std::string &ptx, const std::string &kernel) {
  std::vector<size_t> sizes;
  size_t at = ptx.find(".entry " + kernel + "("), end = ptx.find(')', at);
  while ((at = ptx.find(".param", at + 1)) < end) {
    std::string line = ptx.substr(at, ptx.find('\n', at) - at);
    size_t array = line.find('['), type = line.find_first_of("busf", line.find(" .") + 2);
    if (array != std::string::npos) {
      sizes.push_back(strtoul(line.c_str() + array + 1, nullptr, 10));
    } else {
      sizes.push_back(strtoul(line.c_str() + type + 1, nullptr, 10) / 8);
    }
  }
  return sizes;
}

// Launches a kernel. Copies its arguments before the call returns, as the driver does.
int launch_executed(MockFunction &f, Dim3 grid, Dim3 block, unsigned shared, bool cooperative, Dim3 cluster,
                    void *stream, void **arguments) {
  auto kept = std::make_shared<std::vector<std::vector<char>>>();
  for (size_t n = 0; n < f.parameters.size(); n++) {
    char *from = (char *)arguments[n];
    kept->emplace_back(from, from + f.parameters[n]);
  }
  return submit(stream, [=, &f] {
    if (faulted) return;
    std::vector<void *> places;
    for (auto &argument : *kept) places.push_back(argument.data());
    if (Executor::get()->run(f.stub, grid, block, shared, cooperative, cluster, places.data()))
      faulted = true;
  });
}

int launch(void *function, const char *how, Dim3 grid, Dim3 block, unsigned shared, bool cooperative,
           Dim3 cluster, void *stream, void **arguments) {
  auto &f = *(MockFunction *)function;
  unsigned blocks = grid.x * grid.y * grid.z, threads = block.x * block.y * block.z;
  std::string kernel = bare_name(f.name);
  bool checked = kernel != f.name;
  log("%s %s %u %u %u on %s", how, f.name.c_str(), blocks, threads, shared,
      !stream               ? "0"
      : stream == (void *)2 ? "own"
                            : "another");
  if (unsigned time = (unsigned)number("MOCK_LAUNCH_TIME", 0)) usleep(time);
  if (checked && threads > number("MOCK_CHECKED_THREADS", 1024)) return kOutOfResources;
  if (f.stub) return launch_executed(f, grid, block, shared, cooperative, cluster, stream, arguments);
  auto kept = std::make_shared<std::vector<std::vector<char>>>();
  u32 count = 0;
  for (size_t size; (size = parameter(kernel, count)); count++) {
    char *from = (char *)arguments[count];
    kept->emplace_back(from, from + size);
  }
  if (checked) kept->emplace_back((char *)arguments[count], (char *)arguments[count] + 8);
  return submit(stream, [=, &f] {
    if (faulted) return;
    std::vector<void *> places = {f.module->named.count("total") ? f.module->named["total"].first : nullptr};
    for (auto &argument : *kept) places.push_back(argument.data());
    if (kernel == "__gpurace_begin") {
      __gpurace_simulated.state = &f.module->state;
      auto argument = [&](u32 n) { return *(u64 *)places[n]; };
      __gpurace_begin(argument(1), argument(2), argument(3), argument(4), argument(5), argument(6),
                      argument(7), argument(8), argument(9), argument(10), argument(11), argument(12),
                      argument(13), argument(14));
      return;
    }
    run(kernel, checked, places.data() + 1, checked ? *(u64 *)places.back() : 0, &f.module->state, blocks,
        threads);
  });
}

} // namespace
