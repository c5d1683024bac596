// The quick path: decides most accesses in registers, without the table of transitions.
//
// `quick_step` gives the same step as `decide`, or "unknown". A test compares the two for every
// state and access. If the quick path does not know the step, or another thread was faster, the
// access is decided again from the beginning by `check`.
#pragma once
#include "region.h"

namespace gpurace {

// The step of a word without a race: `next` is the word's new value, or the word itself.
struct QuickStep {
  bool known;
  u64 next;
};

// The most swaps that the quick path tries. Lanes that meet at a word make it the warp's, then the
// block's, and then find nothing to change.
constexpr u32 kQuickSwaps = 4;

// True if blocks that all make this access do not race: reads, and atomics of device or system
// scope.
GPURACE_INLINE bool is_for_blocks(u32 op) { return op == kRead || (op != kWrite && (op - 2) / 3 % 4 >= 2); }

// The step of a word that is accessed as a whole. Known steps are those of plain accesses, and of
// an atomic one after the same atomic one. Asks what `relation_of` and `status_of` ask, in the
// order that takes the fewest instructions. `several`: it is a read, which other lanes of the warp make
// too.
GPURACE_INLINE QuickStep quick_step(u64 word, const Access &a, bool several) {
  constexpr QuickStep unknown = {false, 0};
  u32 state = state_of(word);
  if (state >= kFirstRegion) return unknown;
  u64 span = several ? (u64)kSpanWarp << kStateShift : 0;
  u64 mine = record_of(a, a.op) + span, at = word & kSharedClockMask;
  if (a.shared ? state < kFirstCompact || at < a.start : is_settled(word, a)) return {true, mine};
  u32 op = (state - kFirstCompact) / 4;
  bool is_plain = op <= kWrite || op == kReadAfterWrite, is_same = op == a.op;
  if (!is_same && (!is_plain || a.op > kWrite)) return unknown;
  Earlier e = {a.shared || uid_of(word) == a.uid, state % 4, thread_of(word),
               a.shared ? (u32)(at - a.start) : (u32)word & (kClocks - 1)};
  if (is_of_grid(e)) {
    return {is_same && is_for_blocks(op), with_state(word, kFirstCompact + op * 4 + kSpanGrid)};
  }
  if (is_before_barrier(e, a))
    return {true, a.op == kRead && op != kRead ? record_of(a, kReadAfterWrite) + span : mine};
  if (is_of_thread(e, a) && !several) {
    if (is_before_syncwarp(e, a)) return unknown;
    return {true, a.op == kRead || is_same ? word : mine};
  }
  if (races_with_itself(a.op) || op == kWrite) return unknown;
  // Several threads read, or make the same atomic access.
  bool of_warp = is_of_warp(e, a);
  if (of_warp && is_before_syncwarp(e, a)) return unknown;
  u32 relation = of_warp ? (u32)kSpanWarp : (u32)kSpanBlock;
  return {true, relation > e.span ? with_state(word, state - e.span + relation) : word};
}

// An access to a word of shared memory with near shadow. Returns false if it is still to be decided.
GPURACE_INLINE bool quick_near(u32 cell, const Access &a, bool several) {
  u64 found = load_near(cell);
#pragma unroll 1
  for (u32 attempt = 0; attempt < kQuickSwaps; attempt++) {
    QuickStep step = quick_step(found, a, several);
    if (!step.known || step.next == found) return step.known;
    u64 before = found;
    found = swap_near(cell, before, step.next);
    if (found == before) return true;
  }
  return false;
}

// An access to a word of global memory. Returns false if it is still to be decided. `region`: the
// shadow of the first word of its region.
GPURACE_INLINE bool quick_word(u64 *cell, u64 *region, const Access &a, bool several) {
  u64 before = load(cell);
  QuickStep step = quick_step(before, a, several);
  if (!step.known || step.next == before) return step.known;
  if (cell != region && is_settled(before, a)) {
    // The launch's first record in a word opens the region: see `open_region`.
    u64 first = load(region);
    if (is_settled(first, a)) {
      if (!swap(region, first, open_mark(a))) return false;
      before = load(cell);
      step = quick_step(before, a, several);
      if (!step.known) return false;
    } else if (is_region(first) || state_of(first) == kOpening) {
      return false;
    }
  }
#pragma unroll 1
  for (u32 attempt = 0; attempt < kQuickSwaps; attempt++) {
    u64 found = swapped(cell, before, step.next);
    if (found == before) return true;
    before = found;
    // Somebody has changed the word in this launch: its region is open.
    step = quick_step(before, a, several);
    if (!step.known || step.next == before) return step.known;
  }
  return false;
}

// An access to a whole region. Returns false if it is still to be decided. `a` is the access of the
// region's first thread.
GPURACE_INLINE bool quick_region(u64 *region, const Access &a, u32 share) {
  u64 met = load(region), next;
  if (state_of(met) == kOpening) return false;
  if (is_settled(met, a)) {
    next = record_of(a, a.op);
  } else {
    if (!is_region(met) || share_of(met) != share) return false;
    QuickStep step = quick_step(word_of_region(met, 0), a, false);
    if (!step.known) return false;
    next = step.next;
  }
  next = region_of_word(next, share);
  return next == met || swap(region, met, next);
}

} // namespace gpurace
