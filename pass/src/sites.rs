//! Access sites: which instructions of a module touch memory that threads may
//! share.
//!
//! # What is a site
//! Every load, store, `atomicrmw`, `cmpxchg`, and `memcpy` / `memmove` / `memset`
//! intrinsic (one site per side). Inline PTX and NVVM intrinsics have become
//! such instructions by now ([`crate::lower`]).
//!
//! # What is skipped, and why that is safe
//! An access is left out only where the address provably lies in memory that no
//! other thread can write or reach; each is counted under its reason:
//! * *local memory*: it starts at an `alloca`. CUDA gives no thread access to
//!   another one's locals.
//! * *parameter*: it starts at a `byval` parameter or in the parameter space, the thread's
//!   own copy.
//! * *constant memory*: it starts at a variable in constant memory, which
//!   kernels cannot write.
//! * *annotated*: it is of a function that the source marks as not to be checked
//!   ([`crate::annotations`]): the one reason that is the user's word. An atomic
//!   access keeps its check, which is also what tells the checker its order.
//! * *read-only data*: it starts at an LLVM `constant` (tables, strings).
//!
//! # Address spaces
//! Where the address starts says the space: a shared variable, a device
//! variable, a kernel's pointer parameter (the host cannot name shared or
//! local memory, so it is global). All else is generic: the runtime looks.
//!
//! # Asynchronous copies
//! `cp.async` has become a `memcpy`, and a `memset` for what it fills with zeros,
//! that carry [`ASYNC_METADATA`]: they touch memory until they are waited for.
//!
//! # Strong vectors
//! A strong vector of PTX is one instruction here and accesses of its elements in turn: it carries
//! [`ELEMENTS_METADATA`].
//!
//! # Atomics and `volatile`
//! Atomic instructions carry scope and order ([`crate::atomics`]). A `volatile`
//! access is relaxed at system scope by PTX's rules, and a plain access by
//! CUDA C++'s: it can carry an order and it can race.

use std::collections::{HashMap, HashSet};

use gpurace_abi::meta::{Op, Site, Skipped, Space, Verdict};
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};

use crate::ir::{self, address_space};
use crate::lower::CONTEXT_FUNCTION;
use crate::position::Positions;
use crate::{address, annotations, atomics, debug_info};

/// How an access is to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A plain load of a constant number of bytes.
    Load,
    /// A plain store of a constant number of bytes.
    Store,
    /// The source of a memory intrinsic of `length` bytes.
    ReadRange {
        /// Number of bytes, an IR value.
        length: LLVMValueRef,
    },
    /// The destination of a memory intrinsic of `length` bytes.
    WriteRange {
        /// Number of bytes, an IR value.
        length: LLVMValueRef,
    },
    /// The source of an asynchronous copy of `length` bytes.
    AsyncRead {
        /// Number of bytes, an IR value.
        length: LLVMValueRef,
    },
    /// The destination of an asynchronous copy of `length` bytes.
    AsyncWrite {
        /// Number of bytes, an IR value.
        length: LLVMValueRef,
    },
    /// An atomic or volatile access.
    Atomic {
        /// Load, store, read-modify-write, volatile.
        kind: AtomicKind,
        /// Its scope.
        scope: Scope,
        /// Its order.
        order: Order,
    },
}

/// One access of the module, with what the instrumentation needs.
#[derive(Clone, Copy, Debug)]
pub struct AccessSite {
    /// The instruction.
    pub instruction: LLVMValueRef,
    /// The function it is in.
    pub function: LLVMValueRef,
    /// The address accessed.
    pub pointer: LLVMValueRef,
    /// Bytes, 0 where not constant.
    pub size: u64,
    /// How to check it.
    pub access: Access,
}

/// All accesses of a module. `sites[i]` describes `accesses[i]`.
#[derive(Debug, Default)]
pub struct Sites {
    /// For the instrumentation.
    pub accesses: Vec<AccessSite>,
    /// For the module description.
    pub sites: Vec<Site>,
    /// What was left out, by reason.
    pub skipped: Vec<Skipped>,
}

/// Values that an address is followed through.
const MOST_STEPS: usize = 64;

/// Where an address starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Shared,
    Global,
    Skip(&'static str),
    /// The thread context: what the lowering made of a special register.
    ThreadContext,
    Unknown,
}

