// What differs between a GPU and the host, where tests run one simulated thread
// at a time: who the thread is, the block's control memory, atomics.
#pragma once
#include "layout.h"

namespace gpurace {

// What the threads of a block share, in its shared memory.
//
// Clocks count the block's barriers and its warps' syncs. All threads of the
// block write one and the same value behind a barrier, which each has worked out
// from what it read before it: nobody can be a barrier ahead while another has
// not yet written, since the next barrier waits for all.
struct Control {
  u64 start;     // clock of the slot at which this block began
  u64 shadow;    // shadow of its shared memory, 0 for none
  u32 checks[2]; // checks made, by all threads: the lower half and the upper
  u64 first_uid; // of the launch
  u64 blocks;    // of the launch
  u64 launch;    // the host's number of the launch
  u64 cell;      // the launch's cell
  u64 log;       // the launch's log, 0 for none or a full one
  u32 uid;       // this block's, kUnknown for none
  u32 slot;      // kUnknown for none
  u32 base;      // clock since the last barrier
  u32 parity;    // of the number of barriers: which of `top` is in use
  u32 top[2];    // greatest clock of a warp since the last barrier
  u32 irregular; // the `base` at which somebody made an order that clocks do not show
  u32 acquired;  // somebody may have acquired from another block
  u32 alive;     // threads that have not left
  u32 unordered; // 1: earlier launches may run beside this one, the cell says which
  u32 passed;    // the `base` of the last barrier of which the log knows that it was passed
  u32 held;      // accesses without a record that the log has
  u32 shadowed;  // bytes of its shared memory that have shadow
  u32 has_log;   // 1: the launch has one, be it full
  u32 warp[32];  // clocks of warps; less than `base`: it is `base`
};
static_assert(sizeof(Control) <= kSharedControl, "abi::device::SHARED_CONTROL");

#ifdef __NVPTX__

#define GPURACE_ENTRY extern "C" __attribute__((used, noinline))
#define GPURACE_INLINE static inline __attribute__((always_inline))
// Code that is seldom reached, in a function of its own: all kernels have as many registers as the most that
// any function needs.
#define GPURACE_APART static __attribute__((noinline))
#define GPURACE_KERNEL extern "C" __attribute__((used, nvptx_kernel))

// The pass and the host find it by name.
extern "C" {
__attribute__((used, address_space(1))) State __gpurace_state = {};
}
[[clang::loader_uninitialized]] static __attribute__((address_space(3))) Control g_control;

GPURACE_INLINE volatile Control &control() { return *(Control *)&g_control; }
GPURACE_INLINE const State &state() { return *(const State *)&__gpurace_state; }

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
  // Not a cast: LLVM may come to know on a path that is not taken that the address
  // is a variable's of global memory, and has no code for such a cast.
  u32 offset;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(offset) : "l"(p));
  // Addresses of the block's own memory have its rank in its cluster in the bits from there on, which is 0
  // but for clusters.
  return offset & 0xffffffu;
}
// The block of the cluster, by its rank and 1 more, in whose shared memory an address lies that is not in the
// own block's; 0 for none.
GPURACE_INLINE u32 peer_of(const void *p) {
#if __CUDA_ARCH__ >= 900
  return __nvvm_isspacep_shared_cluster(p) ? (u32)__nvvm_getctarank((void *)p) + 1 : 0;
#else
  (void)p;
  return 0;
#endif
}
// Where in that memory.
GPURACE_INLINE u32 peer_offset(const void *p) {
#if __CUDA_ARCH__ >= 900
  return shared_offset(__nvvm_mapa((void *)p, (int)__nvvm_read_ptx_sreg_cluster_ctarank()));
#else
  return shared_offset(p);
#endif
}
// The lanes that make the same call together.
GPURACE_INLINE u32 lanes_here() { return (u32)__nvvm_activemask(); }
// How many of them come before the calling one.
GPURACE_INLINE u32 rank_in(u32 lanes) {
  return (u32)__builtin_popcount(lanes & ((1u << __nvvm_read_ptx_sreg_laneid()) - 1));
}
// How many threads make the same call together, for the first of them; 0 for the others.
GPURACE_INLINE u32 together() {
  u32 lanes = lanes_here();
  return rank_in(lanes) == 0 ? (u32)__builtin_popcount(lanes) : 0;
}
// What the first of the lanes has; all of them come here.
GPURACE_INLINE u64 of_first(u32 lanes, u64 value) {
  int first = __builtin_ctz(lanes);
  u32 low = (u32)__nvvm_shfl_sync_idx_i32(lanes, (int)value, first, 31);
  u32 high = (u32)__nvvm_shfl_sync_idx_i32(lanes, (int)(value >> 32), first, 31);
  return (u64)high << 32 | low;
}
// Lanes that were together are so again: the program may ask who is.
GPURACE_INLINE void rejoin(u32 lanes) { __nvvm_bar_warp_sync(lanes); }
// Whether all lanes of the warp make the same call together. Then they exchange values.
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
// All lanes of the warp go on together.
GPURACE_INLINE void come_together() { __nvvm_bar_warp_sync(~0u); }
GPURACE_INLINE void pause(u32 attempt) {
#if __CUDA_ARCH__ >= 700
  asm volatile("nanosleep.u32 %0;" ::"r"(32u << attempt));
#else
  (void)attempt;
#endif
}
#define GPURACE_ADD(place, n) __scoped_atomic_fetch_add(place, n, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define GPURACE_OR(place, n) __scoped_atomic_fetch_or(place, n, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define GPURACE_MAX(place, n) __scoped_atomic_fetch_max(place, n, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
// Tests let another thread go on here.
GPURACE_INLINE void step() {}
GPURACE_INLINE void fence_block() { asm volatile("membar.cta;" ::: "memory"); }
GPURACE_INLINE void fence_device() { asm volatile("membar.gl;" ::: "memory"); }
GPURACE_INLINE void fence_system() { asm volatile("membar.sys;" ::: "memory"); }

