//! Entries of kernels, and the only symbol that a host image exports: the table
//! [`gpurace_abi::image::ImageTable`].

use std::ffi::c_uint;

use gpurace_abi::image::{FORMAT_VERSION, IMAGE_NEEDS_X86_64_V3, IMAGE_SYMBOL};
use gpurace_abi::meta::VariableMeta;
use llvm_sys::comdat::LLVMSetComdat;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMVisibility};

use super::open;
use crate::analysis::reach;
use crate::blocks::entries::{BLOCK_ENTRY, BlockKernel, CHECKED_BLOCK_ENTRY};
use crate::ir::parameters::{copy_by_value, load_arguments};
use crate::ir::{self, address_space};
use crate::translate::managed;

/// Prefix of the symbol of a kernel's entry, with checks where the module has any.
pub const ENTRY: &str = "gpurace.entry.";
/// Prefix of the symbol of a kernel's entry without checks.
pub const BARE_ENTRY: &str = "gpurace.bare_entry.";

/// Adds the entries of `kernels`, functions with the thread context as first
/// parameter.
///
/// # Safety
/// `module` is live; the kernels are its.
pub unsafe fn add_entries(module: LLVMModuleRef, kernels: &[&str], prefix: &str) {
    // SAFETY: by contract.
    unsafe {
        for kernel in kernels {
            let function = LLVMGetNamedFunction(module, ir::c(kernel).as_ptr());
            entry(module, function, &format!("{prefix}{kernel}"));
        }
    }
}

/// Lets `bare`, a copy of `module`, use the device variables of `module` once the two are linked.
///
/// # Safety
/// Both modules are live.
pub unsafe fn share_variables(module: LLVMModuleRef, bare: LLVMModuleRef) {
    // SAFETY: by contract.
    unsafe {
        let variables = ir::globals(bare).filter(|&v| {
            let managed_cell = ir::name(v).starts_with(managed::CELL);
            let device = matches!(
                LLVMGetPointerAddressSpace(LLVMTypeOf(v)),
                address_space::GLOBAL | address_space::CONSTANT
            );
            // The table of a class whose virtual functions are defined outside of it is in no group.
            let is_known_outside = LLVMGetLinkage(v) == LLVMLinkage::LLVMExternalLinkage;
            (managed_cell || device || is_known_outside)
                && LLVMIsDeclaration(v) == 0
                && !matches!(LLVMGetLinkage(v), LLVMLinkage::LLVMPrivateLinkage)
        });
        for variable in variables {
            let original = LLVMGetNamedGlobal(module, ir::c(&ir::name(variable)).as_ptr());
            if original.is_null() {
                continue;
            }
            for (global, keep) in [(original, true), (variable, false)] {
                LLVMSetComdat(global, std::ptr::null_mut());
                LLVMSetLinkage(global, LLVMLinkage::LLVMExternalLinkage);
                if !keep {
                    LLVMSetInitializer(global, std::ptr::null_mut());
                }
            }
        }
    }
}

/// Gives each function of `bare`, a copy of `module`, the address that it has in `module`, once the two are linked.
/// A thread may keep the address, also in an object, and a checked launch call it later. Direct calls stay in `bare`,
/// and so do `kernels`: no thread calls them, and only annotations name their addresses.
///
/// # Safety
/// Both modules are live. Functions have the thread context, and kernels have no entries yet.
pub unsafe fn share_addresses(module: LLVMModuleRef, bare: LLVMModuleRef, kernels: &[&str]) {
    // SAFETY: by contract; calls stay live, and each gets its own callee back.
    unsafe {
        let functions: Vec<_> = ir::definitions(bare).filter(|&f| reach::is_address_taken(f)).collect();
        for function in functions {
            let name = ir::name(function);
            let original = LLVMGetNamedFunction(module, ir::c(&name).as_ptr());
            if kernels.contains(&&*name) || original.is_null() || LLVMIsDeclaration(original) != 0 {
                continue;
            }
            LLVMSetComdat(original, std::ptr::null_mut());
            LLVMSetLinkage(original, LLVMLinkage::LLVMExternalLinkage);
            let mut calls = ir::users(function);
            calls.retain(|&user| !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == function);
            LLVMSetValueName2(function, c"".as_ptr(), 0);
            let shared = LLVMAddFunction(bare, ir::c(&name).as_ptr(), LLVMGlobalGetValueType(function));
            LLVMReplaceAllUsesWith(function, shared);
            for call in calls {
                // The callee is the last operand.
                LLVMSetOperand(call, LLVMGetNumOperands(call).cast_unsigned() - 1, function);
            }
        }
    }
}

