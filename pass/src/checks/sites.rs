//! Sites: the instructions of a module that access memory which threads may share. This module
//! finds them and changes nothing.
//!
//! # What is a site
//! Every load, store, `atomicrmw`, `cmpxchg`, and `memcpy` / `memmove` / `memset`
//! intrinsic (one site per side). Inline PTX and NVVM intrinsics have become
//! such instructions by now ([`crate::translate`]).
//!
//! # What is skipped, and why that is safe
//! An access is left out only if its address provably lies in memory that no other thread can write
//! or reach. Each is counted under its reason:
//! * *local memory*: the address starts at an `alloca`. No CUDA thread can access another one's
//!   locals.
//! * *parameter*: it starts at a `byval` parameter or in the parameter space, which is the thread's
//!   own copy.
//! * *constant memory*: it starts at a variable in constant memory that the host cannot name. A variable that it can
//!   name is skipped where launches are compared with nothing else ([`ConstantMemory`]): kernels cannot write it.
//! * *annotated*: the source marks its function as not to be checked
//!   ([`crate::checks::annotations`]). Only this reason rests on the user's word. An atomic access
//!   keeps its check, which also gives the checker its order.
//! * *read-only data*: it starts at an LLVM `constant` (tables, strings).
//!
//! # Address spaces
//! The start of the address gives the space: a shared variable, a device variable, or a kernel's
//! pointer parameter, which is global since the host cannot name shared or local memory. Any other
//! address is generic, and the runtime finds its space.
//!
//! # Asynchronous copies
//! `cp.async` has become a `memcpy`, and a `memset` for the bytes that it fills with zeros. Both
//! carry [`ASYNC_METADATA`]: they access memory until a thread waits for them.
//!
//! # Strong vectors
//! A strong vector access of PTX is one instruction, with [`atomics::ELEMENTS_METADATA`], and one
//! access for each of its elements.
//!
//! # Atomics and `volatile`
//! Atomic instructions carry scope and order ([`crate::translate::atomics`]). A `volatile` access
//! is relaxed at system scope by PTX's rules, and plain by CUDA C++'s: it can carry an order, and
//! it can race.

use std::collections::{HashMap, HashSet};

use gpurace_abi::meta::{Op, PointerPlace, Site, Skipped, Space, Verdict};
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};

use crate::analysis::address;
use crate::checks::annotations;
use crate::ir::debug_info;
use crate::ir::entry_calls::CONTEXT_FUNCTION;
use crate::ir::position::{Positions, source_name};
use crate::ir::{self, address_space};
use crate::translate::atomics;

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

/// An access of the module.
#[derive(Clone, Copy, Debug)]
pub struct AccessSite {
    /// The instruction.
    pub instruction: LLVMValueRef,
    /// The function it is in.
    pub function: LLVMValueRef,
    /// A pointer; the access begins [`Self::offset`] bytes behind it.
    pub pointer: LLVMValueRef,
    /// Bytes from [`Self::pointer`] to the first byte of the access. 0 except for the elements of a strong vector.
    pub offset: u64,
    /// Bytes; 0 if they are not constant.
    pub size: u64,
    /// How it is checked.
    pub access: Access,
}

/// All accesses of a module. `sites[i]` describes `accesses[i]`.
#[derive(Debug, Default)]
pub struct Sites {
    /// For the instrumentation.
    pub accesses: Vec<AccessSite>,
    /// For the module description.
    pub sites: Vec<Site>,
    /// How many accesses were left out, by reason.
    pub skipped: Vec<Skipped>,
}

/// The reason to skip a read of constant memory.
const CONSTANT_MEMORY: &str = "constant memory";

/// Most values that an address is followed through.
const MOST_STEPS: usize = 64;

/// The memory that an address starts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Shared,
    Global,
    /// A variable in constant memory that the host can name.
    Constant,
    Skip(&'static str),
    /// The thread context, which holds the special registers.
    ThreadContext,
    Unknown,
}

/// What becomes of reads of variables in constant memory that the host can name. Only an operation beside the launch
/// can write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstantMemory {
    /// They are sites.
    IsChecked,
    /// They are skipped.
    IsSkipped,
}

