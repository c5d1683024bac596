// What the host and the checker on a GPU have in common: runtime/abi/src/device.rs,
// which says what each field means.
#pragma once

namespace gpurace {

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long;
static_assert(sizeof(u32) == 4 && sizeof(u64) == 8, "as on both targets");

struct State {
  u64 window, window_size, shadow;
  u64 counters;
  u64 records, record_capacity;
  u64 seen;
  u64 orders, annotated;
};

struct Range {
  u64 start, end, shadow;
};

struct Slots {
  u64 bits, first, count, stride, shared;
};

// Ranges of uids of earlier launches that a launch may overlap.
constexpr u32 kUnordered = 4;

struct LaunchCell {
  u64 first_uid, blocks, number, checks;
  u64 unordered[kUnordered];
  u64 log, log_room, logged, ended, held, observes;
  u64 slots, ranges, range_count;
  u64 turn, over;
};

// runtime/abi/src/event.rs
enum EventKind : u32 {
  kLogRead = 1,
  kLogWrite,
  kLogAtomic,
  kLogAtomicDone,
  kLogFence,
  kLogBarrier,
  kLogWarpArrive,
  kLogWarpPassed,
  kLogNamedArrive,
  kLogNamedPassed,
  kLogAsyncRead,
  kLogAsyncWrite,
  kLogAsyncCommit,
  kLogAsyncWait,
  kLogAsyncArrive,
  kLogClusterArrive,
  kLogClusterPassed,
  kLogUnknown,
  kLogLeave,
  kLogIgnore,
  kLogBenign,
  kLogHappens,
  kLogCoordinates,
  kLogFetch,
  kLogSurfaceRead,
  kLogSurfaceWrite,
};
constexpr u32 kEventKindShift = 10, kEventAtomicShift = 16, kEventScopeShift = 19, kEventOrderShift = 21,
              kEventSharedShift = 24;

struct Event {
  u64 address;
  u32 block, what;
  u32 site, size, extra, complete;
};

struct LogHead {
  u64 over, held, unused[2];
};

struct Counters {
  u64 next_uid, records, undecided, narrowed, outside, shared_outside, contended, exhausted, repeated, copies,
      lost, fetches;
};

struct Found {
  u32 complete, site, earlier_site, thread, earlier_thread, earlier_op, op, relation;
  u64 block, earlier_block, launch, earlier_launch, address;
  u32 size, shared;
};

constexpr u64 kSeen = 4096;
constexpr u32 kRecordsOfOne = 4;
constexpr u32 kUnknown = ~0u;
constexpr u64 kUids = (1u << 24) - 1;
constexpr u32 kSharedControl = 256;

} // namespace gpurace
