//! The supported names, and the IR that each becomes.
//!
//! [`super::template`] explains the notation. Names with `.ftz` and `x2` need no row: they follow from the
//! names without.

use super::template::Row;

/// NVVM intrinsics, without `llvm.nvvm.` and the types of overloaded names.
pub const INTRINSICS: &[Row] = &[
    // ---- special registers ----
    Row("read.ptx.sreg.tid.{x=0|y=4|z=8}", "call i32 @gr.ctx.i32(i64 $TID, i64 $1)"),
    Row("read.ptx.sreg.ctaid.{x=0|y=4|z=8}", "call i32 @gr.ctx.i32(i64 $CTAID, i64 $1)"),
    Row("read.ptx.sreg.ntid.{x=0|y=4|z=8}", "call i32 @gr.ctx.i32(i64 $NTID, i64 $1)"),
    Row("read.ptx.sreg.nctaid.{x=0|y=4|z=8}", "call i32 @gr.ctx.i32(i64 $NCTAID, i64 $1)"),
    Row("read.ptx.sreg.{tid|ctaid|ntid|nctaid|clusterid|nclusterid}.w", "ret i32 0"),
    // The numbers are `ClusterRegister`'s.
    Row("read.ptx.sreg.clusterid.{x=0|y=1|z=2}", "call i32 @entry.cluster(i32 $1)"),
    Row("read.ptx.sreg.nclusterid.{x=3|y=4|z=5}", "call i32 @entry.cluster(i32 $1)"),
    Row("read.ptx.sreg.cluster.ctaid.{x=6|y=7|z=8}", "call i32 @entry.cluster(i32 $1)"),
    Row("read.ptx.sreg.cluster.nctaid.{x=9|y=10|z=11}", "call i32 @entry.cluster(i32 $1)"),
    Row("read.ptx.sreg.cluster.{ctarank=12|nctarank=13}", "call i32 @entry.cluster(i32 $1)"),
    Row("read.ptx.sreg.cluster.{ctaid.w|nctaid.w}", "ret i32 0"),
    Row("is_explicit_cluster", "
        %v = call i32 @entry.cluster(i32 14)
        icmp ne i32 %v, 0"),
    Row("read.ptx.sreg.dynamic_smem_size", "call i32 @gr.ctx.i32(i64 $DYNAMIC_SHARED_BYTES, i64 0)"),
    Row("read.ptx.sreg.laneid", "call i32 @gr.ctx.i32(i64 $LANE, i64 0)"),
    Row("read.ptx.sreg.warpid", "call i32 @gr.ctx.i32(i64 $WARP, i64 0)"),
    Row("read.ptx.sreg.nwarpid", "ret i32 64"),
    Row("read.ptx.sreg.smid", "ret i32 0"),
    Row("read.ptx.sreg.nsmid", "ret i32 1"),
    Row("read.ptx.sreg.gridid", "call i32 @gr.ctx.i32(i64 $LAUNCH_ID, i64 0)"),
    Row("read.ptx.sreg.warpsize", "ret i32 32"),
    Row("read.ptx.sreg.lanemask.eq", "call i32 @gr.lane_bit()"),
    Row("read.ptx.sreg.lanemask.lt", "call i32 @gr.lanes_below()"),
    Row("read.ptx.sreg.lanemask.le", "
        %l = call i32 @gr.lanes_below()
        %e = call i32 @gr.lane_bit()
        or i32 %l, %e"),
    Row("read.ptx.sreg.lanemask.gt", "
        %l = call i32 @gr.lanes_below()
        %e = call i32 @gr.lane_bit()
        %m = or i32 %l, %e
        xor i32 %m, -1"),
    Row("read.ptx.sreg.lanemask.ge", "
        %l = call i32 @gr.lanes_below()
        xor i32 %l, -1"),
    // Cooperative groups reads the grid's workspace as `envreg1 << 32 | envreg2`.
    Row("read.ptx.sreg.{envreg1=4|envreg2=0}", "call i32 @gr.ctx.i32(i64 $GRID_WORKSPACE, i64 $1)"),
    Row("read.ptx.sreg.clock", "
        %c = call i64 @entry.clock()
        trunc i64 %c to i32"),
    Row("read.ptx.sreg.clock64", "call i64 @entry.clock()"),
    Row("read.ptx.sreg.globaltimer", "call i64 @entry.globaltimer()"),
    Row("read.ptx.sreg.globaltimer.lo", "
        %t = call i64 @entry.globaltimer()
        trunc i64 %t to i32"),

    // ---- barriers and fences; `membar` is `fence.sc` (PTX ISA, "membar/fence") ----
    // -2 marks what `__syncthreads` may be, which all threads must reach at one place.
    Row("barrier.cta.sync{=-1|.aligned=-2}.all", "call void @entry.barrier(i32 %0, i32 0, i32 $1)"),
    Row("barrier.cta.sync{|.aligned}.count", "call void @entry.barrier(i32 %0, i32 %1, i32 -1)"),
    Row("barrier.cta.arrive{|.aligned}.count", "call void @entry.barrier_arrive(i32 %0, i32 %1, i32 -1)"),
    Row("barrier.cta.red.popc{=-1|.aligned=-2}.all", "
        %p = zext i1 %1 to i32
        call i32 @entry.barrier_red(i32 %0, i32 0, i32 0, i32 %p, i32 $1)"),
    Row("barrier.cta.red.popc{|.aligned}.count", "
        %p = zext i1 %2 to i32
        call i32 @entry.barrier_red(i32 %0, i32 %1, i32 0, i32 %p, i32 -1)"),
    Row("barrier.cta.red.{and=1|or=2}{=-1|.aligned=-2}.all", "
        %p = zext i1 %1 to i32
        %r = call i32 @entry.barrier_red(i32 %0, i32 0, i32 $1, i32 %p, i32 $2)
        trunc i32 %r to i1"),
    Row("barrier.cta.red.{and=1|or=2}{|.aligned}.count", "
        %p = zext i1 %2 to i32
        %r = call i32 @entry.barrier_red(i32 %0, i32 %1, i32 $1, i32 %p, i32 -1)
        trunc i32 %r to i1"),
    Row("bar.warp.sync", "call void @entry.syncwarp(i32 %0, i32 -1)"),
    Row("{membar.cta=0|fence.sc.cluster=1|membar.gl=2|membar.sys=3}",
        "call void @entry.fence(i32 $1, i32 4, i32 -1)"),

    // ---- clusters; an arrival releases (2) or is relaxed (0), a wait acquires ----
    Row("barrier.cluster.arrive{=2|.relaxed=0}{|.aligned}", "call void @entry.cluster_arrive(i32 $1, i32 -1)"),
    Row("barrier.cluster.wait{|.aligned}", "call void @entry.cluster_wait(i32 -1)"),
    Row("mapa", "call ptr @entry.mapa(ptr %0, i32 %1)"),
    Row("mapa.shared.cluster", "
        %g = call ptr @gr.generic.p3($A %0)
        %m = call ptr @entry.mapa(ptr %g, i32 %1)
        addrspacecast ptr %m to $R"),
    Row("getctarank{=p0|.shared.cluster=p3}", "
        %g = call ptr @gr.generic.$1($A %0)
        call i32 @entry.shared_rank(ptr %g)"),

    // ---- warp collectives; in the forms without a mask, the active threads take part ----
    Row("shfl.sync.{idx=0|up=1|down=2|bfly=3}.{i32p|f32p|i32|f32}",
        "call $R @gr.shfl.$2(i32 $1, i32 %0, $B %1, i32 %2, i32 %3)"),
    Row("shfl.{idx=0|up=1|down=2|bfly=3}.{i32p|f32p|i32|f32}", "
        %m = call i32 @entry.activemask()
        call $R @gr.shfl.$2(i32 $1, i32 %m, $A %0, i32 %1, i32 %2)"),
    Row("vote.{all=0|any=1|uni=2}.sync", "
        %v = call i32 @gr.vote(i32 $1, i32 %0, i1 %1)
        icmp ne i32 %v, 0"),
    Row("vote.ballot.sync", "call i32 @gr.vote(i32 3, i32 %0, i1 %1)"),
    Row("vote.{all=0|any=1|uni=2}", "
        %m = call i32 @entry.activemask()
        %v = call i32 @gr.vote(i32 $1, i32 %m, i1 %0)
        icmp ne i32 %v, 0"),
    Row("vote.ballot", "
        %m = call i32 @entry.activemask()
        call i32 @gr.vote(i32 3, i32 %m, i1 %0)"),
    Row("match.any.sync.i{32|64}", "
        %w = call i64 @gr.wide.i$1(i$1 %1)
        %m = call i64 @entry.match(i32 0, i32 %0, i64 %w, i32 $1, i32 -1)
        trunc i64 %m to i32"),
    Row("match.all.sync.i{32|64}p", "
        %w = call i64 @gr.wide.i$1(i$1 %1)
        %m = call i64 @entry.match(i32 1, i32 %0, i64 %w, i32 $1, i32 -1)
        %l = trunc i64 %m to i32
        %p = call i1 @gr.bit32(i64 %m)
        %r0 = insertvalue $R poison, i32 %l, 0
        insertvalue $R %r0, i1 %p, 1"),
    Row("redux.sync.{add=0|umin=1|umax=2|min=3|max=4|and=5|or=6|xor=7}",
        "call i32 @entry.redux(i32 $1, i32 %1, i32 %0, i32 -1)"),
    Row("activemask", "call i32 @entry.activemask()"),

    // ---- atomics: relaxed, as in PTX. `max` and `min` are signed; clang uses them for the unsigned
    // builtins too ----
    Row("atomic.{add|and|or|xor|max|min|exch=xchg|inc=uinc_wrap|dec=udec_wrap}.gen.i.{cta=0,block|sys=3,system}",
        "atomicrmw $1 $A %0, $R %1 syncscope(\"$2:1\") monotonic, align $ALIGN, !gpurace.atomic !{i32 $2, i32 0}"),
    Row("atomic.add.gen.f.{cta=0,block|sys=3,system}",
        "atomicrmw fadd $A %0, $R %1 syncscope(\"$1:1\") monotonic, align $ALIGN, !gpurace.atomic !{i32 $1, i32 0}"),
    Row("atomic.cas.gen.i.{cta=0,block|sys=3,system}", "
        %p = cmpxchg $A %0, $R %1, $R %2 syncscope(\"$1:1\") monotonic monotonic, align $ALIGN, !gpurace.atomic !{i32 $1, i32 0}
        extractvalue { $R, i1 } %p, 0"),

    // ---- memory; hints, and launches that do not overlap here ----
    Row("{prefetch|applypriority.|griddepcontrol.}*", "ret void"),
    Row("ldu.global.{i|f|p}", "load $R, $A %0, align $ALIGN"),
    Row("move.{i16|i32|i64|float|double|ptr}", "%0"),
    Row("isspacep.shared.cluster", "
        %v = call i32 @entry.shared_rank(ptr %0)
        icmp ne i32 %v, -1"),
    Row("isspacep.{shared=is_shared|local=is_local}", "
        %v = call i32 @entry.$1(ptr %0)
        icmp ne i32 %v, 0"),
    Row("isspacep.global", "
        %s = call i32 @entry.shared_rank(ptr %0)
        %n = icmp eq i32 %s, -1
        %l = call i32 @entry.is_local(ptr %0)
        %g = icmp eq i32 %l, 0
        and i1 %n, %g"),
    // Asynchronous copies happen at once. The metadata tells the checker what they are.
    Row("cp.async.{ca|cg}.shared.global.{4|8|16}",
        "call void @llvm.memcpy.p3.p1.i64($A align $2 %0, $B align $2 %1, i64 $2, i1 false), !gpurace.async !{}"),
    Row("cp.async.{ca|cg}.shared.global.{4|8|16}.s", "
        %n = call i32 @llvm.umin.i32(i32 %2, i32 $2)
        %size = zext i32 %n to i64
        %rest = sub i64 $2, %size
        call void @llvm.memcpy.p3.p1.i64($A %0, $B %1, i64 %size, i1 false), !gpurace.async !{}
        %end = getelementptr i8, $A %0, i64 %size
        call void @llvm.memset.p3.i64($A %end, i8 0, i64 %rest, i1 false), !gpurace.async !{}
        ret void"),
    Row("cp.async.bulk.commit.group", "call void @entry.async_commit()"),
    Row("cp.async.bulk.{wait.group|wait.group.read}", "call void @entry.async_wait(i32 %0)"),
    Row("cp.async.commit.group", "call void @entry.async_commit()"),
    Row("cp.async.wait.group", "call void @entry.async_wait(i32 %0)"),
    Row("cp.async.wait.all", "
        call void @entry.async_commit()
        call void @entry.async_wait(i32 0)
        ret void"),
    // Without `noinc` the pending count rises until the copies are done, which they are at once.
    Row("cp.async.mbarrier.arrive{=0|.noinc=1}{=p0|.shared=p3}", "
        %g = call ptr @gr.generic.$2($A %0)
        call void @entry.async_arrive(ptr %g)
        %s = call i64 @gr.mbarrier.arrive.$2($A %0, i64 $1, i64 0)
        ret void"),
    Row("mbarrier.init{=p0|.shared=p3}", "call void @gr.mbarrier.init.$1($A %0, i32 %1)"),
    Row("mbarrier.inval{|.shared}", "ret void"),
    Row("mbarrier.arrive{=0|.drop=1}{=p0|.shared=p3}", "call i64 @gr.mbarrier.arrive.$2($A %0, i64 1, i64 $1)"),
    Row("mbarrier.arrive{=0|.drop=%n}.noComplete{=p0|.shared=p3}", "
        %n = zext i32 %1 to i64
        call i64 @gr.mbarrier.arrive.$2($A %0, i64 %n, i64 $1)"),
    Row("mbarrier.test.wait{=p0|.shared=p3}", "call i1 @gr.mbarrier.test.$1($A %0, i64 %1)"),
    Row("mbarrier.pending.count", "
        %p = and i64 %0, 1048575
        trunc i64 %p to i32"),

    // ---- control ----
    Row("nanosleep", "call void @entry.nanosleep(i32 %0)"),
    Row("exit", "call void @entry.exit()"),
    // Hints to the register allocator.
    Row("setmaxnreg.{inc|dec}.sync.aligned.u32", "ret void"),

    // ---- integers ----
    Row("mulhi.{s=s16|us=u16|i=s32|ui=u32|ll=s64|ull=u64}", "@gr.mul.hi.$1"),
    Row("mul24.{i=s32|ui=u32}", "@gr.mul24.lo.$1"),
    Row("sad.{s=s16|us=u16|i=s32|ui=u32|ll=s64|ull=u64}", "@gr.sad.$1"),
    Row("rotate.b32", "call i32 @llvm.fshl.i32(i32 %0, i32 %0, i32 %1)"),
    Row("{rotate=fshl|rotate.right=fshr}.b64", "
        %n = zext i32 %1 to i64
        call i64 @llvm.$1.i64(i64 %0, i64 %0, i64 %n)"),
    Row("swap.lo.hi.b64", "call i64 @llvm.fshl.i64(i64 %0, i64 %0, i64 32)"),
    Row("{prmt|fns}", "@gr.$1.b32"),

    // ---- conversions ----
    Row("bitcast.{f2i|i2f|d2ll|ll2d}", "bitcast $A %0 to $R"),
    Row("lohi.i2d", "
        %b = call i64 @gr.pair(i32 %0, i32 %1)
        bitcast i64 %b to double"),
    Row("d2i.{lo=0|hi=32}", "
        %b = bitcast double %0 to i64
        %s = lshr i64 %b, $1
        trunc i64 %s to i32"),
    Row("{f=f32|d=f64}2{i=s32|ui=u32|ll=s64|ull=u64}.{rn=rni|rz=rzi|rm=rmi|rp=rpi}", "@gr.cvt.$3.$2.$1"),
    Row("{i=s32|ui=u32|ll=s64|ull=u64}2{f=f32|d=f64}.{rn|rz|rm|rp}", "@gr.cvt.$3.$2.$1"),
    Row("d2f.{rn|rz|rm|rp}", "@gr.cvt.$1.f32.f64"),
    Row("f2h.rn", "
        %h = fptrunc float %0 to half
        bitcast half %h to i16"),
    Row("bf2h.rn", "
        %h = call half @gr.cvt.rn.f16.bf16($A %0)
        bitcast half %h to i16"),
    Row("f2bf16.{rn|rz}{|.relu}", "@gr.cvt.$1$2.bf16.f32"),
    Row("ff2{bf16|f16}x2.{rn|rz}{|.relu}", "@gr.cvt.$2$3.$1x2.f32"),
    Row("f2tf32.rna", "@gr.cvt.rna.tf32.f32"),

    // ---- floating-point arithmetic ----
    Row("{add|mul|div|fma|sqrt|rcp}.{rn|rz|rm|rp}.{f=f32|d=f64}", "@gr.$1.$2.$3"),
    Row("{add|fma}.{rn|rz|rm|rp}.sat.f", "@gr.$1.$2.sat.f32"),
    Row("{sqrt|sqrt.approx}.f", "@gr.sqrt.approx.f32"),
    Row("{div|rcp|rsqrt}.approx.{f=f32|d=f64}", "@gr.$1.approx.$2"),
    Row("div.full", "@gr.div.approx.f32"),
    Row("{lg2=log2|sin|cos}.approx.{f=f32|d=f64}", "call $R @llvm.$1.$2($R %0)"),
    Row("ex2.approx", "call $R @gr.ex2.$R($R %0)"),
    Row("fabs", "call $R @llvm.fabs($R %0)"),
    Row("{ceil|floor|trunc}.{f=f32|d=f64}", "call $R @llvm.$1.$2($R %0)"),
    Row("round.{f=f32|d=f64}", "call $R @llvm.roundeven.$1($R %0)"),
    Row("saturate.{f=f32|d=f64}", "@gr.sat.$1"),
    Row("f{min|max}{|.nan=.NaN}{|.xorsign.abs}.{f=f32|d=f64|f16|bf16}", "@gr.$1$2$3.$4"),
];

/// Other functions, by their whole names.
pub const FUNCTIONS: &[Row] = &[
    Row("llvm.{trap|debugtrap|ubsantrap}", "call void @entry.trap(i32 -1)"),
    Row("vprintf", "call i32 @entry.vprintf($A %0, $B %1)"),
    Row("__assertfail", "call void @entry.assertfail($A %0, $B %1, $C %2, ptr %3)"),
    // Compare-and-swap of two bytes, which `nvcc` has built in.
    Row(
        "__usAtomicCAS",
        "
        %p = cmpxchg ptr %0, i16 %1, i16 %2 monotonic monotonic, align 2, !gpurace.atomic !{i32 2, i32 0}
        %r = extractvalue { i16, i1 } %p, 0
        ret i16 %r",
    ),
    Row("malloc", "call ptr @entry.malloc($A %0)"),
    Row("free", "call void @entry.free($A %0)"),
];

/// Device functions that the executor cannot run: functions of libdevice that were not linked, and CUDA's
/// runtime for device code.
pub const REFUSED_FUNCTIONS: &[&str] = &[
    "__nv_*",
    "__nvvm_*",
    "cuda{Malloc|Free|Memcpy|Memset|Stream|Event|Graph|Func|Occupancy|Launch|CG|Get|Peek|Device|Runtime}*",
];

/// The intrinsics that are refused on purpose. A test fails for any other one without a row.
#[cfg(test)]
pub const REFUSED_INTRINSICS: &[&str] = &[
    // Textures and surfaces.
    "tex.*",
    "tld4.*",
    "txq.*",
    "suq.*",
    "suld.*",
    "sust.*",
    "texsurf.*",
    "istypep.*",
    // Matrix units.
    "wmma.*",
    "wgmma.*",
    "mma.*",
    "{ldmatrix|stmatrix}.*",
    "tcgen05.*",
    // Bulk copies, and what goes with them.
    "cp.async.bulk.*",
    "tensormap.*",
    "st.bulk{|.shared.cta}",
    "mbarrier.{arrive|arrive.drop}.expect.tx.*",
    "mbarrier.{arrive|arrive.drop|expect.tx|complete.tx|test.wait|try.wait}.{scope|relaxed|parity|tl}.*",
    "fence.{proxy|mbarrier_init|acquire|release}.*",
    "discard.*",
    "clusterlaunchcontrol.*",
    "elect.sync",
    // No header calls the builtins of these. It writes the PTX instruction, which is translated.
    "{ff|e2m1x2|e2m3x2|e3m2x2|e4m3x2|e5m2x2|ue8m0x2|bf16x2|f16x2|f32x4}.to.*",
    "f2{f16|bf16|tf32}.*",
    "ff2{f16|bf16}x2.*",
    "{bmsk|sext|zext|prmt|flo|fshl|fshr|idp2a|idp4a}.*",
    "redux.sync.f*",
    "pm.event.mask",
    "internal.addrspace.wrap",
    // Registers that the driver or a profiler defines.
    "read.ptx.sreg.envreg*",
    "read.ptx.sreg.pm*",
    "read.ptx.sreg.{aggr|dynamic|total}_smem_size",
    // Constant memory is ordinary memory on the host.
    "isspacep.const",
    // Diagnostics of the compiler, and `reflect`, which is folded before the table is used.
    "compiler.*",
    "reflect",
];
