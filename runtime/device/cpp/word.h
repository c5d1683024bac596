// The shadow word on a GPU: one record, or nothing.
//
//   global memory   state 7 | site 10 | thread 10 | uid 24 | clock 13
//   shared memory   state 7 | site 10 | thread 10 |    clock 37
//
// The fields are those of runtime/check/src/model/record.rs, in widths of their own. A word has no chain
// here.
//
// A record of one thread's read or write of some bytes of a word has a state of its own. The upper
// four bits of its clock say which bytes.
#pragma once
#include "target.h"

namespace gpurace {

constexpr u32 kClockBits = 13, kUidBits = 24, kThreadBits = 10, kSiteBits = 10;
constexpr u32 kThreadShift = kClockBits + kUidBits, kSiteShift = kThreadShift + kThreadBits,
              kStateShift = kSiteShift + kSiteBits;
constexpr u32 kFirstCompact = 4;
constexpr u64 kSharedClockMask = (1ul << kThreadShift) - 1;
constexpr u32 kClocks = 1u << kClockBits;
// Stands for all sites whose number does not fit a word.
constexpr u32 kNoSite = (1u << kSiteBits) - 1;

// The states of records of some bytes, and the place of the mask of these bytes.
constexpr u32 kBytesRead = 126, kBytesWrite = 127, kFull = 15, kMaskBits = 4;
constexpr u32 kMaskShift = kClockBits - kMaskBits, kSharedMaskShift = kThreadShift - kMaskBits;

// Operations of accesses, numbered as in word.rs.
constexpr u32 kRead = 0, kWrite = 1, kOps = 26;
// The row of volatile accesses among the atomics.
constexpr u32 kVolatileRow = 1;
// One more operation, of records alone: reads, and before them, ordered by a barrier, a write of
// the same block.
constexpr u32 kReadAfterWrite = 26;

enum Span : u32 { kSpanThread, kSpanWarp, kSpanBlock, kSpanGrid };

// An access of one thread to one word.
struct Access {
  u32 op;                // less than kOps
  u32 site;              // number in the module
  u32 thread;            // linear in the block
  u32 base;              // clock of the block's last barrier
  u32 clock;             // clock of the thread's warp
  u32 uid;               // of the block, for global memory
  u64 start;             // the slot's clock when the block began, for shared memory
  u64 first_uid, blocks; // of the launch
  bool shared;           // to shared memory
  u32 mask;              // bytes of the word; less than all for reads and writes only
};

GPURACE_INLINE bool is_volatile(u32 op) { return op >= 2 && (op - 2) / 3 % 4 == kVolatileRow; }
// True if two threads of a block that both make this access race.
GPURACE_INLINE bool races_with_itself(u32 op) { return op == kWrite || (is_volatile(op) && op >= 14); }

GPURACE_INLINE u32 state_of(u64 word) { return (u32)(word >> kStateShift); }
GPURACE_INLINE u32 site_of(u64 word) { return (u32)(word >> kSiteShift) & kNoSite; }
GPURACE_INLINE u32 thread_of(u64 word) { return (u32)(word >> kThreadShift) & ((1u << kThreadBits) - 1); }
GPURACE_INLINE u32 uid_of(u64 word) { return (u32)(word >> kClockBits) & ((1u << kUidBits) - 1); }

GPURACE_INLINE u64 state_bits(u32 op, u32 span) {
  return (u64)(kFirstCompact + op * 4 + span) << kStateShift;
}

// The word with another state.
GPURACE_INLINE u64 with_state(u64 word, u32 state) {
  return (word & ~(~0ul << kStateShift)) | (u64)state << kStateShift;
}

// The bits of a record that say who accesses, and when.
GPURACE_INLINE u64 key_of(const Access &a) {
  u64 when = a.shared ? a.start + a.clock : (u64)a.uid << kClockBits | a.clock;
  return (u64)a.thread << kThreadShift | when;
}

// The record of the access to a whole word, with operation `op`.
GPURACE_INLINE u64 record_of(const Access &a, u32 op) {
  u32 site = a.site < kNoSite ? a.site : kNoSite;
  return state_bits(op, kSpanThread) | (u64)site << kSiteShift | key_of(a);
}

// The record of the access, or 0: a late clock leaves no room for the mask of bytes.
GPURACE_INLINE u64 new_record(const Access &a) {
  if (a.mask == kFull) return record_of(a, a.op);
  u64 when = a.shared ? a.start + a.clock : a.clock;
  u32 shift = a.shared ? kSharedMaskShift : kMaskShift;
  if (when >> shift) return 0;
  u64 rest = record_of(a, a.op) & ((1ul << kStateShift) - 1);
  return (u64)(kBytesRead + a.op) << kStateShift | rest | (u64)a.mask << shift;
}

} // namespace gpurace
