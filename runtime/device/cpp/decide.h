// The relation of a record to an access, and the step: what becomes of the record.
//
// The transitions are those of the checker's state machine, as the table `transitions.inc`. Where
// the checker keeps two records, the table says which one stays, and the other counts as dropped.
#pragma once
#include "word.h"

namespace gpurace {

// How a record's threads are related to the access's.
enum Relation : u32 { kItself, kWarp, kBlock, kGrid };
// `kSynced`: ordered before the access, but not before the accesses of the whole block.
enum Status : u32 { kUnsynced, kSynced, kBlockSynced, kSameEpoch };
enum Next : u32 { kKeep, kReplace, kJoin, kReplaceDropping, kKeepDropping, kReplaceAfterWrite };

constexpr u8 kRaceBit = 0x80;

// Cell `((earlier * kOps + later) * 4 + relation) * 8 + status * 2 + same_site`.
static const u8 kTransitions[(kOps + 1) * kOps * 4 * 4 * 2] = {
#include "transitions.inc"
};

GPURACE_INLINE u8 transition(u32 earlier, u32 later, u32 relation, u32 status, u32 same_site) {
  return kTransitions[((earlier * kOps + later) * 4 + relation) * 8 + status * 2 + same_site];
}

struct Decision {
  u64 word; // the new shadow word
  bool changed;
  bool race;
  bool dropped;       // a record is lost
  bool earlier_known; // the earlier side of the race is the thread that the record names
  u32 relation;       // of the earlier side, if that is known
  u32 earlier_op;     // of the earlier side
};

// ---- settled records ----

// True if a word of global memory holds no record of the access's launch. Pairs of two launches are
// not looked for.
GPURACE_INLINE bool is_settled(u64 word, const Access &a) {
  return state_of(word) < kFirstCompact || uid_of(word) - a.first_uid >= a.blocks;
}

// ---- relation ----

// The parts of a record that its relation to an access depends on.
struct Earlier {
  bool same_block;
  u32 span, thread;
  u32 clock; // as this block counts; of a record of the same block only
};

// True if threads of several blocks have made the record, or another block has.
GPURACE_INLINE bool is_of_grid(const Earlier &e) { return !e.same_block || e.span == kSpanGrid; }
// True if the access's thread alone has made the record.
GPURACE_INLINE bool is_of_thread(const Earlier &e, const Access &a) {
  return e.span == kSpanThread && e.thread == a.thread;
}
// True if threads of the access's warp alone have made the record.
GPURACE_INLINE bool is_of_warp(const Earlier &e, const Access &a) {
  return e.span <= kSpanWarp && e.thread / 32 == a.thread / 32;
}
// True if a barrier of the block orders the record before the access.
GPURACE_INLINE bool is_before_barrier(const Earlier &e, const Access &a) { return e.clock < a.base; }
// True if a barrier or a `__syncwarp` orders a record of the access's warp before the access.
GPURACE_INLINE bool is_before_syncwarp(const Earlier &e, const Access &a) { return e.clock < a.clock; }

// The relation of the record's threads to the access's thread: the narrowest group of them all.
GPURACE_INLINE u32 relation_of(const Earlier &e, const Access &a) {
  if (is_of_grid(e)) return kGrid;
  if (is_of_thread(e, a)) return kItself;
  return is_of_warp(e, a) ? kWarp : kBlock;
}

// How the record is ordered to the access.
GPURACE_INLINE u32 status_of(const Earlier &e, u32 relation, const Access &a) {
  if (relation == kGrid) return kUnsynced;
  if (is_before_barrier(e, a)) return kBlockSynced;
  if (relation <= kWarp && is_before_syncwarp(e, a)) return kSynced;
  return relation == kItself ? kSameEpoch : kUnsynced;
}

// ---- step ----

// The step of a record of `mask` bytes, where that or the access is of less than a whole word.
// `mine`: the access's own record, or 0. Sets `word`, `changed` and `dropped`, and clears `race`
// if the two have no byte in common.
GPURACE_INLINE void step_of_bytes(Decision &d, u32 next, u32 op, u32 mask, u32 relation, u32 status, u64 mine,
                                  const Access &a) {
  bool of_bytes = state_of(d.word) >= kBytesRead;
  bool covers = !(mask & ~a.mask), covered = !(a.mask & ~mask), apart = !(mask & a.mask);
  bool extends = of_bytes && a.mask != kFull && relation == kItself && status == kSameEpoch && op == a.op &&
                 site_of(d.word) == a.site;
  if (apart) d.race = false;
  if (extends) {
    // The thread has accessed further bytes in the same epoch.
    u64 before = d.word;
    d.word |= (u64)a.mask << (a.shared ? kSharedMaskShift : kMaskShift);
    d.changed = d.word != before;
  } else if (!apart && next == kKeep) {
    d.dropped = !covered;
  } else if (mine == 0 || (apart ? status == kUnsynced
                                 : next == kKeepDropping || next == kJoin || (d.race && !of_bytes))) {
    // If several threads each access bytes of their own, the first one's record stays: the others
    // meet it as they met it before. If there is a race, the record of the whole word stays: it
    // says more.
    d.dropped = true;
  } else {
    d.word = mine;
    d.changed = true;
    d.dropped = apart || !covers || next != kReplace;
  }
}

// The step of a record of a whole word when a whole word is accessed. Sets `word`, `changed` and
// `dropped`.
GPURACE_INLINE void step(Decision &d, u32 next, u32 span, u32 relation, u64 mine, const Access &a) {
  switch (next) {
  case kKeep:
    break;
  case kKeepDropping:
    d.dropped = true;
    break;
  case kJoin: {
    u32 wider = relation > span ? relation : span;
    d.word = with_state(d.word, state_of(d.word) - span + wider);
    d.changed = wider != span;
    break;
  }
  case kReplaceAfterWrite:
    d.word = record_of(a, kReadAfterWrite);
    d.changed = true;
    break;
  default:
    d.word = mine;
    d.changed = true;
    d.dropped = next == kReplaceDropping;
  }
}

// Decides an access to a word: whether it races with the word's record, and what the word becomes.
// Reads no memory.
GPURACE_APART Decision decide(u64 word, const Access &a) {
  Decision d = {word, false, false, false, false, kGrid, kRead};
  u64 mine = new_record(a);
  u32 state = state_of(word), shift = a.shared ? kSharedMaskShift : kMaskShift;
  bool of_bytes = state >= kBytesRead;
  u64 when = of_bytes ? word & ~((u64)kFull << shift) : word;
  // In shared memory an earlier clock is that of another block, which had the slot before.
  bool settled =
      a.shared ? state < kFirstCompact || (when & kSharedClockMask) < a.start : is_settled(word, a);
  if (settled) {
    d.changed = mine != 0;
    d.dropped = mine == 0;
    d.word = mine;
    return d;
  }
  u32 op = of_bytes ? state - kBytesRead : (state - kFirstCompact) / 4;
  u32 mask = of_bytes ? (u32)(word >> shift) & kFull : kFull;
  Earlier e = {a.shared || uid_of(word) == a.uid, of_bytes ? (u32)kSpanThread : (state - kFirstCompact) % 4,
               thread_of(word),
               a.shared ? (u32)((when & kSharedClockMask) - a.start) : (u32)when & (kClocks - 1)};
  u32 relation = relation_of(e, a), status = status_of(e, relation, a);
  u32 site = site_of(word);
  u8 cell = transition(op, a.op, relation, status, site == a.site && site != kNoSite);

  bool same_warp = e.thread / 32 == a.thread / 32;
  d.earlier_known = !e.same_block || (e.thread != a.thread && e.clock >= (same_warp ? a.clock : a.base));
  d.relation = relation;
  if (e.same_block && relation == kGrid && d.earlier_known) {
    // The record stands for threads of several blocks, and names one of this block. Atomics that
    // conflict between blocks may not conflict within one.
    u32 narrower = same_warp ? kWarp : kBlock;
    d.earlier_known = transition(op, a.op, narrower, kUnsynced, 0) >= kRaceBit;
    if (d.earlier_known) d.relation = narrower;
  }
  d.race = cell & kRaceBit;
  if (op != kReadAfterWrite) {
    d.earlier_op = op;
  } else if (relation == kGrid && transition(kRead, a.op, relation, status, 0) < kRaceBit) {
    // The race is with the write before the reads. Within the block a barrier orders that write.
    d.earlier_op = kWrite;
    d.earlier_known = false;
  }

  u32 next = cell & ~kRaceBit;
  if (of_bytes || a.mask != kFull)
    step_of_bytes(d, next, op, mask, relation, status, mine, a);
  else
    step(d, next, e.span, relation, mine, a);
  return d;
}

} // namespace gpurace
