//! Calls of the device runtime beside what synchronises, and the accesses that
//! NVVM intrinsics make. The instructions themselves stay.
//!
//! Whatever may order threads in a way that the clocks on the GPU do not show is
//! announced ([`IRREGULAR`]) before it happens: from there on, conflicting accesses count as
//! undecided, never as races. So an instruction that is not known here costs
//! verdicts, and no false alarm.

use std::ffi::c_uint;

use gpurace_abi::meta::{Op, Site, Space, Verdict};
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMOpcode, LLVMTypeKind};

use crate::position::Positions;
use crate::ir::address_space;
use crate::ptx::effects::{self, AccessKind, Sync};
use crate::ptx::{self, Asm, Operand};
use crate::sites::{Access, AccessSite};
use crate::{atomics, ir};

/// Called before what orders threads in no way that the clocks show.
const IRREGULAR: &str = "__gpurace_irregular";

/// What was found.
#[derive(Debug, Default)]
pub struct Hooked {
    /// Accesses by intrinsics, to be checked as others.
    pub accesses: Vec<AccessSite>,
    /// Their descriptions.
    pub sites: Vec<Site>,
    /// How many instructions make accesses that are not checked.
    pub unseen: u32,
    /// Something may release to another block.
    pub orders: bool,
}

/// What an instruction does to the order of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Orders {
    /// A barrier of the whole block.
    Block,
    /// A sync of the warp's lanes in a mask.
    Warp(LLVMValueRef),
    /// The thread ends.
    End,
    /// A fence, an acquire, a named barrier, an mbarrier, a wait for copies, or not known.
    Irregular,
}

