//! The entry points: the functions of the runtime that device code calls.
//!
//! [`entry_points!`](crate::entry_points) lists those of the executor, with what the pass must
//! know of each: its parameters, its result and its [`Effect`]. The macro
//! [`gpu_entry_points!`](crate::gpu_entry_points) adds those that only code for a GPU calls. The
//! pass makes its calls and its declarations from the list, and recognises calls by it ([`Entry`]).
//! The executor checks its definitions against the list when it is compiled, and a test of
//! `runtime/device` checks the C++ ones.
//!
//! The names of some parameters have a meaning, in every entry point:
//! - `address`: the first byte of an access; `size`: its bytes;
//! - `site`: an index into [`ModuleMeta::sites`](crate::meta::ModuleMeta::sites) of the module
//!   that the calling code belongs to;
//! - `sync`: an index into [`ModuleMeta::syncs`](crate::meta::ModuleMeta::syncs).
//!
//! On the host, each entry point has a hidden first parameter, which the list leaves out: the
//! caller's [`ThreadCtx`](crate::context::ThreadCtx).
//!
//! To add an entry point:
//! 1. add a line here, and raise [`FORMAT_VERSION`](crate::image::FORMAT_VERSION);
//! 2. define it in `runtime/cpu/src/entry.rs`, or the crate does not compile, and, where code for a
//!    GPU calls it, in `runtime/device/cpp/device.cpp`;
//! 3. call it by its [`Entry`] in the pass.

/// The type of a parameter or result of an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// A generic pointer.
    Ptr,
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
    /// No result.
    Void,
}

/// What a check tells the checker about an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedAccess {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic or volatile access.
    Atomic,
    /// The read of an asynchronous copy.
    AsyncRead,
    /// The write of an asynchronous copy.
    AsyncWrite,
}

/// What a call of an entry point does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Checks an access that follows.
    Check(CheckedAccess),
    /// Ends the check of an atomic access, which has happened.
    AtomicDone,
    /// Hands over accesses that a block's threads have left in its frame.
    Batch,
    /// Groups the thread's asynchronous copies, or waits for them.
    AsyncGroup,
    /// Orders the thread's accesses with those of other threads.
    Fence,
    /// Says what the checker shall not check, or cannot see.
    Annotation,
    /// Tells where threads are, in code that runs whole blocks.
    Passed,
    /// Arrives or waits at a barrier of the block, a named one included.
    Barrier,
    /// Waits for lanes of the warp, and orders their accesses.
    WarpSync,
    /// Exchanges values among lanes of the warp, and orders no access.
    Exchange,
    /// Arrives or waits at the barrier of the cluster.
    ClusterSync,
    /// Gives an address in the shared memory of another block of the cluster.
    ClusterAddress,
    /// Gives a value that describes the cluster.
    Cluster,
    /// Lets other threads run.
    Pause,
    /// Ends the thread.
    EndsThread,
    /// Ends the launch.
    EndsLaunch,
    /// Computes a value or prints: orders nothing, and no memory comes or goes.
    Service,
    /// Allocates or frees memory.
    Heap,
    /// Finds the memory of an access through a texture object, a surface object or a tensor map.
    Image,
    /// Tells the checker on a GPU about an instruction that stays beside the call.
    Beside,
}

/// The line of an entry point in the list.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoint {
    /// The symbol.
    pub symbol: &'static str,
    /// The names and types of the parameters, without the thread context.
    pub parameters: &'static [(&'static str, Ty)],
    /// The type of the result.
    pub result: Ty,
    /// What a call does.
    pub effect: Effect,
}

