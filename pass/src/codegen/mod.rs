//! From normalised device IR to an object file for the host.
//!
//! [`to_object`] gives every function the thread context as a hidden first parameter
//! ([`thread_context`]), turns shared variables into offsets from the block's base ([`shared`]),
//! gives kernels their entries and a table ([`image`], [`entries`]), and has LLVM make a host
//! object of the module ([`object`]). [`part`] keeps separately compiled device code for the link.

pub mod describe;
pub mod image;
pub mod object;
pub mod open;
pub mod part;
pub mod yields;

use std::path::Path;

use gpurace_abi::meta::{KernelMeta, VariableMeta};
use gpurace_abi::plugin::{Cpu, PassConfig};
use inkwell::targets::TargetMachine;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;

use crate::analysis::reach;
use crate::blocks::entries;
use crate::blocks::entries::Checks;
use crate::ir;
use crate::ir::modules::{reread, verify};
use crate::ir::position::Positions;
use crate::translate::{managed, nvvm, shared, thread_context};

/// Lowers a normalised module and writes it as a host object. Returns the descriptions of kernels and device variables.
///
/// `bare` is the same module without checks. With it, each kernel gets a second entry, which runs the bare code. A
/// kernel with `proved` sites gets a third one, for its open code ([`open`]).
///
/// # Safety
/// The modules are live and of one context. This function disposes of `bare`. The caller may only dispose of `module`
/// afterwards.
///
/// # Errors
/// A message that names what could not be done.
pub unsafe fn to_object(
    module: LLVMModuleRef,
    bare: Option<LLVMModuleRef>,
    config: &PassConfig,
    site_functions: &[String],
    proved: &open::ProvedSites,
    positions: &mut Positions,
) -> Result<(Vec<KernelMeta>, Vec<VariableMeta>), String> {
    let machine = object::machine(config.cpu, config.opt_level)?;
    // SAFETY: by contract; linking disposes of `bare`.
    unsafe {
        for code in std::iter::once(module).chain(bare) {
            nvvm::make_shifts_total(code);
        }
        let checks = if bare.is_some() { Checks::Kept } else { Checks::None };
        let lowered = lower_functions(module, &machine, checks, |module, kernels, reach, layout| {
            describe::kernels(module, kernels, reach, layout, site_functions, positions)
        })?;
        let metas = lowered.described;
        let names: Vec<_> = metas.iter().map(|k| k.name.as_str()).collect();
        image::add_entries(module, &names, image::ENTRY);
        let (of_blocks, of_checked_blocks);
        if let Some(bare) = bare {
            let open = open::add_functions(module, &names, proved);
            let symbols: Vec<_> = open.iter().map(|kernel| open::symbol(kernel)).collect();
            let of_open = lowered.of_blocks.iter().filter(|of| open.contains(&of.name));
            let of_open = of_open.map(|of| of.with_name(open::symbol(&of.name)));
            image::add_entries(module, &symbols.iter().map(|s| s.as_str()).collect::<Vec<_>>(), image::ENTRY);
            let candidates: Vec<_> = lowered.of_blocks.iter().cloned().chain(of_open).collect();
            of_checked_blocks = entries::add_entries(module, &candidates);
            let lowered = lower_functions(bare, &machine, Checks::None, |_, _, _, _| ())?;
            image::share_addresses(module, bare, &names);
            image::add_entries(bare, &names, image::BARE_ENTRY);
            of_blocks = entries::add_entries(bare, &lowered.of_blocks);
            image::share_variables(module, bare);
            if LLVMLinkModules2(module, reread(bare)?) != 0 {
                return Err("internal error: the checked and the bare code cannot be linked".to_owned());
            }
        } else {
            of_blocks = entries::add_entries(module, &lowered.of_blocks);
            of_checked_blocks = Vec::new();
        }
        let (addresses, variables): (Vec<_>, Vec<_>) = lowered.variables.into_iter().unzip();
        let table: Vec<_> = addresses.iter().map(|name| name.as_str()).zip(&variables).collect();
        image::add_table(module, &names, &of_blocks, &of_checked_blocks, &table, config.cpu == Cpu::V3);
        object::internalise(module);
        object::keep_frame_pointers(module);
        verify(module)?;
        object::emit(module, &machine, config.opt_level, &config.object)?;
        Ok((metas, variables))
    }
}

/// The result of [`lower_functions`].
struct Lowered<T> {
    /// The descriptions of the kernels.
    described: T,
    /// Device variables: the symbol that their table entry addresses, and their
    /// description.
    variables: Vec<(String, VariableMeta)>,
    /// The kernels that may get a block entry.
    of_blocks: Vec<entries::BlockEntryCandidate>,
}

/// Lowers the functions of a module, without entries of kernels. `describe` runs before the kernels
/// change.
unsafe fn lower_functions<T>(
    module: LLVMModuleRef,
    machine: &TargetMachine,
    checks: Checks,
    describe: impl FnOnce(LLVMModuleRef, &[(LLVMValueRef, u32)], &[reach::Reach], &shared::Layout) -> T,
) -> Result<Lowered<T>, String> {
    // SAFETY: by `to_object`'s contract.
    unsafe {
        object::retarget(module, machine);
        object::drop_lists(module);
        object::forget_invariance(module);
        yields::insert(module);
        let kernels = ir::kernels(module);
        let functions: Vec<_> = kernels.iter().map(|&(f, _)| f).collect();
        let reach = reach::of_kernels(module, &functions);
        let mut layout = shared::lay_out(module, &reach);
        layout.managed = managed::add_cells(module, 0);
        let of_blocks = entries::candidates(&kernels, &reach, checks);
        let described = describe(module, &kernels, &reach, &layout);
        let variables = describe::variables(module, &layout)
            .into_iter()
            .map(|(address, meta)| (ir::name(address), meta))
            .collect();
        shared::replace(module, &layout)?;
        thread_context::thread(module);
        Ok(Lowered { described, variables, of_blocks })
    }
}

/// Writes a file that `gclang` asked for.
///
/// # Errors
/// A message that names the file.
pub fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    std::fs::write(path, content).map_err(|e| format!("cannot write `{}`: {e}", path.display()))
}
