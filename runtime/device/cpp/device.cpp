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
#include "line.h"
#include "log.h"
#include "quick.h"
#include "slots.h"

using namespace gpurace;

namespace {

constexpr u32 kAttempts = 8;
constexpr u64 kKeyMask = (1ul << kSiteShift) - 1;

// Lanes that come to a call together leave it together: what the program does next may be to ask who is there (`activemask`), and the checker's
// own branches and loops must not change the answer.
struct Together {
  const u32 lanes = lanes_here();
  // One of them does what is to be done once for all.
  const bool first = rank_in(lanes) == 0;
  ~Together() { rejoin(lanes); }
};

GPURACE_INLINE Counters &counters() { return *(Counters *)state().counters; }

// One addition for all threads that count together: counters are few, and all blocks share them.
GPURACE_INLINE void count(u64 &counter) {
  if (u32 threads = together()) GPURACE_ADD(&counter, (u64)threads);
}

// An access that leaves no record, or costs another its own. `logged`: the log has it, so that it is missing to other launches alone.
GPURACE_INLINE void leave_out(u64 &counter, bool logged) {
  if (!logged) return count(counter);
  if (u32 threads = together()) GPURACE_ADD((u32 *)&control().held, threads);
}

// The address of the first shadow word of global memory at `address`, or null.
GPURACE_INLINE u64 *global_shadow(u64 address) {
  const State &s = state();
  if (address - s.window < s.window_size) return (u64 *)(s.shadow + (address - s.window) / 4 * 8);
  const LaunchCell &launch = *(const LaunchCell *)control().cell;
  const Range *ranges = (const Range *)launch.ranges;
  u64 low = 0, high = launch.range_count;
  while (low < high) {
    u64 middle = (low + high) / 2;
    if (address < ranges[middle].start)
      high = middle;
    else if (address >= ranges[middle].end)
      low = middle + 1;
    else
      return (u64 *)(ranges[middle].shadow + (address / 4 - ranges[middle].start / 4) * 8);
  }
  return nullptr;
}

// The shadow of the first word of the line that an address is in, or null: device variables and managed memory have no lines.
GPURACE_INLINE u64 *line_at(u64 address) {
  const State &s = state();
  u64 offset = address - s.window;
  return offset < s.window_size ? (u64 *)(s.shadow + offset / (kLineWords * 4) * (kLineWords * 8)) : nullptr;
}

// `logged`: the launch's log has the access, and with it those of the launch before it; the host looks at these.
__attribute__((noinline)) void write_found(const Access &a, const Decision &d, u64 word, u64 address, u32 size, bool logged) {
  volatile Control &c = control();
  if (logged && d.relation != kLaunches) return;
  // What might have ordered them: that the atomic access before was observed, within the block since the last barrier, or by
  // something that this block acquired.
  bool may_observe = a.op < 2 && d.earlier_op >= 2 && d.relation != kLaunches && ((const LaunchCell *)c.cell)->observes;
  bool undecided = state().annotated || may_observe ? true : d.relation >= kGrid ? c.acquired != 0 : c.irregular == a.base + 1;
  if (undecided) return count(counters().undecided);
  u32 op = d.earlier_op, earlier = kUnknown;
  if (d.earlier_known && site_of(word) != kNoSite) earlier = site_of(word);
  u32 hash = (a.site * 0x9e3779b1u ^ earlier * 0x85ebca6bu ^ (a.op * 32 + op) * 0xc2b2ae35u);
  hash = (hash ^ hash >> 15) % kSeen;
  if (GPURACE_ADD((u32 *)state().seen + hash, 1u) >= kRecordsOfOne) return count(counters().repeated);
  u64 index = GPURACE_ADD(&counters().records, 1ul);
  if (index >= state().record_capacity) return count(counters().lost);
  volatile Found &f = ((Found *)state().records)[index];
  f.site = a.site;
  f.earlier_site = earlier;
  f.thread = a.thread;
  f.earlier_thread = d.earlier_known ? thread_of(word) : kUnknown;
  f.earlier_op = op;
  f.op = a.op;
  f.relation = d.relation - kWarp;
  f.block = block_index();
  u64 block = a.shared ? block_index() : uid_of(word) - a.first_uid;
  // Where it is some block of several, it is not known which.
  f.earlier_block = !d.earlier_known && d.relation == kGrid && block == block_index() ? ~0ul : block;
  f.launch = c.launch;
  f.earlier_launch = c.launch;
  if (d.relation == kLaunches) {
    // The host knows which launch has the uid.
    f.earlier_launch = ~0ul;
    f.earlier_block = uid_of(word);
  }
  f.address = address;
  f.size = size;
  f.shared = a.shared ? shared_offset((const void *)address) + 1 : 0;
  fence_system();
  f.complete = 1;
}

// The two lie in memory for this call alone: what is not found stays in registers. (As arguments by value ptxas of CUDA 12.5 crashes on them in code that
// has `setmaxnreg`.)
GPURACE_INLINE void found(Access a, Decision d, u64 word, u64 address, u32 size, bool logged) { write_found(a, d, word, address, size, logged); }

// Which bytes of a word lie from `begin` to `end`.
GPURACE_INLINE u32 bytes_of(u64 word, u64 begin, u64 end) {
  u32 from = word < begin ? (u32)(begin - word) : 0, behind = end < word + 4 ? (u32)(word + 4 - end) : 0;
  return (kFull << from) & (kFull >> behind);
}

// Whether the thread itself has made the access, in the same epoch: nothing can tell the two apart.
GPURACE_INLINE bool is_known(u64 word, const Access &a) {
  if (((word ^ key_of(a)) & kKeyMask) != 0 || a.mask != kFull) return false;
  u64 state = word & ~0ul << kStateShift;
  return state == state_bits(kWrite, kSpanThread) || (state == state_bits(kRead, kSpanThread) && a.op == kRead);
}

// `line`: the shadow of the first word of the line; null where there are none.
GPURACE_INLINE void one_word(u64 *cell, u64 *line, const Access &a, u64 address, u32 size, bool logged) {
  for (u32 attempt = 0; attempt < kAttempts; attempt++) {
    u64 before = load(cell), word = before;
    bool lost = false;
    if (is_known(word, a)) return;
    if (line) {
      LineState line_was = open_line(line, a, cell == line, lost);
      if (line_was == kBusy) {
        pause(attempt);
        continue;
      }
      // An old record of the word leads to a swap, which fails where the line was opened meanwhile; where there is none to be made it is looked at again.
      if (line_was == kIsOpened || a.mask != kFull) before = word = load(cell);
      if (is_of_line(word)) {
        // Of the first word, of which nothing is left, or which somebody has made one of a line meanwhile.
        if (state_of(word) != kOpen && is_alive(word, a)) continue;
        word = 0;
      }
    }
    Decision d = decide(word, a);
    if (d.changed && d.word != before && !swap(cell, before, d.word)) {
      pause(attempt);
      continue;
    }
    // The mark of another launch that overlaps is gone.
    if (cell == line && d.changed && is_alive(before, a) && !is_of_launch(before, a)) lost = true;
    if (d.dropped || lost) leave_out(counters().narrowed, logged);
    if (d.race) found(a, d, word, address, size, logged);
    return;
  }
  leave_out(counters().contended, logged);
}

// The calling thread's access.
GPURACE_INLINE Access access_here(u32 op, u32 site) {
  volatile Control &c = control();
  Access a;
  a.op = op;
  a.site = site;
  a.thread = thread_index();
  a.base = c.base;
  u32 warp = c.warp[a.thread / 32];
  a.clock = warp > a.base ? warp : a.base;
  a.uid = c.uid;
  a.start = c.start;
  a.first_uid = c.first_uid;
  a.blocks = c.blocks;
  a.unordered = c.unordered ? ((const LaunchCell *)c.cell)->unordered : nullptr;
  a.shared = false;
  a.mask = kFull;
  return a;
}

// Of 64 bits, in halves: shared memory has no addition of more.
GPURACE_INLINE void count_check() {
  volatile Control &c = control();
  u32 threads = together();
  if (threads == 0) return;
  u32 before = GPURACE_ADD((u32 *)&c.checks[0], threads);
  if (before + threads < before) GPURACE_ADD((u32 *)&c.checks[1], 1u);
}

// What the access of a line comes to, whose first thread's is `a`. `met`: the record before it.
GPURACE_INLINE LineOutcome look_at_line(u64 *line, const Access &a, u32 share, u64 &met, bool logged) {
  bool dropped = false;
  for (u32 attempt = 0; attempt < kAttempts; attempt++) {
    LineOutcome outcome = access_line(line, a, share, met, dropped);
    if (outcome != kAgain) {
      if (dropped) leave_out(counters().narrowed, logged);
      return outcome;
    }
    pause(attempt);
  }
  return kEachWord;
}

// Tells the race of one thread, whose first word of the line is `word`.
GPURACE_INLINE void found_in_line(u64 met, u32 word, const Access &a, u64 address, u32 size, bool logged) {
  u64 own = word_of_line(met, word);
  found(a, decide(own, a), own, address, size, logged);
}

// An access by all threads of a warp to whole lines. False: it is to be looked at word by word.
GPURACE_INLINE bool whole_lines(u64 *line, const Access &a, u64 address, u32 size, bool logged) {
  u32 word = (u32)(address / 4 % kLineWords), share = share_of_size(size);
  // The line's first thread looks for all of them.
  u64 met = 0, outcome = kEachWord;
  if (word == 0) outcome = look_at_line(line, a, share, met, logged);
  u32 leader = (a.thread & 31) - (word >> share);
  outcome = of_lane(outcome, leader);
  met = of_lane(met, leader);
  if (outcome == kRace) found_in_line(met, word, a, address, size, logged);
  return outcome != kEachWord;
}

// An access of `size` bytes; `op` is that of a word which it covers as a whole,
// kOps where no code says it. `logged`: the launch's log has it, or is going to.
__attribute__((noinline)) void check(u64 address, u64 size, u32 site, u32 op, bool pair, bool logged) {
  const void *p = (const void *)address;
  volatile Control &c = control();
  count_check();
  Access a = access_here(op, site);
  a.shared = is_shared(p);
  u64 *cell, *line = nullptr;
  u64 first = address & ~3ul, end = address + size;
  if (a.shared) {
    u64 offset = shared_offset(p);
    if (c.shadow == 0 || offset + size > c.shadowed) return logged ? void() : count(counters().shared_outside);
    cell = (u64 *)c.shadow + offset / 4;
  } else {
    if (a.uid == kUnknown || a.clock >= kClocks) return leave_out(counters().exhausted, logged);
    cell = global_shadow(address);
    if (!cell) return leave_out(counters().outside, logged);
    line = line_at(address);
  }
  if (op >= kOps) return leave_out(counters().narrowed, logged);
  if (line && op <= kWrite && (size == 4 || size == 8 || size == 16) && whole_warp()) {
    // Whether it is the first lane's access, that many elements further. All lanes come to each exchange.
    u64 base = of_lane(address, 0), what = (size << 8 | op) << 32 | site, of_first = of_lane(what, 0);
    bool same = what == of_first && address == base + (a.thread & 31) * size && base % (kLineWords * 4) == 0;
    if (in_all_lanes(same) && whole_lines(line, a, address, (u32)size, logged)) return;
  }
  for (u64 word = first; word < end; word += 4, cell++) {
    a.mask = bytes_of(word, address, end);
    // The second word of an atomic of 8 bytes has a code of its own.
    if (pair) a.op = word == first ? op : op + 1;
    one_word(cell, line ? line_at(word) : nullptr, a, address, (u32)size, logged);
  }
}

// What `check` does with most accesses, without a log and with few registers. False: nothing is done that it would not do as well.
GPURACE_INLINE bool check_quickly(u64 address, u32 size, u32 site, u32 op, bool pair) {
  volatile Control &c = control();
  if (c.log != 0 || (address | size) % 4 != 0 || size > 16) return false;
  Access a = access_here(op, site);
  if (is_shared((const void *)address)) {
    a.shared = true;
    u32 offset = shared_offset((const void *)address);
    if (offset + size > c.shadowed) return false;
    u64 *cell = (u64 *)c.shadow + offset / 4;
    for (u32 i = 0; i < size / 4; i++) {
      if (pair) a.op = op + i;
      if (!quick_shared(cell + i, a)) return false;
    }
  } else {
    const State &s = state();
    u64 offset = address - s.window;
    if (a.uid == kUnknown || a.clock >= kClocks || offset >= s.window_size) return false;
    bool of_warp = false;
    if (op <= kWrite && whole_warp()) {
      u32 lane = a.thread & 31, share = share_of_size(size);
      // No module has so many sites that the two do not fit.
      u64 base = address - lane * size;
      u32 what = site << 5 | size;
      // All lanes come to each exchange.
      u64 base_of_first = of_lane(base, 0);
      u32 what_of_first = of_lane32(what, 0);
      of_warp = in_all_lanes(base == base_of_first && what == what_of_first && base % (kLineWords * 4) == 0 && size != 12);
      if (of_warp) {
        // A line's first thread looks for all of them.
        bool done = true;
        if (address % (kLineWords * 4) == 0) done = quick_line((u64 *)(s.shadow + offset * 2), a, share);
        if (!in_all_lanes(done)) return false;
      }
    }
    if (!of_warp) {
      for (u32 i = 0; i < size; i += 4) {
        if (pair) a.op = op + i / 4;
        if (!quick_word((u64 *)(s.shadow + (offset + i) * 2), (u64 *)(s.shadow + (offset + i) / (kLineWords * 4) * (kLineWords * 8)), a)) return false;
      }
    }
  }
  count_check();
  return true;
}

// A plain access, or an asynchronous copy's, by what it is in a log.
GPURACE_INLINE void access(const void *p, u64 size, u32 site, u32 op, u32 kind) {
  if (size == 0 || is_private(p)) return;
  // In code that is there once for each.
  bool is_plain = kind == kLogRead || kind == kLogWrite;
  if (is_plain && size <= 16 && check_quickly((u64)p, (u32)size, site, op, false)) return;
  bool logged = log_at(kind, 0, p, site, (u32)size);
  if (!logged && (kind == kLogAsyncRead || kind == kLogAsyncWrite)) count(counters().copies);
  check((u64)p, size, site, op, false, logged);
}

// `kind`, `scope`: runtime/abi/src/scope.rs.
GPURACE_INLINE bool is_load(u32 kind) { return kind == 0 || kind == 3; }

GPURACE_INLINE void check_atomic(u64 address, u32 size, u32 site, u32 kind, u32 scope, bool logged) {
  if (kind == 3 || kind == 4) {
    u32 op = kind == 3 ? kRead : kWrite;
    if (!logged && check_quickly(address, size, site, op, false)) return;
    return check(address, size, site, op, false, logged);
  }
  bool aligned = address % 4 == 0 && (size == 4 || size == 8);
  // Which blocks are of one cluster is not known here: atomics of that scope pass as the device's, and are counted, since
  // those of two clusters may conflict.
  if (scope == 1) {
    scope = 2;
    if (!logged) count(counters().undecided);
  }
  u32 op = 2 + ((kind != 0) * 4 + scope) * 3 + (size == 8);
  if (!logged && aligned && check_quickly(address, size, site, op, size == 8)) return;
  check(address, size, site, aligned ? op : kOps, size == 8, logged);
}

GPURACE_INLINE void irregular() {
  volatile Control &c = control();
  c.irregular = c.base + 1;
}

GPURACE_INLINE void acquires() {
  irregular();
  control().acquired = 1;
}

}  // namespace

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
    // What these threads have done to the slot's shadow comes before the next block's, which the last one's fence says for all, and what they have logged
    // before the log's end.
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

