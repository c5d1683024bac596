// All that differs between a GPU and the host, where tests simulate one thread at a time: the
// thread's identity, the block's control memory, atomics, fences.
#pragma once
#include "layout.h"

namespace gpurace {

// State that the threads of a block share, in its shared memory.
//
// Clocks count the block's barriers and its warps' `__syncwarp`s. After a barrier all threads
// write the same values. Each computed them from what it read before the barrier. No thread can
// be one barrier ahead while another has not yet written, since the next barrier waits for all.
struct Control {
  u64 start;      // clock of the slot when this block began
  u64 shadow;     // shadow of the block's shared memory, or 0
  u64 first_uid;  // uid of the launch's first block
  u64 blocks;     // blocks of the launch
  u64 cell;       // address of the launch cell
  u32 uid;        // uid of this block, or kUnknown
  u32 slot;       // slot of this block, or kUnknown
  u32 base;       // clock of the last block barrier
  u32 parity;     // number of barriers modulo 2: the index of the `top` in use
  u32 top[2];     // greatest clock of a warp since the last barrier
  u32 irregular;  // the last `base` at which a thread made order that clocks do not show
  u32 acquired;   // 1 if a thread may have acquired from another block
  u32 alive;      // threads that have not left
  u32 shadowed;   // bytes of shared memory that have shadow
  u32 near;       // of near shadow: its address, less twice the first address of shared memory
  u32 is_near;    // 1 if the shadow of shared memory lies in shared memory itself
  u32 warp[32];   // clocks of warps; a value below `base` means `base`
  u32 checks[32]; // number of checks of the threads of each warp
};
static_assert(sizeof(Control) <= kSharedControlBytes, "abi::device::SHARED_CONTROL");

#ifdef __NVPTX__

#define GPURACE_ENTRY extern "C" __attribute__((used, noinline))
// For the entries that kernels call most.
#define GPURACE_HOT extern "C" __attribute__((used, always_inline))
#define GPURACE_INLINE static inline __attribute__((always_inline))
// For code that seldom runs: a function of its own keeps its registers out of the callers' count.
#define GPURACE_APART static __attribute__((noinline))
#define GPURACE_KERNEL extern "C" __attribute__((used, nvptx_kernel))

// The pass and the host find it by its name.
extern "C" {
// In constant memory: code may keep what it has loaded.
__attribute__((used, address_space(4))) CheckerState __gpurace_state = {};
}
[[clang::loader_uninitialized]] static __attribute__((address_space(3))) Control g_control;

GPURACE_INLINE volatile Control &control() { return *(Control *)&g_control; }
// What changes at this thread's own calls alone: code may keep what it has loaded.
GPURACE_INLINE Control &own_control() { return *(Control *)&g_control; }
GPURACE_INLINE const CheckerState &state() { return *(const CheckerState *)&__gpurace_state; }

GPURACE_INLINE u32 block_threads() {
  return __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ntid_y() * __nvvm_read_ptx_sreg_ntid_z();
}
GPURACE_INLINE u32 thread_index() {
  return (__nvvm_read_ptx_sreg_tid_z() * __nvvm_read_ptx_sreg_ntid_y() + __nvvm_read_ptx_sreg_tid_y()) *
             __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}
GPURACE_INLINE u64 block_index() {
  u64 z = __nvvm_read_ptx_sreg_ctaid_z(), y = __nvvm_read_ptx_sreg_ctaid_y();
  return (z * __nvvm_read_ptx_sreg_nctaid_y() + y) * (u64)__nvvm_read_ptx_sreg_nctaid_x() +
         __nvvm_read_ptx_sreg_ctaid_x();
}
GPURACE_INLINE void block_barrier() { __syncthreads(); }
GPURACE_INLINE bool is_shared(const void *p) { return __nvvm_isspacep_shared(p); }
GPURACE_INLINE bool is_private(const void *p) { return __nvvm_isspacep_local(p) || __nvvm_isspacep_const(p); }
GPURACE_INLINE u32 shared_offset(const void *p) {
  // Not a cast: on a path that is never taken LLVM may derive that the address is a global
  // variable's, and it cannot compile such a cast.
  u32 offset;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(offset) : "l"(p));
  // The bits above hold the block's rank in its cluster.
  return offset & 0xffffffu;
}
// The number of threads that make this call together, in the first of them; 0 in the others.
GPURACE_INLINE u32 together() {
  u32 lanes = (u32)__nvvm_activemask(), below = (1u << __nvvm_read_ptx_sreg_laneid()) - 1;
  return (lanes & below) == 0 ? (u32)__builtin_popcount(lanes) : 0;
}
// True if all lanes of the warp make this call together. Only then may they exchange values.
GPURACE_INLINE bool whole_warp() { return (u32)__nvvm_activemask() == ~0u; }
GPURACE_INLINE u64 of_lane(u64 value, u32 lane) {
  u32 low = (u32)__nvvm_shfl_sync_idx_i32(~0u, (int)value, (int)lane, 31);
  u32 high = (u32)__nvvm_shfl_sync_idx_i32(~0u, (int)(value >> 32), (int)lane, 31);
  return (u64)high << 32 | low;
}
GPURACE_INLINE u32 of_lane32(u32 value, u32 lane) {
  return (u32)__nvvm_shfl_sync_idx_i32(~0u, (int)value, (int)lane, 31);
}
GPURACE_INLINE bool in_all_lanes(bool value) { return __nvvm_vote_all_sync(~0u, value); }
GPURACE_INLINE u32 lanes_with(bool value) { return (u32)__nvvm_vote_ballot_sync(~0u, value); }
// The value of the lane before this one; the first lane gets its own.
GPURACE_INLINE u32 of_lane_before(u32 value) { return (u32)__nvvm_shfl_sync_up_i32(~0u, (int)value, 1, 0); }
// The value of the lane in the same place of the other half of the warp.
GPURACE_INLINE u32 of_other_half(u32 value) {
  return (u32)__nvvm_shfl_sync_bfly_i32(~0u, (int)value, 16, 31);
}
// Shadow in shared memory, at an address there.
using NearCell = volatile __attribute__((address_space(3))) u64;
GPURACE_INLINE NearCell *near_at(u32 cell) { return (NearCell *)(u64)cell; }
GPURACE_INLINE u64 *near_pointer(u32 cell) { return (u64 *)near_at(cell); }
GPURACE_INLINE u64 load_near(u32 cell) { return *near_at(cell); }
GPURACE_INLINE void store_near(u32 cell, u64 word) { *near_at(cell) = word; }
// Swaps if the cell holds `before`. Returns what it held.
GPURACE_INLINE u64 swap_near(u32 cell, u64 before, u64 after) {
  __scoped_atomic_compare_exchange_n(near_at(cell), &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                     __MEMORY_SCOPE_WRKGRP);
  return before;
}
// Lets all lanes of the warp continue together.
GPURACE_INLINE void come_together() { __nvvm_bar_warp_sync(~0u); }
GPURACE_INLINE void pause(u32 attempt) {
#if __CUDA_ARCH__ >= 700
  asm volatile("nanosleep.u32 %0;" ::"r"(32u << attempt));
#else
  (void)attempt;
#endif
}
#define GPURACE_ADD(place, n) __scoped_atomic_fetch_add(place, n, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define GPURACE_ADD_IN_BLOCK(place, n)                                                                       \
  (void)__scoped_atomic_fetch_add(place, n, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)
