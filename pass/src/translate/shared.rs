//! Variables whose address is known only at run time. A shared variable is an offset from the block's
//! shared memory. A `__managed__` variable belongs to the host program ([`super::managed`]).
//!
//! This module chooses the offsets for a whole module. Variables that one kernel reaches do not overlap;
//! variables of different kernels may. All `extern __shared__` arrays begin where dynamic shared memory
//! begins, as in CUDA.
//!
//! PTX takes shared addresses as 32-bit offsets (`cp.async`, `mbarrier`). So the integer value of a
//! pointer to shared memory is its 32-bit offset from the base. That also holds for the shared memory of
//! other blocks of the cluster, which the executor places near enough.

use std::collections::{HashMap, HashSet};

use gpurace_abi::context::offset;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use crate::analysis::reach::Reach;
use crate::ir::entry_calls::CONTEXT_FUNCTION;
use crate::ir::{self, address_space};

/// The offsets of a module's shared variables, and the cells of its managed ones.
#[derive(Debug, Default)]
pub struct Layout {
    /// The offset of each static variable from the block's base, in bytes.
    pub offsets: HashMap<LLVMValueRef, u32>,
    /// The bytes of static shared memory of each kernel, in the order of the kernels.
    pub static_bytes: Vec<u32>,
    /// The largest alignment of the shared variables of each kernel, or 0.
    pub alignments: Vec<u32>,
    /// For each `__managed__` variable, the global that holds its address.
    pub managed: HashMap<LLVMValueRef, LLVMValueRef>,
}

/// True if a shared variable is `extern __shared__`.
///
/// # Safety
/// `variable` is a live global variable.
pub unsafe fn is_dynamic(variable: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { LLVMIsDeclaration(variable) != 0 }
}

/// Lays out the static shared variables that `kernels` reach.
///
/// # Safety
/// `module` is live and contains the functions that `kernels` reach.
pub unsafe fn lay_out(module: LLVMModuleRef, kernels: &[Reach]) -> Layout {
    let mut layout = Layout::default();
    // SAFETY: by contract.
    unsafe {
        let size = |v: LLVMValueRef| ir::alloc_size(module, LLVMGlobalGetValueType(v)) as u32;
        let alignment = |v: LLVMValueRef| {
            LLVMGetAlignment(v).max(ir::abi_alignment(module, LLVMGlobalGetValueType(v))).max(1)
        };
        for variable in ir::globals(module) {
            if ir::space_of(variable) != Some(address_space::SHARED) || is_dynamic(variable) {
                continue;
            }
            let alignment = alignment(variable);
            // The first offset at which it overlaps no variable that the same kernel reaches.
            let rivals: HashSet<_> = kernels
                .iter()
                .filter(|k| k.shared.contains(&variable))
                .flat_map(|k| k.shared.iter().copied())
                .collect();
            let mut taken: Vec<_> =
                rivals.iter().filter_map(|v| layout.offsets.get(v).map(|&at| (at, at + size(*v)))).collect();
            taken.sort_unstable();
            let mut at = 0u32;
            for (start, end) in taken {
                if at.next_multiple_of(alignment) + size(variable) <= start {
                    break;
                }
                at = at.max(end);
            }
            layout.offsets.insert(variable, at.next_multiple_of(alignment));
        }
        layout.static_bytes = kernels
            .iter()
            .map(|k| {
                let ends = k.shared.iter().filter_map(|v| layout.offsets.get(v).map(|at| at + size(*v)));
                // Dynamic shared memory follows, at a multiple of 16 at least.
                let dynamic = k.shared.iter().filter(|v| is_dynamic(**v)).map(|v| alignment(*v));
                let end = ends.max().unwrap_or(0);
                dynamic.filter(|alignment| *alignment > 16).max().map_or(end, |n| end.next_multiple_of(n))
            })
            .collect();
        let largest = |k: &Reach| k.shared.iter().map(|&v| alignment(v)).max().unwrap_or(0);
        layout.alignments = kernels.iter().map(largest).collect();
    }
    layout
}