/// Calls macro `$m` with the list of the executor's entry points, after any tokens given.
///
/// Each item reads `Variant = symbol(parameter: type, ...) -> type, effect;`.
#[macro_export]
macro_rules! entry_points {
    ($m:ident $($before:tt)*) => {
        $m! {
            $($before)*

            // ---- checks ----

            /// A plain read of `size` (1 to 16) bytes.
            Read = __gpurace_read(address: Ptr, size: I32, site: I32) -> Void, Check(CheckedAccess::Read);
            /// A plain write of `size` (1 to 8) bytes. `value` holds the bytes that are about to be
            /// written, zero-extended: two writes of the same value are a lesser race.
            Write = __gpurace_write(address: Ptr, size: I32, site: I32, value: I64) -> Void,
                Check(CheckedAccess::Write);
            /// A plain read of any `size`: a vector, the source of a memcpy.
            ReadRange = __gpurace_read_range(address: Ptr, size: I64, site: I32) -> Void,
                Check(CheckedAccess::Read);
            /// A plain write of any `size`.
            WriteRange = __gpurace_write_range(address: Ptr, size: I64, site: I32) -> Void,
                Check(CheckedAccess::Write);
            /// An atomic or volatile access. A volatile access conflicts with plain and volatile
            /// ones, and can carry an order. `kind`, `scope` and `order` are an `AtomicKind`, a `Scope` and
            /// an `Order`, as numbers.
            Atomic = __gpurace_atomic(
                address: Ptr, size: I32, site: I32, kind: I32, scope: I32, order: I32) -> Void,
                Check(CheckedAccess::Atomic);
            /// The access of the last `Atomic` has happened. An acquire takes effect here, and
            /// from here on no thread reads the value that a store replaced.
            AtomicDone = __gpurace_atomic_done(
                address: Ptr, size: I32, site: I32, kind: I32, scope: I32, order: I32) -> Void, AtomicDone;
            /// An asynchronous copy of the thread (`cp.async`) reads `size` bytes, from now until
            /// the thread waits for it.
            AsyncRead = __gpurace_async_read(address: Ptr, size: I64, site: I32) -> Void,
                Check(CheckedAccess::AsyncRead);
            /// An asynchronous copy of the thread writes `size` bytes.
            AsyncWrite = __gpurace_async_write(address: Ptr, size: I64, site: I32) -> Void,
                Check(CheckedAccess::AsyncWrite);
            /// `cp.async.commit_group`: the thread's copies since the last one become a group.
            AsyncCommit = __gpurace_async_commit() -> Void, AsyncGroup;
            /// `cp.async.wait_group`: waits for all of the thread's groups but the last `groups`.
            AsyncWait = __gpurace_async_wait(groups: I32) -> Void, AsyncGroup;
            /// `cp.async.mbarrier.arrive`: the thread's next arrival at the mbarrier happens when
            /// its copies until now are done.
            AsyncArrive = __gpurace_async_arrive(mbarrier: Ptr) -> Void, AsyncGroup;
            /// A fence (`__threadfence*`, `fence.*`, `membar.*`).
            Fence = __gpurace_fence(scope: I32, order: I32, sync: I32) -> Void, Fence;

            /// Accesses that a block's threads have left in its frame. `batches` has `count` entries
            /// of type `FrameBatch`, in an order that keeps the order of each thread. The call
            /// leaves their places empty.
            Batches = __gpurace_batches(frame: Ptr, batches: Ptr, count: I32) -> Void, Batch;

            // ---- annotations, called by the functions of `gpurace/gpurace.h` ----

            /// `on` 1: from here on the thread's accesses are not checked, until as many calls with
            /// `on` 0. Its atomics and fences still order.
            Ignore = __gpurace_ignore(on: I32) -> Void, Annotation;
            /// Races on `size` bytes are intended: from here on none is reported, until the
            /// memory is freed or, for shared memory, the block ends.
            Benign = __gpurace_benign(object: Ptr, size: I64) -> Void, Annotation;
            /// An order that the checker cannot see: whatever precedes a call with `after` 0
            /// happens before whatever follows a call with `after` 1 and the same `key`.
            Happens = __gpurace_happens(key: Ptr, after: I32) -> Void, Annotation;

            // ---- synchronisation, part of what the program means ----

            /// All threads of the block have reached a barrier, in code that runs whole blocks. No
            /// thread waits here.
            BlockBarrier = __gpurace_block_barrier() -> Void, Passed;
            /// Threads of the block have reached the barrier `sync`, which stands under a condition, and others have
            /// ended. `points` has the point of each thread, in code that runs whole blocks.
            BlockSkips = __gpurace_block_skips(points: Ptr, sync: I32) -> Void, Passed;
            /// Says which lanes of a warp run on, in code that runs whole blocks: the low word of the result
            /// is their mask, the high word their point. `lanes` is a `WarpLanes`, `points` are
            /// `WarpPoint`s, `first` is the linear index of the warp's first lane. If the mask is 0, all lanes
            /// wait for the block or have ended, and `frame` names their point.
            WarpStep = __gpurace_warp_step(lanes: Ptr, frame: Ptr, points: Ptr, first: I32) -> I64, Passed;
            /// `bar.sync id, threads`; `threads` 0 means the whole block. `sync` may have
            /// [`UNDER_CONDITION`](crate::meta::UNDER_CONDITION).
            Barrier = __gpurace_barrier(id: I32, threads: I32, sync: I32) -> Void, Barrier;
            /// `bar.arrive id, threads`.
            BarrierArrive = __gpurace_barrier_arrive(id: I32, threads: I32, sync: I32) -> Void, Barrier;
            /// `bar.red`: `op` 0 counts, 1 ands, 2 ors the predicates `pred != 0`.
            BarrierRed = __gpurace_barrier_red(
                id: I32, threads: I32, op: I32, pred: I32, sync: I32) -> I32, Barrier;
            /// `__syncwarp(mask)`.
            Syncwarp = __gpurace_syncwarp(mask: I32, sync: I32) -> Void, WarpSync;
            /// `shfl.sync`: `mode` 0 idx, 1 up, 2 down, 3 bfly; `b` and `c` as in PTX. The low word
            /// of the result is the value, bit 32 the predicate.
            Shfl = __gpurace_shfl(
                mode: I32, mask: I32, value: I32, b: I32, c: I32, sync: I32) -> I64, Exchange;
            /// `vote.sync`: `mode` 0 all, 1 any, 2 uni, 3 ballot.
            Vote = __gpurace_vote(mode: I32, mask: I32, pred: I32, sync: I32) -> I32, Exchange;
            /// `match.sync` on a value of `bits` (32 or 64): `mode` 0 any, 1 all. The low word of
            /// the result is the mask, bit 32 the predicate of `match.all`.
            Match = __gpurace_match(
                mode: I32, mask: I32, value: I64, bits: I32, sync: I32) -> I64, Exchange;
            /// `redux.sync`: `op` 0 add, 1 umin, 2 umax, 3 min, 4 max, 5 and, 6 or, 7 xor.
            Redux = __gpurace_redux(op: I32, mask: I32, value: I32, sync: I32) -> I32, Exchange;
            /// `wmma.mma`: the lanes of a warp multiply matrices that they hold together. See
            /// [`matrix`](crate::matrix) for `op` and the layout of the buffer.
            Matrix = __gpurace_matrix(op: I32, mask: I32, buffer: Ptr, sync: I32) -> Void, Exchange;
            /// `activemask`.
            Activemask = __gpurace_activemask() -> I32, Exchange;
            /// `barrier.cluster.arrive`; `order` is an `Order` as a number: relaxed or release.
            ClusterArrive = __gpurace_cluster_arrive(order: I32, sync: I32) -> Void, ClusterSync;
            /// `barrier.cluster.wait`.
            ClusterWait = __gpurace_cluster_wait(sync: I32) -> Void, ClusterSync;
            /// A hint that the thread may wait for another one. It stands beside volatile and
            /// atomic accesses.
            Yield = __gpurace_yield() -> Void, Pause;
            /// `nanosleep`.
            Nanosleep = __gpurace_nanosleep(ns: I32) -> Void, Pause;

            // ---- services ----

            /// `vprintf(format, arguments)` with CUDA's packed argument buffer.
            Vprintf = __gpurace_vprintf(format: Ptr, args: Ptr) -> I32, Service;
            /// A failed `assert`.
            Assertfail = __gpurace_assertfail(
                message: Ptr, file: Ptr, line: I32, function: Ptr) -> Void, EndsLaunch;
            /// `trap`.
            Trap = __gpurace_trap(sync: I32) -> Void, EndsLaunch;
            /// The thread would access `bytes` bytes at `offset` of a shared array, which are not all in its `size`
            /// bytes. `name` is a C string.
            LeavesArray = __gpurace_leaves_array(
                name: Ptr, size: I64, offset: I64, bytes: I32, sync: I32) -> Void, EndsLaunch;
            /// `exit`.
            Exit = __gpurace_exit() -> Void, EndsThread;
            /// `malloc` of device code.
            Malloc = __gpurace_malloc(bytes: I64) -> Ptr, Heap;
            /// `free` of device code.
            Free = __gpurace_free(memory: Ptr) -> Void, Heap;
            /// `clock64`, in cycles of a fixed 1 GHz.
            Clock = __gpurace_clock() -> I64, Service;
            /// `globaltimer`, in nanoseconds.
            Globaltimer = __gpurace_globaltimer() -> I64, Service;
            /// 1 if a generic pointer points into the block's shared memory, else 0.
            IsShared = __gpurace_is_shared(pointer: Ptr) -> I32, Service;
            /// 1 if a generic pointer points into the thread's own local memory, else 0.
            IsLocal = __gpurace_is_local(pointer: Ptr) -> I32, Service;
            /// A special register of clusters; `which` is a `ClusterRegister` as a number.
            ClusterRegister = __gpurace_cluster(which: I32) -> I32, Cluster;
            /// `mapa`: the pointer into the shared memory of the cluster's block `rank` that
            /// corresponds to a pointer into the shared memory of any of its blocks.
            Mapa = __gpurace_mapa(pointer: Ptr, rank: I32) -> Ptr, ClusterAddress;
            /// `getctarank`: the rank of the block in the cluster whose shared memory a generic
            /// pointer points into, or `u32::MAX` if there is none.
            SharedRank = __gpurace_shared_rank(pointer: Ptr) -> I32, Cluster;

            // ---- textures and surfaces: planned here, read and written by the caller ----

            /// Plans a fetch through a texture object; returns how many texels it reads.
            /// `gpurace_abi::texture` defines `operation` and the coordinates.
            Texture = __gpurace_texture(
                handle: I64, operation: I32, x: I32, y: I32, z: I32, w: I32) -> I32, Image;
            /// The address of a texel of the planned fetch. The prover learns from `handle` which
            /// object's texels these are.
            Texel = __gpurace_texel(handle: I64, index: I32) -> Ptr, Image;
            /// The bytes of each texel of the planned fetch.
            TexelSize = __gpurace_texel_size() -> I64, Image;
            /// The result of the planned fetch, from its texels, 16 bytes apart: the first two
            /// words, or with `high` 1 the last two.
            TextureValue = __gpurace_texture_value(texels: Ptr, high: I32) -> I64, Image;
            /// The address of an access of `bytes` bytes through a surface object, or null if it
            /// accesses nothing.
            Surface = __gpurace_surface(
                handle: I64, operation: I32, x: I32, y: I32, z: I32, bytes: I32) -> Ptr, Image;

            // ---- copies of tensors: planned here, made by the caller piece by piece ----

            /// Plans the copy of a box through a tensor map, which must have `rank` dimensions.
            /// `shared` is the box's address in shared memory. The low 32 bits of the result are
            /// the number of pieces, the bits above the byte that fills what lies outside.
            Tensor = __gpurace_tensor(
                map: Ptr, rank: I32, shared: I32, x: I32, y: I32, z: I32, w: I32, v: I32) -> I64, Image;
            /// The address of a piece of the planned copy in global memory, or null if the piece
            /// lies outside of the tensor.
            TensorGlobal = __gpurace_tensor_global(index: I32) -> Ptr, Image;
            /// The first byte of a piece in shared memory, from the box's address on.
            TensorOffset = __gpurace_tensor_offset(index: I32) -> I64, Image;
            /// The bytes of a piece.
            TensorSize = __gpurace_tensor_size(index: I32) -> I64, Image;

            // ---- code that cannot run ----

            /// The thread has reached code that the pass could not translate. The launch ends with
            /// an error that names `what` (a C string).
            Unsupported = __gpurace_unsupported(what: Ptr, sync: I32) -> Void, EndsLaunch;
        }
    };
}

