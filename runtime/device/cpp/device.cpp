// The checker on the GPU: what checked kernels call.
//
// Its errors go one way. An access pair is reported only where the two conflict
// and nothing that happened can have ordered them; where something might have
// (a fence, an acquire, a named barrier, a partial mask), the pair is counted
// as undecided. What a word cannot hold is counted as dropped.
//
// The functions' names and arguments are those of runtime/abi/src/entry.rs where
// the executor has them too. The pass calls the `before` and `after` functions
// around the instruction that synchronises, which stays as it is.
#include "check.h"
#include "slots.h"

using namespace gpurace;

// ---- the block ----

GPURACE_ENTRY void __gpurace_enter(u64 cell) {
  volatile Control &c = control();
  u32 threads = block_threads();
  if (thread_index() == 0) {
    const LaunchCell &launch = *(const LaunchCell *)cell;
    u64 uid = launch.first_uid + block_index();
    c.first_uid = launch.first_uid;
    c.blocks = launch.blocks;
    c.launch = launch.number;
    c.unordered = launch.unordered[0] != 0;
    c.cell = cell;
    c.uid = uid < kUids ? (u32)uid : kUnknown;
    c.checks[0] = c.checks[1] = 0;
    c.base = 1;
    c.parity = 0;
    c.top[0] = c.top[1] = 0;
    c.irregular = 0;
    c.acquired = 0;
    c.alive = threads;
    c.log = launch.log;
    c.has_log = launch.log != 0;
    c.passed = c.base;
    c.held = 0;
    for (u32 w = 0; w < (threads + 31) / 32; w++) c.warp[w] = 0;
    c.slot = kUnknown;
    c.shadow = 0;
    c.shadowed = 0;
    c.start = 0;
    if (launch.slots) take_slot(*(const Slots *)launch.slots);
  }
  block_barrier();
}

// Says where a variable lies in the shared memory of the kernel's blocks, the same in each.
GPURACE_ENTRY void __gpurace_shared_at(u32 *slot, u32 offset) {
  if (thread_index() == 0 && block_index() == 0) *slot = offset + 1;
}

GPURACE_ENTRY void __gpurace_leave() {
  volatile Control &c = control();
  LaunchCell &launch = *(LaunchCell *)c.cell;
  {
    Together here;
    if (here.first) log_event(kLogLeave, 0, here.lanes);
    // What these threads have done to the slot's shadow comes before the next block's, which the last one's
    // fence says for all, and what they have logged before the log's end.
    if (c.has_log) fence_system();
    fence_block();
  }
  // Once for all that leave together.
  u32 threads = together();
  if (threads == 0 || GPURACE_ADD((u32 *)&c.alive, 0u - threads) != threads) return;
  if (c.slot != kUnknown) {
    fence_device();
    give_slot(*(const Slots *)launch.slots);
  }
  u64 checks = (u64)c.checks[1] << 32 | c.checks[0];
  // All blocks of a launch meet here; there is no counter for all launches beside.
  if (checks != 0) GPURACE_ADD(&launch.checks, checks);
  if (!c.has_log) return;
  GPURACE_ADD(&launch.held, (u64)c.held);
  fence_system();
  if (GPURACE_ADD(&launch.ended, 1ul) + 1 != launch.blocks) return;
  fence_system();
  volatile LogHead &head = *((LogHead *)launch.log - 1);
  head.held = __atomic_load_n(&launch.held, __ATOMIC_RELAXED);
  head.over = __atomic_load_n(&launch.logged, __ATOMIC_RELAXED) + 1;
  fence_system();
}

// ---- accesses ----

GPURACE_ENTRY void __gpurace_read(void *address, u32 size, u32 site) {
  Together here;
  access(address, size, site, kRead, kLogRead);
}

GPURACE_ENTRY void __gpurace_write(void *address, u32 size, u32 site, u64) {
  Together here;
  access(address, size, site, kWrite, kLogWrite);
}

GPURACE_ENTRY void __gpurace_read_range(void *address, u64 size, u32 site) {
  Together here;
  access(address, size, site, kRead, kLogRead);
}

GPURACE_ENTRY void __gpurace_write_range(void *address, u64 size, u32 site) {
  Together here;
  access(address, size, site, kWrite, kLogWrite);
}

// Without a log, an asynchronous copy is its thread's access where it begins.
GPURACE_ENTRY void __gpurace_async_read(void *address, u64 size, u32 site) {
  Together here;
  access(address, size, site, kRead, kLogAsyncRead);
}