#else

// The simulated thread, set by the test before each call.
struct Simulated {
  Control *control;
  const State *state;
  u32 thread, threads;
  u64 block;
  u64 shared, shared_size;
};
static thread_local Simulated __gpurace_simulated;
// What the test does before each access to shadow by this thread, if anything.
static thread_local void (*__gpurace_step)();

#define GPURACE_ENTRY extern "C"
#define GPURACE_INLINE static inline
#define GPURACE_APART static inline
#define GPURACE_KERNEL extern "C"

GPURACE_INLINE volatile Control &control() { return *__gpurace_simulated.control; }
GPURACE_INLINE const State &state() { return *__gpurace_simulated.state; }
GPURACE_INLINE u32 block_threads() { return __gpurace_simulated.threads; }
GPURACE_INLINE u32 thread_index() { return __gpurace_simulated.thread; }
GPURACE_INLINE u64 block_index() { return __gpurace_simulated.block; }
// Of a block threads are simulated one after the other, the first one first: what it has
// written is there.
GPURACE_INLINE void block_barrier() {}
GPURACE_INLINE bool is_shared(const void *p) {
  return (u64)p - __gpurace_simulated.shared < __gpurace_simulated.shared_size;
}
GPURACE_INLINE bool is_private(const void *) { return false; }
GPURACE_INLINE u32 shared_offset(const void *p) { return (u32)((u64)p - __gpurace_simulated.shared); }
GPURACE_INLINE u32 peer_of(const void *) { return 0; }
GPURACE_INLINE u32 peer_offset(const void *) { return 0; }
GPURACE_INLINE u32 lanes_here() { return 1; }
GPURACE_INLINE u32 rank_in(u32) { return 0; }
GPURACE_INLINE u32 together() { return 1; }
GPURACE_INLINE u64 of_first(u32, u64 value) { return value; }
GPURACE_INLINE void rejoin(u32) {}
GPURACE_INLINE bool whole_warp() { return false; }
GPURACE_INLINE u64 of_lane(u64 value, u32) { return value; }
GPURACE_INLINE u32 of_lane32(u32 value, u32) { return value; }
GPURACE_INLINE bool in_all_lanes(bool value) { return value; }
GPURACE_INLINE void come_together() {}
#define GPURACE_ADD(place, n) __atomic_fetch_add(place, n, __ATOMIC_RELAXED)
#define GPURACE_OR(place, n) __atomic_fetch_or(place, n, __ATOMIC_RELAXED)
#define GPURACE_MAX(place, n) __atomic_fetch_max(place, n, __ATOMIC_RELAXED)
GPURACE_INLINE void step() {
  if (__gpurace_step) __gpurace_step();
}
GPURACE_INLINE void pause(u32 attempt) {
  for (u32 turn = 0; turn < 1u << attempt; turn++) step();
}
GPURACE_INLINE void fence_block() {}
GPURACE_INLINE void fence_device() {}
GPURACE_INLINE void fence_system() {}

#endif

// Lanes that come to a call together leave it together: what the program does next may be to ask who is there
// (`activemask`), and the checker's own branches and loops must not change the answer.
struct Together {
  const u32 lanes = lanes_here();
  // One of them does what is to be done once for all.
  const bool first = rank_in(lanes) == 0;
  ~Together() { rejoin(lanes); }
};

} // namespace gpurace
