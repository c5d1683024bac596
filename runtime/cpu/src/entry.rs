//! The entry points that lowered device code calls, as `entry_points!` lists them.

#![allow(clippy::missing_safety_doc, reason = "one contract for all, in the list's documentation")]

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;
use std::time::Instant;

use gpurace_abi::batch::FrameCommon;
use gpurace_abi::context::ThreadCtx;
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use gpurace_abi::texture::{FetchPoint, SurfaceAccess};

use crate::block::LaneState;
use crate::collective::{Collective, Operand};
use crate::fault::FaultKind;
use crate::slot;
use crate::stack_entry::__gpurace_activemask;
use crate::stack_entry::__gpurace_yield;
use crate::sync::{self, Arrival};
use crate::tensor;
use crate::texture;
use crate::thread::{block_of, fail, lane_of, suspend};
use crate::{checks, cluster, printf};

/// Defines entry points. They are sound to call: the lowering passes the context of the running
/// device thread, and addresses that it accesses.
macro_rules! entries {
    ($($(#[$meta:meta])* fn $name:ident($ctx:ident $(, $param:ident: $ty:ty)*) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// `ctx` is the context of the device thread that runs.
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "some entries touch nothing that their caller passes")]
        pub unsafe extern "C" fn $name($ctx: *mut ThreadCtx $(, $param: $ty)*) $(-> $ret)? {
            // SAFETY: the lowering's contract.
            unsafe { $body }
        }
    )*};
}

