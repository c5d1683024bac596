//! Device code for an NVIDIA GPU: a module that stays NVPTX, with each kernel bare
//! and checked, and the device runtime ([`gpurace_device`]) linked in.
//!
//! The code is clang's own: inline PTX and NVVM intrinsics stay as they are, and the checks stand
//! beside them. [`hooks`] finds the synchronisation, and the accesses that only inline PTX makes. An
//! access is checked if its address is known before the asm runs ([`asm`] reads the text, [`values`]
//! computes the address); others, and those through textures and surfaces, are counted under the
//! reason [`device::UNSEEN`]. So the module has sites and a description of its own.
//!
//! The result is bitcode. `gclang` runs clang on it in a separate process to make PTX, since LLVM's code
//! generation may end its process. A failure here does not fail a build for the executor.

mod asm;
mod builtins;
mod hooks;
mod kernels;
mod managed;
mod matrix;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;

use gpurace_abi::device;
use gpurace_abi::meta::{ModuleMeta, Skipped};
use gpurace_abi::plugin::{Gpu, PassConfig};
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMStripModuleDebugInfo;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage, LLVMVisibility};

use crate::analysis::reach;
use crate::checks::sites::{self, ConstantMemory};
use crate::codegen::{self, describe, image, object};
use crate::ir;
use crate::ir::address_space;
use crate::ir::modules;
use crate::ir::position::Positions;
use crate::translate::{contraction, managed as variables, shared};

/// For each `__managed__` variable, the cell from which code loads its address.
type Cells = HashMap<LLVMValueRef, LLVMValueRef>;

/// Bytes of static shared memory that a kernel may have on every GPU.
const STATIC_SHARED: u32 = 48 << 10;

/// Writes the GPU module and its description to the files of `gpu`. It consumes `module`.
/// `clusters`: the shape of the clusters of kernels that fix it, by name.
///
/// # Safety
/// `module` is live, prepared and not normalised.
///
/// # Errors
/// The reason why there is no GPU module, for instance a use of memory that the checker cannot follow.
pub unsafe fn write(
    module: LLVMModuleRef,
    config: &PassConfig,
    gpu: &Gpu,
    clusters: &HashMap<String, [u32; 3]>,
) -> Result<(), String> {
    // SAFETY: by contract; `bare` is used up by the linker.
    unsafe {
        refuse(module)?;
        let managed = variables::add_cells(module, address_space::GLOBAL);
        object::drop_lists(module);
        builtins::define(module);
        contraction::settle(module);
        let mut positions = Positions::new(&config.system_prefixes);
        let mut meta = if config.sanitize {
            keep_shared_apart(module);
            let bare = LLVMCloneModule(module);
            stand_alone(bare);
            let meta = check(module, &managed, &mut positions)?;
            image::share_variables(module, bare);
            if LLVMLinkModules2(module, modules::reread(bare)?) != 0 {
                return Err("internal error: the checked and the bare code cannot be linked".to_owned());
            }
            link_runtime(module)?;
            meta
        } else {
            describe_module(module, &[], &managed, &mut positions).0
        };
        for kernel in &mut meta.kernels {
            kernel.cluster = clusters.get(&kernel.name).copied();
        }
        meta.cuda = config.cuda;
        meta.source.clone_from(&config.main_file);
        meta.instrumented = config.sanitize;
        meta.files = positions.into_files();
        managed::replace(&managed);
        forget_processor(module);
        LLVMStripModuleDebugInfo(module);
        modules::verify(module)?;
        modules::write_bitcode(module, &gpu.bitcode)?;
        let text = serde_json::to_string(&meta).map_err(|e| format!("cannot serialise the module: {e}"))?;
        codegen::write(&gpu.meta, text.as_bytes())
    }
}

/// Refuses modules for which the checker on a GPU would give wrong results.
unsafe fn refuse(module: LLVMModuleRef) -> Result<(), String> {
    // SAFETY: by `write`'s contract.
    unsafe {
        let managed = variables::annotated(module, variables::ANNOTATION);
        if managed.iter().any(|&variable| managed::is_in_constant(variable)) {
            return Err(
                "constants that are addresses of `__managed__` variables are not known there".to_owned()
            );
        }
        let names_shared = |global: LLVMValueRef| {
            let initializer = LLVMGetInitializer(global);
            // LLVM's lists of globals to keep do not belong to the program.
            !initializer.is_null()
                && !ir::name(global).starts_with("llvm.")
                && names_shared_memory(initializer)
        };
        if ir::globals(module).any(names_shared) {
            return Err("constants that are addresses of shared memory are not known there".to_owned());
        }
        Ok(())
    }
}

/// True if a constant contains the address of a shared variable, which PTX cannot express.
unsafe fn names_shared_memory(constant: LLVMValueRef) -> bool {
    // SAFETY: by `write`'s contract.
    unsafe {
        if !LLVMIsAGlobalValue(constant).is_null() {
            return LLVMGetPointerAddressSpace(LLVMTypeOf(constant)) == address_space::SHARED;
        }
        ir::operands(constant).into_iter().any(|operand| names_shared_memory(operand))
    }
}