/// Finds the accesses of `module`.
///
/// # Safety
/// `module` is live and normalised.
pub unsafe fn collect(module: LLVMModuleRef, positions: &mut Positions, constants: ConstantMemory) -> Sites {
    let mut out = Sites::default();
    let mut skipped: HashMap<&'static str, u32> = HashMap::new();
    // SAFETY: by contract.
    unsafe {
        let kernels: HashSet<_> = ir::kernels(module).into_iter().map(|(f, _)| f).collect();
        for function in ir::definitions(module) {
            let is_kernel = kernels.contains(&function);
            for instruction in ir::instructions(function) {
                for FoundAccess { pointer, offset, size, access } in accesses_of(module, instruction) {
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
                        Base::Constant if constants == ConstantMemory::IsSkipped => {
                            *skipped.entry(CONSTANT_MEMORY).or_default() += 1;
                            continue;
                        }
                        Base::Shared => Space::Shared,
                        Base::Global | Base::Constant => Space::Global,
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
                    out.accesses.push(AccessSite { instruction, function, pointer, offset, size, access });
                    out.sites.push(Site {
                        op,
                        size: u32::try_from(size).unwrap_or(0),
                        space,
                        volatile,
                        asynchronous,
                        frames: positions.of_instruction(instruction),
                        parameter: if is_kernel { parameter_of(module, function, pointer) } else { None },
                        variable: variable_of(pointer),
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

/// An access that an instruction makes; the fields are those of [`AccessSite`].
struct FoundAccess {
    pointer: LLVMValueRef,
    offset: u64,
    size: u64,
    access: Access,
}

/// The accesses that one instruction makes.
unsafe fn accesses_of(module: LLVMModuleRef, instruction: LLVMValueRef) -> Vec<FoundAccess> {
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
                let pointer = LLVMGetOperand(instruction, 0);
                vec![FoundAccess { pointer, offset: 0, size: sized(value), access }]
            }
            LLVMOpcode::LLVMCall if !debug_info::is_debug_call(instruction) => {
                memory_intrinsic_accesses(instruction)
            }
            _ => Vec::new(),
        }
    }
}

/// The accesses that a load or store of `size` bytes makes: one, or one for each element of a
/// strong vector.
unsafe fn by_element(
    instruction: LLVMValueRef,
    pointer: LLVMValueRef,
    size: u64,
    access: Access,
) -> Vec<FoundAccess> {
    // SAFETY: by contract.
    let count = unsafe { atomics::elements(instruction) }.max(1);
    let bytes = size / count;
    (0..count).map(|i| FoundAccess { pointer, offset: i * bytes, size: bytes, access }).collect()
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

unsafe fn memory_intrinsic_accesses(call: LLVMValueRef) -> Vec<FoundAccess> {
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
        let side =
            |operand, access| FoundAccess { pointer: LLVMGetOperand(call, operand), offset: 0, size, access };
        if copies { vec![side(1, read), side(0, write)] } else { vec![side(0, write)] }
    }
}

/// The metadata kind that marks the memory intrinsics of an asynchronous copy.
pub const ASYNC_METADATA: &str = "gpurace.async";

/// True for a memory intrinsic of an asynchronous copy.
///
/// # Safety
/// `call` is a live call.
pub unsafe fn is_asynchronous(call: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { ir::metadata(call, ASYNC_METADATA).is_some() }
}

/// The place in a kernel's arguments of the pointer that is the only start of an address: a parameter, or a field of a
/// struct that is passed by value.
unsafe fn parameter_of(
    module: LLVMModuleRef,
    kernel: LLVMValueRef,
    pointer: LLVMValueRef,
) -> Option<PointerPlace> {
    // SAFETY: by contract.
    unsafe {
        let &[start] = &address::starts(pointer, MOST_STEPS, |_| false)?[..] else { return None };
        let parameters = ir::params(kernel);
        if let Some(index) = parameters.iter().position(|&parameter| parameter == start) {
            return Some(PointerPlace { index: u32::try_from(index).ok()?, offset: 0 });
        }
        address::field_of_argument(module, kernel, start)
    }
}

/// The shared or device variable that is the only start of an address.
unsafe fn variable_of(pointer: LLVMValueRef) -> Option<String> {
    // SAFETY: by contract.
    unsafe {
        let starts = address::starts(pointer, MOST_STEPS, |_| false)?;
        let &[start] = &starts[..] else { return None };
        let is_variable = !LLVMIsAGlobalVariable(start).is_null()
            && matches!(
                ir::space_of(start),
                Some(address_space::SHARED | address_space::GLOBAL | address_space::CONSTANT)
            );
        is_variable.then(|| source_name(&ir::name(start)))
    }
}

/// The memory that an address starts in.
unsafe fn base_of(pointer: LLVMValueRef, in_kernel: bool) -> Base {
    // SAFETY: by contract.
    unsafe {
        // A cast from an unknown generic address into a space gives the space.
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
            // An address that is in one of several skipped kinds of memory is skipped too.
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
            Some(address_space::CONSTANT) if ir::is_constant_of_host(value) => Some(Base::Constant),
            Some(address_space::CONSTANT) => Some(Base::Skip(CONSTANT_MEMORY)),
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
