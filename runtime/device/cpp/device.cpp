// The checker on a GPU: the functions that checked kernels call.
//
// It may miss races, and counts where it may. It reports a pair of accesses only if the two
// conflict and nothing can have ordered them. If something may have ordered them (a fence, an
// acquire, a named barrier, a partial mask), it counts the pair as undecided. Records that do not
// fit a word count as dropped.
//
// Functions that the executor has too have the names and parameters of
// runtime/base/abi/src/entry.rs. The pass calls the `before` and `after` functions around an
// instruction that synchronises, and leaves the instruction as it is.
#include "check.h"
#include "slots.h"

using namespace gpurace;

// ---- begin and end of a block ----

GPURACE_ENTRY void __gpurace_enter(u64 cell) {
  volatile Control &c = control();
  u32 threads = block_threads();
  if (thread_index() == 0) {
    const LaunchCell &launch = *(const LaunchCell *)cell;
    u64 uid = launch.first_uid + block_index();
    c.first_uid = launch.first_uid;
    c.blocks = launch.blocks;
    c.cell = cell;
    c.uid = uid < kBlockUids ? (u32)uid : kUnknown;
    c.base = 1;
    c.parity = 0;
    c.top[0] = c.top[1] = 0;
    c.irregular = 0;
    c.acquired = 0;
    c.alive = threads;
    for (u32 w = 0; w < (threads + 31) / 32; w++) c.warp[w] = c.checks[w] = 0;
    c.slot = kUnknown;
    c.shadow = 0;
    c.shadowed = (u32)launch.near_end;
    c.near = (u32)launch.near;
    c.is_near = launch.near_cells != 0;
    c.start = 0;
    if (launch.slots) take_slot(*(const SlotSet *)launch.slots);
  }
  const LaunchCell &launch = *(const LaunchCell *)cell;
  for (u64 i = thread_index(); i < launch.near_cells; i += threads)
    store_near((u32)(launch.near_end + i * 8), 0);
  block_barrier();
}

// Stores 1 + the offset of a shared variable, which is the same in all blocks of the kernel.
GPURACE_ENTRY void __gpurace_shared_at(u32 *slot, u32 offset) {
  if (thread_index() == 0 && block_index() == 0) *slot = offset + 1;
}

GPURACE_ENTRY void __gpurace_leave() {
  volatile Control &c = control();
  LaunchCell &launch = *(LaunchCell *)c.cell;
  // These threads' changes of the slot's shadow happen before the next block's, by the fence of
  // the last thread.
  fence_block();
  // The first thread acts for all that leave together.
  u32 threads = together();
  if (threads == 0 || GPURACE_ADD((u32 *)&c.alive, 0u - threads) != threads) return;
  if (c.slot != kUnknown) {
    fence_device();
    give_slot(*(const SlotSet *)launch.slots);
  }
  u64 checks = 0;
  for (u32 w = 0; w < (block_threads() + 31) / 32; w++) checks += c.checks[w];
  // All blocks of the launch add here. A counter for all launches would be contended more.
  if (checks != 0) GPURACE_ADD(&launch.checks, checks);
}

// ---- accesses ----

GPURACE_HOT void __gpurace_read(void *address, u32 size, u32 site) { access(address, size, site, kRead); }

GPURACE_HOT void __gpurace_write(void *address, u32 size, u32 site, u64) {
  access(address, size, site, kWrite);
}

GPURACE_ENTRY void __gpurace_read_range(void *address, u64 size, u32 site) {
  access(address, size, site, kRead);
}

GPURACE_ENTRY void __gpurace_write_range(void *address, u64 size, u32 site) {
  access(address, size, site, kWrite);
}

// An asynchronous copy counts as an access of its thread where it begins.
GPURACE_ENTRY void __gpurace_async_read(void *address, u64 size, u32 site) {
  if (size != 0) count(counters().copies);
  access(address, size, site, kRead);
}