GPURACE_ENTRY void __gpurace_async_write(void *address, u64 size, u32 site) {
  Together here;
  access(address, size, site, kWrite, kLogAsyncWrite);
}

// ---- matrices that a warp accesses together ----

// Before the instruction, which all lanes are to come to together: what each lane accesses is logged and
// checked by branches of its own.

// `count` matrices of 8 by 8 elements of 2 bytes: each lane accesses those that its registers hold (PTX ISA,
// "ldmatrix"). `row`: the one that the lane names.
GPURACE_ENTRY void __gpurace_rows(void *row, u32 count, u32 transposed, u32 store, u32 site) {
  u32 lane = thread_index() & 31, pieces = transposed ? 2 : 1, size = 4 / pieces;
  for (u32 n = 0; n < count * pieces; n++) {
    u32 of = transposed ? lane % 4 * 2 + n % 2 : lane / 4, offset = transposed ? lane / 4 * 2 : lane % 4 * 4;
    u64 at = of_lane((u64)row, n / pieces * 8 + of) + offset;
    access((void *)at, size, site, store ? kWrite : kRead, store ? kLogWrite : kLogRead);
  }
  come_together();
}

// A matrix of `rows` by `columns` elements, `stride` of them from one row to the next, or from one column.
// Which lane accesses what is open; elements go round the lanes, row by row, as on the executor.
GPURACE_ENTRY void __gpurace_tile(void *start, u32 stride, u32 rows, u32 columns, u32 by_column, u32 bytes,
                                  u32 store, u32 site) {
  for (u32 n = thread_index() & 31; n < rows * columns; n += 32) {
    u32 row = n / columns, column = n % columns, outer = by_column ? column : row,
        inner = by_column ? row : column;
    u64 at = (u64)start + ((u64)(int)stride * outer + inner) * bytes;
    access((void *)at, bytes, site, store ? kWrite : kRead, store ? kLogWrite : kLogRead);
  }
  come_together();
}

// `kind`, `scope`, `order`: runtime/abi/src/scope.rs.
GPURACE_ENTRY void __gpurace_atomic(void *address, u32 size, u32 site, u32 kind, u32 scope, u32 order) {
  Together here;
  if (order != 0)
    acquires();
  else if (state().orders)
    control().acquired = 1;
  if (is_private(address)) return;
  bool logged = log_at(kLogAtomic, event_order(kind, scope, order), address, site, size);
  // Who reads what this writes does so behind its event, and what this reads was written before its other
  // one.
  if (logged) fence_device();
  // A load is checked where the log says that it has been made.
  if (logged && is_load(kind)) return;
  check_atomic((u64)address, size, site, kind, scope, logged);
}

GPURACE_ENTRY void __gpurace_atomic_done(void *address, u32 size, u32 site, u32 kind, u32 scope, u32 order) {
  Together here;
  volatile Control &c = control();
  if (((const LaunchCell *)c.cell)->log == 0 || is_private(address)) return;
  fence_device();
  bool logged = log_at(kLogAtomicDone, event_order(kind, scope, order), address, site, size);
  // Where the log has become full meanwhile, its check is still to be made, or is made again.
  if (is_load(kind)) check_atomic((u64)address, size, site, kind, scope, logged);
}

// ---- order ----

// A barrier of the whole block: around the instruction.
GPURACE_ENTRY u64 __gpurace_before_barrier() {
  Together here;
  volatile Control &c = control();
  return (u64)c.parity << 32 | c.base;
}

GPURACE_ENTRY void __gpurace_after_barrier(u64 before) {
  Together here;
  volatile Control &c = control();
  u32 parity = (u32)(before >> 32), base = (u32)before, top = c.top[parity];
  u32 next = (top > base ? top : base) + 1;
  c.base = next;
  c.parity = parity ^ 1;
  if (c.log && c.passed != next) {
    // Who finds that it is said, or comes behind the others of its warp, has nothing in the log before it.
    if (here.first) {
      log_event(kLogBarrier, 0, 0, 0, 0, next);
      fence_device();
      c.passed = next;
    }
  }
}

// `__syncwarp`: around the instruction. A mask without some of the warp makes
// an order that clocks of warps do not show.
GPURACE_ENTRY u32 __gpurace_before_syncwarp(u32 mask) {
  Together here;
  volatile Control &c = control();
  u32 warp = thread_index() / 32, threads = block_threads() - warp * 32;
  u32 all = threads >= 32 ? ~0u : (1u << threads) - 1;
  if ((mask & all) != all) {
    log_event(kLogWarpArrive, 0, mask);
    irregular();
    return kUnknown;
  }
  u32 clock = c.warp[warp], base = c.base;
  return clock > base ? clock : base;
}