/// Replaces the shared variables of `module` by addresses in the block's shared
/// memory, and its managed ones by the addresses that their cells hold.
///
/// # Safety
/// `module` is live and `layout` is its.
///
/// # Errors
/// Names a constant expression that cannot be rewritten.
pub unsafe fn replace(module: LLVMModuleRef, layout: &Layout) -> Result<(), String> {
    // SAFETY: by contract.
    unsafe {
        for function in ir::definitions(module) {
            let mut rewriter = Rewriter::new(module, function, layout);
            for instruction in ir::instructions(function) {
                rewriter.operands(instruction)?;
            }
            for instruction in ir::instructions(function) {
                rewriter.integer_cast(instruction);
            }
            rewriter.finish();
        }
        let is_shared = |&v: &LLVMValueRef| ir::space_of(v) == Some(address_space::SHARED);
        for variable in ir::globals(module).filter(is_shared).collect::<Vec<_>>() {
            LLVMReplaceAllUsesWith(variable, LLVMGetPoison(LLVMTypeOf(variable)));
            LLVMDeleteGlobal(variable);
        }
        Ok(())
    }
}

/// Rewrites one function. It computes the addresses once, at the function's start.
struct Rewriter<'a> {
    module: LLVMModuleRef,
    function: LLVMValueRef,
    layout: &'a Layout,
    builder: LLVMBuilderRef,
    /// The value that replaces each constant, or `None` for a constant that names no shared variable.
    values: HashMap<LLVMValueRef, Option<LLVMValueRef>>,
    base: Option<LLVMValueRef>,
    dynamic: Option<LLVMValueRef>,
    /// Separates the computed addresses from the function's own code.
    marker: LLVMValueRef,
}

impl<'a> Rewriter<'a> {
    /// Marks the place for addresses at the start of a function.
    unsafe fn new(module: LLVMModuleRef, function: LLVMValueRef, layout: &'a Layout) -> Self {
        // SAFETY: by contract; a definition has an entry block with instructions.
        unsafe {
            let context = ir::context(module);
            let builder = LLVMCreateBuilderInContext(context);
            let first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
            LLVMPositionBuilderBefore(builder, first);
            let marker = LLVMBuildAlloca(builder, LLVMInt8TypeInContext(context), c"".as_ptr());
            Self {
                module,
                function,
                layout,
                builder,
                values: HashMap::new(),
                base: None,
                dynamic: None,
                marker,
            }
        }
    }

    /// Removes the mark.
    unsafe fn finish(self) {
        // SAFETY: nothing uses the marker.
        unsafe {
            LLVMInstructionEraseFromParent(self.marker);
            LLVMDisposeBuilder(self.builder);
        }
    }

    /// Replaces the constants among the operands of an instruction.
    unsafe fn operands(&mut self, instruction: LLVMValueRef) -> Result<(), String> {
        // SAFETY: by contract.
        unsafe {
            for (index, operand) in ir::operands(instruction).into_iter().enumerate() {
                if LLVMIsConstant(operand) != 0
                    && let Some(value) = self.value_of(operand)?
                {
                    LLVMSetOperand(instruction, index as u32, value);
                }
            }
            Ok(())
        }
    }

    /// Positions the builder after the addresses computed so far.
    unsafe fn at_start(&self) {
        // SAFETY: by contract.
        unsafe { LLVMPositionBuilderBefore(self.builder, self.marker) }
    }