entries! {
    /// A plain read.
    fn __gpurace_read(ctx, addr: *mut c_void, size: u32, site: u32) {
        checks::tell(ctx, addr.addr(), |checks, thread| checks.read(thread, addr.addr(), size, site));
    }

    /// A plain write.
    fn __gpurace_write(ctx, addr: *mut c_void, size: u32, site: u32, value: u64) {
        checks::tell(ctx, addr.addr(), |checks, thread| checks.write(thread, addr.addr(), size, site, Some(value)));
    }

    /// A read of any length.
    fn __gpurace_read_range(ctx, addr: *mut c_void, size: u64, site: u32) {
        checks::tell(ctx, addr.addr(), |checks, thread| checks.read_range(thread, addr.addr(), size, site));
    }

    /// A write of any length.
    fn __gpurace_write_range(ctx, addr: *mut c_void, size: u64, site: u32) {
        checks::tell(ctx, addr.addr(), |checks, thread| checks.write_range(thread, addr.addr(), size, site));
    }

    /// Batches of a block's threads.
    fn __gpurace_batches(ctx, frame: *mut c_void, batches: *mut c_void, count: u32) {
        checks::batches(ctx, frame.cast(), std::slice::from_raw_parts(batches.cast(), count as usize));
    }

    /// An atomic or volatile access, before it happens.
    fn __gpurace_atomic(ctx, addr: *mut c_void, size: u32, site: u32, kind: u32, scope: u32, order: u32) {
        (*lane_of(ctx)).in_atomic += 1;
        if let Some(checks) = checks::of(ctx, addr.addr()) {
            (*lane_of(ctx)).site = Some(site);
            let (kind, scope, order) = atomic_words(kind, scope, order);
            checks.atomic((*ctx).linear_tid, addr.addr(), size, site, kind, scope, order);
        } else if let Some(checks) = checks::while_ignoring(ctx, addr.addr()) {
            (*lane_of(ctx)).site = Some(site);
            let (kind, scope, order) = atomic_words(kind, scope, order);
            checks.atomic_unchecked((*ctx).linear_tid, addr.addr(), size, kind, scope, order);
        }
    }

    /// An atomic or volatile access, after it happened.
    fn __gpurace_atomic_done(ctx, addr: *mut c_void, size: u32, site: u32, kind: u32, scope: u32, order: u32) {
        let checks = checks::of(ctx, addr.addr());
        if let Some(checks) = checks.or_else(|| checks::while_ignoring(ctx, addr.addr())) {
            let (kind, scope, order) = atomic_words(kind, scope, order);
            checks.atomic_done((*ctx).linear_tid, addr.addr(), size, site, kind, scope, order);
        }
        sync::after_atomic(ctx);
    }

    /// An asynchronous copy reads.
    fn __gpurace_async_read(ctx, addr: *mut c_void, size: u64, site: u32) {
        checks::tell(ctx, addr.addr(), |checks, thread| checks.async_read(thread, addr.addr(), size, site));
    }

    /// An asynchronous copy writes.
    fn __gpurace_async_write(ctx, addr: *mut c_void, size: u64, site: u32) {
        checks::tell(ctx, addr.addr(), |checks, thread| checks.async_write(thread, addr.addr(), size, site));
    }

    /// `cp.async.commit_group`.
    fn __gpurace_async_commit(ctx) {
        checks::tell(ctx, 0, |checks, thread| checks.async_commit(thread));
    }

    /// `cp.async.wait_group`. The copies themselves happened at once.
    fn __gpurace_async_wait(ctx, groups: u32) {
        checks::tell(ctx, 0, |checks, thread| checks.async_wait(thread, groups));
    }

    /// `cp.async.mbarrier.arrive`, before the arrival.
    fn __gpurace_async_arrive(ctx, mbarrier: *mut c_void) {
        checks::tell(ctx, 0, |checks, thread| checks.async_arrive(thread, mbarrier.addr()));
    }

    /// A fence.
    fn __gpurace_fence(ctx, scope: u32, order: u32, _sync: u32) {
        let (_, scope, order) = atomic_words(0, scope, order);
        checks::tell(ctx, 0, |checks, thread| checks.fence(thread, scope, order));
    }

    /// Begins or ends a part of the program that is not checked.
    fn __gpurace_ignore(ctx, on: u32) {
        checks::ignore(ctx, on != 0);
    }

    /// Marks bytes on which races are intended.
    fn __gpurace_benign(ctx, addr: *mut c_void, size: u64) {
        checks::tell(ctx, 0, |checks, _| checks.benign(addr.addr(), size as usize));
    }

    /// Order that the program asserts.
    fn __gpurace_happens(ctx, addr: *mut c_void, after: u32) {
        checks::tell(ctx, 0, |checks, thread| match after {
            0 => checks.happens_before(thread, addr.addr()),
            _ => checks.happens_after(thread, addr.addr()),
        });
    }

    /// A block barrier between two segments of a block entry.
    fn __gpurace_block_barrier(ctx) {
        checks::block_barrier(&mut *block_of(ctx));
    }

    /// A barrier of a block entry that threads skip by ending.
    fn __gpurace_block_skips(ctx, points: *mut c_void, sync: u32) {
        let block = block_of(ctx);
        let points = std::slice::from_raw_parts(points.cast_const().cast(), (*block).threads() as usize);
        sync::block_skips(block, points, sync);
    }

    /// The lanes of a warp that run on in a block entry.
    fn __gpurace_warp_step(ctx, lanes: *mut c_void, frame: *mut c_void, points: *mut c_void, first: u32) -> u64 {
        let common = frame.cast::<FrameCommon>().sub(1);
        let step = sync::step_warp(ctx, &mut *lanes.cast(), points.cast_const().cast(), first);
        match step {
            sync::WarpStep::Run { lanes, from } => u64::from(lanes) | u64::from(from) << 32,
            sync::WarpStep::Wait { at } => {
                (*common).next = at;
                0
            }
        }
    }

    /// `bar.sync`.
    fn __gpurace_barrier(ctx, id: u32, threads: u32, sync: u32) {
        sync::barrier(ctx, id, threads, Arrival::Wait, sync);
    }

    /// `bar.arrive`.
    fn __gpurace_barrier_arrive(ctx, id: u32, threads: u32, sync: u32) {
        sync::barrier(ctx, id, threads, Arrival::Pass, sync);
    }

    /// `bar.red`.
    fn __gpurace_barrier_red(ctx, id: u32, threads: u32, op: u32, pred: u32, sync: u32) -> u32 {
        sync::barrier(ctx, id, threads, Arrival::Reduce(op, pred != 0), sync)
    }

    /// `barrier.cluster.arrive`.
    fn __gpurace_cluster_arrive(ctx, order: u32, sync: u32) {
        cluster::arrive(ctx, Order::from_u32(order).unwrap_or(Order::Relaxed), sync);
    }

    /// `barrier.cluster.wait`.
    fn __gpurace_cluster_wait(ctx, sync: u32) {
        cluster::wait(ctx, sync);
    }

    /// `bar.warp.sync`.
    fn __gpurace_syncwarp(ctx, mask: u32, sync: u32) {
        sync::collective(ctx, Collective::Sync, mask, Operand::default(), sync);
    }

    /// `shfl.sync`.
    fn __gpurace_shfl(ctx, mode: u32, mask: u32, value: u32, b: u32, c: u32, sync: u32) -> u64 {
        let operand = Operand { value: value.into(), mode, b, c };
        sync::collective(ctx, Collective::Shuffle, mask, operand, sync)
    }

    /// `vote.sync`.
    fn __gpurace_vote(ctx, mode: u32, mask: u32, pred: u32, sync: u32) -> u32 {
        let operand = Operand { value: pred.into(), mode, ..Operand::default() };
        sync::collective(ctx, Collective::Vote, mask, operand, sync) as u32
    }

    /// `match.sync`.
    fn __gpurace_match(ctx, mode: u32, mask: u32, value: u64, bits: u32, sync: u32) -> u64 {
        let value = if bits == 32 { value & u64::from(u32::MAX) } else { value };
        let operand = Operand { value, mode, ..Operand::default() };
        sync::collective(ctx, Collective::Match, mask, operand, sync)
    }

    /// `redux.sync`.
    fn __gpurace_redux(ctx, op: u32, mask: u32, value: u32, sync: u32) -> u32 {
        let operand = Operand { value: value.into(), mode: op, ..Operand::default() };
        sync::collective(ctx, Collective::Reduce, mask, operand, sync) as u32
    }

    /// `wmma.mma`.
    fn __gpurace_matrix(ctx, op: u32, mask: u32, buffer: *mut c_void, sync: u32) {
        let operand = Operand { value: buffer.expose_provenance() as u64, mode: op, ..Operand::default() };
        sync::collective(ctx, Collective::Multiply, mask, operand, sync);
    }

    /// `nanosleep`: gives way at once, for any time.
    fn __gpurace_nanosleep(ctx, _ns: u32) {
        (*ctx).executor[slot::COUNTDOWN] = std::ptr::null_mut();
        __gpurace_yield(ctx);
    }

    /// `vprintf`.
    fn __gpurace_vprintf(ctx, format: *mut c_void, args: *mut c_void) -> u32 {
        if format.is_null() {
            return u32::MAX;
        }
        let mut out = Vec::new();
        let taken = printf::format(format.cast_const().cast(), args.cast_const().cast(), &mut out);
        if (*(*block_of(ctx)).launch).trial.is_none() {
            printf::to_stdout(&out);
        }
        taken as u32
    }

    /// A failed `assert`.
    fn __gpurace_assertfail(ctx, message: *mut c_void, file: *mut c_void, line: u32, function: *mut c_void) {
        let [message, file, function] = [message, file, function].map(|s| text(s));
        let ([bx, by, bz], [tx, ty, tz]) = ((*ctx).ctaid, (*ctx).tid);
        // CUDA's wording.
        let line = format!(
            "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] \
             Assertion `{message}` failed."
        );
        printf::prepare_output();
        eprintln!("{line}");
        fail(ctx, FaultKind::Assert, format!("assertion `{message}` failed"), None);
    }

    /// `trap`.
    fn __gpurace_trap(ctx, sync: u32) {
        fail(ctx, FaultKind::Trap, "trap".into(), Some(sync));
    }

    /// An access that would leave its shared array.
    fn __gpurace_leaves_array(ctx, name: *mut c_void, size: u64, offset: u64, bytes: u32, sync: u32) {
        // Of an access across the end, the first byte behind the array counts.
        let distance = match offset as i64 {
            before @ ..0 => before,
            _ => offset.saturating_sub(size) as i64,
        };
        let kind = FaultKind::LeavesArray { name: text(name), size, distance };
        fail(ctx, kind, format!("an access of {bytes} bytes leaves its shared array"), Some(sync));
    }

    /// `exit`.
    fn __gpurace_exit(ctx) {
        let lane = lane_of(ctx);
        loop {
            (*lane).state = LaneState::Exited;
            suspend(lane);
        }
    }

    /// Device-side `malloc`.
    fn __gpurace_malloc(ctx, size: u64) -> *mut c_void {
        let Ok(size) = usize::try_from(size) else { return std::ptr::null_mut() };
        let memory = libc::malloc(size);
        forget(ctx, memory);
        memory
    }

    /// Device-side `free`.
    fn __gpurace_free(ctx, ptr: *mut c_void) {
        forget(ctx, ptr);
        libc::free(ptr);
    }

    /// `clock64`: nanoseconds, as cycles of 1 GHz. It gives way, for loops that wait for time to
    /// pass.
    fn __gpurace_clock(ctx) -> u64 {
        __gpurace_yield(ctx);
        now()
    }

    /// `globaltimer`.
    fn __gpurace_globaltimer(ctx) -> u64 {
        __gpurace_yield(ctx);
        now()
    }

    /// 1 if an address lies in the block's shared memory.
    fn __gpurace_is_shared(ctx, addr: *mut c_void) -> u32 {
        let (start, len) = (*block_of(ctx)).memory.shared();
        u32::from(addr.addr().wrapping_sub(start) < len)
    }

    /// 1 if an address lies in local memory.
    fn __gpurace_is_local(ctx, addr: *mut c_void) -> u32 {
        let (start, len) = (*block_of(ctx)).memory.local();
        u32::from(addr.addr().wrapping_sub(start) < len)
    }

    /// A special register of clusters.
    fn __gpurace_cluster(ctx, which: u32) -> u32 {
        cluster::register(ctx, which)
    }

    /// `mapa`.
    fn __gpurace_mapa(ctx, addr: *mut c_void, rank: u32) -> *mut c_void {
        addr.with_addr(cluster::map(ctx, addr.addr(), rank))
    }

    /// `getctarank`.
    fn __gpurace_shared_rank(ctx, addr: *mut c_void) -> u32 {
        cluster::rank(ctx, addr.addr()).unwrap_or(u32::MAX)
    }

    /// Plans a fetch through a texture object, and returns its number of texels.
    fn __gpurace_texture(ctx, handle: u64, operation: u32, x: u32, y: u32, z: u32, w: u32) -> u32 {
        let point = FetchPoint { operation, coordinates: [x, y, z, w] };
        match texture::plan(handle, point) {
            Some(texels) => texels as u32,
            None => {
                let message = format!("`{handle:#x}`, which is no texture object, was fetched from");
                fail(ctx, FaultKind::IllegalAddress { address: None, write: false }, message, None)
            }
        }
    }

    /// The address of a texel of the planned fetch.
    fn __gpurace_texel(_ctx, _handle: u64, index: u32) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(texture::texel(index as usize).0)
    }

    /// Bytes of a texel of the planned fetch.
    fn __gpurace_texel_size(_ctx) -> u64 {
        texture::texel(0).1 as u64
    }

    /// The result of the planned fetch.
    fn __gpurace_texture_value(_ctx, texels: *mut c_void, high: u32) -> u64 {
        texture::value(std::slice::from_raw_parts(texels.cast(), texture::TEXELS_BYTES), high != 0)
    }

    /// The address of an access to a surface, or null if it accesses nothing.
    fn __gpurace_surface(ctx, handle: u64, operation: u32, x: u32, y: u32, z: u32, size: u32) -> *mut c_void {
        let point = FetchPoint { operation, coordinates: [x, y, z, 0] };
        let message = match texture::surface(handle, point, size as usize) {
            SurfaceAccess::At(address) => return std::ptr::with_exposed_provenance_mut(address),
            SurfaceAccess::Nowhere => return std::ptr::null_mut(),
            SurfaceAccess::Outside => "an access outside of a surface".to_owned(),
            SurfaceAccess::NoSurface => format!("`{handle:#x}`, which is no surface object, was accessed"),
        };
        fail(ctx, FaultKind::IllegalAddress { address: None, write: false }, message, None)
    }

    /// Plans a copy through a tensor map, and returns its pieces and its fill.
    fn __gpurace_tensor(
        ctx, map: *mut c_void, rank: u32, shared: u32, x: u32, y: u32, z: u32, w: u32, v: u32
    ) -> u64 {
        match tensor::plan(map.cast(), rank, shared, [x, y, z, w, v]) {
            Ok(planned) => planned,
            Err(message) => {
                let kind = FaultKind::IllegalAddress { address: None, write: false };
                fail(ctx, kind, message.to_owned(), None)
            }
        }
    }

    /// Where a piece of the planned copy is in global memory, or null.
    fn __gpurace_tensor_global(_ctx, index: u32) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(tensor::piece(index).global)
    }

    /// Where a piece of the planned copy is in shared memory.
    fn __gpurace_tensor_offset(_ctx, index: u32) -> u64 {
        tensor::piece(index).offset
    }

    /// Bytes of a piece of the planned copy.
    fn __gpurace_tensor_size(_ctx, index: u32) -> u64 {
        tensor::piece(index).bytes
    }

    /// Code that could not be lowered.
    fn __gpurace_unsupported(ctx, what: *mut c_void, sync: u32) {
        let what = text(what);
        let message = format!("`{what}` is not supported on the CPU");
        fail(ctx, FaultKind::Unsupported(what), message, Some(sync));
    }
}

