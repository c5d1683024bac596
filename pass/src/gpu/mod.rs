//! Device code for an NVIDIA GPU: a module that stays NVPTX, with each kernel bare
//! and checked, and the device runtime ([`gpurace_device`]) linked in.
//!
//! The code is clang's own: inline PTX and NVVM intrinsics stay as they are, and
//! the checks stand beside them. [`hooks`] finds what synchronises, and accesses that only inline PTX makes: those
//! whose address is known before the asm runs are checked ([`asm`] reads the text, [`values`] works the address out), the others
//! counted under the reason [`device::UNSEEN`]. Accesses through textures and surfaces ([`fetches`]) are told of, likewise. So the module has sites and a description of its own.
//!
//! What is written is bitcode; `gclang` has clang make PTX of it in a process of
//! its own, since LLVM's code generation ends the process where it cannot go on,
//! and a failure here must not fail a build for the executor.

mod asm;
mod builtins;
mod fetches;
mod hooks;
mod kernels;
mod managed;
mod matrix;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;

use gpurace_abi::device;
use gpurace_abi::gpu_code::Arch;
use gpurace_abi::meta::{ModuleMeta, Skipped};
use llvm_sys::bit_writer::LLVMWriteBitcodeToFile;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMStripModuleDebugInfo;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage, LLVMVisibility};

use crate::config::{Config, Gpu};
use crate::ir::address_space;
use crate::lower::{codegen, image, shared};
use crate::position::Positions;
use crate::{describe, instrument, ir, lower, reach, sites};

/// Of `__managed__` variables, where code finds their addresses.
type Cells = HashMap<LLVMValueRef, LLVMValueRef>;

/// Static shared memory of one kernel, bytes, on every GPU.
const STATIC_SHARED: u32 = 48 << 10;

/// Writes the GPU module and its description where `gpu` says. `module` is used up. `clusters`: blocks of a cluster, of kernels that
/// say so, by name.
///
/// # Safety
/// `module` is live, prepared and not normalised.
///
/// # Errors
/// Why there is none: something of the module that the GPU's checker does not know.
pub unsafe fn write(
    module: LLVMModuleRef,
    config: &Config,
    gpu: &Gpu,
    clusters: &HashMap<String, [u32; 3]>,
) -> Result<(), String> {
    // SAFETY: by contract; `bare` is used up by the linker.
    unsafe {
        refuse(module)?;
        let managed = lower::managed::add_cells(module, address_space::GLOBAL);
        codegen::drop_lists(module);
        builtins::define(module);
        codegen::settle_contraction(module);
        let mut positions = Positions::new(&config.system_prefixes);
        let mut meta = if config.sanitize {
            keep_shared_apart(module);
            let bare = LLVMCloneModule(module);
            stand_alone(bare);
            let meta = check(module, &managed, &mut positions)?;
            image::share_variables(module, bare);
            if LLVMLinkModules2(module, lower::reread(bare)?) != 0 {
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
        meta.source.clone_from(&config.main_file);
        meta.instrumented = config.sanitize;
        meta.files = positions.into_files();
        managed::replace(&managed);
        forget_processor(module);
        LLVMStripModuleDebugInfo(module);
        lower::verify(module)?;
        if LLVMWriteBitcodeToFile(module, ir::c(&gpu.bitcode).as_ptr()) != 0 {
            return Err(format!("cannot write `{}`", gpu.bitcode));
        }
        let text = serde_json::to_string(&meta).map_err(|e| format!("cannot serialise the module: {e}"))?;
        crate::write(&gpu.meta, text.as_bytes())
    }
}

/// What the checker on the GPU would get wrong is not built.
unsafe fn refuse(module: LLVMModuleRef) -> Result<(), String> {
    // SAFETY: by `write`'s contract.
    unsafe {
        let managed = lower::managed::annotated(module, lower::managed::ANNOTATION);
        if managed.iter().any(|&variable| managed::is_in_constant(variable)) {
            return Err(
                "constants that are addresses of `__managed__` variables are not known there".to_owned()
            );
        }
        let names_shared = |global: LLVMValueRef| {
            let initializer = LLVMGetInitializer(global);
            // LLVM's own lists of what is to be kept are none of the program's.
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

/// Whether the address of a shared variable is part of a constant, which PTX cannot say.
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
        let mut found = sites::collect(module, positions);
        let hooked = hooks::insert(module, found.sites.len(), positions);
        instrument::insert_checks(module, &found.accesses, &Default::default());
        let functions = found.accesses.iter().map(|a| a.function).chain(hooked.functions);
        let functions: Vec<_> = functions.map(|f| ir::name(f)).collect();
        found.sites.extend(hooked.sites);
        let (mut meta, shared) = describe_module(module, &functions, managed, positions);
        meta.sites = found.sites;
        meta.skipped = found.skipped;
        for (reason, count) in [(device::UNSEEN, hooked.unseen), (device::FETCHES, hooked.fetches)] {
            if count > 0 {
                meta.skipped.push(Skipped { reason: reason.to_owned(), count });
            }
        }
        for kernel in &mut meta.kernels {
            // One launch-wide question: can anything here release to another block?
            kernel.sync.fences |= kernel.sync.clusters;
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
                // No room for the checker's part; the runtime finds only the bare one.
                LLVMReplaceAllUsesWith(kernel, LLVMGetPoison(LLVMTypeOf(kernel)));
                LLVMDeleteFunction(kernel);
            }
        }
        Ok(meta)
    }
}

/// The kernels and variables of a module, and of each kernel the shared variables, as [`device::SHARED_SUFFIX`]'s table has them.
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
            // Dynamic ones all begin at one place.
            all.extend(dynamic.first());
            all
        });
        (meta, shared.collect())
    }
}

