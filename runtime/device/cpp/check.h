// Checks one access: finds its shadow, decides each word, and writes the races to the host's
// buffer.
#pragma once
#include "quick.h"

namespace gpurace {
namespace {

constexpr u32 kAttempts = 8;
constexpr u64 kKeyMask = (1ul << kSiteShift) - 1;

GPURACE_INLINE Counters &counters() { return *(Counters *)state().counters; }

// Counts one for each thread that makes this call, by one addition: all blocks share the counters.
GPURACE_INLINE void count(u64 &counter) {
  if (u32 threads = together()) GPURACE_ADD(&counter, (u64)threads);
}

// ---- where the shadow is ----

// The shadow of the word of global memory at `address`, or null.
GPURACE_INLINE u64 *global_shadow(u64 address) {
  const CheckerState &s = state();
  if (address - s.window < s.window_size) return (u64 *)(s.shadow + (address - s.window) / 4 * 8);
  const LaunchCell &launch = *(const LaunchCell *)control().cell;
  const ShadowRange *ranges = (const ShadowRange *)launch.ranges;
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

// The shadow of the first word of the address's region, or null: only the window has regions, and
// device variables and managed memory lie outside.
GPURACE_INLINE u64 *region_at(u64 address) {
  const CheckerState &s = state();
  u64 offset = address - s.window;
  if (offset >= s.window_size) return nullptr;
  return (u64 *)(s.shadow + offset / (kRegionWords * 4) * (kRegionWords * 8));
}

// The near shadow of the word at this address of shared memory.
GPURACE_INLINE u32 near_cell(u32 offset) { return own_control().near + offset / 4 * 8; }
// True if all bytes of an access to shared memory have near shadow. What the system keeps, before the
// block's own memory, has none: cooperative groups have their barriers there.
GPURACE_INLINE bool has_near(u64 offset, u64 size) {
  u32 end = own_control().shadowed;
  return offset + size <= end && (int)(near_cell((u32)offset) - end) >= 0;
}

// ---- races ----

// Writes a race to the host's buffer, or counts it.
__attribute__((noinline)) void write_race(const Access &a, const Decision &d, u64 word, u64 address,
                                          u32 size) {
  volatile Control &c = control();
  // The pair is undecided if something may have ordered the two: this thread observed the atomic
  // access before, a thread made order within the block since the last barrier, or the block
  // acquired from another block.
  const LaunchCell &launch = *(const LaunchCell *)c.cell;
  bool may_observe = a.op < 2 && d.earlier_op >= 2 && !is_volatile(d.earlier_op) && launch.observes;
  bool undecided = state().annotated || may_observe ? true
                   : d.relation == kGrid            ? c.acquired != 0
                                                    : c.irregular == a.base + 1;
  if (undecided) return count(counters().undecided);
  u32 op = d.earlier_op, earlier = kUnknown;
  if (d.earlier_known && site_of(word) != kNoSite) earlier = site_of(word);
  u32 hash = (a.site * 0x9e3779b1u ^ earlier * 0x85ebca6bu ^ (a.op * 32 + op) * 0xc2b2ae35u);
  hash = (hash ^ hash >> 15) % kRaceCounters;
  if (GPURACE_ADD((u32 *)state().race_counters + hash, 1u) >= kReportsPerRace)
    return count(counters().repeated);
  u64 index = GPURACE_ADD(&counters().races, 1ul);
  if (index >= state().race_capacity) return count(counters().lost);
  volatile FoundRace &f = ((FoundRace *)state().races)[index];
  f.site = a.site;
  f.earlier_site = earlier;
  f.thread = a.thread;
  f.earlier_thread = d.earlier_known ? thread_of(word) : kUnknown;
  f.earlier_op = op;
  f.op = a.op;
  f.relation = d.relation - kWarp;
  f.block = block_index();
  u64 block = a.shared ? block_index() : uid_of(word) - a.first_uid;
  // If the earlier side is one of several blocks, nobody knows which.
  f.earlier_block = !d.earlier_known && d.relation == kGrid && block == block_index() ? ~0ul : block;
  f.launch = launch.number;
  f.address = address;
  f.size = size;
  f.shared = a.shared ? shared_offset((const void *)address) + 1 : 0;
  fence_system();
  f.complete = 1;
}

// Writes a race. The copies of `a` and `d` lie in memory for this call alone; without a race, both
// stay in registers. (Passed by value, they make ptxas of CUDA 12.5 crash in code that has
// `setmaxnreg`.)
GPURACE_INLINE void report(Access a, Decision d, u64 word, u64 address, u32 size) {
  write_race(a, d, word, address, size);
}

// ---- one word ----

// Mask of the bytes of a word that lie between the addresses `begin` and `end`.
GPURACE_INLINE u32 bytes_of(u64 word, u64 begin, u64 end) {
  u32 from = word < begin ? (u32)(begin - word) : 0, behind = end < word + 4 ? (u32)(word + 4 - end) : 0;
  return (kFull << from) & (kFull >> behind);
}

// True if the word holds the record of such an access by the same thread in the same epoch. Then
// the new access changes nothing.
GPURACE_INLINE bool is_known(u64 word, const Access &a) {
  if (((word ^ key_of(a)) & kKeyMask) != 0 || a.mask != kFull) return false;
  u64 state = word & ~0ul << kStateShift;
  return state == state_bits(kWrite, kSpanThread) ||
         (state == state_bits(kRead, kSpanThread) && a.op == kRead);
}

// Checks an access to one word, whose shadow is `cell`. `region`: the shadow of the first word of
// the region, or null.
GPURACE_INLINE void one_word(u64 *cell, u64 *region, const Access &a, u64 address, u32 size) {
  for (u32 attempt = 0; attempt < kAttempts; attempt++) {
    u64 before = load(cell), word = before;
    if (is_known(word, a)) return;
    if (region) {
      RegionState found = open_region(region, a, cell == region);
      if (found == kBusy) {
        pause(attempt);
        continue;
      }
      // The word is loaded again after the region was opened. Otherwise an access to the whole word
      // swaps its record, and the swap fails if somebody has opened the region meanwhile. An access
      // to some bytes may swap nothing.
      if (found == kIsOpened || a.mask != kFull) before = word = load(cell);
      if (is_of_region(word)) {
        // A mark of the first word, a settled record of the region, or a region that somebody has
        // closed meanwhile.
        if (state_of(word) != kOpen && !is_settled(word, a)) continue;
        word = 0;
      }
    }
    Decision d = decide(word, a);
    if (d.changed && d.word != before && !swap(cell, before, d.word)) {
      pause(attempt);
      continue;
    }
    if (d.dropped) count(counters().narrowed);
    if (d.race) report(a, d, word, address, size);
    return;
  }
  count(counters().contended);
}

// The access of the calling thread to global memory.
GPURACE_INLINE Access access_here(u32 op, u32 site) {
  const Control &c = own_control();
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
  a.shared = false;
  a.mask = kFull;
  return a;
}

// Counts a check. Each warp has a counter of its own.
GPURACE_INLINE void count_check(u32 thread) { GPURACE_ADD_IN_BLOCK(&own_control().checks[thread / 32], 1u); }

// ---- a region ----

// Decides an access to a whole region, with several attempts. `a` is the access of the region's
// first thread. Sets `met` to the record before the access.
GPURACE_INLINE RegionOutcome decide_region(u64 *region, const Access &a, u32 share, u64 &met) {
  bool dropped = false;
  for (u32 attempt = 0; attempt < kAttempts; attempt++) {
    RegionOutcome outcome = access_region(region, a, share, met, dropped);
    if (outcome != kAgain) {
      if (dropped) count(counters().narrowed);
      return outcome;
    }
    pause(attempt);
  }
  return kEachWord;
}

// Reports the race of one thread, whose first word of the region is `word`.
GPURACE_INLINE void report_in_region(u64 met, u32 word, const Access &a, u64 address, u32 size) {
  u64 own = word_of_region(met, word);
  report(a, decide(own, a), own, address, size);
}

// Checks an access by all threads of a warp to whole regions. Returns false if it must be checked
// word by word.
GPURACE_INLINE bool whole_regions(u64 *region, const Access &a, u64 address, u32 size) {
  u32 word = (u32)(address / 4 % kRegionWords), share = share_of_size(size);
  // A region's first thread decides for all threads of the region.
  u64 met = 0, outcome = kEachWord;
  if (word == 0) outcome = decide_region(region, a, share, met);
  u32 leader = (a.thread & 31) - (word >> share);
  outcome = of_lane(outcome, leader);
  met = of_lane(met, leader);
  if (outcome == kRace) report_in_region(met, word, a, address, size);
  return outcome != kEachWord;
}

// ---- an access of any size ----

// Checks an access. `op`: its operation on a word that it covers as a whole, or kOps if it has no
// number. `pair`: an atomic access of 8 bytes.
GPURACE_APART void check(u64 address, u64 size, u32 site, u32 op, bool pair) {
  const void *p = (const void *)address;
  volatile Control &c = control();
  Access a = access_here(op, site);
  a.shared = is_shared(p);
  u64 *cell, *region = nullptr;
  u64 first = address & ~3ul, end = address + size;
  if (a.shared) {
    u64 offset = shared_offset(p);
    bool has_shadow = c.is_near ? has_near(offset, size) : offset + size <= c.shadowed;
    if (!has_shadow) return count(counters().shared_outside);
    cell = c.is_near ? near_pointer(near_cell((u32)offset)) : (u64 *)c.shadow + offset / 4;
  } else {
    if (a.uid == kUnknown || a.clock >= kClocks) return count(counters().exhausted);
    cell = global_shadow(address);
    if (!cell) return count(counters().outside);
    region = region_at(address);
  }
  if (op >= kOps) return count(counters().narrowed);
  if (region && op <= kWrite && (size == 4 || size == 8 || size == 16) && whole_warp()) {
    // True if each lane makes the first lane's access, one element further than the lane before.
    // All lanes come to each exchange.
    u64 base = of_lane(address, 0), what = (size << 8 | op) << 32 | site, of_first = of_lane(what, 0);
    bool same =
        what == of_first && address == base + (a.thread & 31) * size && base % (kRegionWords * 4) == 0;
    if (in_all_lanes(same) && whole_regions(region, a, address, (u32)size)) return;
  }
  for (u64 word = first; word < end; word += 4, cell++) {
    a.mask = bytes_of(word, address, end);
    // The second word of an atomic of 8 bytes has an operation of its own.
    if (pair) a.op = word == first ? op : op + 1;
    one_word(cell, region ? region_at(word) : nullptr, a, address, (u32)size);
  }
}

// ---- the quick path ----

// Each function does the same as `check` for most accesses, with few registers, and returns false if
// the access is still to be checked; what it has done by then, `check` would do too. Callers inline them,
// so each knows its operation at compile time, and mostly its size.

// Which lanes act for all that read the same at `at`, among those that are next to each other or in
// the same place of the two halves. The first of them acts. All lanes of the warp come here.
struct Actors {
  bool acts;
  bool several; // the lane acts for others too
};
GPURACE_INLINE Actors actors(u32 at, u32 lane) {
  bool follows = of_lane_before(at) == at && lane != 0;
  bool is_twin = of_other_half(at) == at;
  u32 followers = lanes_with(follows);
  return {!follows && !(is_twin && lane >= 16), is_twin || (followers >> lane >> 1 & 1) != 0};
}

// To shared memory with near shadow.
GPURACE_INLINE bool check_near(u32 offset, u32 size, Access a, bool pair) {
  a.shared = true;
  // Lanes that read one word together leave one record. Atomics find theirs by swaps.
  bool together = a.op == kRead && whole_warp();
  Actors own = {true, false};
  // An offset has 24 bits. Of lanes that read another size, none acts for the other.
  if (together) own = actors(size << 24 | offset, a.thread & 31);
  bool done = offset % 4 == 0 && has_near(offset, size);
  if (done && own.acts) {
    u32 op = a.op;
    for (u32 i = 0; i < size / 4; i++) {
      if (pair) a.op = op + i;
      done = done && quick_near(near_cell(offset) + i * 8, a, own.several);
    }
  }
  // Who was not checked for, checks for itself.
  return together ? in_all_lanes(done) : done;
}

// To global memory.
GPURACE_INLINE bool check_global(u64 address, u32 size, Access a, bool pair) {
  const CheckerState &s = state();
  u64 offset = address - s.window;
  bool done = address % 4 == 0 && a.uid != kUnknown && a.clock < kClocks && offset < s.window_size;
  u64 *cell = (u64 *)(s.shadow + offset * 2);
  bool together = a.op <= kWrite && whole_warp();
  bool acts = true, several = false;
  if (together) {
    u32 lane = a.thread & 31, share = share_of_size(size);
    // Site and size fit 32 bits: no module has so many sites.
    u32 what = a.site << 5 | size;
    u64 base = address - lane * size;
    // All lanes come to each exchange.
    u64 base_of_first = of_lane(base, 0);
    bool alike = what == of_lane32(what, 0);
    if (in_all_lanes(done && alike && size != 12 && base == base_of_first &&
                     base % (kRegionWords * 4) == 0)) {
      // A region's first thread decides for all threads of the region.
      if (address % (kRegionWords * 4) == 0) done = quick_region(cell, a, share);
      return in_all_lanes(done);
    }
    if (a.op == kRead && in_all_lanes(alike && address == base_of_first)) {
      acts = lane == 0;
      several = true;
    } else {
      together = false;
    }
  }
  if (done && acts) {
    u32 op = a.op;
    for (u32 i = 0; i < size / 4; i++) {
      if (pair) a.op = op + i;
      u64 at = offset + i * 4;
      u64 *region = (u64 *)(s.shadow + at / (kRegionWords * 4) * (kRegionWords * 8));
      done = done && quick_word(cell + i, region, a, several);
    }
  }
  return together ? in_all_lanes(done) : done;
}

// Checks an access of at most 16 bytes to whole words, quickly if possible.
GPURACE_INLINE void check_words(const void *p, u32 size, u32 site, u32 op, bool pair) {
  Access a = access_here(op, site);
  count_check(a.thread);
  bool done = false;
  if (is_shared(p)) {
    if (own_control().is_near) done = check_near(shared_offset(p), size, a, pair);
  } else {
    done = check_global((u64)p, size, a, pair);
  }
  if (!done) check((u64)p, size, site, op, pair);
}

// Checks an access that is not atomic.
GPURACE_INLINE void access(const void *p, u64 size, u32 site, u32 op) {
  if (size == 0 || is_private(p)) return;
  if (size % 4 == 0 && size <= 16) return check_words(p, (u32)size, site, op, false);
  count_check(thread_index());
  check((u64)p, size, site, op, false);
}

// Checks an atomic or volatile access. `kind`, `scope`: numbers of runtime/base/abi/src/scope.rs.
GPURACE_INLINE void check_atomic(const void *p, u32 size, u32 site, u32 kind, u32 scope) {
  bool aligned = (u64)p % 4 == 0 && (size == 4 || size == 8), loads = kind == 0 || kind == 3;
  if ((kind == 3 || kind == 4) && !state().relaxed_volatile) {
    // No atomic of another size leaves a record, so such volatile accesses conflict as plain ones do.
    if (!aligned) return access(p, size, site, loads ? kRead : kWrite);
    scope = kVolatileRow;
  } else if (scope == 1) {
    // A record does not say which blocks form a cluster. Atomics of cluster scope pass as those of
    // device scope, and are counted: those of two clusters may conflict.
    scope = 2;
    count(counters().undecided);
  }
  u32 op = 2 + (!loads * 4 + scope) * 3 + (size == 8);
  if (aligned) return check_words(p, size, site, op, size == 8);
  count_check(thread_index());
  check((u64)p, size, site, kOps, size == 8);
}

// ---- order that clocks do not show ----

// Notes that a thread made order within its block.
GPURACE_INLINE void irregular() {
  volatile Control &c = control();
  c.irregular = c.base + 1;
}

// Notes that a thread may have acquired from another block too.
GPURACE_INLINE void acquires() {
  irregular();
  control().acquired = 1;
}

} // namespace
} // namespace gpurace