#define GPURACE_OR(place, n) __scoped_atomic_fetch_or(place, n, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define GPURACE_MAX(place, n) __scoped_atomic_fetch_max(place, n, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
// Lets a test run another thread.
GPURACE_INLINE void interleave() {}
GPURACE_INLINE void fence_block() { asm volatile("membar.cta;" ::: "memory"); }
GPURACE_INLINE void fence_device() { asm volatile("membar.gl;" ::: "memory"); }
GPURACE_INLINE void fence_system() { asm volatile("membar.sys;" ::: "memory"); }

#else

// The simulated thread. A test sets it before each call.
struct Simulated {
  Control *control;
  const CheckerState *state;
  u32 thread, threads;
  u64 block;
  u64 shared, shared_size;
  u64 near; // memory for the block's near shadow
};
static thread_local Simulated __gpurace_simulated;
// The test's function that runs before each access to shadow by this OS thread, or null.
static thread_local void (*__gpurace_interleave)();

#define GPURACE_ENTRY extern "C"
#define GPURACE_HOT extern "C"
#define GPURACE_INLINE static inline
#define GPURACE_APART static inline
#define GPURACE_KERNEL extern "C"

GPURACE_INLINE volatile Control &control() { return *__gpurace_simulated.control; }
GPURACE_INLINE Control &own_control() { return *__gpurace_simulated.control; }
GPURACE_INLINE const CheckerState &state() { return *__gpurace_simulated.state; }
GPURACE_INLINE u32 block_threads() { return __gpurace_simulated.threads; }
GPURACE_INLINE u32 thread_index() { return __gpurace_simulated.thread; }
GPURACE_INLINE u64 block_index() { return __gpurace_simulated.block; }
// Tests simulate the threads of a block one after the other, in order: what the first has
// written is there.
GPURACE_INLINE void block_barrier() {}
GPURACE_INLINE bool is_shared(const void *p) {
  return (u64)p - __gpurace_simulated.shared < __gpurace_simulated.shared_size;
}
GPURACE_INLINE bool is_private(const void *) { return false; }
GPURACE_INLINE u32 shared_offset(const void *p) { return (u32)((u64)p - __gpurace_simulated.shared); }
GPURACE_INLINE u32 together() { return 1; }
GPURACE_INLINE bool whole_warp() { return false; }
GPURACE_INLINE u64 of_lane(u64 value, u32) { return value; }
GPURACE_INLINE u32 of_lane32(u32 value, u32) { return value; }
GPURACE_INLINE bool in_all_lanes(bool value) { return value; }
GPURACE_INLINE u32 lanes_with(bool value) { return value; }
GPURACE_INLINE u32 of_lane_before(u32 value) { return value; }
GPURACE_INLINE u32 of_other_half(u32 value) { return value; }
GPURACE_INLINE void come_together() {}
#define GPURACE_ADD(place, n) __atomic_fetch_add(place, n, __ATOMIC_RELAXED)
#define GPURACE_ADD_IN_BLOCK(place, n) __atomic_fetch_add(place, n, __ATOMIC_RELAXED)
#define GPURACE_OR(place, n) __atomic_fetch_or(place, n, __ATOMIC_RELAXED)
#define GPURACE_MAX(place, n) __atomic_fetch_max(place, n, __ATOMIC_RELAXED)
GPURACE_INLINE void interleave() {
  if (__gpurace_interleave) __gpurace_interleave();
}
GPURACE_INLINE void pause(u32 attempt) {
  for (u32 turn = 0; turn < 1u << attempt; turn++) interleave();
}
GPURACE_INLINE u64 *near_pointer(u32 cell) { return (u64 *)(__gpurace_simulated.near + cell); }
GPURACE_INLINE u64 load_near(u32 cell) {
  interleave();
  return *near_pointer(cell);
}
GPURACE_INLINE void store_near(u32 cell, u64 word) { *near_pointer(cell) = word; }
GPURACE_INLINE u64 swap_near(u32 cell, u64 before, u64 after) {
  interleave();
  __atomic_compare_exchange_n(near_pointer(cell), &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return before;
}
GPURACE_INLINE void fence_block() {}
GPURACE_INLINE void fence_device() {}
GPURACE_INLINE void fence_system() {}

#endif

} // namespace gpurace
