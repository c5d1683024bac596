// Shadow of shared memory: each resident block has a slot of its own, of the set that the launch's cell
// names.
#pragma once
#include "word.h"

namespace gpurace {

// Gives the calling thread's block a slot that no resident block has.
GPURACE_INLINE void take_slot(const Slots &s) {
  volatile Control &c = control();
  u32 *bits = (u32 *)s.bits;
  u32 words = (u32)((s.count + 31) / 32);
  for (u32 i = 0; i < words; i++) {
    u32 at = (i + (u32)block_index()) % words;
    u32 usable = at == words - 1 && s.count % 32 ? (1u << s.count % 32) - 1 : ~0u;
    for (u32 taken = __atomic_load_n(bits + at, __ATOMIC_RELAXED); ~taken & usable;) {
      u32 bit = (u32)__builtin_ctz(~taken & usable);
      u32 before = GPURACE_OR(bits + at, 1u << bit);
      if (!(before >> bit & 1)) {
        fence_device();
        c.slot = at * 32 + bit;
        u64 slot = s.first + c.slot * s.stride;
        c.start = *(volatile u64 *)slot;
        c.shadow = slot + 8;
        c.shadowed = (u32)s.shared;
        return;
      }
      taken = before;
    }
  }
}

// The block ends: the next one that has its slot goes on from where this one's clock is.
GPURACE_INLINE void give_slot(const Slots &s) {
  volatile Control &c = control();
  u64 last = c.base;
  for (u32 i = 0; i < 2; i++) last = c.top[i] > last ? c.top[i] : last;
  u64 next = c.start + last + 1;
  // A slot whose clock would not fit any more is not given back.
  if (next + ~0u > kSharedClockMask) return;
  *(volatile u64 *)(s.first + c.slot * s.stride) = next;
  fence_device();
  __atomic_fetch_and((u32 *)s.bits + c.slot / 32, ~(1u << c.slot % 32), __ATOMIC_RELAXED);
}

} // namespace gpurace