GPURACE_ENTRY void __gpurace_async_write(void *address, u64 size, u32 site) {
  if (size != 0) count(counters().copies);
  access(address, size, site, kWrite);
}

// ---- matrices that a warp accesses together ----

// The pass calls these before the instruction, which all lanes must reach together. Each lane checks
// its own accesses, in branches of its own.

// Accesses `count` matrices of 8 by 8 elements of 2 bytes: each lane those elements that its
// registers hold (PTX ISA, "ldmatrix"). `row`: the address that the lane passes.
GPURACE_ENTRY void __gpurace_matrix_rows(void *row, u32 count, u32 transposed, u32 store, u32 site) {
  u32 lane = thread_index() & 31, pieces = transposed ? 2 : 1, size = 4 / pieces;
  for (u32 n = 0; n < count * pieces; n++) {
    u32 of = transposed ? lane % 4 * 2 + n % 2 : lane / 4, offset = transposed ? lane / 4 * 2 : lane % 4 * 4;
    u64 at = of_lane((u64)row, n / pieces * 8 + of) + offset;
    access((void *)at, size, site, store ? kWrite : kRead);
  }
  come_together();
}

// Accesses a matrix of `rows` by `columns` elements. `stride`: elements from one row to the next,
// or from one column to the next. PTX leaves open which lane accesses which element; here elements
// go round the lanes, row by row, as on the executor.
GPURACE_ENTRY void __gpurace_matrix_tile(void *start, u32 stride, u32 rows, u32 columns, u32 by_column,
                                         u32 bytes, u32 store, u32 site) {
  for (u32 n = thread_index() & 31; n < rows * columns; n += 32) {
    u32 row = n / columns, column = n % columns, outer = by_column ? column : row,
        inner = by_column ? row : column;
    u64 at = (u64)start + ((u64)(int)stride * outer + inner) * bytes;
    access((void *)at, bytes, site, store ? kWrite : kRead);
  }
  come_together();
}

// Before an atomic or volatile access. `kind`, `scope`, `order`: numbers of
// runtime/base/abi/src/scope.rs.
GPURACE_HOT void __gpurace_atomic(void *address, u32 size, u32 site, u32 kind, u32 scope, u32 order) {
  if (order != 0)
    acquires();
  else if (state().orders)
    control().acquired = 1;
  if (!is_private(address)) check_atomic(address, size, site, kind, scope);
}

// ---- order ----

// Before a barrier of the whole block. The result is passed on to the function behind it.
GPURACE_HOT u64 __gpurace_before_barrier() {
  volatile Control &c = control();
  return (u64)c.parity << 32 | c.base;
}

GPURACE_HOT void __gpurace_after_barrier(u64 before) {
  volatile Control &c = control();
  u32 parity = (u32)(before >> 32), base = (u32)before, top = c.top[parity];
  u32 next = (top > base ? top : base) + 1;
  c.base = next;
  c.parity = parity ^ 1;
}

// Before `__syncwarp`. The result is passed on to the function behind it. If the mask leaves out
// lanes of the warp, the warp's clock cannot show the order.
GPURACE_HOT u32 __gpurace_before_syncwarp(u32 mask) {
  volatile Control &c = control();
  u32 warp = thread_index() / 32, threads = block_threads() - warp * 32;
  u32 all = threads >= 32 ? ~0u : (1u << threads) - 1;
  if ((mask & all) != all) {
    irregular();
    return kUnknown;
  }
  u32 clock = c.warp[warp], base = c.base;
  return clock > base ? clock : base;
}

GPURACE_HOT void __gpurace_after_syncwarp(u32 before) {
  if (before == kUnknown) return;
  volatile Control &c = control();
  c.warp[thread_index() / 32] = before + 1;
  GPURACE_MAX((u32 *)&c.top[c.parity], before + 1);
}