/// The kind, scope and order of an atomic access or a fence. An unknown number means the weakest,
/// which adds no order.
fn atomic_words(kind: u32, scope: u32, order: u32) -> (AtomicKind, Scope, Order) {
    (
        AtomicKind::from_u32(kind).unwrap_or(AtomicKind::VolatileStore),
        Scope::from_u32(scope).unwrap_or(Scope::Block),
        Order::from_u32(order).unwrap_or(Order::Relaxed),
    )
}

/// Forgets the accesses to memory that the device heap hands out, or takes back.
unsafe fn forget(ctx: *mut ThreadCtx, memory: *mut c_void) {
    // SAFETY: the thread runs; `memory` is null or of the C library's heap.
    unsafe {
        if !memory.is_null() {
            checks::tell(ctx, 0, |checks, _| checks.forget(memory.addr(), libc::malloc_usable_size(memory)));
        }
    }
}

/// A C string of the program, for messages.
unsafe fn text(s: *mut c_void) -> String {
    if s.is_null() {
        return "?".into();
    }
    // SAFETY: the lowering passes C strings.
    unsafe { CStr::from_ptr(s.cast::<c_char>()) }.to_string_lossy().into_owned()
}

/// Nanoseconds since the first call.
fn now() -> u64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Checks that every entry point of the list is defined with the listed signature.
macro_rules! defined {
    ($($(#[$doc:meta])* $entry:ident = $name:ident($($param:ident: $ty:ident),*) -> $ret:ident, $effect:expr;)*) => {
        const _: () = {
            $(let _: unsafe extern "C" fn(*mut ThreadCtx $(, ty::$ty)*) -> ty::$ret = $name;)*
        };
    };
}

/// The types that the list names.
mod ty {
    pub(super) type Ptr = *mut std::ffi::c_void;
    pub(super) type I32 = u32;
    pub(super) type I64 = u64;
    pub(super) type Void = ();
}

gpurace_abi::entry_points!(defined);
