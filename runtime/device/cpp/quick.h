// What most plain accesses come to: no race, and a record that follows without the table of transitions.
//
// `quick` says of a word what `decide` says, or that it does not know. A test compares the two for every
// state and access. What is not done here, or fails because another thread was faster, is done again from the
// beginning by those that look closer.
#pragma once
#include "line.h"

namespace gpurace {

// What becomes of a word: `next`, the word itself where nothing is new.
struct Quick {
  bool known;
  u64 next;
};

// A word with the state of another.
GPURACE_INLINE u64 with_state(u64 word, u32 state) {
  return (word & ~(~0ul << kStateShift)) | (u64)state << kStateShift;
}

// Whether a record of global memory, or what is known of its line, is of nobody whom the access could race
// with; false where that takes more to know.
GPURACE_INLINE bool is_over(u64 word, const Access &a) {
  return state_of(word) < kFirstCompact || (!a.unordered && uid_of(word) < a.first_uid);
}

// Whether blocks that make the same such accesses have no race: reads, and atomics of the device or the
// system.
GPURACE_INLINE bool is_for_blocks(u32 op) { return op == kRead || (op != kWrite && (op - 2) / 3 % 4 >= 2); }

// An access of a whole word, where what was there is a plain access, or the same atomic one.
GPURACE_INLINE Quick quick(u64 word, const Access &a) {
  constexpr Quick unknown = {false, 0};
  u32 state = state_of(word);
  if (state >= kFirstLine) return unknown;
  u64 mine = record_of(a, a.op);
  bool of_launch = true;
  u32 clock;
  if (a.shared) {
    u64 at = word & kSharedClockMask;
    if (state < kFirstCompact || at < a.start) return {true, mine};
    clock = (u32)(at - a.start);
  } else {
    if (is_over(word, a)) return {true, mine};
    clock = (u32)word & (kClocks - 1);
    of_launch = is_of_launch(word, a);
  }
  u32 op = (state - kFirstCompact) / 4, span = state % 4;
  bool is_plain = op <= kWrite || op == kReadAfterWrite, is_same = op == a.op;
  if (!is_same && (!is_plain || a.op > kWrite)) return unknown;
  if (span == kSpanGrid || (!a.shared && uid_of(word) != a.uid)) {
    return {of_launch && is_same && is_for_blocks(op), with_state(word, kFirstCompact + op * 4 + kSpanGrid)};
  }
  // A barrier of the block lies between.
  if (clock < a.base) return {true, a.op == kRead && op != kRead ? record_of(a, kReadAfterWrite) : mine};
  u32 thread = thread_of(word);
  if (span == kSpanThread && thread == a.thread) {
    if (clock < a.clock) return unknown;
    return {true, a.op == kRead || is_same ? word : mine};
  }
  if (a.op == kWrite || op == kWrite) return unknown;
  // Several threads that have no race with each other.
  bool of_warp = span <= kSpanWarp && thread / 32 == a.thread / 32;
  if (of_warp && clock < a.clock) return unknown;
  u32 relation = of_warp ? (u32)kSpanWarp : (u32)kSpanBlock;
  return {true, relation > span ? with_state(word, state - span + relation) : word};
}

// An access of a word of shared memory. False: it has to be looked at closer.
//
// The word may come from the multiprocessor's own cache. Only this block changes it, on this multiprocessor;
// were the cache behind all the same, a swap would fail, and where nothing is new to a record of this epoch,
// who has replaced it since has been compared with it.
GPURACE_INLINE bool quick_shared(u64 *cell, const Access &a) {
  u64 before = load_cached(cell);
  Quick q = quick(before, a);
  return q.known && (q.next == before || swap(cell, before, q.next));
}

// The same of a word of global memory. `line`: the shadow of the first word of its line.
GPURACE_INLINE bool quick_word(u64 *cell, u64 *line, const Access &a) {
  u64 before = load(cell);
  Quick q = quick(before, a);
  if (!q.known || q.next == before) return q.known;
  if (cell != line && is_over(before, a)) {
    // Who leaves the first record of the launch in a word opens its line: see `open_line`.
    u64 first = load(line);
    if (is_over(first, a)) {
      if (!swap(line, first, open_mark(a))) return false;
      before = load(cell);
      q = quick(before, a);
      if (!q.known) return false;
    } else if (!is_of_launch(first, a) || is_line(first) || state_of(first) == kOpening) {
      return false;
    }
  }
  return swap(cell, before, q.next);
}

// The same of a whole line, `share` as in its record: `a` is that of the first thread.
GPURACE_INLINE bool quick_line(u64 *line, const Access &a, u32 share) {
  u64 met = load(line), next;
  if (state_of(met) == kOpening) return false;
  if (is_over(met, a)) {
    next = record_of(a, a.op);
  } else {
    if (!is_line(met) || share_of(met) != share) return false;
    Quick q = quick(word_of_line(met, 0), a);
    if (!q.known) return false;
    next = q.next;
  }
  next = line_of_word(next, share);
  return next == met || swap(line, met, next);
}

} // namespace gpurace