/// Adds the table of `kernels`, which have their entries already, and of `variables`, each with the
/// symbol that its table entry addresses.
///
/// # Safety
/// `module` is live; kernels and variables are its.
pub unsafe fn add_table(
    module: LLVMModuleRef,
    kernels: &[&str],
    of_blocks: &[BlockKernel],
    of_checked_blocks: &[BlockKernel],
    variables: &[(&str, &VariableMeta)],
    v3: bool,
) {
    // SAFETY: by contract.
    unsafe {
        let context = ir::context(module);
        let ptr = LLVMPointerTypeInContext(context, 0);
        let (i32, i64) = (LLVMInt32TypeInContext(context), LLVMInt64TypeInContext(context));
        let kernel_type =
            struct_type(context, &mut [ptr, ptr, ptr, ptr, i64, i64, ptr, i64, i64, ptr, ptr, i64, i64]);
        let variable_type = struct_type(context, &mut [ptr, ptr, i64]);
        let table_type = struct_type(context, &mut [i32, i32, i64, ptr, i64, ptr]);

        let kernel_entries: Vec<_> = kernels
            .iter()
            .map(|kernel| {
                let mut fields = kernel_fields(module, kernel, of_blocks, of_checked_blocks);
                LLVMConstNamedStruct(kernel_type, fields.as_mut_ptr(), fields.len() as c_uint)
            })
            .collect();
        let variable_entries: Vec<_> = variables
            .iter()
            .map(|&(symbol, meta)| {
                let size = LLVMConstInt(i64, meta.size, 0);
                let global = LLVMGetNamedGlobal(module, ir::c(symbol).as_ptr());
                let mut fields = [string(module, &meta.name), generic(context, global), size];
                LLVMConstNamedStruct(variable_type, fields.as_mut_ptr(), 3)
            })
            .collect();
        let flags = if v3 { IMAGE_NEEDS_X86_64_V3 } else { 0 };
        let mut fields = [
            LLVMConstInt(i32, u64::from(FORMAT_VERSION), 0),
            LLVMConstInt(i32, u64::from(flags), 0),
            LLVMConstInt(i64, kernels.len() as u64, 0),
            array(module, kernel_type, kernel_entries),
            LLVMConstInt(i64, variables.len() as u64, 0),
            array(module, variable_type, variable_entries),
        ];
        let table = LLVMAddGlobal(module, table_type, ir::c(IMAGE_SYMBOL).as_ptr());
        LLVMSetInitializer(
            table,
            LLVMConstNamedStruct(table_type, fields.as_mut_ptr(), fields.len() as c_uint),
        );
        LLVMSetLinkage(table, LLVMLinkage::LLVMExternalLinkage);
        LLVMSetVisibility(table, LLVMVisibility::LLVMDefaultVisibility);
    }
}

