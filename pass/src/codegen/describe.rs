//! The module's description for the runtime: [`gpurace_abi::meta::ModuleMeta`].

use std::collections::HashMap;

use gpurace_abi::meta::{DynamicShared, Elements, KernelMeta, SharedVariable, VariableMeta};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMTypeKind};

use crate::analysis::reach::Reach;
use crate::ir::parameters::argument_layout;
use crate::ir::position::Positions;
use crate::ir::position::source_name;
use crate::ir::{self, address_space};
use crate::translate::{managed, shared};

/// Describes the kernels of a module.
///
/// # Safety
/// `module` is live, without the thread context. `kernels` and `reach` belong to it and have the same order.
/// `layout` was made from `reach`.
pub unsafe fn kernels(
    module: LLVMModuleRef,
    kernels: &[(LLVMValueRef, u32)],
    reach: &[Reach],
    layout: &shared::Layout,
    site_functions: &[String],
    positions: &mut Positions,
) -> Vec<KernelMeta> {
    let mut sites_of: HashMap<&str, Vec<u32>> = HashMap::new();
    for (site, function) in site_functions.iter().enumerate() {
        sites_of.entry(function).or_default().push(site as u32);
    }
    let mut out = Vec::new();
    for (index, (&(kernel, max_threads), reach)) in kernels.iter().zip(reach).enumerate() {
        // SAFETY: by contract.
        unsafe {
            let (params, params_size) = argument_layout(module, kernel);
            let mut sites: Vec<u32> = reach
                .functions
                .iter()
                .filter_map(|&f| sites_of.get(ir::name(f).as_str()))
                .flatten()
                .copied()
                .collect();
            sites.sort_unstable();
            let name = |variable| source_name(&ir::name(variable));
            let (statics, dynamic) = shared_variables(reach, layout);
            let statics = statics.into_iter().map(|variable| SharedVariable {
                name: name(variable),
                offset: layout.offsets[&variable],
                size: ir::alloc_size(module, LLVMGlobalGetValueType(variable)) as u32,
                elements: elements(module, LLVMGlobalGetValueType(variable)),
            });
            let statics = statics.collect();
            let dynamic = dynamic.into_iter().map(|variable| DynamicShared {
                name: name(variable),
                elements: elements(module, LLVMGlobalGetValueType(variable)),
            });
            let mut dynamic: Vec<_> = dynamic.collect();
            dynamic.sort_by(|a, b| a.name.cmp(&b.name));
            out.push(KernelMeta {
                name: ir::name(kernel),
                frame: positions.of_function(kernel),
                params,
                params_size,
                shared_static: layout.static_bytes[index],
                shared_alignment: layout.alignments[index],
                shared: statics,
                dynamic_shared: dynamic,
                sites,
                verdicts: Vec::new(),
                sync: reach.features,
                max_threads,
                stack: u32::try_from(reach.locals).unwrap_or(u32::MAX),
                cluster: None,
                flow: None,
                memory: None,
            });
        }
    }
    out
}

/// The static and the dynamic shared variables that a kernel reaches. The static ones have the order of the
/// description.
///
/// # Safety
/// The module of `reach` and `layout` is live.
pub unsafe fn shared_variables(
    reach: &Reach,
    layout: &shared::Layout,
) -> (Vec<LLVMValueRef>, Vec<LLVMValueRef>) {
    let (mut statics, dynamic): (Vec<_>, Vec<_>) =
        reach.shared.iter().partition(|&variable| layout.offsets.contains_key(variable));
    // SAFETY: by contract.
    statics.sort_by_cached_key(|variable| (layout.offsets[variable], unsafe { ir::name(*variable) }));
    (statics, dynamic)
}

/// The device variables that the host can name: the variable or cell that the table of the image points to,
/// and the description.
///
/// # Safety
/// `module` is live and `layout` is its.
pub unsafe fn variables(module: LLVMModuleRef, layout: &shared::Layout) -> Vec<(LLVMValueRef, VariableMeta)> {
    // SAFETY: by contract.
    unsafe {
        ir::globals(module)
            .filter(|&v| {
                let space = LLVMGetPointerAddressSpace(LLVMTypeOf(v));
                matches!(space, address_space::GLOBAL | address_space::CONSTANT)
                    && LLVMIsDeclaration(v) == 0
                    && !matches!(LLVMGetLinkage(v), LLVMLinkage::LLVMPrivateLinkage)
                    && !ir::name(v).starts_with(managed::CELL)
            })
            .map(|v| {
                let meta = VariableMeta {
                    name: ir::name(v),
                    size: ir::alloc_size(module, LLVMGlobalGetValueType(v)),
                    constant: LLVMGetPointerAddressSpace(LLVMTypeOf(v)) == address_space::CONSTANT,
                    managed: layout.managed.contains_key(&v),
                    frame: None,
                    elements: elements(module, LLVMGlobalGetValueType(v)),
                };
                (layout.managed.get(&v).copied().unwrap_or(v), meta)
            })
            .collect()
    }
}

/// The elements of an array type; none of another type.
///
/// # Safety
/// `module` is live and `ty` is its.
unsafe fn elements(module: LLVMModuleRef, mut ty: LLVMTypeRef) -> Elements {
    let mut dimensions = Vec::new();
    // SAFETY: by contract.
    unsafe {
        while matches!(LLVMGetTypeKind(ty), LLVMTypeKind::LLVMArrayTypeKind) {
            dimensions.push(LLVMGetArrayLength2(ty));
            ty = LLVMGetElementType(ty);
        }
        let size = if dimensions.is_empty() { 0 } else { ir::alloc_size(module, ty) };
        Elements { dimensions, size }
    }
}