    /// Loads a field of the thread context at the function's start, before all addresses that may use it.
    unsafe fn pointer_at(&mut self, field: usize) -> LLVMValueRef {
        // SAFETY: by contract; the entry block has the marker.
        unsafe {
            let first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(self.function));
            LLVMPositionBuilderBefore(self.builder, first);
            let context = ir::context(self.module);
            let ptr = LLVMPointerTypeInContext(context, 0);
            let ty = LLVMFunctionType(ptr, std::ptr::null_mut(), 0, 0);
            let name = ir::c(CONTEXT_FUNCTION);
            let mut function = LLVMGetNamedFunction(self.module, name.as_ptr());
            if function.is_null() {
                function = LLVMAddFunction(self.module, name.as_ptr(), ty);
            }
            let address = ir::at_byte(self.builder, ir::call(self.builder, function, &[]), field as i64);
            LLVMBuildLoad2(self.builder, ptr, address, c"shared".as_ptr())
        }
    }

    /// The address of the block's shared memory.
    unsafe fn base(&mut self) -> LLVMValueRef {
        if self.base.is_none() {
            // SAFETY: by contract.
            self.base = Some(unsafe { self.pointer_at(offset::SHARED_BASE) });
        }
        self.base.unwrap_or_else(|| unreachable!())
    }

    /// The value that replaces `constant` in this function, or `None` if the constant names no shared
    /// variable.
    unsafe fn value_of(&mut self, constant: LLVMValueRef) -> Result<Option<LLVMValueRef>, String> {
        if let Some(&known) = self.values.get(&constant) {
            return Ok(known);
        }
        // SAFETY: by contract.
        let value = unsafe { self.rebuild(constant)? };
        self.values.insert(constant, value);
        Ok(value)
    }

    /// Builds what replaces a constant; `None` if it names no shared variable.
    unsafe fn rebuild(&mut self, constant: LLVMValueRef) -> Result<Option<LLVMValueRef>, String> {
        // SAFETY: by contract.
        unsafe {
            if !LLVMIsAGlobalValue(constant).is_null() {
                return match self.variable(constant) {
                    Some(address) => Ok(Some(address)),
                    None => self.table(constant),
                };
            }
            let operands = ir::operands(constant);
            let mut rebuilt = operands.clone();
            let mut any = false;
            for (slot, operand) in rebuilt.iter_mut().zip(operands) {
                if LLVMIsConstant(operand) != 0
                    && let Some(value) = self.value_of(operand)?
                {
                    *slot = value;
                    any = true;
                }
            }
            if !any {
                return Ok(None);
            }
            self.at_start();
            let ty = LLVMTypeOf(constant);
            let (b, no_name) = (self.builder, c"".as_ptr());
            if LLVMIsAConstantExpr(constant).is_null() {
                return Ok(Some(self.aggregate(ty, &rebuilt)));
            }
            let value = match LLVMGetConstOpcode(constant) {
                LLVMOpcode::LLVMGetElementPtr => {
                    let element = LLVMGetGEPSourceElementType(constant);
                    let (base, indices) = rebuilt.split_at_mut(1);
                    LLVMBuildGEP2(b, element, base[0], indices.as_mut_ptr(), indices.len() as u32, no_name)
                }
                LLVMOpcode::LLVMAddrSpaceCast => LLVMBuildAddrSpaceCast(b, rebuilt[0], ty, no_name),
                LLVMOpcode::LLVMBitCast => LLVMBuildBitCast(b, rebuilt[0], ty, no_name),
                LLVMOpcode::LLVMPtrToInt => {
                    let value = LLVMBuildPtrToInt(b, rebuilt[0], ty, no_name);
                    self.integer_cast(value)
                }
                LLVMOpcode::LLVMIntToPtr => {
                    let value = LLVMBuildIntToPtr(b, rebuilt[0], ty, no_name);
                    self.integer_cast(value)
                }
                LLVMOpcode::LLVMTrunc => LLVMBuildTrunc(b, rebuilt[0], ty, no_name),
                LLVMOpcode::LLVMAdd => LLVMBuildAdd(b, rebuilt[0], rebuilt[1], no_name),
                LLVMOpcode::LLVMSub => LLVMBuildSub(b, rebuilt[0], rebuilt[1], no_name),
                LLVMOpcode::LLVMXor => LLVMBuildXor(b, rebuilt[0], rebuilt[1], no_name),
                other => {
                    return Err(format!(
                        "cannot rewrite a constant expression ({other:?}) over a shared variable in `{}`",
                        ir::name(self.function)
                    ));
                }
            };
            Ok(Some(value))
        }
    }

    /// The address of a shared or managed variable.
    unsafe fn variable(&mut self, variable: LLVMValueRef) -> Option<LLVMValueRef> {
        // SAFETY: by contract.
        unsafe {
            let ty = LLVMTypeOf(variable);
            if let Some(&cell) = self.layout.managed.get(&variable) {
                self.at_start();
                let ptr = LLVMPointerTypeInContext(ir::context(self.module), 0);
                let address = LLVMBuildLoad2(self.builder, ptr, cell, c"".as_ptr());
                return Some(LLVMBuildAddrSpaceCast(self.builder, address, ty, c"".as_ptr()));
            }
            if LLVMIsAGlobalVariable(variable).is_null()
                || LLVMGetPointerAddressSpace(ty) != address_space::SHARED
            {
                return None;
            }
            let address = if is_dynamic(variable) {
                if self.dynamic.is_none() {
                    self.dynamic = Some(self.pointer_at(offset::DYNAMIC_SHARED));
                }
                self.dynamic?
            } else {
                let at = i64::from(*self.layout.offsets.get(&variable)?);
                let base = self.base();
                self.at_start();
                ir::at_byte(self.builder, base, at)
            };
            self.at_start();
            Some(LLVMBuildAddrSpaceCast(self.builder, address, ty, c"".as_ptr()))
        }
    }

    /// Builds a copy of a compiler-made table of addresses of shared variables, for instance of the
    /// initialiser of `int* rows[] = {a, b};`. Each block has other addresses, so each thread needs
    /// its own copy.
    unsafe fn table(&mut self, global: LLVMValueRef) -> Result<Option<LLVMValueRef>, String> {
        // SAFETY: by contract.
        unsafe {
            if LLVMIsAGlobalVariable(global).is_null() || LLVMIsGlobalConstant(global) == 0 {
                return Ok(None);
            }
            let initializer = LLVMGetInitializer(global);
            if initializer.is_null() {
                return Ok(None);
            }
            let Some(value) = self.value_of(initializer)? else { return Ok(None) };
            self.at_start();
            let room = LLVMBuildAlloca(self.builder, LLVMTypeOf(value), c"".as_ptr());
            LLVMSetAlignment(room, LLVMGetAlignment(global).max(8));
            LLVMBuildStore(self.builder, value, room);
            Ok(Some(LLVMBuildAddrSpaceCast(self.builder, room, LLVMTypeOf(global), c"".as_ptr())))
        }
    }

    /// Builds a vector, an array or a struct of these elements.
    unsafe fn aggregate(&self, ty: LLVMTypeRef, elements: &[LLVMValueRef]) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let is_vector = matches!(LLVMGetTypeKind(ty), LLVMTypeKind::LLVMVectorTypeKind);
            let int = LLVMInt32TypeInContext(ir::context(self.module));
            let mut value = LLVMGetPoison(ty);
            for (i, &element) in elements.iter().enumerate() {
                value = if is_vector {
                    let index = LLVMConstInt(int, i as u64, 0);
                    LLVMBuildInsertElement(self.builder, value, element, index, c"".as_ptr())
                } else {
                    LLVMBuildInsertValue(self.builder, value, element, i as u32, c"".as_ptr())
                };
            }
            value
        }
    }

    /// Replaces a conversion between a pointer to shared memory and an integer, which is the offset.
    /// Returns the new value; any other cast stays.
    unsafe fn integer_cast(&mut self, cast: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            if LLVMIsAInstruction(cast).is_null() {
                return cast;
            }
            let shared = |v| ir::space_of(v) == Some(address_space::SHARED);
            let operand = match ir::opcode(cast) {
                LLVMOpcode::LLVMPtrToInt | LLVMOpcode::LLVMIntToPtr => LLVMGetOperand(cast, 0),
                _ => return cast,
            };
            let context = ir::context(self.module);
            let (long, byte) = (LLVMInt64TypeInContext(context), LLVMInt8TypeInContext(context));
            let no_name = c"".as_ptr();
            let to_integer = ir::opcode(cast) == LLVMOpcode::LLVMPtrToInt;
            if !shared(if to_integer { operand } else { cast }) {
                return cast;
            }
            let base = self.base();
            LLVMPositionBuilderBefore(self.builder, cast);
            let new = if to_integer {
                // The integer value of a generic pointer is the address.
                let generic = LLVMPointerTypeInContext(context, 0);
                let address = LLVMBuildAddrSpaceCast(self.builder, operand, generic, no_name);
                let address = LLVMBuildPtrToInt(self.builder, address, long, no_name);
                let start = LLVMBuildPtrToInt(self.builder, base, long, no_name);
                let at = LLVMBuildSub(self.builder, address, start, no_name);
                LLVMBuildIntCast2(self.builder, at, LLVMTypeOf(cast), 0, no_name)
            } else {
                // An address has 32 bits (PTX ISA, "Addresses as Operands"). Here it is signed, since
                // other blocks of the cluster may lie on either side.
                let int = LLVMInt32TypeInContext(context);
                let short = LLVMBuildIntCast2(self.builder, operand, int, 0, no_name);
                let mut at = [LLVMBuildIntCast2(self.builder, short, long, 1, no_name)];
                let address = LLVMBuildGEP2(self.builder, byte, base, at.as_mut_ptr(), 1, no_name);
                LLVMBuildAddrSpaceCast(self.builder, address, LLVMTypeOf(cast), no_name)
            };
            LLVMReplaceAllUsesWith(cast, new);
            LLVMInstructionEraseFromParent(cast);
            new
        }
    }
}
