// Lines: 32 words of global memory, 128 bytes, that a warp's threads access together.
//
// Where all of a warp access consecutive words from a line's first one on, one record, in the shadow of the
// line's first word, stands for all 32. The shadow of the others is not looked at then. Whoever accesses less
// than that opens the line first: the record becomes one of each word. An open line stays so for the launch,
// which the first word's shadow says: its record is of the launch, or it has none and a mark of the launch
// stands in its place.
//
// What makes a line one again finds that the first word's shadow is of nobody whom it could race with. Then
// the other words' are of nobody such either: who leaves a record in one of them has marked the line. A mark
// that is lost among launches that overlap is counted.
#pragma once
#include "word.h"

namespace gpurace {

// States beyond those of words: `kFirstLine + operation * 4 + span` with the operations read, write, reads
// after a write; the first word of an open line has no record; somebody opens the line.
constexpr u32 kFirstLine = 112, kOpen = 124, kOpening = 125;
static_assert(kFirstCompact + (kReadAfterWrite + 1) * 4 <= kFirstLine && kOpening < kBytesRead,
              "states are 7 bits");
constexpr u32 kLineWords = 32;
// A record of a line has the line's first thread, a multiple of 8, and in the bits below it how many words
// each thread has: 1 << that.
constexpr u32 kShareMask = 7;

GPURACE_INLINE bool is_line(u64 word) { return state_of(word) >= kFirstLine && state_of(word) < kOpen; }
// Of a line as a whole: not a record of its first word.
GPURACE_INLINE bool is_of_line(u64 word) {
  return state_of(word) >= kFirstLine && state_of(word) <= kOpening;
}
GPURACE_INLINE u32 share_of(u64 line) { return thread_of(line) & kShareMask; }

// Of accesses of 4, 8 or 16 bytes.
GPURACE_INLINE u32 share_of_size(u32 size) { return size == 4 ? 0 : size == 8 ? 1 : 2; }

// The record of word `i` in the record of a line.
GPURACE_INLINE u64 word_of_line(u64 line, u32 i) {
  u32 state = state_of(line) - kFirstLine, op = state / 4 == 2 ? kReadAfterWrite : state / 4;
  u32 thread = (thread_of(line) & ~kShareMask) + (i >> share_of(line));
  u64 rest = line & ((1ul << kStateShift) - 1) & ~(((1ul << kThreadBits) - 1) << kThreadShift);
  return state_bits(op, state % 4) | (u64)thread << kThreadShift | rest;
}

// The record of a line in which that of the first word is `word`, a read, a write or reads after a write.
GPURACE_INLINE u64 line_of_word(u64 word, u32 share) {
  u32 state = state_of(word) - kFirstCompact, op = state / 4 == kReadAfterWrite ? 2 : state / 4;
  return (u64)(kFirstLine + op * 4 + state % 4) << kStateShift | (word & ((1ul << kStateShift) - 1)) |
         (u64)share << kThreadShift;
}

// Whether what a word's shadow says may be of somebody whom the access could race with.
GPURACE_INLINE bool is_alive(u64 word, const Access &a) {
  if (state_of(word) < kFirstCompact) return false;
  u32 uid = uid_of(word);
  return uid - a.first_uid < a.blocks || is_unordered(uid, a);
}

GPURACE_INLINE bool is_of_launch(u64 word, const Access &a) { return uid_of(word) - a.first_uid < a.blocks; }

GPURACE_INLINE u64 load(u64 *cell) {
  step();
  return __atomic_load_n(cell, __ATOMIC_RELAXED);
}
GPURACE_INLINE u64 load_cached(const u64 *cell) {
  step();
  return *cell;
}
GPURACE_INLINE void store(u64 *cell, u64 word) {
  step();
  __atomic_store_n(cell, word, __ATOMIC_RELAXED);
}
GPURACE_INLINE bool swap(u64 *cell, u64 before, u64 after) {
  step();
  return __atomic_compare_exchange_n(cell, &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// What an attempt at a line comes to.
enum LineOutcome : u32 { kNothing, kRace, kEachWord, kAgain };

// An access of a whole line, `share` as in its record: `a` is that of the first thread. `met`: the record
// before it. `dropped`: a record is lost.
GPURACE_INLINE LineOutcome access_line(u64 *line, const Access &a, u32 share, u64 &met, bool &dropped) {
  u64 mine = line_of_word(record_of(a, a.op), share);
  met = load(line);
  if (met == mine) return kNothing;
  if (state_of(met) == kOpening) return kAgain;
  if (!is_alive(met, a)) return swap(line, met, mine) ? kNothing : kAgain;
  if (!is_line(met) || share_of(met) != share) return kEachWord;
  u64 first = word_of_line(met, 0);
  Decision d = decide(first, a);
  if (d.changed && d.word != first && !swap(line, met, line_of_word(d.word, share))) return kAgain;
  dropped = d.dropped;
  return d.race ? kRace : kNothing;
}

// What a line was found to be by an access to one of its words.
enum LineState : u32 { kBusy, kWasOpen, kIsOpened };

// What says in the first word's shadow that a line is open, where that has no record.
GPURACE_INLINE u64 open_mark(const Access &a) { return (u64)kOpen << kStateShift | (u64)a.uid << kClockBits; }

// Opens a line for an access to one of its words, `first`: to the first one. `dropped`: that it is open may
// be forgotten before its records are over.
GPURACE_INLINE LineState open_line(u64 *line, const Access &a, bool first, bool &dropped) {
  u64 word = load(line);
  if (state_of(word) == kOpening) return kBusy;
  if (!is_alive(word, a)) {
    // The first word's own record will say it.
    if (first) return kWasOpen;
    return swap(line, word, open_mark(a)) ? kIsOpened : kBusy;
  }
  // What will say that the line is open is of one of several launches that overlap.
  bool is_others = !first && !is_of_launch(word, a);
  if (is_line(word)) {
    if (!swap(line, word, (u64)kOpening << kStateShift | (u64)a.uid << kClockBits)) return kBusy;
    for (u32 i = 1; i < kLineWords; i++) store(line + i, word_of_line(word, i));
    fence_device();
    store(line, word_of_line(word, 0));
    dropped = is_others;
    return kIsOpened;
  }
  dropped = is_others;
  return kWasOpen;
}

} // namespace gpurace