/// Inserts the calls.
///
/// # Safety
/// `module` is live and not normalised.
pub unsafe fn insert(module: LLVMModuleRef, positions: &mut Positions) -> Hooked {
    let mut hooked = Hooked::default();
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for function in ir::definitions(module) {
            for instruction in ir::instructions(function) {
                match ir::opcode(instruction) {
                    LLVMOpcode::LLVMCall if ir::calls_asm(instruction) => {
                        asm(module, builder, function, instruction, positions, &mut hooked);
                    }
                    LLVMOpcode::LLVMCall => intrinsic(module, builder, function, instruction, positions, &mut hooked),
                    LLVMOpcode::LLVMFence => {
                        hooked.orders = true;
                        order(module, builder, instruction, Orders::Irregular);
                    }
                    LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => {
                        hooked.orders |= atomics::semantics(instruction).1 != Order::Relaxed;
                    }
                    LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore => {
                        let atomic = llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
                        if LLVMGetOrdering(instruction) != atomic {
                            hooked.orders |= atomics::semantics(instruction).1 != Order::Relaxed;
                        }
                    }
                    _ => {}
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
    hooked
}

/// Calls a function of the device runtime at the builder's position.
///
/// # Safety
/// The builder is positioned in `module`.
pub unsafe fn call(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    name: &str,
    result: LLVMTypeRef,
    arguments: &mut [LLVMValueRef],
) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let mut types: Vec<_> = arguments.iter().map(|&a| LLVMTypeOf(a)).collect();
        let ty = LLVMFunctionType(result, types.as_mut_ptr(), types.len() as c_uint, 0);
        let symbol = ir::c(name);
        let mut function = LLVMGetNamedFunction(module, symbol.as_ptr());
        if function.is_null() {
            function = LLVMAddFunction(module, symbol.as_ptr(), ty);
            let kind = LLVMGetEnumAttributeKindForName(c"convergent".as_ptr(), 10);
            let attribute = LLVMCreateEnumAttribute(ir::context(module), kind, 0);
            LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
        }
        LLVMBuildCall2(builder, ty, function, arguments.as_mut_ptr(), arguments.len() as c_uint, c"".as_ptr())
    }
}

unsafe fn order(module: LLVMModuleRef, builder: LLVMBuilderRef, instruction: LLVMValueRef, orders: Orders) {
    // SAFETY: by `insert`'s contract.
    unsafe {
        let context = ir::context(module);
        let void = LLVMVoidTypeInContext(context);
        LLVMPositionBuilderBefore(builder, instruction);
        let behind = LLVMGetNextInstruction(instruction);
        let around = |before: &str, after: &str, ty: LLVMTypeRef, arguments: &mut [LLVMValueRef]| {
            let state = call(module, builder, before, ty, arguments);
            if !behind.is_null() {
                LLVMPositionBuilderBefore(builder, behind);
                call(module, builder, after, void, &mut [state]);
            }
        };
        match orders {
            Orders::Block => around(
                "__gpurace_before_barrier",
                "__gpurace_after_barrier",
                LLVMInt64TypeInContext(context),
                &mut [],
            ),
            Orders::Warp(mask) => around(
                "__gpurace_before_syncwarp",
                "__gpurace_after_syncwarp",
                LLVMInt32TypeInContext(context),
                &mut [mask],
            ),
            Orders::End => {
                call(module, builder, "__gpurace_leave", void, &mut []);
            }
            Orders::Irregular => {
                call(module, builder, IRREGULAR, void, &mut []);
            }
        }
    }
}

unsafe fn is_zero(value: LLVMValueRef) -> bool {
    // SAFETY: by `insert`'s contract.
    unsafe { !LLVMIsAConstantInt(value).is_null() && LLVMConstIntGetZExtValue(value) == 0 }
}

unsafe fn intrinsic(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    instruction: LLVMValueRef,
    positions: &mut Positions,
    hooked: &mut Hooked,
) {
    // SAFETY: by `insert`'s contract.
    unsafe {
        let Some(callee) = ir::callee(instruction) else { return };
        let full = ir::name(callee);
        let Some(name) = full.strip_prefix("llvm.nvvm.") else { return };
        let argument = |n| LLVMGetOperand(instruction, n);
        let orders = match name {
            "barrier0" | "barrier0.popc" | "barrier0.and" | "barrier0.or" => Orders::Block,
            "bar.sync" | "barrier.n" | "barrier.sync" if is_zero(argument(0)) => Orders::Block,
            "bar.warp.sync" => Orders::Warp(argument(0)),
            "exit" => Orders::End,
            _ if name.starts_with("membar.") || name.starts_with("fence.") => {
                hooked.orders = true;
                Orders::Irregular
            }
            _ if ["bar.", "barrier", "mbarrier.", "cp.async", "griddepcontrol"].iter().any(|p| name.starts_with(p)) => {
                hooked.orders |= name.starts_with("barrier.cluster");
                hooked.unseen += u32::from(name.contains("shared.global") || name.contains(".bulk.tensor"));
                Orders::Irregular
            }
            _ => {
                let Some((size, access, op)) = access_of(module, name, instruction) else {
                    // Those that touch memory take a pointer; of the others, nothing is to be known.
                    hooked.unseen += u32::from(touches_memory(name, instruction));
                    return;
                };
                hooked.accesses.push(AccessSite { instruction, function, pointer: argument(0), size, access });
                hooked.sites.push(Site {
                    op,
                    size: size as u32,
                    space: Space::Generic,
                    volatile: false,
                    asynchronous: false,
                    frames: positions.of_instruction(instruction),
                    verdict: Verdict::Checked,
                });
                return;
            }
        };
        order(module, builder, instruction, orders);
    }
}

/// The access of a load or an atomic that is an intrinsic: its pointer is the first argument.
unsafe fn access_of(module: LLVMModuleRef, name: &str, call: LLVMValueRef) -> Option<(u64, Access, Op)> {
    // SAFETY: by `insert`'s contract.
    let size = || unsafe { ir::store_size(module, LLVMTypeOf(call)) };
    if name.starts_with("ldg.") || name.starts_with("ldu.") {
        return Some((size(), Access::Load, Op::Read));
    }
    name.starts_with("atomic.").then(|| {
        let scope = match name {
            _ if name.contains(".cta.") => Scope::Block,
            _ if name.contains(".sys.") => Scope::System,
            _ => Scope::Device,
        };
        (size(), Access::Atomic { kind: AtomicKind::Rmw, scope, order: Order::Relaxed }, Op::Atomic)
    })
}

/// Whether an intrinsic that is not known here may touch memory.
unsafe fn touches_memory(name: &str, call: LLVMValueRef) -> bool {
    let harmless = ["ptr.", "isspacep.", "mapa", "getctarank", "move.", "is_explicit", "prefetch"];
    // SAFETY: by `insert`'s contract.
    unsafe {
        !harmless.iter().any(|p| name.starts_with(p))
            && (0..LLVMGetNumArgOperands(call)).any(|n| {
                LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, n))) == LLVMTypeKind::LLVMPointerTypeKind
            })
    }
}