GPURACE_ENTRY void __gpurace_after_syncwarp(u32 before) {
  Together here;
  if (before == kUnknown) {
    log_event(kLogWarpPassed);
    return;
  }
  // All lanes that there are have come to it. One says so, by what the clock is then.
  if (here.first) log_event(kLogWarpPassed, 0, 0, 0, 0, before + 1);
  volatile Control &c = control();
  c.warp[thread_index() / 32] = before + 1;
  GPURACE_MAX((u32 *)&c.top[c.parity], before + 1);
}

// Before anything else that may order threads: instructions that the pass does not know.
GPURACE_ENTRY void __gpurace_irregular() {
  Together here;
  log_event(kLogUnknown);
  acquires();
}

GPURACE_ENTRY void __gpurace_fence(u32 scope, u32 order, u32) {
  Together here;
  log_event(kLogFence, event_order(0, scope, order));
  acquires();
}

// A barrier of the block with a number, or for a part of the block: before and after the instruction.
// `waits`: a `NamedWait` (runtime/abi/src/event.rs).
GPURACE_ENTRY void __gpurace_before_named(u32 number, u32 waits) {
  Together here;
  log_event(kLogNamedArrive, 0, number, 0, 0, waits);
  acquires();
}

GPURACE_ENTRY void __gpurace_after_named(u32 number) {
  Together here;
  log_event(kLogNamedPassed, 0, number);
}

// Asynchronous copies: before the instruction, and after one that waits.
GPURACE_ENTRY void __gpurace_async_commit() {
  Together here;
  log_event(kLogAsyncCommit);
}

GPURACE_ENTRY void __gpurace_async_wait(u32 groups) {
  Together here;
  log_event(kLogAsyncWait, 0, 0, 0, 0, groups);
}

GPURACE_ENTRY void __gpurace_async_arrive(void *mbarrier) {
  Together here;
  log_at(kLogAsyncArrive, 0, mbarrier, 0, 8);
}

// The barrier of the cluster: before the arrival, and after the wait.
GPURACE_ENTRY void __gpurace_cluster_arrive(u32 order, u32) {
  Together here;
  log_event(kLogClusterArrive, event_order(0, 1, order));
  acquires();
}

GPURACE_ENTRY void __gpurace_cluster_wait(u32) {
  Together here;
  log_event(kLogClusterPassed);
  acquires();
}

// ---- annotations ----

// Of these a log alone makes something: see `State`.
GPURACE_ENTRY void __gpurace_ignore(u32 on) {
  Together here;
  log_event(kLogIgnore, 0, 0, 0, 0, on);
}

GPURACE_ENTRY void __gpurace_benign(void *address, u64 size) {
  Together here;
  log_at(kLogBenign, 0, address, 0, size < ~0u ? (u32)size : ~0u);
}

GPURACE_ENTRY void __gpurace_happens(void *address, u32 after) {
  Together here;
  log_at(kLogHappens, 0, address, 0, 1, after);
  acquires();
}

// ---- textures and surfaces ----

// Which memory they are of the host works out of the log: it knows what a handle stands for. Shadow words
// have nothing of them.

// The third and the fourth coordinate, before what follows.
GPURACE_ENTRY void __gpurace_coordinates(u32 third, u32 fourth) {
  Together here;
  log_event(kLogCoordinates, 0, (u64)fourth << 32 | third);
}

// `what`: a `Fetch` (runtime/abi/src/event.rs).
GPURACE_ENTRY void __gpurace_fetch(u64 handle, u32 site, u32 what, u32 first, u32 second) {
  Together here;
  bool logged = log_event(0, what, handle, site, first, second);
  if (logged) count_check();
  leave_out(counters().fetches, logged);
}

// ---- launches ----

// One thread, on the launch's stream before it: gives the launch its uids. What the
// host says of it are arguments: a copy into the cell would wait for other streams. `before`: the cell of the
// launch that was the last on this stream, and is over now; 0 for none.
GPURACE_KERNEL void __gpurace_begin(u64 cell, u64 turn, u64 blocks, u64 number, u64 first_uid, u64 unordered0,
                                    u64 unordered1, u64 unordered2, u64 unordered3, u64 log, u64 log_room,
                                    u64 observes, u64 slots, u64 ranges, u64 range_count, u64 before,
                                    u64 turn_before) {
  if (before) ((LaunchCell *)before)->over = turn_before;
  LaunchCell &launch = *(LaunchCell *)cell;
  launch.turn = turn;
  launch.number = number;
  launch.blocks = blocks;
  launch.first_uid = first_uid;
  GPURACE_MAX(&counters().next_uid, first_uid + blocks);
  launch.unordered[0] = unordered0;
  launch.unordered[1] = unordered1;
  launch.unordered[2] = unordered2;
  launch.unordered[3] = unordered3;
  launch.log = log;
  launch.log_room = log_room;
  launch.observes = observes;
  launch.slots = slots;
  launch.ranges = ranges;
  launch.range_count = range_count;
  launch.checks = launch.logged = launch.ended = launch.held = 0;
}