/// Whether the module is for an architecture with clusters of blocks.
unsafe fn has_clusters(module: LLVMModuleRef) -> bool {
    // SAFETY: by `write`'s contract.
    unsafe {
        ir::definitions(module).any(|function| {
            let (name, length) = ("target-cpu", "target-cpu".len() as u32);
            let attribute = LLVMGetStringAttributeAtIndex(
                function,
                LLVMAttributeFunctionIndex,
                name.as_ptr().cast(),
                length,
            );
            if attribute.is_null() {
                return false;
            }
            let mut length = 0;
            let value = LLVMGetStringAttributeValue(attribute, &mut length);
            let value = std::slice::from_raw_parts(value.cast::<u8>(), length as usize);
            std::str::from_utf8(value).ok().and_then(Arch::of_name).is_some_and(|arch| arch.number >= 90)
        })
    }
}

/// Links the device runtime in; of it, only what the host looks for keeps its name.
unsafe fn link_runtime(module: LLVMModuleRef) -> Result<(), String> {
    // SAFETY: by `write`'s contract; the linker takes the parsed module.
    unsafe {
        let bitcode =
            if has_clusters(module) { gpurace_device::BITCODE_OF_CLUSTERS } else { gpurace_device::BITCODE };
        let runtime = lower::parse_bitcode(ir::context(module), bitcode)
            .ok_or("internal error: cannot read the device runtime")?;
        LLVMSetDataLayout(runtime, LLVMGetDataLayoutStr(module));
        LLVMSetTarget(runtime, LLVMGetTarget(module));
        let own: Vec<_> = ir::definitions(runtime).map(|f| ir::name(f)).collect();
        if LLVMLinkModules2(module, runtime) != 0 {
            return Err("internal error: the device runtime cannot be linked".to_owned());
        }
        codegen::drop_lists(module);
        for name in own.iter().filter(|n| ![device::BEGIN_KERNEL, device::TOUCH_KERNEL].contains(&&n[..])) {
            let function = LLVMGetNamedFunction(module, ir::c(name).as_ptr());
            if !function.is_null() {
                make_internal(function);
            }
        }
        Ok(())
    }
}

/// Readies the bare code for the link with the checked one. Of functions in groups (`comdat`), as those of templates are,
/// the linker would leave out what the checked code has under the same name.
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

/// Gives shared variables names that the checked and the bare code can both have: each kernel has its own.
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

/// One module, one processor: what functions say of it keeps LLVM from inlining.
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