unsafe fn asm(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    instruction: LLVMValueRef,
    positions: &mut Positions,
    hooked: &mut Hooked,
) {
    // SAFETY: by `insert`'s contract; lengths are llvm-c's.
    unsafe {
        let asm = LLVMGetCalledValue(instruction);
        let text = |read: unsafe extern "C" fn(LLVMValueRef, *mut usize) -> *const std::ffi::c_char| {
            let mut len = 0;
            let data = read(asm, &mut len);
            String::from_utf8_lossy(std::slice::from_raw_parts(data.cast(), len)).into_owned()
        };
        let (template, constraints) = (text(LLVMGetInlineAsmAsmString), text(LLVMGetInlineAsmConstraintString));
        let Ok(parsed) = ptx::parse(&template, &constraints) else {
            hooked.unseen += 1;
            hooked.orders = true;
            return order(module, builder, instruction, Orders::Irregular);
        };
        let found = of_asm(&parsed);
        hooked.unseen += found.unseen;
        hooked.orders |= found.releases;
        for plain in &found.plain {
            LLVMPositionBuilderBefore(builder, instruction);
            let pointer = plain.pointer(module, builder, LLVMGetOperand(instruction, plain.argument));
            let length = LLVMConstInt(LLVMInt64TypeInContext(ir::context(module)), plain.size.into(), 0);
            let (access, op) = match plain.writes {
                true => (Access::WriteRange { length }, Op::Write),
                false => (Access::ReadRange { length }, Op::Read),
            };
            hooked.accesses.push(AccessSite { instruction, function, pointer, size: plain.size.into(), access });
            hooked.sites.push(Site {
                op,
                size: plain.size,
                space: Space::Generic,
                volatile: false,
                asynchronous: false,
                frames: positions.of_instruction(instruction),
                verdict: Verdict::Checked,
            });
        }
        match found.orders {
            None => {}
            Some(AsmOrders::Block) => order(module, builder, instruction, Orders::Block),
            Some(AsmOrders::Warp(n)) => {
                let mask = LLVMGetOperand(instruction, n);
                order(module, builder, instruction, Orders::Warp(mask));
            }
            Some(AsmOrders::End) => order(module, builder, instruction, Orders::End),
            Some(AsmOrders::Irregular) => order(module, builder, instruction, Orders::Irregular),
        }
    }
}

/// As [`Orders`], of a text: the mask is an argument of the asm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AsmOrders {
    Block,
    Warp(u32),
    End,
    Irregular,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfAsm {
    orders: Option<AsmOrders>,
    /// Accesses that can be checked.
    plain: Vec<Plain>,
    unseen: u32,
    releases: bool,
}

/// A plain access whose address is an argument of the asm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plain {
    argument: u32,
    offset: i64,
    /// Bytes.
    size: u32,
    writes: bool,
    /// The address is that of shared memory.
    shared: bool,
}

impl Plain {
    /// The access, where its address is known before the asm runs, and the asm is nothing but this access.
    fn of(asm: &Asm, access: &effects::Access<'_>) -> Option<Self> {
        let writes = match access.kind {
            AccessKind::Read => false,
            AccessKind::Write => true,
            AccessKind::Atomic(..) => return None,
        };
        let shared = match access.space {
            ptx::types::Space::Generic | ptx::types::Space::Global => false,
            ptx::types::Space::Shared => true,
            _ => return None,
        };
        let effects::Size::Bytes(size) = access.size else { return None };
        let alone = asm.statements.len() == 1 && asm.statements[0].guard.is_none() && !access.volatile;
        let argument = argument_of(asm, &access.address.base).filter(|_| alone)?;
        Some(Self { argument, offset: access.address.offset + i64::from(access.element_offset), size, writes, shared })
    }

