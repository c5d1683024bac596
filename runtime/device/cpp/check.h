// What becomes of an access: where its shadow lies, what it comes to there, and how a race and what is left
// out are told.
#pragma once
#include "log.h"
#include "quick.h"

namespace gpurace {
namespace {

constexpr u32 kAttempts = 8;
constexpr u64 kKeyMask = (1ul << kSiteShift) - 1;

GPURACE_INLINE Counters &counters() { return *(Counters *)state().counters; }

// One addition for all threads that count together: counters are few, and all blocks share them.
GPURACE_INLINE void count(u64 &counter) {
  if (u32 threads = together()) GPURACE_ADD(&counter, (u64)threads);
}

// An access that leaves no record, or costs another its own. `logged`: the log has it, so that it is missing
// to other launches alone.
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

// The shadow of the first word of the line that an address is in, or null: device variables and managed
// memory have no lines.
GPURACE_INLINE u64 *line_at(u64 address) {
  const State &s = state();
  u64 offset = address - s.window;
  return offset < s.window_size ? (u64 *)(s.shadow + offset / (kLineWords * 4) * (kLineWords * 8)) : nullptr;
}

// `logged`: the launch's log has the access, and with it those of the launch before it; the host looks at
// these.
__attribute__((noinline)) void write_found(const Access &a, const Decision &d, u64 word, u64 address,
                                           u32 size, bool logged) {
  volatile Control &c = control();
  if (logged && d.relation != kLaunches) return;
  // What might have ordered them: that the atomic access before was observed, within the block since the last
  // barrier, or by something that this block acquired.
  bool may_observe =
      a.op < 2 && d.earlier_op >= 2 && d.relation != kLaunches && ((const LaunchCell *)c.cell)->observes;
  bool undecided = state().annotated || may_observe ? true
                   : d.relation >= kGrid            ? c.acquired != 0
                                                    : c.irregular == a.base + 1;
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

// The two lie in memory for this call alone: what is not found stays in registers. (As arguments by value
// ptxas of CUDA 12.5 crashes on them in code that has `setmaxnreg`.)
GPURACE_INLINE void found(Access a, Decision d, u64 word, u64 address, u32 size, bool logged) {
  write_found(a, d, word, address, size, logged);
}

// Which bytes of a word lie from `begin` to `end`.
GPURACE_INLINE u32 bytes_of(u64 word, u64 begin, u64 end) {
  u32 from = word < begin ? (u32)(begin - word) : 0, behind = end < word + 4 ? (u32)(word + 4 - end) : 0;
  return (kFull << from) & (kFull >> behind);
}

// Whether the thread itself has made the access, in the same epoch: nothing can tell the two apart.
GPURACE_INLINE bool is_known(u64 word, const Access &a) {
  if (((word ^ key_of(a)) & kKeyMask) != 0 || a.mask != kFull) return false;
  u64 state = word & ~0ul << kStateShift;
  return state == state_bits(kWrite, kSpanThread) ||
         (state == state_bits(kRead, kSpanThread) && a.op == kRead);
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
      // An old record of the word leads to a swap, which fails where the line was opened meanwhile; where
      // there is none to be made it is looked at again.
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
    if (c.shadow == 0 || offset + size > c.shadowed)
      return logged ? void() : count(counters().shared_outside);
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

// What `check` does with most accesses, without a log and with few registers. False: nothing is done that it
// would not do as well.
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
      of_warp = in_all_lanes(base == base_of_first && what == what_of_first && base % (kLineWords * 4) == 0 &&
                             size != 12);
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
        if (!quick_word((u64 *)(s.shadow + (offset + i) * 2),
                        (u64 *)(s.shadow + (offset + i) / (kLineWords * 4) * (kLineWords * 8)), a))
          return false;
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
  // Which blocks are of one cluster is not known here: atomics of that scope pass as the device's, and are
  // counted, since those of two clusters may conflict.
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

} // namespace
} // namespace gpurace