// Before the instruction, which all lanes are to come to together: what each lane accesses is logged and checked by branches of its own.

// `count` matrices of 8 by 8 elements of 2 bytes: each lane accesses those that its registers hold (PTX ISA, "ldmatrix"). `row`: the one that the lane names.
GPURACE_ENTRY void __gpurace_rows(void *row, u32 count, u32 transposed, u32 store, u32 site) {
  u32 lane = thread_index() & 31, pieces = transposed ? 2 : 1, size = 4 / pieces;
  for (u32 n = 0; n < count * pieces; n++) {
    u32 of = transposed ? lane % 4 * 2 + n % 2 : lane / 4, offset = transposed ? lane / 4 * 2 : lane % 4 * 4;
    u64 at = of_lane((u64)row, n / pieces * 8 + of) + offset;
    access((void *)at, size, site, store ? kWrite : kRead, store ? kLogWrite : kLogRead);
  }
  come_together();
}

// A matrix of `rows` by `columns` elements, `stride` of them from one row to the next, or from one column. Which lane accesses what is open; elements go round
// the lanes, row by row, as on the executor.
GPURACE_ENTRY void __gpurace_tile(void *start, u32 stride, u32 rows, u32 columns, u32 by_column, u32 bytes, u32 store, u32 site) {
  for (u32 n = thread_index() & 31; n < rows * columns; n += 32) {
    u32 row = n / columns, column = n % columns, outer = by_column ? column : row, inner = by_column ? row : column;
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
  // Who reads what this writes does so behind its event, and what this reads was written before its other one.
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

// A barrier of the block with a number, or for a part of the block: before and after the instruction. `waits`: a `NamedWait` (runtime/abi/src/event.rs).
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

// Which memory they are of the host works out of the log: it knows what a handle stands for. Shadow words have nothing of them.

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
// host says of it are arguments: a copy into the cell would wait for other streams. `before`: the cell of the launch that was the last on this
// stream, and is over now; 0 for none.
GPURACE_KERNEL void __gpurace_begin(u64 cell, u64 turn, u64 blocks, u64 number, u64 first_uid, u64 unordered0, u64 unordered1,
                                    u64 unordered2, u64 unordered3, u64 log, u64 log_room, u64 observes, u64 slots, u64 ranges,
                                    u64 range_count, u64 before, u64 turn_before) {
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

// A copy or fill, on its stream before it: what it reads or writes of `rows` rows of `width` bytes, `pitch` bytes from one to the next, the
// first at `start`. `shadow`: of the word that holds `start`. It has begun as a launch of one block has; the threads here, `threads` in all,
// stand for the one of that block.
GPURACE_KERNEL void __gpurace_touch(u64 cell, u64 start, u64 width, u64 rows, u64 pitch, u64 shadow, u64 op, u64 site, u64 threads) {
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

// For tests: an access of `size` bytes by each lane of the simulated thread's warp, consecutive ones from `address` on, as one.
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
    sizeof(State),          sizeof(Range),           sizeof(Slots), sizeof(LaunchCell),    sizeof(Counters),
    sizeof(Found),          sizeof(Control), sizeof(Event), sizeof(LogHead), kLogSurfaceWrite,
            __builtin_offsetof(State, annotated), __builtin_offsetof(LaunchCell, checks), __builtin_offsetof(LaunchCell, over), __builtin_offsetof(LaunchCell, observes), __builtin_offsetof(Event, complete),
    __builtin_offsetof(Counters, lost), __builtin_offsetof(Counters, fetches), __builtin_offsetof(Found, block), __builtin_offsetof(Found, shared),
};

#endif