// ---- copies ----

// A copy or fill, on its stream before it: what it reads or writes of `rows` rows of `width` bytes, `pitch`
// bytes from one to the next, the first at `start`. `shadow`: of the word that holds `start`. It has begun as
// a launch of one block has; the threads here, `threads` in all, stand for the one of that block.
GPURACE_KERNEL void __gpurace_touch(u64 cell, u64 start, u64 width, u64 rows, u64 pitch, u64 shadow, u64 op,
                                    u64 site, u64 threads) {
  const LaunchCell &launch = *(const LaunchCell *)cell;
  volatile Control &c = control();
  if (thread_index() == 0) {
    c.irregular = c.acquired = 0;
    c.launch = launch.number;
  }
  block_barrier();
  Access a;
  a.op = (u32)op;
  a.site = (u32)site;
  a.thread = 0;
  a.base = a.clock = 1;
  a.uid = (u32)launch.first_uid;
  a.start = 0;
  a.first_uid = launch.first_uid;
  a.blocks = launch.blocks;
  a.unordered = launch.unordered[0] ? launch.unordered : nullptr;
  a.shared = false;
  // Words that a row may have a part of, by where it begins in its first one.
  u64 words = (width + 6) / 4;
  for (u64 i = block_index() * block_threads() + thread_index(); i < rows * words; i += threads) {
    u64 row = rows == 1 ? 0 : i / words;
    u64 begin = start + row * pitch, end = begin + width, word = (begin & ~3ul) + (i - row * words) * 4;
    if (word >= end) continue;
    a.mask = bytes_of(word, begin, end);
    one_word((u64 *)(shadow + (word - (start & ~3ul)) * 2), line_at(word), a, word, 4, false);
  }
}

#ifndef __NVPTX__

// For tests: the decision alone.
extern "C" void __gpurace_decide(u64 word, const Access *access, Decision *decision) {
  *decision = decide(word, *access);
}

extern "C" void __gpurace_quick(u64 word, const Access *access, Quick *found) {
  *found = quick(word, *access);
}

// For tests: an access of `size` bytes by each lane of the simulated thread's warp, consecutive ones from
// `address` on, as one.
extern "C" void __gpurace_warp(u64 address, u32 size, u32 site, u32 op) {
  u32 first = __gpurace_simulated.thread & ~31u, share = share_of_size(size), of_line = kLineWords >> share;
  u64 met = 0;
  LineOutcome outcome = kEachWord;
  for (u32 lane = 0; lane < 32; lane++) {
    __gpurace_simulated.thread = first + lane;
    Access a = access_here(op, site);
    u64 own = address + lane * size;
    u64 *line = line_at(own);
    if (lane % of_line == 0 && line && quick_line(line, a, share)) {
      lane += of_line - 1;
      continue;
    }
    if (lane % of_line == 0) outcome = line ? look_at_line(line, a, share, met, false) : kEachWord;
    if (outcome == kRace) found_in_line(met, lane % of_line << share, a, own, size, false);
    if (outcome == kEachWord) check(own, size, site, op, false, false);
  }
}

extern "C" void __gpurace_stand_for(const Simulated *who) { __gpurace_simulated = *who; }
extern "C" void __gpurace_step_by(void (*step)()) { __gpurace_step = step; }

extern "C" const u64 __gpurace_layout[] = {
    sizeof(State),
    sizeof(Range),
    sizeof(Slots),
    sizeof(LaunchCell),
    sizeof(Counters),
    sizeof(Found),
    sizeof(Control),
    sizeof(Event),
    sizeof(LogHead),
    kLogSurfaceWrite,
    __builtin_offsetof(State, annotated),
    __builtin_offsetof(LaunchCell, checks),
    __builtin_offsetof(LaunchCell, over),
    __builtin_offsetof(LaunchCell, observes),
    __builtin_offsetof(Event, complete),
    __builtin_offsetof(Counters, lost),
    __builtin_offsetof(Counters, fetches),
    __builtin_offsetof(Found, block),
    __builtin_offsetof(Found, shared),
};

#endif