/// Calls macro `$m` with the list of the entry points that only code for a GPU calls, after any
/// tokens given.
#[macro_export]
macro_rules! gpu_entry_points {
    ($m:ident $($before:tt)*) => {
        $m! {
            $($before)*

            /// A kernel begins; `cell` is the address of the launch cell.
            Enter = __gpurace_enter(cell: I64) -> Void, Beside;
            /// The thread ends.
            Leave = __gpurace_leave() -> Void, Beside;
            /// Stores to `slot` that a variable lies at `offset` in the shared memory of the
            /// kernel's blocks.
            SharedAt = __gpurace_shared_at(slot: Ptr, offset: I32) -> Void, Beside;
            /// `ldmatrix`, `stmatrix`: the accesses of a warp to `count` matrices, whose rows the
            /// lanes' pointers `row` name.
            MatrixRows = __gpurace_matrix_rows(
                row: Ptr, count: I32, transposed: I32, store: I32, site: I32) -> Void, Beside;
            /// `wmma.load`, `wmma.store`: the accesses of a warp to a matrix.
            MatrixTile = __gpurace_matrix_tile(
                start: Ptr, stride: I32, rows: I32, columns: I32, by_column: I32, bytes: I32,
                store: I32, site: I32) -> Void, Beside;
            /// Before a barrier of the whole block; the result is passed to `AfterBarrier`.
            BeforeBarrier = __gpurace_before_barrier() -> I64, Beside;
            /// After a barrier of the whole block.
            AfterBarrier = __gpurace_after_barrier(before: I64) -> Void, Beside;
            /// Before a sync of the lanes in `mask`; the result is passed to `AfterSyncwarp`.
            BeforeSyncwarp = __gpurace_before_syncwarp(mask: I32) -> I32, Beside;
            /// After a sync of lanes.
            AfterSyncwarp = __gpurace_after_syncwarp(before: I32) -> Void, Beside;
            /// Before an instruction that may order threads, other than by such a barrier or sync.
            Irregular = __gpurace_irregular() -> Void, Beside;
        }
    };
}

