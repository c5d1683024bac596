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
  u64 orders, annotated, relaxed_volatile;
};

struct ShadowRange {
  u64 start, end, shadow;
};

struct SlotSet {
  u64 bits, first, count, stride, shared;
};

struct LaunchCell {
  u64 first_uid, blocks, number, checks, observes;
  u64 slots, ranges, range_count;
  u64 near, near_end, near_cells;
  u64 turn, over;
};

struct Counters {
  u64 races, undecided, narrowed, outside, shared_outside, contended, exhausted, repeated, copies, lost;
};

struct FoundRace {
  u32 complete, site, earlier_site, thread, earlier_thread, earlier_op, op, relation;
  u64 block, earlier_block, launch, address;
  u32 size, shared;
};

constexpr u64 kRaceCounters = 4096;
constexpr u32 kReportsPerRace = 4;
// Marks a number that is not known, and a block without uid or slot.
constexpr u32 kUnknown = ~0u;
constexpr u64 kBlockUids = (1u << 24) - 1;
constexpr u32 kSharedControlBytes = 384;

} // namespace gpurace