/// Makes the checked variants of `module`'s kernels.
unsafe fn check(
    module: LLVMModuleRef,
    managed: &Cells,
    positions: &mut Positions,
) -> Result<ModuleMeta, String> {
    // SAFETY: by `write`'s contract.
    unsafe {
        // On a GPU, launches are compared with no other operation.
        let mut found = sites::collect(module, positions, ConstantMemory::IsSkipped);
        let hooked = hooks::insert(module, &found.accesses, positions);
        let functions = found.accesses.iter().map(|a| a.function).chain(hooked.functions);
        let functions: Vec<_> = functions.map(|f| ir::name(f)).collect();
        found.sites.extend(hooked.sites);
        let (mut meta, shared) = describe_module(module, &functions, managed, positions);
        meta.sites = found.sites;
        meta.skipped = found.skipped;
        if hooked.unseen > 0 {
            meta.skipped.push(Skipped { reason: device::UNSEEN.to_owned(), count: hooked.unseen });
        }
        let kernels = ir::kernels(module);
        for function in ir::definitions(module) {
            if !kernels.iter().any(|&(k, _)| k == function) {
                make_internal(function);
            }
        }
        for ((&(kernel, threads), meta), shared) in kernels.iter().zip(&meta.kernels).zip(&shared) {
            if meta.shared_static + device::SHARED_CONTROL <= STATIC_SHARED {
                kernels::wrap(module, kernel, threads != 0, shared);
            } else {
                // The checker's shared memory does not fit; the runtime finds only the bare kernel.
                LLVMReplaceAllUsesWith(kernel, LLVMGetPoison(LLVMTypeOf(kernel)));
                LLVMDeleteFunction(kernel);
            }
        }
        Ok(meta)
    }
}

/// Describes the kernels and variables of a module, and lists the shared variables of each kernel in
/// the order of the table [`device::SHARED_SUFFIX`].
unsafe fn describe_module(
    module: LLVMModuleRef,
    site_functions: &[String],
    managed: &Cells,
    positions: &mut Positions,
) -> (ModuleMeta, Vec<Vec<LLVMValueRef>>) {
    // SAFETY: by `write`'s contract.
    unsafe {
        let kernels = ir::kernels(module);
        let functions: Vec<_> = kernels.iter().map(|&(f, _)| f).collect();
        let reach = reach::of_kernels(module, &functions);
        let layout = shared::Layout { managed: managed.clone(), ..shared::lay_out(module, &reach) };
        let meta = ModuleMeta {
            kernels: describe::kernels(module, &kernels, &reach, &layout, site_functions, positions),
            variables: describe::variables(module, &layout).into_iter().map(|(_, meta)| meta).collect(),
            ..ModuleMeta::default()
        };
        let shared = reach.iter().map(|reach| {
            let (mut all, dynamic) = describe::shared_variables(reach, &layout);
            // All dynamic shared arrays begin at the same offset.
            all.extend(dynamic.first());
            all
        });
        (meta, shared.collect())
    }
}

/// Links the device runtime in. Only its kernel, which the host looks up, stays visible.
unsafe fn link_runtime(module: LLVMModuleRef) -> Result<(), String> {
    // SAFETY: by `write`'s contract; the linker takes the parsed module.
    unsafe {
        let runtime = modules::parse_bitcode(ir::context(module), gpurace_device::BITCODE)
            .ok_or("internal error: cannot read the device runtime")?;
        LLVMSetDataLayout(runtime, LLVMGetDataLayoutStr(module));
        LLVMSetTarget(runtime, LLVMGetTarget(module));
        let own: Vec<_> = ir::definitions(runtime).map(|f| ir::name(f)).collect();
        if LLVMLinkModules2(module, runtime) != 0 {
            return Err("internal error: the device runtime cannot be linked".to_owned());
        }
        object::drop_lists(module);
        for name in own.iter().filter(|name| *name != device::BEGIN_KERNEL) {
            let function = LLVMGetNamedFunction(module, ir::c(name).as_ptr());
            if !function.is_null() {
                make_internal(function);
            }
        }
        Ok(())
    }
}

/// Prepares the bare code for the link with the checked code. The linker would drop a function of a
/// group (`comdat`), such as an instance of a template, if the checked code has one of that name.
unsafe fn stand_alone(bare: LLVMModuleRef) {
    // SAFETY: by `write`'s contract.
    unsafe {
        let kernels = ir::kernels(bare);
        for function in ir::definitions(bare) {
            make_internal(function);
            if kernels.iter().any(|&(kernel, _)| kernel == function) {
                LLVMSetLinkage(function, LLVMLinkage::LLVMExternalLinkage);
            }
        }
    }
}

/// Makes shared variables internal: the checked and the bare kernels have their own.
unsafe fn keep_shared_apart(module: LLVMModuleRef) {
    // SAFETY: by `write`'s contract.
    unsafe {
        for variable in ir::globals(module) {
            let is_shared = LLVMGetPointerAddressSpace(LLVMTypeOf(variable)) == address_space::SHARED;
            if is_shared && LLVMIsDeclaration(variable) == 0 {
                make_internal(variable);
            }
        }
    }
}

unsafe fn make_internal(function: LLVMValueRef) {
    // SAFETY: by `write`'s contract.
    unsafe {
        llvm_sys::comdat::LLVMSetComdat(function, std::ptr::null_mut());
        LLVMSetVisibility(function, LLVMVisibility::LLVMDefaultVisibility);
        LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
    }
}

/// Drops the processor attributes of functions. They are all alike, but would keep LLVM from inlining.
unsafe fn forget_processor(module: LLVMModuleRef) {
    // SAFETY: by `write`'s contract.
    unsafe {
        for function in ir::functions(module) {
            for name in ["target-cpu", "target-features"] {
                LLVMRemoveStringAttributeAtIndex(
                    function,
                    LLVMAttributeFunctionIndex,
                    name.as_ptr().cast(),
                    name.len() as u32,
                );
            }
        }
    }
}