    /// The address, of the argument's value.
    unsafe fn pointer(&self, module: LLVMModuleRef, builder: LLVMBuilderRef, value: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by `insert`'s contract.
        unsafe {
            let context = ir::context(module);
            let long = LLVMInt64TypeInContext(context);
            let name = c"".as_ptr();
            let number = match LLVMGetTypeKind(LLVMTypeOf(value)) {
                LLVMTypeKind::LLVMPointerTypeKind => LLVMBuildPtrToInt(builder, value, long, name),
                _ => LLVMBuildZExtOrBitCast(builder, value, long, name),
            };
            let number = LLVMBuildAdd(builder, number, LLVMConstInt(long, self.offset as u64, 1), name);
            let space = if self.shared { address_space::SHARED } else { address_space::GENERIC };
            LLVMBuildIntToPtr(builder, number, LLVMPointerTypeInContext(context, space), name)
        }
    }
}

/// What an asm does. A barrier or a warp sync is recognised where it is all that
/// the text orders by.
fn of_asm(asm: &Asm) -> OfAsm {
    let mut out = OfAsm::default();
    let mut all = Vec::new();
    for statement in &asm.statements {
        let effects = ptx::memory_effects(statement);
        let plain = effects.accesses.iter().filter_map(|access| Plain::of(asm, access)).filter(|_| effects.sync.is_none());
        let before = out.plain.len();
        out.plain.extend(plain);
        let seen = out.plain.len() - before;
        out.unseen += (effects.accesses.len() - seen) as u32 + u32::from(effects.unsupported.is_some());
        let strong = effects.accesses.iter().any(|a| matches!(a.kind, AccessKind::Atomic(..)));
        out.releases |= effects.unsupported.is_some()
            || matches!(effects.sync, Some(Sync::Fence(..) | Sync::Mbarrier(_) | Sync::Cluster { .. }))
            || effects.accesses.iter().any(|a| matches!(a.kind, AccessKind::Atomic(_, order, _) if order != Order::Relaxed));
        let orders = match &effects.sync {
            _ if effects.unsupported.is_some() => Some(AsmOrders::Irregular),
            Some(Sync::Barrier { waits: true, id: Operand::Int(0), threads: None }) if effects.guard.is_none() => {
                Some(AsmOrders::Block)
            }
            Some(Sync::Warp(mask)) if effects.guard.is_none() => {
                Some(argument_of(asm, mask).map_or(AsmOrders::Irregular, AsmOrders::Warp))
            }
            Some(
                Sync::Fence(..)
                | Sync::Barrier { .. }
                | Sync::Cluster { .. }
                | Sync::Warp(_)
                | Sync::AsyncCopy(_)
                | Sync::Mbarrier(_),
            ) => Some(AsmOrders::Irregular),
            // `trap` and `brkpt` end the launch; a slot that a guarded `exit` keeps is one less.
            Some(Sync::End) if matches!(statement.op, ptx::Op::Exit) && effects.guard.is_none() => Some(AsmOrders::End),
            // What an atomic of any order has read may be a release, where something releases.
            _ if strong => Some(AsmOrders::Irregular),
            Some(Sync::End | Sync::Collective(_) | Sync::Branch) | None => None,
        };
        all.extend(orders);
    }
    let branches = asm.blocks.len() > 1;
    out.orders = match all[..] {
        [] => None,
        [one] if !branches => Some(one),
        _ => Some(AsmOrders::Irregular),
    };
    out
}