/// The fields of a kernel in the table.
unsafe fn kernel_fields(
    module: LLVMModuleRef,
    kernel: &str,
    of_blocks: &[BlockKernel],
    of_checked_blocks: &[BlockKernel],
) -> [LLVMValueRef; 13] {
    // SAFETY: by contract.
    unsafe {
        let context = ir::context(module);
        let i64 = LLVMInt64TypeInContext(context);
        let open = open::symbol(kernel);
        let entry = |prefix: &str, kernel: &str| {
            let symbol = ir::c(&format!("{prefix}{kernel}"));
            let function = LLVMGetNamedFunction(module, symbol.as_ptr());
            if function.is_null() { LLVMConstNull(LLVMPointerTypeInContext(context, 0)) } else { function }
        };
        let number = |of_blocks: &[BlockKernel], name: &str, what: fn(&BlockKernel) -> u64| {
            let of_block = of_blocks.iter().find(|b| b.name == name);
            LLVMConstInt(i64, of_block.map_or(0, what), 0)
        };
        let mut own =
            of_blocks.iter().chain(of_checked_blocks).filter(|b| b.name == kernel || b.name == open);
        let needs_whole_warps = own.any(|b| b.needs_whole_warps);
        [
            string(module, kernel),
            entry(ENTRY, kernel),
            entry(BARE_ENTRY, kernel),
            entry(BLOCK_ENTRY, kernel),
            number(of_blocks, kernel, |b| b.thread_bytes),
            LLVMConstInt(i64, needs_whole_warps.into(), 0),
            entry(CHECKED_BLOCK_ENTRY, kernel),
            number(of_checked_blocks, kernel, |b| b.thread_bytes),
            number(of_checked_blocks, kernel, |b| b.sets_threads.into()),
            entry(ENTRY, &open),
            entry(CHECKED_BLOCK_ENTRY, &open),
            number(of_checked_blocks, &open, |b| b.thread_bytes),
            number(of_checked_blocks, &open, |b| b.sets_threads.into()),
        ]
    }
}

unsafe fn struct_type(context: LLVMContextRef, fields: &mut [LLVMTypeRef]) -> LLVMTypeRef {
    // SAFETY: by contract.
    unsafe {
        let ty = LLVMStructCreateNamed(context, c"".as_ptr());
        LLVMStructSetBody(ty, fields.as_mut_ptr(), fields.len() as c_uint, 0);
        ty
    }
}

unsafe fn private(module: LLVMModuleRef, ty: LLVMTypeRef, value: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let global = LLVMAddGlobal(module, ty, c"".as_ptr());
        LLVMSetInitializer(global, value);
        LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
        global
    }
}

unsafe fn string(module: LLVMModuleRef, text: &str) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let value = LLVMConstStringInContext2(ir::context(module), text.as_ptr().cast(), text.len(), 0);
        let global = private(module, LLVMTypeOf(value), value);
        LLVMSetGlobalConstant(global, 1);
        global
    }
}

unsafe fn array(module: LLVMModuleRef, ty: LLVMTypeRef, mut entries: Vec<LLVMValueRef>) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let value = LLVMConstArray2(ty, entries.as_mut_ptr(), entries.len() as u64);
        private(module, LLVMTypeOf(value), value)
    }
}

/// The address of a variable as a generic pointer.
unsafe fn generic(context: LLVMContextRef, variable: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let ptr = LLVMPointerTypeInContext(context, 0);
        if LLVMTypeOf(variable) == ptr { variable } else { LLVMConstAddrSpaceCast(variable, ptr) }
    }
}

/// `void entry(ptr context, ptr arguments)`: loads the kernel's arguments and
/// calls it.
unsafe fn entry(module: LLVMModuleRef, kernel: LLVMValueRef, name: &str) {
    // SAFETY: by contract.
    unsafe {
        let context = ir::context(module);
        let ptr = LLVMPointerTypeInContext(context, 0);
        let ty = LLVMFunctionType(LLVMVoidTypeInContext(context), [ptr, ptr].as_mut_ptr(), 2, 0);
        let function = LLVMAddFunction(module, ir::c(name).as_ptr(), ty);
        ir::mark_function(function, "nounwind");
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, c"".as_ptr()));
        let arguments = load_arguments(module, builder, function, kernel);
        let call = ir::call(builder, kernel, &arguments);
        copy_by_value(kernel, call);
        LLVMBuildRetVoid(builder);
        LLVMDisposeBuilder(builder);
    }
}
