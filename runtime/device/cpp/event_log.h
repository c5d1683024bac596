// The event log of a launch. Its events lie where the launch's cell says, as many as there is
// room for.
#pragma once
#include "target.h"

namespace gpurace {

// Appends an event of the calling thread. Returns false if the log is full; then the block logs
// nothing more. `what`: the bits of `Event::what` beside thread and kind.
static __attribute__((noinline)) bool write_event(u32 kind, u32 what, u64 address, u32 site, u32 size,
                                                  u32 extra) {
  volatile Control &c = control();
  LaunchCell &launch = *(LaunchCell *)c.cell;
  // One addition for all lanes that log together: their events lie side by side, and cross the
  // bus together.
  u32 lanes = lanes_here(), rank = rank_in(lanes);
  u64 first = 0;
  if (rank == 0) first = GPURACE_ADD(&launch.logged, (u64)__builtin_popcount(lanes));
  u64 at = of_first(lanes, first) + rank;
  if (at >= launch.log_room) {
    c.log = 0;
    return false;
  }
  volatile Event &e = ((Event *)launch.log)[at];
  e.address = address;
  e.block = (u32)block_index();
  e.what = thread_index() | kind << kEventKindShift | what;
  e.site = site;
  e.size = size;
  e.extra = extra;
  e.complete = 1;
  return true;
}

// Logs an event. Returns false if the launch has no event log, or a full one.
GPURACE_INLINE bool log_event(u32 kind, u32 what = 0, u64 address = 0, u32 site = 0, u32 size = 0,
                              u32 extra = 0) {
  return control().log != 0 && write_event(kind, what, address, site, size, extra);
}

// Logs an event that has an address. `extra` must be 0 if `p` may lie in another block's shared
// memory: that block's rank takes its place.
GPURACE_INLINE bool log_at(u32 kind, u32 what, const void *p, u32 site, u32 size, u32 extra = 0) {
  if (control().log == 0) return false;
  if (is_shared(p))
    return write_event(kind, what | 1u << kEventSharedShift, shared_offset(p), site, size, extra);
  if (u32 peer = peer_of(p))
    return write_event(kind, what | 1u << kEventSharedShift, peer_offset(p), site, size, peer);
  return write_event(kind, what, (u64)p, site, size, extra);
}

// The bits of `Event::what` that describe an atomic or a fence.
GPURACE_INLINE u32 event_order(u32 kind, u32 scope, u32 order) {
  return kind << kEventAtomicShift | scope << kEventScopeShift | order << kEventOrderShift;
}

} // namespace gpurace
