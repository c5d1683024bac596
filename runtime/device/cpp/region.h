// Regions: 32 words of global memory, 128 bytes, that the threads of a warp access together.
//
// If all threads of a warp access consecutive words from a region's first one on, one record, in
// the shadow of the first word, stands for all 32 words. Then nobody reads the shadow of the other
// words. An access to less than a region opens the region first: each word gets the record as its
// own. An open region stays open for the launch. The shadow of its first word says so: it holds a
// record of the launch, or else a mark of the launch.
//
// A region is closed again by an access that finds the first word settled. Then the other words
// are settled too, since whoever leaves a record in one of them has marked the first. Launches that
// overlap may overwrite each other's marks and lose records; the host counts such launches.
#pragma once
#include "decide.h"

namespace gpurace {

// States beyond those of words. `kFirstRegion + operation * 4 + span`: the record of a region; its
// operations are read, write, and reads after a write. `kOpen`: the region is open, and its first
// word has no record. `kOpening`: a thread is opening the region.
constexpr u32 kFirstRegion = 112, kOpen = 124, kOpening = 125;
static_assert(kFirstCompact + (kReadAfterWrite + 1) * 4 <= kFirstRegion && kOpening < kBytesRead,
              "states are 7 bits");
constexpr u32 kRegionWords = 32;
// A region's record names the region's first thread, a multiple of 8. The bits below it hold the
// share: each thread has accessed 1 << share words.
constexpr u32 kShareMask = 7;

// True of the record of a region.
GPURACE_INLINE bool is_region(u64 word) { return state_of(word) >= kFirstRegion && state_of(word) < kOpen; }
// True of a record or a mark of a region, which is no record of its first word.
GPURACE_INLINE bool is_of_region(u64 word) {
  return state_of(word) >= kFirstRegion && state_of(word) <= kOpening;
}
GPURACE_INLINE u32 share_of(u64 region) { return thread_of(region) & kShareMask; }

// The share of accesses of 4, 8 or 16 bytes.
GPURACE_INLINE u32 share_of_size(u32 size) { return size == 4 ? 0 : size == 8 ? 1 : 2; }

// The record of word `i`, taken from the record of its region.
GPURACE_INLINE u64 word_of_region(u64 region, u32 i) {
  u32 state = state_of(region) - kFirstRegion, op = state / 4 == 2 ? kReadAfterWrite : state / 4;
  u32 thread = (thread_of(region) & ~kShareMask) + (i >> share_of(region));
  u64 rest = region & ((1ul << kStateShift) - 1) & ~(((1ul << kThreadBits) - 1) << kThreadShift);
  return state_bits(op, state % 4) | (u64)thread << kThreadShift | rest;
}

// The record of a region whose first word has this record: a read, a write or reads after a write.
GPURACE_INLINE u64 region_of_word(u64 word, u32 share) {
  u32 state = state_of(word) - kFirstCompact, op = state / 4 == kReadAfterWrite ? 2 : state / 4;
  return (u64)(kFirstRegion + op * 4 + state % 4) << kStateShift | (word & ((1ul << kStateShift) - 1)) |
         (u64)share << kThreadShift;
}

GPURACE_INLINE u64 load(u64 *cell) {
  interleave();
  return __atomic_load_n(cell, __ATOMIC_RELAXED);
}
GPURACE_INLINE void store(u64 *cell, u64 word) {
  interleave();
  __atomic_store_n(cell, word, __ATOMIC_RELAXED);
}
// Swaps if the cell holds `before`. Returns what it held.
GPURACE_INLINE u64 swapped(u64 *cell, u64 before, u64 after) {
  interleave();
  __atomic_compare_exchange_n(cell, &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return before;
}
GPURACE_INLINE bool swap(u64 *cell, u64 before, u64 after) { return swapped(cell, before, after) == before; }

// The result of an access to a region. `kEachWord`: the access must be decided word by word.
// `kAgain`: another thread was faster.
enum RegionOutcome : u32 { kNothing, kRace, kEachWord, kAgain };

// Decides an access to a whole region. `a` is the access of the region's first thread. Sets `met`
// to the record before the access, and `dropped` if a record is lost.
GPURACE_INLINE RegionOutcome access_region(u64 *region, const Access &a, u32 share, u64 &met, bool &dropped) {
  u64 mine = region_of_word(record_of(a, a.op), share);
  met = load(region);
  if (met == mine) return kNothing;
  if (state_of(met) == kOpening) return kAgain;
  if (is_settled(met, a)) return swap(region, met, mine) ? kNothing : kAgain;
  if (!is_region(met) || share_of(met) != share) return kEachWord;
  u64 first = word_of_region(met, 0);
  Decision d = decide(first, a);
  if (d.changed && d.word != first && !swap(region, met, region_of_word(d.word, share))) return kAgain;
  dropped = d.dropped;
  return d.race ? kRace : kNothing;
}

// How an access to one word found the region. `kBusy`: another thread was faster.
enum RegionState : u32 { kBusy, kWasOpen, kIsOpened };

// The mark of an open region whose first word has no record.
GPURACE_INLINE u64 open_mark(const Access &a) { return (u64)kOpen << kStateShift | (u64)a.uid << kClockBits; }

// Opens a region for an access to one of its words; `first`: to the first word.
GPURACE_INLINE RegionState open_region(u64 *region, const Access &a, bool first) {
  u64 word = load(region);
  if (state_of(word) == kOpening) return kBusy;
  if (is_settled(word, a)) {
    // The first word's own record marks the region.
    if (first) return kWasOpen;
    return swap(region, word, open_mark(a)) ? kIsOpened : kBusy;
  }
  if (is_region(word)) {
    if (!swap(region, word, (u64)kOpening << kStateShift | (u64)a.uid << kClockBits)) return kBusy;
    for (u32 i = 1; i < kRegionWords; i++) store(region + i, word_of_region(word, i));
    fence_device();
    store(region, word_of_region(word, 0));
    return kIsOpened;
  }
  return kWasOpen;
}

} // namespace gpurace
