//! Building blocks that are not floating-point arithmetic: the thread context, collectives, bytes and
//! bits, textures, copies of tensors, mbarriers.

use super::template::Block;

/// The blocks of this file.
pub const BLOCKS: &[Block] = &[
    // ---- the thread context: a field at the sum of two offsets ----
    Block("ctx.{i32=i32,4|i64=i64,8}", "$1(i64, i64)", "
        %c = call ptr @gpurace.context()
        %o = add i64 %0, %1
        %p = getelementptr i8, ptr %c, i64 %o
        load $1, ptr %p, align $1:1, !nosanitize !{}"),
    // Lanes below this one.
    Block("lanes_below", "i32()", "
        %l = call i32 @gr.ctx.i32(i64 $LANE, i64 0)
        %b = shl i32 1, %l
        sub i32 %b, 1"),
    Block("lane_bit", "i32()", "
        %l = call i32 @gr.ctx.i32(i64 $LANE, i64 0)
        shl i32 1, %l"),

    // ---- collectives ----
    Block("shfl.{i32|f32=float}", "$1(i32, i32, $1, i32, i32)", "
        %v = bitcast $1 %2 to i32
        %s = call i64 @entry.shfl(i32 %0, i32 %1, i32 %v, i32 %3, i32 %4, i32 -1)
        %t = trunc i64 %s to i32
        bitcast i32 %t to $1"),
    Block("shfl.{i32p=i32|f32p=float}", "{ $1, i1 }(i32, i32, $1, i32, i32)", "
        %v = bitcast $1 %2 to i32
        %s = call i64 @entry.shfl(i32 %0, i32 %1, i32 %v, i32 %3, i32 %4, i32 -1)
        %t = trunc i64 %s to i32
        %l = bitcast i32 %t to $1
        %p = call i1 @gr.bit32(i64 %s)
        %r0 = insertvalue { $1, i1 } poison, $1 %l, 0
        insertvalue { $1, i1 } %r0, i1 %p, 1"),
    Block("wide.i32", "i64(i32)", "zext i32 %0 to i64"),
    Block("wide.i64", "i64(i64)", "%0"),
    Block("bit32", "i1(i64)", "
        %b = and i64 %0, 4294967296
        icmp ne i64 %b, 0"),
    Block("vote", "i32(i32, i32, i1)", "
        %p = zext i1 %2 to i32
        call i32 @entry.vote(i32 %0, i32 %1, i32 %p, i32 -1)"),

    // The highest bit alone.
    Block("top.{i32=i32,-2147483648|i64=i64,-9223372036854775808}", "$1()", "ret $1 $1:1"),
    // ---- two words, the first one below ----
    Block("pair", "i64(i32, i32)", "
        %l = zext i32 %0 to i64
        %h = zext i32 %1 to i64
        %s = shl i64 %h, 32
        or i64 %s, %l"),
    Block("prmt", "i32(i64, i32)", "
        %b0 = call i32 @gr.prmt_byte(i64 %0, i32 %1, i32 0)
        %b1 = call i32 @gr.prmt_byte(i64 %0, i32 %1, i32 4)
        %b2 = call i32 @gr.prmt_byte(i64 %0, i32 %1, i32 8)
        %b3 = call i32 @gr.prmt_byte(i64 %0, i32 %1, i32 12)
        %x = or i32 %b0, %b1
        %y = or i32 %b2, %b3
        or i32 %x, %y"),
    // ---- one byte of prmt: the selector's nibble at bit %1, the byte in place ----
    Block("prmt_byte", "i32(i64, i32, i32)", "
        %n = lshr i32 %1, %2
        %i = and i32 %n, 7
        %at = shl i32 %i, 3
        %at64 = zext i32 %at to i64
        %v = lshr i64 %0, %at64
        %byte = trunc i64 %v to i8
        %sign = ashr i8 %byte, 7
        %mode = and i32 %n, 8
        %replicate = icmp ne i32 %mode, 0
        %r = select i1 %replicate, i8 %sign, i8 %byte
        %w = zext i8 %r to i32
        %to = shl i32 %2, 1
        shl i32 %w, %to"),
    // PTX ISA, `fns`: the position of the n-th set bit of %0 from %1 on, or -1. A positive %2 searches
    // upward, a negative one downward.
    Block("fns", "i32(i32, i32, i32); noinline", "
        %down = icmp slt i32 %2, 0
        %step = select i1 %down, i32 -1, i32 1
        %distance = call i32 @llvm.abs.i32(i32 %2, i1 false)
        %wanted = call i32 @llvm.umax.i32(i32 %distance, i32 1)
        %once = icmp eq i32 %2, 0
        br label %loop
    loop:
        %at = phi i32 [ %1, %entry ], [ %next, %more ]
        %left = phi i32 [ %wanted, %entry ], [ %left2, %more ]
        %inside = icmp ult i32 %at, 32
        br i1 %inside, label %look, label %none
    look:
        %m = lshr i32 %0, %at
        %bit = and i32 %m, 1
        %left2 = sub i32 %left, %bit
        %found = icmp eq i32 %left2, 0
        br i1 %found, label %done, label %advance
    advance:
        br i1 %once, label %none, label %more
    more:
        %next = add i32 %at, %step
        br label %loop
    none:
        ret i32 -1
    done:
        ret i32 %at"),

    // ---- the amount of a shift that wraps at 32 or is clamped to it ----
    Block("amount.wrap", "u32(u32)", "and i32 %0, 31"),
    Block("amount.clamp", "u32(u32)", "call i32 @llvm.umin.i32(i32 %0, i32 32)"),
    // Where a bit of %0 is clear that bit of %1, else that of %2.
    Block("choose", "b32(b32, b32, b32)", "
        %x = xor i32 %1, %2
        %y = and i32 %x, %0
        xor i32 %y, %1"),
    // Two bits of the table %1 from %2 on, chosen by the bits of %0.
    Block("lop2", "b32(b32, b32, u32)", "
        %a = lshr i32 %1, %2
        %a1 = trunc i32 %a to i1
        %a32 = sext i1 %a1 to i32
        %b = lshr i32 %a, 1
        %b1 = trunc i32 %b to i1
        %b32 = sext i1 %b1 to i32
        call i32 @gr.choose(i32 %0, i32 %a32, i32 %b32)"),

    // ---- comparisons ----
    Block("compare.{eq|ne}.<INT>", "pred($2, $2)", "icmp $1 $2 %0, %1"),
    Block("compare.{lt|le|gt|ge}.<INT8>", "pred($2, $2)", "icmp $2:1$1 $2 %0, %1"),
    Block("compare.{lo=ult|ls=ule|hi=ugt|hs=uge}.<INT8>", "pred($2, $2)", "icmp $1 $2 %0, %1"),
    Block("compare.{FCMP}.<FLOAT>", "pred($2, $2)", "fcmp $1 $2 %0, %1"),
    Block("compare.{FCMP}.<SMALL>", "pred($2, $2)", "f32 @gr.compare.$1:0.f32"),
    Block("truths", "pred|pred(pred, pred)", "
        %r = insertvalue $R poison, i1 %0, 0
        insertvalue $R %r, i1 %1, 1"),

    Block("generic.p0", "ptr(ptr)", "ret ptr %0"),
    Block("generic.p3", "ptr(ptr addrspace(3))", "addrspacecast ptr addrspace(3) %0 to ptr"),

    // ---- a fetch through a texture: its texels are read here, one access each ----
    Block("texture", "{ i64, i64 }(i64, i32, i32, i32, i32, i32)", "
        %texels = alloca [128 x i8], align 16
        %n = call i32 @entry.texture(i64 %0, i32 %1, i32 %2, i32 %3, i32 %4, i32 %5)
        br label %loop
    loop:
        %i = phi i32 [ 0, %entry ], [ %next, %one ]
        %more = icmp ult i32 %i, %n
        br i1 %more, label %one, label %done
    one:
        %from = call ptr @entry.texel(i64 %0, i32 %i)
        %size = call i64 @entry.texel_size()
        %i64 = zext i32 %i to i64
        %at = shl i64 %i64, 4
        %to = getelementptr i8, ptr %texels, i64 %at
        call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
        %next = add i32 %i, 1
        br label %loop
    done:
        %low = call i64 @entry.texture_value(ptr %texels, i32 0)
        %high = call i64 @entry.texture_value(ptr %texels, i32 1)
        %r = insertvalue { i64, i64 } poison, i64 %low, 0
        insertvalue { i64, i64 } %r, i64 %high, 1"),

    // ---- copies of a box of a tensor, one piece after the other. %0 is the box in shared memory, %1 the tensor map.
    // Returns the bytes of the box, with those that lie outside of the tensor. ----
    Block("tensor.load", "i64(ptr addrspace(3), ptr, i32, i32, i32, i32, i32, i32)", "
        %s = ptrtoint ptr addrspace(3) %0 to i32
        %plan = call i64 @entry.tensor(ptr %1, i32 %2, i32 %s, i32 %3, i32 %4, i32 %5, i32 %6, i32 %7)
        %n = trunc i64 %plan to i32
        %f = lshr i64 %plan, 32
        %byte = trunc i64 %f to i8
        br label %loop
    loop:
        %i = phi i32 [ 0, %entry ], [ %next, %after ]
        %bytes = phi i64 [ 0, %entry ], [ %bytes2, %after ]
        %more = icmp ult i32 %i, %n
        br i1 %more, label %one, label %done
    one:
        %size = call i64 @entry.tensor_size(i32 %i)
        %offset = call i64 @entry.tensor_offset(i32 %i)
        %from = call ptr @entry.tensor_global(i32 %i)
        %to = getelementptr i8, ptr addrspace(3) %0, i64 %offset
        %inside = icmp ne ptr %from, null
        br i1 %inside, label %copy, label %fill
    copy:
        %g = addrspacecast ptr %from to ptr addrspace(1)
        call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) %to, ptr addrspace(1) %g, i64 %size, i1 false), !gpurace.async !{}
        br label %after
    fill:
        call void @llvm.memset.p3.i64(ptr addrspace(3) %to, i8 %byte, i64 %size, i1 false), !gpurace.async !{}
        br label %after
    after:
        %bytes2 = add i64 %bytes, %size
        %next = add i32 %i, 1
        br label %loop
    done:
        ret i64 %bytes"),
    // What lies outside of the tensor is left out.
    Block("tensor.store", "void(ptr addrspace(3), ptr, i32, i32, i32, i32, i32, i32)", "
        %s = ptrtoint ptr addrspace(3) %0 to i32
        %plan = call i64 @entry.tensor(ptr %1, i32 %2, i32 %s, i32 %3, i32 %4, i32 %5, i32 %6, i32 %7)
        %n = trunc i64 %plan to i32
        br label %loop
    loop:
        %i = phi i32 [ 0, %entry ], [ %next, %after ]
        %more = icmp ult i32 %i, %n
        br i1 %more, label %one, label %done
    one:
        %size = call i64 @entry.tensor_size(i32 %i)
        %offset = call i64 @entry.tensor_offset(i32 %i)
        %to = call ptr @entry.tensor_global(i32 %i)
        %from = getelementptr i8, ptr addrspace(3) %0, i64 %offset
        %inside = icmp ne ptr %to, null
        br i1 %inside, label %copy, label %after
    copy:
        %g = addrspacecast ptr %to to ptr addrspace(1)
        call void @llvm.memcpy.p1.p3.i64(ptr addrspace(1) %g, ptr addrspace(3) %from, i64 %size, i1 false), !gpurace.async !{}
        br label %after
    after:
        %next = add i32 %i, 1
        br label %loop
    done:
        ret void"),

    // ---- mbarrier: bits 0-19 count pending arrivals, bits 20-39 expected ones, bits 40-60 the bytes of copies
    // that are expected and not complete (negative while more are complete). The phase lies above.
    // An arrival releases, and so does a copy. A thread that sees the end of the phase acquires what all of them
    // released. Every operation has the scope of the cluster, whatever scope it names: blocks may use each other's
    // mbarriers. ----
    Block("mbarrier.init.{p0=ptr|p3=ptr addrspace(3)}", "void($1, i32)", "
        %c = zext i32 %1 to i64
        %e = shl i64 %c, 20
        %w = or i64 %e, %c
        store i64 %w, $1 %0, align 8, !gpurace.mbarrier !{}"),
    // Subtracts %1 pending and %2 expected arrivals. Returns the word before.
    Block("mbarrier.arrive.{p0=ptr,p0|p3=ptr addrspace(3),p3}", "i64($1, i64, i64)", "
        call i64 @gr.mbarrier.change.$1:1($1 %0, i64 %1, i64 %2, i64 0)"),
    // Adds %1 expected bytes.
    Block("mbarrier.transact.{p0=ptr,p0|p3=ptr addrspace(3),p3}", "void($1, i64)", "
        %old = call i64 @gr.mbarrier.change.$1:1($1 %0, i64 0, i64 0, i64 %1)
        ret void"),
    // Subtracts %1 pending and %2 expected arrivals, adds %3 expected bytes. Returns the word before. Nobody can
    // tell from that who has arrived, or which copy is done. So it is a reduction, which acquires nothing. A load would
    // acquire: instead the first exchange fails and gives the word.
    Block("mbarrier.change.{p0=ptr|p3=ptr addrspace(3)}", "i64($1, i64, i64, i64)", "
        br label %loop
    loop:
        %old = phi i64 [ 0, %entry ], [ %seen, %loop ]
        %pending = and i64 %old, 1048575
        %left = sub i64 %pending, %1
        %e = lshr i64 %old, 20
        %expected = and i64 %e, 1048575
        %expected2 = sub i64 %expected, %2
        %t = lshr i64 %old, 40
        %t2 = add i64 %t, %3
        %bytes = and i64 %t2, 2097151
        %phase = lshr i64 %old, 61
        %open = or i64 %left, %bytes
        %last = icmp eq i64 %open, 0
        %bump = zext i1 %last to i64
        %phase2 = add i64 %phase, %bump
        %pending2 = select i1 %last, i64 %expected2, i64 %left
        %p = shl i64 %phase2, 61
        %b = shl i64 %bytes, 40
        %x = shl i64 %expected2, 20
        %pb = or i64 %p, %b
        %px = or i64 %pb, %x
        %new = or i64 %px, %pending2
        %pair = cmpxchg $1 %0, i64 %old, i64 %new syncscope(\"cluster\") acq_rel monotonic, align 8, !gpurace.atomic !{i32 1, i32 2, i32 5}, !gpurace.mbarrier !{}
        %seen = extractvalue { i64, i1 } %pair, 0
        %done = extractvalue { i64, i1 } %pair, 1
        br i1 %done, label %end, label %loop
    end:
        ret i64 %old"),
    Block("mbarrier.test.{p0=ptr,p0|p3=ptr addrspace(3),p3}", "i1($1, i64)", "
        %w = load atomic i64, $1 %0 syncscope(\"cluster\") monotonic, align 8, !gpurace.atomic !{i32 1, i32 0}, !gpurace.mbarrier !{}
        %now = lshr i64 %w, 61
        %then = lshr i64 %1, 61
        %done = icmp ne i64 %now, %then
        call i1 @gr.mbarrier.end.$1:1($1 %0, i1 %done)"),
    // True if the phase of this parity is over: then the current phase has the other parity.
    Block("mbarrier.parity.{p0=ptr,p0|p3=ptr addrspace(3),p3}", "i1($1, i1)", "
        %w = load atomic i64, $1 %0 syncscope(\"cluster\") monotonic, align 8, !gpurace.atomic !{i32 1, i32 0}, !gpurace.mbarrier !{}
        %phase = lshr i64 %w, 61
        %now = trunc i64 %phase to i1
        %done = icmp ne i1 %now, %1
        call i1 @gr.mbarrier.end.$1:1($1 %0, i1 %done)"),
    // Acquires if the phase is over. Otherwise gives way at once: only others can end the phase.
    Block("mbarrier.end.{p0=ptr,p0|p3=ptr addrspace(3),p3}", "i1($1, i1)", "
        br i1 %1, label %acquire, label %wait
    acquire:
        %g = call ptr @gr.generic.$1:1($1 %0)
        call void @entry.atomic_done(ptr %g, i32 8, i32 0, i32 0, i32 1, i32 1)
        br label %end
    wait:
        call void @entry.nanosleep(i32 0)
        br label %end
    end:
        ret i1 %1"),
];