/// The argument of the asm that an operand is.
fn argument_of(asm: &Asm, operand: &Operand) -> Option<u32> {
    let Operand::Reg(reg) = operand else { return None };
    asm.regs.get(reg.0 as usize)?.operand?.argument
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(template: &str, constraints: &str) -> OfAsm {
        of_asm(&ptx::parse(template, constraints).unwrap())
    }

    #[test]
    fn what_the_clocks_show_is_recognised() {
        assert_eq!(of("bar.sync 0;", "").orders, Some(AsmOrders::Block));
        assert_eq!(of("barrier.sync 0;", "").orders, Some(AsmOrders::Block));
        assert_eq!(of("bar.warp.sync $0;", "r").orders, Some(AsmOrders::Warp(0)));
        assert_eq!(of("add.u32 $0, $1, $1;", "=r,r"), OfAsm::default());
        assert_eq!(of("exit;", "").orders, Some(AsmOrders::End));
    }

    #[test]
    fn what_they_do_not_show_is_announced() {
        for (text, constraints) in [
            ("bar.sync 1;", ""),
            ("bar.sync 0, 64;", ""),
            ("bar.arrive 0, 64;", ""),
            ("bar.sync $0;", "r"),
            ("fence.acq_rel.gpu;", ""),
            ("ld.acquire.gpu.u32 $0, [$1];", "=r,l"),
            ("atom.add.relaxed.gpu.u32 $0, [$1], 1;", "=r,l"),
            ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p bar.sync 0; }", "r"),
            ("bar.sync 0; bar.sync 0;", ""),
            ("cp.async.wait_all;", ""),
            ("barrier.cluster.arrive;", ""),
            ("barrier.cluster.wait;", ""),
        ] {
            assert_eq!(of(text, constraints).orders, Some(AsmOrders::Irregular), "{text}");
        }
    }

    #[test]
    fn releases_and_hidden_accesses_are_counted() {
        assert!(of("fence.acq_rel.gpu;", "").releases);
        assert!(of("st.release.gpu.u32 [$0], $1;", "l,r").releases);
        let relaxed = of("atom.add.relaxed.gpu.u32 $0, [$1], 1;", "=r,l");
        assert_eq!((relaxed.releases, relaxed.unseen), (false, 1));
        // Whether it happens is known inside of the asm alone.
        let guarded = of("{ .reg .pred p; setp.ne.u32 p, $1, 0; @p ld.global.u32 $0, [$2]; }", "=r,r,l");
        assert_eq!((guarded.plain.len(), guarded.unseen), (0, 1));
        let moved = of("{ .reg .u64 a; add.u64 a, $1, 64; ld.global.u32 $0, [a]; }", "=r,l");
        assert_eq!((moved.plain.len(), moved.unseen), (0, 1));
        // An asynchronous copy happens later.
        let copy = of("cp.async.ca.shared.global [$0], [$1], 4;", "r,l");
        assert_eq!((copy.plain.len(), copy.unseen), (0, 2));
        // What is volatile is stronger than plain, and what is local nobody else's.
        assert_eq!(of("ld.volatile.global.u32 $0, [$1];", "=r,l").plain, []);
        assert_eq!(of("ld.local.u32 $0, [$1];", "=r,l").plain, []);
    }

    #[test]
    fn plain_accesses_are_checked() {
        let plain = |argument, offset, size, writes, shared| Plain { argument, offset, size, writes, shared };
        for (text, constraints, wanted) in [
            ("ld.global.nc.u32 $0, [$1];", "=r,l", plain(0, 0, 4, false, false)),
            ("ld.global.cs.v4.f32 {$0,$1,$2,$3}, [$4+16];", "=f,=f,=f,=f,l", plain(0, 16, 16, false, false)),
            ("st.cs.global.u64 [$0+-8], $1;", "l,l", plain(0, -8, 8, true, false)),
            ("st.shared.u8 [$1], $0;", "r,r", plain(1, 0, 1, true, true)),
            ("ld.u16 $0, [$1];", "=h,l", plain(0, 0, 2, false, false)),
        ] {
            let of = of(text, constraints);
            assert_eq!((&of.plain[..], of.unseen, of.orders, of.releases), (&[wanted][..], 0, None, false), "{text}");
        }
    }
}