macro_rules! table {
    ([$($(#[$doc:meta])* $variant:ident = $symbol:ident($($param:ident: $ty:ident),*) -> $result:ident, $effect:expr;)*]
     $($(#[$gpu_doc:meta])* $gpu_variant:ident = $gpu_symbol:ident($($gpu_param:ident: $gpu_ty:ident),*)
        -> $gpu_result:ident, $gpu_effect:expr;)*) => {
        /// One entry point.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Entry {
            $($(#[$doc])* $variant,)*
            $($(#[$gpu_doc])* $gpu_variant,)*
        }

        impl Entry {
            /// The entry points that the executor defines, in the order of the list.
            pub const OF_EXECUTOR: &[Self] = &[$(Self::$variant),*];
            /// The entry points that only code for a GPU calls, in the order of the list.
            pub const OF_GPU: &[Self] = &[$(Self::$gpu_variant),*];
        }

        /// Every entry point, by its number.
        static TABLE: &[EntryPoint] = {
            use Effect::*;
            &[
                $(EntryPoint {
                    symbol: stringify!($symbol),
                    parameters: &[$((stringify!($param), Ty::$ty)),*],
                    result: Ty::$result,
                    effect: $effect,
                },)*
                $(EntryPoint {
                    symbol: stringify!($gpu_symbol),
                    parameters: &[$((stringify!($gpu_param), Ty::$gpu_ty)),*],
                    result: Ty::$gpu_result,
                    effect: $gpu_effect,
                },)*
            ]
        };
    };
}
macro_rules! with_gpu {
    ($($list:tt)*) => { gpu_entry_points!(table [$($list)*]); };
}
entry_points!(with_gpu);

/// How the symbol of every entry point begins.
pub const PREFIX: &str = "__gpurace_";

impl Entry {
    /// The entry point with this symbol.
    pub fn of_symbol(symbol: &str) -> Option<Self> {
        if !symbol.starts_with(PREFIX) {
            return None;
        }
        let all = || Self::OF_EXECUTOR.iter().chain(Self::OF_GPU);
        all().copied().find(|entry| entry.symbol() == symbol)
    }

    /// Its line in the list.
    pub fn point(self) -> &'static EntryPoint {
        &TABLE[self as usize]
    }

    /// Its symbol.
    pub fn symbol(self) -> &'static str {
        self.point().symbol
    }

    /// What a call does.
    pub fn effect(self) -> Effect {
        self.point().effect
    }

    /// True if all threads that take part must reach the same call: the call may not be moved
    /// under other control flow (LLVM `convergent`).
    pub fn is_convergent(self) -> bool {
        matches!(self.effect(), Effect::Barrier | Effect::WarpSync | Effect::Exchange | Effect::ClusterSync)
    }

    /// True if other threads may run before the call returns, or if it never returns to its thread.
    pub fn suspends(self) -> bool {
        self.is_convergent() || matches!(self.effect(), Effect::Pause | Effect::EndsThread)
    }

    /// The index of the operand that is the address of a checked access.
    pub fn address_operand(self) -> Option<usize> {
        self.operand("address")
    }

    /// The index of the operand that is the size of a checked access.
    pub fn size_operand(self) -> Option<usize> {
        self.address_operand().and_then(|_| self.operand("size"))
    }

    /// The index of the operand that is the site of an access.
    pub fn site_operand(self) -> Option<usize> {
        self.operand("site")
    }

    /// The index of the operand that says where in the source the synchronisation stands.
    pub fn sync_operand(self) -> Option<usize> {
        self.operand("sync")
    }

    fn operand(self, name: &str) -> Option<usize> {
        self.point().parameters.iter().position(|&(parameter, _)| parameter == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_operands() {
        for &entry in Entry::OF_EXECUTOR {
            let operands = [entry.address_operand(), entry.size_operand(), entry.site_operand()];
            match entry.effect() {
                Effect::Check(_) | Effect::AtomicDone => {
                    assert_eq!(operands, [Some(0), Some(1), Some(2)], "{entry:?}");
                }
                _ => assert_eq!(operands[..2], [None, None], "{entry:?}"),
            }
        }
    }

    #[test]
    fn whatever_synchronises_says_where_it_stands() {
        for &entry in Entry::OF_EXECUTOR {
            let last = entry.point().parameters.len().checked_sub(1);
            let synchronises = entry.is_convergent() && entry != Entry::Activemask;
            assert!(!synchronises || entry.sync_operand() == last, "{entry:?}");
        }
    }

    #[test]
    fn each_symbol_stands_for_one_entry_point() {
        for &entry in Entry::OF_EXECUTOR.iter().chain(Entry::OF_GPU) {
            assert_eq!(Entry::of_symbol(entry.symbol()), Some(entry));
        }
        assert_eq!(Entry::of_symbol("__gpurace_"), None);
    }
}
