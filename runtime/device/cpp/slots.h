// Slots: each resident block has one, as the shadow of its shared memory. The launch's cell names
// the set of slots that the block takes one of.
#pragma once
#include "word.h"

namespace gpurace {

// Gives the calling thread's block a free slot, if there is one.
GPURACE_INLINE void take_slot(const SlotSet &set) {
  volatile Control &c = control();
  u32 *bits = (u32 *)set.bits;
  u32 words = (u32)((set.count + 31) / 32);
  for (u32 i = 0; i < words; i++) {
    u32 at = (i + (u32)block_index()) % words;
    u32 usable = at == words - 1 && set.count % 32 ? (1u << set.count % 32) - 1 : ~0u;
    for (u32 taken = __atomic_load_n(bits + at, __ATOMIC_RELAXED); ~taken & usable;) {
      u32 bit = (u32)__builtin_ctz(~taken & usable);
      u32 before = GPURACE_OR(bits + at, 1u << bit);
      if (!(before >> bit & 1)) {
        fence_device();
        c.slot = at * 32 + bit;
        u64 slot = set.first + c.slot * set.stride;
        c.start = *(volatile u64 *)slot;
        c.shadow = slot + 8;
        c.shadowed = (u32)set.shared;
        return;
      }
      taken = before;
    }
  }
}

// Gives the slot back as the block ends. The slot's next block starts at a later clock than any
// that this block used.
GPURACE_INLINE void give_slot(const SlotSet &set) {
  volatile Control &c = control();
  u64 last = c.base;
  for (u32 i = 0; i < 2; i++) last = c.top[i] > last ? c.top[i] : last;
  u64 next = c.start + last + 1;
  // A slot stays taken for ever once another block's clocks might not fit a shadow word.
  if (next + ~0u > kSharedClockMask) return;
  *(volatile u64 *)(set.first + c.slot * set.stride) = next;
  fence_device();
  __atomic_fetch_and((u32 *)set.bits + c.slot / 32, ~(1u << c.slot % 32), __ATOMIC_RELAXED);
}

} // namespace gpurace