/// Finds the accesses of `module`.
///
/// # Safety
/// `module` is live and normalised.
pub unsafe fn collect(module: LLVMModuleRef, positions: &mut Positions) -> Sites {
    let mut out = Sites::default();
    let mut skipped: HashMap<&'static str, u32> = HashMap::new();
    // SAFETY: by contract.
    unsafe {
        let kernels: HashSet<_> = ir::kernels(module).into_iter().map(|(f, _)| f).collect();
        for function in ir::definitions(module) {
            let is_kernel = kernels.contains(&function);
            for instruction in ir::instructions(function) {
                for (pointer, size, access) in accesses_of(module, instruction) {
                    let space = match base_of(pointer, is_kernel) {
                        Base::ThreadContext => continue,
                        _ if !matches!(access, Access::Atomic { .. })
                            && annotations::is_ignored(instruction) =>
                        {
                            *skipped.entry("annotated").or_default() += 1;
                            continue;
                        }
                        Base::Skip(reason) => {
                            *skipped.entry(reason).or_default() += 1;
                            continue;
                        }
                        Base::Shared => Space::Shared,
                        Base::Global => Space::Global,
                        Base::Unknown => Space::Generic,
                    };
                    let asynchronous = matches!(access, Access::AsyncRead { .. } | Access::AsyncWrite { .. });
                    let (op, volatile) = match access {
                        Access::Load | Access::ReadRange { .. } | Access::AsyncRead { .. } => {
                            (Op::Read, false)
                        }
                        Access::Store | Access::WriteRange { .. } | Access::AsyncWrite { .. } => {
                            (Op::Write, false)
                        }
                        Access::Atomic { kind: AtomicKind::VolatileLoad, .. } => (Op::Read, true),
                        Access::Atomic { kind: AtomicKind::VolatileStore, .. } => (Op::Write, true),
                        Access::Atomic { .. } => (Op::Atomic, false),
                    };
                    out.accesses.push(AccessSite { instruction, function, pointer, size, access });
                    out.sites.push(Site {
                        op,
                        size: u32::try_from(size).unwrap_or(0),
                        space,
                        volatile,
                        asynchronous,
                        frames: positions.of_instruction(instruction),
                        verdict: Verdict::Checked,
                    });
                }
            }
        }
    }
    out.skipped =
        skipped.into_iter().map(|(reason, count)| Skipped { reason: reason.to_owned(), count }).collect();
    out.skipped.sort_by(|a, b| a.reason.cmp(&b.reason));
    out
}

/// The accesses that one instruction makes: address, bytes (0: not constant), kind.
unsafe fn accesses_of(module: LLVMModuleRef, instruction: LLVMValueRef) -> Vec<(LLVMValueRef, u64, Access)> {
    // SAFETY: by contract.
    unsafe {
        let sized = |value: LLVMValueRef| ir::store_size(module, LLVMTypeOf(value));
        match ir::opcode(instruction) {
            LLVMOpcode::LLVMLoad => {
                let access =
                    scalar_access(instruction, Access::Load, AtomicKind::Load, AtomicKind::VolatileLoad);
                by_element(instruction, LLVMGetOperand(instruction, 0), sized(instruction), access)
            }
            LLVMOpcode::LLVMStore => {
                let value = LLVMGetOperand(instruction, 0);
                let access =
                    scalar_access(instruction, Access::Store, AtomicKind::Store, AtomicKind::VolatileStore);
                by_element(instruction, LLVMGetOperand(instruction, 1), sized(value), access)
            }
            LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => {
                let (scope, order) = atomics::semantics(instruction);
                let value = LLVMGetOperand(instruction, 1);
                let access = Access::Atomic { kind: atomics::kind_of_rmw(instruction), scope, order };
                vec![(LLVMGetOperand(instruction, 0), sized(value), access)]
            }
            LLVMOpcode::LLVMCall if !debug_info::is_debug_call(instruction) => {
                memory_intrinsic_accesses(instruction)
            }
            _ => Vec::new(),
        }
    }
}

/// The metadata kind that says how many elements a strong vector has.
pub const ELEMENTS_METADATA: &str = "gpurace.elements";

/// How many accesses a load or store is.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn elements(instruction: LLVMValueRef) -> u64 {
    // SAFETY: by contract; the metadata has one number.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let kind = LLVMGetMDKindIDInContext(
            context,
            ELEMENTS_METADATA.as_ptr().cast(),
            ELEMENTS_METADATA.len() as u32,
        );
        let node = LLVMGetMetadata(instruction, kind);
        if node.is_null() {
            return 1;
        }
        let mut number = std::ptr::null_mut();
        LLVMGetMDNodeOperands(node, &mut number);
        LLVMConstIntGetZExtValue(number)
    }
}

/// The accesses that a load or store of `size` bytes is. Addresses of elements stand before it.
unsafe fn by_element(
    instruction: LLVMValueRef,
    pointer: LLVMValueRef,
    size: u64,
    access: Access,
) -> Vec<(LLVMValueRef, u64, Access)> {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let n = elements(instruction);
        if n <= 1 {
            return vec![(pointer, size, access)];
        }
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let (byte, long) = (LLVMInt8TypeInContext(context), LLVMInt64TypeInContext(context));
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, instruction);
        let each = size / n;
        let accesses = (0..n).map(|i| {
            let mut offset = LLVMConstInt(long, i * each, 0);
            let at = if i == 0 {
                pointer
            } else {
                LLVMBuildGEP2(builder, byte, pointer, &mut offset, 1, c"".as_ptr())
            };
            (at, each, access)
        });
        let accesses = accesses.collect();
        LLVMDisposeBuilder(builder);
        accesses
    }
}

