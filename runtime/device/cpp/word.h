// The shadow word on a GPU: one record, and what a new access makes of it.
//
//   global memory   state 7 | site 10 | thread 10 | uid 24 | clock 13
//   shared memory   state 7 | site 10 | thread 10 |    clock 37
//
// The layout is runtime/check/src/word.rs's, and the transitions are its
// state machine's, in `transitions.inc`. A word has no chain here: where the
// machine keeps both records, the table says which one stays, and that one was
// dropped is counted.
//
// A record of some bytes of a word, read or written by one thread, has a state of its own, and which bytes in
// the upper four bits of its clock.
#pragma once
#include "target.h"

namespace gpurace {

constexpr u32 kClockBits = 13, kUidBits = 24, kThreadBits = 10, kSiteBits = 10;
constexpr u32 kThreadShift = kClockBits + kUidBits, kSiteShift = kThreadShift + kThreadBits,
              kStateShift = kSiteShift + kSiteBits;
constexpr u32 kFirstCompact = 4;
constexpr u64 kSharedClockMask = (1ul << kThreadShift) - 1;
constexpr u32 kClocks = 1u << kClockBits;
// A site of this number or more has no place in a word.
constexpr u32 kNoSite = (1u << kSiteBits) - 1;

// States of records of bytes, and where these say which.
constexpr u32 kBytesRead = 126, kBytesWrite = 127, kFull = 15, kMaskBits = 4;
constexpr u32 kMaskShift = kClockBits - kMaskBits, kSharedMaskShift = kThreadShift - kMaskBits;

// Operations of accesses, as word.rs numbers them; a record may also be one more.
constexpr u32 kRead = 0, kWrite = 1, kOps = 26;
// Reads, and before them, ordered by a barrier, a write of the same block.
constexpr u32 kReadAfterWrite = 26;

// `kLaunches`: threads of two launches.
enum Relation : u32 { kItself, kWarp, kBlock, kGrid, kLaunches };
enum Span : u32 { kSpanThread, kSpanWarp, kSpanBlock, kSpanGrid };
// `kSynced`: ordered, though not for the whole block of the record.
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

// Who accesses, what, and when.
struct Access {
  u32 op;   // < kOps
  u32 site; // of the module
  u32 thread;
  u32 base;  // clock since the last barrier, of this block
  u32 clock; // of the thread's warp
  u32 uid;   // global memory
  u64 start; // shared memory: added to clocks
  u64 first_uid, blocks;
  const u64 *unordered; // kUnordered ranges of uids, or null: uid << 32 | how many
  bool shared;
  u32 mask; // bytes of the word; a part of it only of reads and writes
};

struct Decision {
  u64 word; // what the shadow word becomes
  bool changed;
  bool race;
  bool dropped;       // a record is lost
  bool earlier_known; // the record's own thread is not ordered before the access
  u32 relation;       // to the record's own thread, where that is known
  u32 earlier_op;     // of the other side of a race
};

GPURACE_INLINE u32 state_of(u64 word) { return (u32)(word >> kStateShift); }
GPURACE_INLINE u32 site_of(u64 word) { return (u32)(word >> kSiteShift) & kNoSite; }
GPURACE_INLINE u32 thread_of(u64 word) { return (u32)(word >> kThreadShift) & ((1u << kThreadBits) - 1); }
GPURACE_INLINE u32 uid_of(u64 word) { return (u32)(word >> kClockBits) & ((1u << kUidBits) - 1); }

GPURACE_INLINE u64 state_bits(u32 op, u32 span) {
  return (u64)(kFirstCompact + op * 4 + span) << kStateShift;
}

GPURACE_INLINE u64 key_of(const Access &a) {
  u64 when = a.shared ? a.start + a.clock : (u64)a.uid << kClockBits | a.clock;
  return (u64)a.thread << kThreadShift | when;
}

GPURACE_INLINE u64 record_of(const Access &a, u32 op) {
  u32 site = a.site < kNoSite ? a.site : kNoSite;
  return state_bits(op, kSpanThread) | (u64)site << kSiteShift | key_of(a);
}

// The record of an access; 0: of bytes, at a time that has no place beside them.
GPURACE_INLINE u64 new_record(const Access &a) {
  if (a.mask == kFull) return record_of(a, a.op);
  u64 when = a.shared ? a.start + a.clock : a.clock;
  u32 shift = a.shared ? kSharedMaskShift : kMaskShift;
  if (when >> shift) return 0;
  u64 rest = record_of(a, a.op) & ((1ul << kStateShift) - 1);
  return (u64)(kBytesRead + a.op) << kStateShift | rest | (u64)a.mask << shift;
}

// Whether a block of another launch may run beside the access.
GPURACE_INLINE bool is_unordered(u32 uid, const Access &a) {
  // Uids are given in the order of submission: what was submitted later and has run already did not wait for
  // this launch.
  if (uid >= a.first_uid + a.blocks) return true;
  if (!a.unordered) return false;
  for (u32 i = 0; i < kUnordered; i++) {
    u64 range = a.unordered[i];
    if (uid - (range >> 32) < (u32)range) return true;
  }
  return false;
}

// What access `a` makes of a word. Touches no memory but that of `a.unordered`.
GPURACE_APART Decision decide(u64 word, const Access &a) {
  Decision d = {word, false, false, false, false, kGrid, kRead};
  u32 state = state_of(word);
  u64 mine = new_record(a);
  if (state < kFirstCompact) {
    d.changed = mine != 0;
    d.dropped = mine == 0;
    d.word = mine;
    return d;
  }
  bool of_bytes = state >= kBytesRead;
  u32 op = of_bytes ? state - kBytesRead : (state - kFirstCompact) / 4,
      span = of_bytes ? (u32)kSpanThread : (state - kFirstCompact) % 4;
  u32 shift = a.shared ? kSharedMaskShift : kMaskShift;
  u32 mask = of_bytes ? (u32)(word >> shift) & kFull : kFull;
  u64 when = of_bytes ? word & ~((u64)kFull << shift) : word;
  u32 thread = thread_of(word);
  bool same_warp = thread / 32 == a.thread / 32;
  u64 clock; // the record's, as the block counts
  bool mine_block, same_launch, beside = false;
  if (a.shared) {
    u64 at = when & kSharedClockMask;
    same_launch = mine_block = at >= a.start;
    clock = at - a.start;
  } else {
    u32 uid = uid_of(word);
    mine_block = uid == a.uid;
    clock = when & (kClocks - 1);
    same_launch = mine_block || uid - a.first_uid < a.blocks;
    beside = !same_launch && is_unordered(uid, a);
  }
  if (!same_launch && !beside) {
    // Another block's that had the slot, or another launch's: nothing to race with.
    d.changed = mine != 0;
    d.dropped = mine == 0;
    d.word = mine;
    return d;
  }
  u32 relation, status;
  if (!mine_block || span == kSpanGrid) {
    relation = kGrid;
    status = kUnsynced;
  } else if (thread == a.thread && span == kSpanThread) {
    relation = kItself;
    status = clock < a.base ? kBlockSynced : clock < a.clock ? kSynced : kSameEpoch;
  } else if (same_warp && span <= kSpanWarp) {
    relation = kWarp;
    status = clock < a.base ? kBlockSynced : clock < a.clock ? kSynced : kUnsynced;
  } else {
    relation = kBlock;
    status = clock < a.base ? kBlockSynced : kUnsynced;
  }
  d.earlier_known = !mine_block || (thread != a.thread && clock >= (same_warp ? a.clock : a.base));
  u32 site = site_of(word);
  u8 cell = transition(op, a.op, relation, status, site == a.site && site != kNoSite);
  d.relation = beside ? kLaunches : relation;
  if (mine_block && relation == kGrid && d.earlier_known) {
    // Of several blocks' threads, the one that is named is of this block. Within
    // it, atomics may not conflict that do between blocks.
    u32 narrower = same_warp ? kWarp : kBlock;
    d.earlier_known = transition(op, a.op, narrower, kUnsynced, 0) >= kRaceBit;
    if (d.earlier_known) d.relation = narrower;
  }
  d.race = cell & kRaceBit;
  if (op != kReadAfterWrite) {
    d.earlier_op = op;
  } else if (relation == kGrid && transition(kRead, a.op, relation, status, 0) < kRaceBit) {
    // The write before the reads is the other side. Within the block it is ordered by a barrier.
    d.earlier_op = kWrite;
    d.earlier_known = false;
  }
  u32 next = cell & ~kRaceBit;
  if (of_bytes || a.mask != kFull) {
    bool goes_on = of_bytes && a.mask != kFull && relation == kItself && status == kSameEpoch && op == a.op &&
                   site == a.site;
    bool covers = !(mask & ~a.mask), covered = !(a.mask & ~mask), apart = !(mask & a.mask);
    if (apart) d.race = false;
    if (goes_on) {
      // The thread itself, in the same epoch, at more bytes.
      d.word = word | (u64)a.mask << shift;
      d.changed = d.word != word;
    } else if (!apart && next == kKeep) {
      d.dropped = !covered;
    } else if (mine == 0 || (apart ? status == kUnsynced
                                   : next == kKeepDropping || next == kJoin || (d.race && !of_bytes))) {
      // Of threads that each have bytes of the word the first one stays, which others will meet as they met
      // it. Of a race the record of the whole word stays, which says more.
      d.dropped = true;
    } else {
      d.word = mine;
      d.changed = true;
      d.dropped = apart || !covers || next != kReplace;
    }
    return d;
  }
  switch (next) {
  case kKeep:
    break;
  case kKeepDropping:
    d.dropped = true;
    break;
  case kJoin: {
    u32 wider = relation > span ? relation : span;
    d.word = (word & ~(~0ul << kStateShift)) | state_bits(op, wider);
    d.changed = wider != span;
    // Of reads of two launches, a later launch may be ordered after the one and not after the other.
    d.dropped = beside;
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
  return d;
}

} // namespace gpurace
