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
        %r = icmp ne i32 %v, 0
        ret i1 %r"),
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
        %m = or i32 %l, %e
        ret i32 %m"),
    Row("read.ptx.sreg.lanemask.gt", "
        %l = call i32 @gr.lanes_below()
        %e = call i32 @gr.lane_bit()
        %m = or i32 %l, %e
        %n = xor i32 %m, -1
        ret i32 %n"),
    Row("read.ptx.sreg.lanemask.ge", "
        %l = call i32 @gr.lanes_below()
        %n = xor i32 %l, -1
        ret i32 %n"),
    // Cooperative groups reads the grid's workspace as `envreg1 << 32 | envreg2`.
    Row("read.ptx.sreg.{envreg1=4|envreg2=0}", "call i32 @gr.ctx.i32(i64 $GRID_WORKSPACE, i64 $1)"),
    Row("read.ptx.sreg.clock", "
        %c = call i64 @entry.clock()
        %t = trunc i64 %c to i32
        ret i32 %t"),
    Row("read.ptx.sreg.clock64", "call i64 @entry.clock()"),
    Row("read.ptx.sreg.globaltimer", "call i64 @entry.globaltimer()"),
    Row("read.ptx.sreg.globaltimer.lo", "
        %t = call i64 @entry.globaltimer()
        %r = trunc i64 %t to i32
        ret i32 %r"),

    // ---- barriers and fences; `membar` is `fence.sc` (PTX ISA, "membar/fence") ----
    // -2 marks what `__syncthreads` may be, which all threads must reach at one place.
    Row("barrier.cta.sync{=-1|.aligned=-2}.all", "call void @entry.barrier(i32 %0, i32 0, i32 $1)"),
    Row("barrier.cta.sync{|.aligned}.count", "call void @entry.barrier(i32 %0, i32 %1, i32 -1)"),
    Row("barrier.cta.arrive{|.aligned}.count", "call void @entry.barrier_arrive(i32 %0, i32 %1, i32 -1)"),
    Row("barrier.cta.red.popc{=-1|.aligned=-2}.all", "
        %p = zext i1 %1 to i32
        %r = call i32 @entry.barrier_red(i32 %0, i32 0, i32 0, i32 %p, i32 $1)
        ret i32 %r"),
    Row("barrier.cta.red.popc{|.aligned}.count", "
        %p = zext i1 %2 to i32
        %r = call i32 @entry.barrier_red(i32 %0, i32 %1, i32 0, i32 %p, i32 -1)
        ret i32 %r"),
    Row("barrier.cta.red.{and=1|or=2}{=-1|.aligned=-2}.all", "
        %p = zext i1 %1 to i32
        %r = call i32 @entry.barrier_red(i32 %0, i32 0, i32 $1, i32 %p, i32 $2)
        %b = trunc i32 %r to i1
        ret i1 %b"),
    Row("barrier.cta.red.{and=1|or=2}{|.aligned}.count", "
        %p = zext i1 %2 to i32
        %r = call i32 @entry.barrier_red(i32 %0, i32 %1, i32 $1, i32 %p, i32 -1)
        %b = trunc i32 %r to i1
        ret i1 %b"),
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
        %r = addrspacecast ptr %m to $R
        ret $R %r"),
    Row("getctarank{=p0|.shared.cluster=p3}", "
        %g = call ptr @gr.generic.$1($A %0)
        %r = call i32 @entry.shared_rank(ptr %g)
        ret i32 %r"),

    // ---- warp collectives; in the forms without a mask, the active threads take part ----
    Row("shfl.sync.{idx=0|up=1|down=2|bfly=3}.{i32p|f32p|i32|f32}",
        "call $R @gr.shfl.$2(i32 $1, i32 %0, $B %1, i32 %2, i32 %3)"),
    Row("shfl.{idx=0|up=1|down=2|bfly=3}.{i32p|f32p|i32|f32}", "
        %m = call i32 @entry.activemask()
        %r = call $R @gr.shfl.$2(i32 $1, i32 %m, $A %0, i32 %1, i32 %2)
        ret $R %r"),
    Row("vote.{all=0|any=1|uni=2}.sync", "
        %v = call i32 @gr.vote(i32 $1, i32 %0, i1 %1)
        %r = icmp ne i32 %v, 0
        ret i1 %r"),
    Row("vote.ballot.sync", "call i32 @gr.vote(i32 3, i32 %0, i1 %1)"),
    Row("vote.{all=0|any=1|uni=2}", "
        %m = call i32 @entry.activemask()
        %v = call i32 @gr.vote(i32 $1, i32 %m, i1 %0)
        %r = icmp ne i32 %v, 0
        ret i1 %r"),
    Row("vote.ballot", "
        %m = call i32 @entry.activemask()
        %v = call i32 @gr.vote(i32 3, i32 %m, i1 %0)
        ret i32 %v"),
    Row("match.any.sync.i{32|64}", "
        %w = call i64 @gr.wide.i$1(i$1 %1)
        %m = call i64 @entry.match(i32 0, i32 %0, i64 %w, i32 $1, i32 -1)
        %r = trunc i64 %m to i32
        ret i32 %r"),
    Row("match.all.sync.i{32|64}p", "
        %w = call i64 @gr.wide.i$1(i$1 %1)
        %m = call i64 @entry.match(i32 1, i32 %0, i64 %w, i32 $1, i32 -1)
        %l = trunc i64 %m to i32
        %p = call i1 @gr.bit32(i64 %m)
        %r0 = insertvalue $R poison, i32 %l, 0
        %r1 = insertvalue $R %r0, i1 %p, 1
        ret $R %r1"),
    // The intrinsic takes the value first. But its calls come from clang 22's `__reduce_*_sync(mask,
    // value)`, which passes the mask first. The row does what the program means.
    Row("redux.sync.{add=0|umin=1|umax=2|min=3|max=4|and=5|or=6|xor=7}",
        "call i32 @entry.redux(i32 $1, i32 %0, i32 %1, i32 -1)"),
    Row("activemask", "call i32 @entry.activemask()"),

    // ---- atomics: relaxed, as in PTX. `max` and `min` are signed; clang uses them for the unsigned
    // builtins too ----
    Row("atomic.{add|and|or|xor|max|min|exch=xchg|inc=uinc_wrap|dec=udec_wrap}.gen.i.{cta=0,block|sys=3,system}",
        "atomicrmw $1 $A %0, $R %1 syncscope(\"$2:1\") monotonic, align $ALIGN, !gpurace.atomic !{i32 $2, i32 0}"),
    Row("atomic.add.gen.f.{cta=0,block|sys=3,system}",
        "atomicrmw fadd $A %0, $R %1 syncscope(\"$1:1\") monotonic, align $ALIGN, !gpurace.atomic !{i32 $1, i32 0}"),
    Row("atomic.cas.gen.i.{cta=0,block|sys=3,system}", "
        %p = cmpxchg $A %0, $R %1, $R %2 syncscope(\"$1:1\") monotonic monotonic, align $ALIGN, !gpurace.atomic !{i32 $1, i32 0}
        %r = extractvalue { $R, i1 } %p, 0
        ret $R %r"),

    // ---- memory; hints, and launches that do not overlap here ----
    Row("{prefetch|applypriority.|griddepcontrol.}*", "ret void"),
    Row("ldu.global.{i|f|p}", "load $R, $A %0, align $ALIGN"),
    Row("move.{i16|i32|i64|float|double|ptr}", "%0"),
    Row("isspacep.shared.cluster", "
        %v = call i32 @entry.shared_rank(ptr %0)
        %r = icmp ne i32 %v, -1
        ret i1 %r"),
    Row("isspacep.{shared=is_shared|local=is_local}", "
        %v = call i32 @entry.$1(ptr %0)
        %r = icmp ne i32 %v, 0
        ret i1 %r"),
    Row("isspacep.global", "
        %s = call i32 @entry.shared_rank(ptr %0)
        %n = icmp eq i32 %s, -1
        %l = call i32 @entry.is_local(ptr %0)
        %g = icmp eq i32 %l, 0
        %r = and i1 %n, %g
        ret i1 %r"),
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
    // Bulk copies are refused, so no copy is waited for.
    Row("cp.async.bulk.{commit.group|wait.group|wait.group.read}", "ret void"),
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
        %s = call i64 @gr.mbarrier.arrive.$2($A %0, i64 %n, i64 $1)
        ret i64 %s"),
    Row("mbarrier.test.wait{=p0|.shared=p3}", "call i1 @gr.mbarrier.test.$1($A %0, i64 %1)"),
    Row("mbarrier.pending.count", "
        %p = and i64 %0, 1048575
        %c = trunc i64 %p to i32
        ret i32 %c"),

    // ---- control ----
    Row("nanosleep", "call void @entry.nanosleep(i32 %0)"),
    Row("exit", "call void @entry.exit()"),
    // Hints to the register allocator.
    Row("setmaxnreg.{inc|dec}.sync.aligned.u32", "ret void"),

    // ---- integers ----
    Row("mulhi.{s=sext,i32,16|us=zext,i32,16|i=sext,i64,32|ui=zext,i64,32|ll=sext,i128,64|ull=zext,i128,64}", "
        %a = $1 $A %0 to $1:1
        %b = $1 $B %1 to $1:1
        %p = mul $1:1 %a, %b
        %h = lshr $1:1 %p, $1:2
        %r = trunc $1:1 %h to $R
        ret $R %r"),
    Row("mul24.{i=ashr|ui=lshr}", "
        %s = shl i32 %0, 8
        %a = $1 i32 %s, 8
        %t = shl i32 %1, 8
        %b = $1 i32 %t, 8
        %r = mul i32 %a, %b
        ret i32 %r"),
    Row("sad.{s=s|us=u|i=s|ui=u|ll=s|ull=u}", "
        %less = icmp $1lt $R %0, %1
        %d = sub $R %0, %1
        %e = sub $R %1, %0
        %a = select i1 %less, $R %e, $R %d
        %r = add $R %a, %2
        ret $R %r"),
    Row("rotate.b32", "call i32 @llvm.fshl.i32(i32 %0, i32 %0, i32 %1)"),
    Row("{rotate=fshl|rotate.right=fshr}.b64", "
        %n = zext i32 %1 to i64
        %r = call i64 @llvm.$1.i64(i64 %0, i64 %0, i64 %n)
        ret i64 %r"),
    Row("swap.lo.hi.b64", "call i64 @llvm.fshl.i64(i64 %0, i64 %0, i64 32)"),
    Row("prmt", "
        %v = call i64 @gr.pair(i32 %0, i32 %1)
        %r = call i32 @gr.prmt(i64 %v, i32 %2)
        ret i32 %r"),
    Row("fns", "call i32 @gr.fns(i32 %0, i32 %1, i32 %2)"),

    // ---- conversions ----
    Row("bitcast.{f2i|i2f|d2ll|ll2d}", "bitcast $A %0 to $R"),
    Row("lohi.i2d", "
        %b = call i64 @gr.pair(i32 %0, i32 %1)
        %d = bitcast i64 %b to double
        ret double %d"),
    Row("d2i.{lo=0|hi=32}", "
        %b = bitcast double %0 to i64
        %s = lshr i64 %b, $1
        %r = trunc i64 %s to i32
        ret i32 %r"),
    // A number out of range becomes the nearest integer. NaN becomes 0 if neither type has 64 bits, else
    // the highest bit alone (PTX ISA, "cvt").
    Row("f2{i=si|ui=ui}.{rn=roundeven|rz=trunc|rm=floor|rp=ceil}", "
        %x = call float @llvm.$2.f32(float %0)
        %r = call i32 @llvm.fpto$1.sat.i32.f32(float %x)
        ret i32 %r"),
    Row("f2{ll=si|ull=ui}.{rn=roundeven|rz=trunc|rm=floor|rp=ceil}", "
        %x = call float @llvm.$2.f32(float %0)
        %i = call i64 @llvm.fpto$1.sat.i64.f32(float %x)
        %nan = fcmp uno float %0, %0
        %r = select i1 %nan, i64 -9223372036854775808, i64 %i
        ret i64 %r"),
    Row("d2{i=si,i32|ui=ui,i32|ll=si,i64|ull=ui,i64}.{rn=roundeven|rz=trunc|rm=floor|rp=ceil}", "
        %x = call double @llvm.$2.f64(double %0)
        %i = call $1:1 @llvm.fpto$1.sat.$1:1.f64(double %x)
        %nan = fcmp uno double %0, %0
        %top = call $1:1 @gr.top.$1:1()
        %r = select i1 %nan, $1:1 %top, $1:1 %i
        ret $1:1 %r"),
    Row("{i=si|ui=ui|ll=si|ull=ui}2{f|d}.rn", "$1tofp $A %0 to $R"),
    Row("{i=si|ui=ui}2d.{rz|rm|rp}", "$1tofp i32 %0 to double"),
    Row("{i=si|ui=ui}2f.{rz|rm|rp}", "
        %d = $1tofp i32 %0 to double
        %r = call float @gr.d2f.$2(double %d)
        ret float %r"),
    Row("{ll2f|ull2f|ll2d|ull2d}.{rz|rm|rp}", "call $R @gr.$1.$2(i64 %0)"),
    Row("d2f.{rn|rz|rm|rp}", "call float @gr.d2f.$1(double %0)"),
    Row("f2h.rn", "call i16 @gr.round.f16.rn(float %0)"),
    Row("bf2h.rn", "
        %b = bitcast $A %0 to i16
        %f = call float @gr.load.bf16(i16 %b)
        %r = call i16 @gr.round.f16.rn(float %f)
        ret i16 %r"),
    Row("f2bf16.{rn|rz}{=all|.relu=relu}", "
        %b = call i16 @gr.round.bf16.$1(float %0)
        %c = call i16 @gr.bf16.$2(i16 %b)
        %r = bitcast i16 %c to $R
        ret $R %r"),
    // The first operand is the upper half.
    Row("ff2{bf16|f16}x2.{rn|rz}{=all|.relu=relu}", "
        %h = call i16 @gr.round.$1.$2(float %0)
        %l = call i16 @gr.round.$1.$2(float %1)
        %hc = call i16 @gr.$1.$3(i16 %h)
        %lc = call i16 @gr.$1.$3(i16 %l)
        %v = insertelement <2 x i16> poison, i16 %lc, i32 0
        %w = insertelement <2 x i16> %v, i16 %hc, i32 1
        %r = bitcast <2 x i16> %w to $R
        ret $R %r"),
    Row("f2tf32.rna", "
        %b = bitcast float %0 to i32
        %r = call i32 @gr.tf32(i32 %b)
        ret i32 %r"),

    // ---- floating-point arithmetic ----
    Row("add.{rn|rz|rm|rp}.sat.f", "
        %s = call float @gr.add.$1.f(float %0, float %1)
        %r = call float @gr.saturate.float(float %s)
        ret float %r"),
    Row("fma.{rn|rz|rm|rp}.sat.f", "
        %s = call float @gr.fma.$1.f(float %0, float %1, float %2)
        %r = call float @gr.saturate.float(float %s)
        ret float %r"),
    Row("{add|mul|div}.{rn|rz|rm|rp}.{f=f,float|d=d,double}", "call $R @gr.$1.$2.$3($R %0, $R %1)"),
    Row("fma.{rn|rz|rm|rp}.{f|d}", "call $R @gr.fma.$1.$2($R %0, $R %1, $R %2)"),
    Row("sqrt.{rn|rz|rm|rp}.{f|d}", "call $R @gr.sqrt.$1.$2($R %0)"),
    Row("rcp.{rn|rz|rm|rp}.{f|d}", "call $R @gr.div.$1.$2($R 1.0, $R %0)"),
    Row("{sqrt|sqrt.approx}.f", "call float @llvm.sqrt.f32(float %0)"),
    Row("div.{approx.f|full}", "fdiv float %0, %1"),
    Row("rcp.approx.{f|d}", "fdiv $R 1.0, %0"),
    Row("rsqrt.approx.{f=f32|d=f64}", "
        %s = call $R @llvm.sqrt.$1($R %0)
        %r = fdiv $R 1.0, %s
        ret $R %r"),
    Row("{lg2=log2|sin|cos}.approx.{f=f32|d=f64}", "call $R @llvm.$1.$2($R %0)"),
    Row("ex2.approx", "call $R @llvm.exp2($R %0)"),
    Row("fabs", "call $R @llvm.fabs($R %0)"),
    Row("{ceil|floor|trunc}.{f=f32|d=f64}", "call $R @llvm.$1.$2($R %0)"),
    Row("round.{f=f32|d=f64}", "call $R @llvm.roundeven.$1($R %0)"),
    Row("saturate.{f=float|d=double}", "call $1 @gr.saturate.$1($1 %0)"),
    Row("f{min=minimum|max=maximum}.{f=float|d=double}", "call $2 @gr.$1.num.$2($2 %0, $2 %1)"),
    Row("f{min=minimum|max=maximum}.nan.f", "call float @gr.$1.nan.float(float %0, float %1)"),
    Row("f{min=minimum|max=maximum}{=num|.nan=nan}.xorsign.abs.f",
        "call float @gr.$1.$2.xorsign.float(float %0, float %1)"),
    Row("f{min=minimum|max=maximum}{=num|.nan=nan}{=float|.xorsign.abs=xorsign.float}.{f16|bf16}", "
        %a = bitcast $A %0 to i16
        %b = bitcast $A %1 to i16
        %af = call float @gr.load.$4(i16 %a)
        %bf = call float @gr.load.$4(i16 %b)
        %m = call float @gr.$1.$2.$3(float %af, float %bf)
        %h = call i16 @gr.round.$4.rn(float %m)
        %r = bitcast i16 %h to $R
        ret $R %r"),
    Row("fma.rn{=all|.relu=relu|.sat=sat}.{f16|bf16}", "
        %a = bitcast $A %0 to i16
        %b = bitcast $A %1 to i16
        %c = bitcast $A %2 to i16
        %f = call i16 @gr.fma.$2(i16 %a, i16 %b, i16 %c)
        %g = call i16 @gr.$2.$1(i16 %f)
        %r = bitcast i16 %g to $R
        ret $R %r"),
    Row("{abs=and,32767|neg=xor,-32768}.bf16", "
        %b = bitcast $A %0 to i16
        %m = $1 i16 %b, $1:1
        %r = bitcast i16 %m to $R
        ret $R %r"),
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