// Before an instruction that may order threads, other than by a barrier of the whole block or a sync
// of lanes.
GPURACE_ENTRY void __gpurace_irregular() { acquires(); }

// ---- annotations ----

// The first two have no effect: see `CheckerState::annotated`.
GPURACE_ENTRY void __gpurace_ignore(u32) {}
GPURACE_ENTRY void __gpurace_benign(void *, u64) {}
GPURACE_ENTRY void __gpurace_happens(void *, u32) { acquires(); }

// ---- launches ----

// Fills the launch's cell. One thread runs it, on the launch's stream, before the launch. The host
// passes the values as arguments, since a copy into the cell would wait for other streams.
// `before`: the cell of the last launch on this stream, which is over now, or 0.
GPURACE_KERNEL void __gpurace_begin(u64 cell, u64 turn, u64 blocks, u64 number, u64 first_uid, u64 observes,
                                    u64 slots, u64 ranges, u64 range_count, u64 near, u64 near_end,
                                    u64 near_cells, u64 before, u64 turn_before) {
  if (before) ((LaunchCell *)before)->over = turn_before;
  LaunchCell &launch = *(LaunchCell *)cell;
  launch.turn = turn;
  launch.number = number;
  launch.blocks = blocks;
  launch.first_uid = first_uid;
  launch.observes = observes;
  launch.slots = slots;
  launch.ranges = ranges;
  launch.range_count = range_count;
  launch.near = near;
  launch.near_end = near_end;
  launch.near_cells = near_cells;
  launch.checks = 0;
}

#ifndef __NVPTX__

// ---- entries for tests ----

extern "C" void __gpurace_decide(u64 word, const Access *access, Decision *decision) {
  *decision = decide(word, *access);
}

extern "C" void __gpurace_quick(u64 word, const Access *access, bool several, QuickStep *step) {
  *step = quick_step(word, *access, several);
}

// Lets each lane of the simulated thread's warp access `size` bytes, at consecutive addresses from
// `address` on, as one access of the warp.
extern "C" void __gpurace_warp(u64 address, u32 size, u32 site, u32 op) {
  u32 first = __gpurace_simulated.thread & ~31u, share = share_of_size(size),
      lanes_of_region = kRegionWords >> share;
  u64 met = 0;
  RegionOutcome outcome = kEachWord;
  for (u32 lane = 0; lane < 32; lane++) {
    __gpurace_simulated.thread = first + lane;
    Access a = access_here(op, site);
    u64 own = address + lane * size;
    u64 *region = region_at(own);
    bool leads = lane % lanes_of_region == 0;
    if (leads && region && quick_region(region, a, share)) {
      lane += lanes_of_region - 1;
      continue;
    }
    if (leads) outcome = region ? decide_region(region, a, share, met) : kEachWord;
    if (outcome == kRace) report_in_region(met, lane % lanes_of_region << share, a, own, size);
    if (outcome == kEachWord) check(own, size, site, op, false);
  }
}

extern "C" void __gpurace_simulate(const Simulated *who) { __gpurace_simulated = *who; }
extern "C" void __gpurace_interleave_by(void (*interleave)()) { __gpurace_interleave = interleave; }

extern "C" const u64 __gpurace_layout[] = {
    sizeof(CheckerState),
    sizeof(ShadowRange),
    sizeof(SlotSet),
    sizeof(LaunchCell),
    sizeof(Counters),
    sizeof(FoundRace),
    sizeof(Control),
    __builtin_offsetof(CheckerState, relaxed_volatile),
    __builtin_offsetof(LaunchCell, checks),
    __builtin_offsetof(LaunchCell, near_cells),
    __builtin_offsetof(LaunchCell, over),
    __builtin_offsetof(LaunchCell, observes),
    __builtin_offsetof(Counters, lost),
    __builtin_offsetof(FoundRace, block),
    __builtin_offsetof(FoundRace, shared),
    kRegionWords,
};

#endif
