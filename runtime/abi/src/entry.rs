//! The entry points that instrumented and lowered device code calls.
//!
//! [`entry_points!`](crate::entry_points) lists each once; the pass makes its
//! declarations from the list ([`ALL`]), the executor checks its definitions
//! against it. On the host each takes a hidden first argument, the caller's
//! [`ThreadCtx`](crate::context::ThreadCtx), which the list leaves out.
//!
//! `site` arguments index [`ModuleMeta::sites`](crate::meta::ModuleMeta::sites),
//! `sync` arguments [`ModuleMeta::syncs`](crate::meta::ModuleMeta::syncs), of
//! the module that the calling code belongs to.

/// Type of a parameter or result of an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// A generic pointer.
    Ptr,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// No result.
    Void,
}

/// One entry point.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoint {
    /// Symbol.
    pub name: &'static str,
    /// Parameters, without the thread context.
    pub params: &'static [Ty],
    /// Result.
    pub ret: Ty,
    /// Whether all threads that take part must reach the same call: the
    /// call may not be moved under other control flow (LLVM `convergent`).
    pub convergent: bool,
}

/// Calls macro `$m` with the list of all entry points.
///
/// Each item reads `name(param: type, ...) -> type, convergent?;`.
#[macro_export]
macro_rules! entry_points {
    ($m:ident) => {
        $m! {
            // ---- checks, inserted by the instrumentation before the access ----

            /// A plain read of `size` (1 to 16) bytes.
            __gpurace_read(addr: Ptr, size: I32, site: I32) -> Void, false;
            /// A plain write of `size` (1 to 8) bytes; `value` holds the bytes
            /// about to be written, zero-extended, for same-value detection.
            __gpurace_write(addr: Ptr, size: I32, site: I32, value: I64) -> Void, false;
            /// A read of `size` bytes, any length (vectors, memcpy sources).
            __gpurace_read_range(addr: Ptr, size: I64, site: I32) -> Void, false;
            /// A write of `size` bytes, any length.
            __gpurace_write_range(addr: Ptr, size: I64, site: I32) -> Void, false;
            /// An atomic or volatile access, before it happens (a volatile one conflicts as
            /// the plain access it is, and can carry an order). `kind` is an
            /// `AtomicKind`, `scope` a `Scope`, `order` an `Order`, as numbers.
            __gpurace_atomic(addr: Ptr, size: I32, site: I32, kind: I32, scope: I32, order: I32) -> Void, false;
            /// After the atomic access of the last `__gpurace_atomic` happened:
            /// the place where an acquire takes effect, and from where on
            /// nobody reads what a store replaced.
            __gpurace_atomic_done(addr: Ptr, size: I32, site: I32, kind: I32, scope: I32, order: I32) -> Void, false;
            /// An asynchronous copy of the thread (`cp.async`) reads `size` bytes, any
            /// length, from now on until it is waited for.
            __gpurace_async_read(addr: Ptr, size: I64, site: I32) -> Void, false;
            /// An asynchronous copy of the thread writes `size` bytes, any length.
            __gpurace_async_write(addr: Ptr, size: I64, site: I32) -> Void, false;
            /// `cp.async.commit_group`: the thread's copies since the last one become a group.
            __gpurace_async_commit() -> Void, false;
            /// `cp.async.wait_group groups`: all of the thread's groups but the last `groups` are done.
            __gpurace_async_wait(groups: I32) -> Void, false;
            /// `cp.async.mbarrier.arrive`: the thread's next arrival at the mbarrier happens
            /// when its copies so far are done.
            __gpurace_async_arrive(mbarrier: Ptr) -> Void, false;
            /// A fence (`__threadfence*`, `fence.*`, `membar.*`).
            __gpurace_fence(scope: I32, order: I32, sync: I32) -> Void, false;

            /// The accesses that a block's threads have left in its frame since its last
            /// barrier: `count` of `RowSite`s say where, in an order that keeps each thread's own.
            __gpurace_rows(frame: Ptr, sites: Ptr, count: I32) -> Void, false;

            /// The reads that a block's threads have left in a pool of its frame, which is empty
            /// then; `kind` is a `RowSite`'s.
            __gpurace_reads(pool: Ptr, kind: I32, site: I32) -> Void, false;

            // ---- annotations, called by the functions of `gpurace/gpurace.h` ----

            /// From here on (`on` 1), until as many calls with 0, the thread's
            /// accesses are not checked. What atomics and fences order stays.
            __gpurace_ignore(on: I32) -> Void, false;
            /// Races on `size` bytes are meant: none is reported from here on,
            /// until the memory is freed, or for shared memory the block ends.
            __gpurace_benign(addr: Ptr, size: I64) -> Void, false;
            /// Order made by means that the checker does not know: what came before
            /// calls with `after` 0 is before what comes after calls with 1 and the
            /// same address.
            __gpurace_happens(addr: Ptr, after: I32) -> Void, false;

            // ---- synchronisation, part of what the program means ----

            /// All threads of the block have come to a barrier, in code that runs whole
            /// blocks: none of them waits.
            __gpurace_block_barrier() -> Void, false;
            /// `bar.sync id, threads`; `threads` 0 means the whole block.
            __gpurace_barrier(id: I32, threads: I32, sync: I32) -> Void, true;
            /// `bar.arrive id, threads`.
            __gpurace_barrier_arrive(id: I32, threads: I32, sync: I32) -> Void, true;
            /// `bar.red`: `op` 0 counts, 1 ands, 2 ors the predicates `pred != 0`.
            __gpurace_barrier_red(id: I32, threads: I32, op: I32, pred: I32, sync: I32) -> I32, true;
            /// `__syncwarp(mask)`.
            __gpurace_syncwarp(mask: I32, sync: I32) -> Void, true;
            /// `shfl.sync`: `mode` 0 idx, 1 up, 2 down, 3 bfly; `b` and `c` as in
            /// PTX. The low word of the result is the value, bit 32 the predicate.
            __gpurace_shfl(mode: I32, mask: I32, value: I32, b: I32, c: I32, sync: I32) -> I64, true;
            /// `vote.sync`: `mode` 0 all, 1 any, 2 uni, 3 ballot.
            __gpurace_vote(mode: I32, mask: I32, pred: I32, sync: I32) -> I32, true;
            /// `match.sync` on a value of `bits` (32 or 64): `mode` 0 any, 1 all. The low
            /// word of the result is the mask, bit 32 the predicate of `match.all`.
            __gpurace_match(mode: I32, mask: I32, value: I64, bits: I32, sync: I32) -> I64, true;
            /// `redux.sync`: `op` 0 add, 1 umin, 2 umax, 3 min, 4 max, 5 and, 6 or, 7 xor.
            __gpurace_redux(op: I32, mask: I32, value: I32, sync: I32) -> I32, true;
            /// `barrier.cluster.arrive`; `order` is an `Order` as a number: relaxed or release.
            __gpurace_cluster_arrive(order: I32, sync: I32) -> Void, true;
            /// `barrier.cluster.wait`.
            __gpurace_cluster_wait(sync: I32) -> Void, true;
            /// `wmma.mma`: the lanes of a warp multiply matrices that they hold together.
            /// `gpurace_cpu::matrix` says what `op` and the buffer have.
            __gpurace_matrix(op: I32, mask: I32, buffer: Ptr, sync: I32) -> Void, true;
            /// `activemask`.
            __gpurace_activemask() -> I32, true;
            /// A hint that the thread may be waiting for another one: placed
            /// beside volatile and atomic accesses.
            __gpurace_yield() -> Void, false;
            /// `nanosleep`.
            __gpurace_nanosleep(ns: I32) -> Void, false;

            // ---- services ----

            /// `vprintf(format, arguments)` with CUDA's packed argument buffer.
            __gpurace_vprintf(format: Ptr, args: Ptr) -> I32, false;
            /// A failed `assert`.
            __gpurace_assertfail(message: Ptr, file: Ptr, line: I32, function: Ptr) -> Void, false;
            /// `trap`; ends the launch.
            __gpurace_trap(sync: I32) -> Void, false;
            /// `exit`; ends the thread.
            __gpurace_exit() -> Void, false;
            /// Device-side `malloc`.
            __gpurace_malloc(size: I64) -> Ptr, false;
            /// Device-side `free`.
            __gpurace_free(ptr: Ptr) -> Void, false;
            /// `clock64`, in cycles of a fixed 1 GHz.
            __gpurace_clock() -> I64, false;
            /// `globaltimer`, in nanoseconds.
            __gpurace_globaltimer() -> I64, false;
            /// Whether a generic address lies in the block's shared memory.
            __gpurace_is_shared(addr: Ptr) -> I32, false;
            /// Whether a generic address lies in the thread's own local memory.
            __gpurace_is_local(addr: Ptr) -> I32, false;
            /// A special register of clusters; `which` is a `ClusterRegister` as a number.
            __gpurace_cluster(which: I32) -> I32, false;
            /// `mapa`: the address in the shared memory of the block of this rank in the
            /// cluster that corresponds to an address in some block's of it.
            __gpurace_mapa(addr: Ptr, rank: I32) -> Ptr, false;
            /// `getctarank`: the rank in the cluster of the block whose shared memory holds
            /// a generic address, or `u32::MAX` where none does.
            __gpurace_shared_rank(addr: Ptr) -> I32, false;

            // ---- textures and surfaces: planned here, read and written by the caller ----

            /// A fetch through a texture object is planned; gives how many texels
            /// it reads. `operation` and the coordinates are as `gpurace_cpu::texture` says.
            __gpurace_texture(handle: I64, operation: I32, x: I32, y: I32, z: I32, w: I32) -> I32, false;
            /// Where a texel of the planned fetch is. The texture object is named for
            /// the prover, which else would not know whose texels these are.
            __gpurace_texel(handle: I64, index: I32) -> Ptr, false;
            /// Bytes of each of them.
            __gpurace_texel_size() -> I64, false;
            /// What the planned fetch gives, from its texels, 16 bytes apart: the
            /// first two words, then with `high` 1 the last two.
            __gpurace_texture_value(texels: Ptr, high: I32) -> I64, false;
            /// Where an access of `size` bytes to a surface object goes; null where
            /// it goes nowhere.
            __gpurace_surface(handle: I64, operation: I32, x: I32, y: I32, z: I32, size: I32) -> Ptr, false;

            // ---- what cannot be run ----

            /// Something that the lowering could not translate was reached:
            /// ends the launch with an error that names `what` (a C string).
            __gpurace_unsupported(what: Ptr, sync: I32) -> Void, false;
        }
    };
}

macro_rules! table {
    ($($(#[$doc:meta])* $name:ident($($param:ident: $ty:ident),*) -> $ret:ident, $convergent:literal;)*) => {
        /// Every entry point, in the order of the list.
        pub const ALL: &[EntryPoint] = &[
            $(EntryPoint {
                name: stringify!($name),
                params: &[$(Ty::$ty),*],
                ret: Ty::$ret,
                convergent: $convergent,
            },)*
        ];
    };
}
entry_points!(table);

/// The entry point with this symbol.
pub fn find(name: &str) -> Option<&'static EntryPoint> {
    ALL.iter().find(|e| e.name == name)
}
