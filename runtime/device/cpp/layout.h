// The structures in memory that both the host and the checker on a GPU use. Their fields are
// documented in runtime/base/abi/src/device.rs.
#pragma once

namespace gpurace {

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long;
static_assert(sizeof(u32) == 4 && sizeof(u64) == 8, "both targets have these sizes");

struct CheckerState {
  u64 window, window_size, shadow;
  u64 counters;
  u64 races, race_capacity;
  u64 race_counters;
  u64 orders, annotated;
};

struct ShadowRange {
  u64 start, end, shadow;
};

struct SlotSet {
  u64 bits, first, count, stride, shared;
};

// How many ranges of block uids of unordered earlier launches a launch cell holds.
constexpr u32 kUnorderedRanges = 4;

struct LaunchCell {
  u64 first_uid, blocks, number, checks;
  u64 unordered[kUnorderedRanges];
  u64 log, log_room, logged, ended, held, observes;
  u64 slots, ranges, range_count;
  u64 turn, over;
};

// Documented in runtime/base/abi/src/event.rs.
enum EventKind : u32 {
  kEventRead = 1,
  kEventWrite,
  kEventAtomic,
  kEventAtomicDone,
  kEventFence,
  kEventBarrier,
  kEventWarpArrive,
  kEventWarpPassed,
  kEventNamedArrive,
  kEventNamedPassed,
  kEventAsyncRead,
  kEventAsyncWrite,
  kEventAsyncCommit,
  kEventAsyncWait,
  kEventAsyncArrive,
  kEventClusterArrive,
  kEventClusterPassed,
  kEventUnknown,
  kEventLeave,
  kEventIgnore,
  kEventBenign,
  kEventHappens,
  kEventCoordinates,
  kEventFetch,
  kEventSurfaceRead,
  kEventSurfaceWrite,
};
constexpr u32 kEventKindShift = 10, kEventAtomicShift = 16, kEventScopeShift = 19, kEventOrderShift = 21,
              kEventSharedShift = 24;

struct Event {
  u64 address;
  u32 block, what;
  u32 site, size, extra, complete;
};

struct EventLogHead {
  u64 over, held, unused[2];
};

struct Counters {
  u64 next_uid, races, undecided, narrowed, outside, shared_outside, contended, exhausted, repeated, copies,
      lost, fetches;
};

struct FoundRace {
  u32 complete, site, earlier_site, thread, earlier_thread, earlier_op, op, relation;
  u64 block, earlier_block, launch, earlier_launch, address;
  u32 size, shared;
};

constexpr u64 kRaceCounters = 4096;
constexpr u32 kReportsPerRace = 4;
// Marks a number that is not known, and a block without uid or slot.
constexpr u32 kUnknown = ~0u;
constexpr u64 kBlockUids = (1u << 24) - 1;
constexpr u32 kSharedControlBytes = 256;

} // namespace gpurace