unsafe fn scalar_access(
    instruction: LLVMValueRef,
    plain: Access,
    atomic: AtomicKind,
    volatile: AtomicKind,
) -> Access {
    // SAFETY: by contract a load or a store.
    unsafe {
        let is_atomic =
            !matches!(LLVMGetOrdering(instruction), LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic);
        if is_atomic || atomics::has_semantics(instruction) {
            let (scope, order) = atomics::semantics(instruction);
            Access::Atomic { kind: atomic, scope, order }
        } else if LLVMGetVolatile(instruction) != 0 {
            Access::Atomic { kind: volatile, scope: Scope::System, order: Order::Relaxed }
        } else {
            plain
        }
    }
}

unsafe fn memory_intrinsic_accesses(call: LLVMValueRef) -> Vec<(LLVMValueRef, u64, Access)> {
    // SAFETY: by contract; a memory intrinsic has its three first operands.
    unsafe {
        let Some(callee) = ir::callee(call) else { return Vec::new() };
        let name = ir::name(callee);
        let is = |prefix: &str| name.starts_with(prefix);
        let copies = is("llvm.memcpy.") || is("llvm.memmove.");
        if !copies && !is("llvm.memset.") {
            return Vec::new();
        }
        let length = LLVMGetOperand(call, 2);
        let size = if LLVMIsAConstantInt(length).is_null() { 0 } else { LLVMConstIntGetZExtValue(length) };
        let (read, write) = if is_asynchronous(call) {
            (Access::AsyncRead { length }, Access::AsyncWrite { length })
        } else {
            (Access::ReadRange { length }, Access::WriteRange { length })
        };
        let mut found = Vec::new();
        if copies {
            found.push((LLVMGetOperand(call, 1), size, read));
        }
        found.push((LLVMGetOperand(call, 0), size, write));
        found
    }
}

/// The metadata kind that marks the memory intrinsics of an asynchronous copy.
pub const ASYNC_METADATA: &str = "gpurace.async";

/// Whether a memory intrinsic is an asynchronous copy's.
///
/// # Safety
/// `call` is a live call.
pub unsafe fn is_asynchronous(call: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(call));
        let kind =
            LLVMGetMDKindIDInContext(context, ASYNC_METADATA.as_ptr().cast(), ASYNC_METADATA.len() as u32);
        !LLVMGetMetadata(call, kind).is_null()
    }
}

/// Where an address starts.
unsafe fn base_of(pointer: LLVMValueRef, in_kernel: bool) -> Base {
    // SAFETY: by contract.
    unsafe {
        // A cast from an unknown generic address into a space says the space.
        let says = |value| {
            let by_space = matches!(ir::space_of(value), Some(address_space::SHARED | address_space::GLOBAL));
            let moves = [
                LLVMOpcode::LLVMGetElementPtr,
                LLVMOpcode::LLVMBitCast,
                LLVMOpcode::LLVMAddrSpaceCast,
                LLVMOpcode::LLVMFreeze,
            ];
            by_space && ir::value_opcode(value).is_some_and(|opcode| moves.contains(&opcode))
        };
        let Some(starts) = address::starts(pointer, MOST_STEPS, says) else { return Base::Unknown };
        let bases = starts.into_iter().map(|start| base_of_start(start, in_kernel));
        let common = |known, base| match known {
            known if known == base => known,
            // Two skipped kinds together are still skipped.
            Base::Skip(_) if matches!(base, Base::Skip(_)) => known,
            _ => Base::Unknown,
        };
        bases.reduce(common).unwrap_or(Base::Unknown)
    }
}

unsafe fn base_of_start(value: LLVMValueRef, in_kernel: bool) -> Base {
    // SAFETY: by contract.
    unsafe {
        let by_space = match ir::space_of(value) {
            Some(address_space::SHARED) => Some(Base::Shared),
            Some(address_space::GLOBAL) => Some(Base::Global),
            Some(address_space::CONSTANT) => Some(Base::Skip("constant memory")),
            Some(address_space::LOCAL) => Some(Base::Skip("local memory")),
            Some(address_space::PARAM) => Some(Base::Skip("parameter")),
            _ => None,
        };
        if !LLVMIsAGlobalVariable(value).is_null() && LLVMIsGlobalConstant(value) != 0 {
            return Base::Skip("read-only data");
        }
        match ir::value_opcode(value) {
            Some(LLVMOpcode::LLVMAlloca) => Base::Skip("local memory"),
            Some(LLVMOpcode::LLVMCall)
                if ir::callee(value).is_some_and(|f| ir::name(f) == CONTEXT_FUNCTION) =>
            {
                Base::ThreadContext
            }
            _ if !LLVMIsAArgument(value).is_null() => argument_base(value, in_kernel, by_space),
            _ => by_space.unwrap_or(Base::Unknown),
        }
    }
}

unsafe fn argument_base(argument: LLVMValueRef, in_kernel: bool, by_space: Option<Base>) -> Base {
    // SAFETY: by contract.
    unsafe {
        let function = LLVMGetParamParent(argument);
        let index = ir::params(function).iter().position(|&p| p == argument);
        if index.is_some_and(|index| ir::byval_type(function, index).is_some()) {
            return Base::Skip("parameter");
        }
        match by_space {
            Some(base) => base,
            None if in_kernel => Base::Global,
            None => Base::Unknown,
        }
    }
}
