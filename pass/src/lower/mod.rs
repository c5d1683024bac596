//! From device IR to code for the host.
//!
//! Two steps stand on either side of the instrumentation:
//!
//! * [`normalize`], before it: inline PTX ([`ptx`]) and NVVM intrinsics ([`nvvm`])
//!   become plain IR and calls of gpurace's entry points, so that accesses and
//!   synchronisation have one form each. Atomics built here carry their scope
//!   and order as metadata: see [`crate::atomics::set_semantics`]. Calls of
//!   entry points are built without the thread context, their `sync` argument
//!   as the constant -1 or -2 ([`crate::sync`] reads it and fills it in), and code that needs the
//!   thread context calls [`CONTEXT_FUNCTION`].
//! * [`to_object`], after it: every function gets the thread context as a hidden
//!   first parameter ([`thread_context`]), shared variables become offsets from
//!   the block's base ([`shared`]), kernels get entries and a table ([`image`]),
//!   and LLVM makes a host object of it ([`codegen`]).

pub mod blocks;
pub mod codegen;
pub mod image;
mod lines;
pub mod managed;
mod number;
pub mod nvvm;
pub mod ptx;
pub mod rows;
pub mod segments;
pub mod shared;
pub mod spins;
pub mod streams;
#[cfg(test)]
mod testing;
pub mod thread_context;
pub mod uniform;
pub mod yields;

use gpurace_abi::meta::{KernelMeta, VariableMeta};
use inkwell::targets::TargetMachine;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::*;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;

use crate::config::Config;
use crate::lower::blocks::Checks;
use crate::position::Positions;
use crate::{describe, ir, reach};

/// A function without parameters that stands for the thread context, `ptr`,
/// until [`thread_context`] replaces its calls.
pub const CONTEXT_FUNCTION: &str = "__gpurace_ctx";

/// Turns inline PTX and NVVM intrinsics into plain IR and calls of entry
/// points. Gives the names of what could not be translated: where the program
/// reaches it, the launch ends with an error that names it.
///
/// # Safety
/// `module` is live and prepared.
pub unsafe fn normalize(module: LLVMModuleRef) -> Vec<String> {
    // SAFETY: by contract.
    unsafe {
        let mut unsupported = ptx::lower_ptx(module);
        unsupported.extend(nvvm::lower_nvvm(module).into_iter().map(|u| u.what));
        nvvm::make_division_total(module);
        codegen::settle_contraction(module);
        unsupported
    }
}

/// Lowers a normalised module and writes it as a host object. With `bare`, the
/// same module without checks, each kernel gets a second entry that runs it.
/// Gives the descriptions of its kernels and device variables.
///
/// # Safety
/// The modules are live and of one context; `module` is used up, and only to be
/// disposed of; `bare` is disposed of here.
///
/// # Errors
/// A message that names what could not be done.
pub unsafe fn to_object(
    module: LLVMModuleRef,
    bare: Option<LLVMModuleRef>,
    config: &Config,
    site_functions: &[String],
    positions: &mut Positions,
) -> Result<(Vec<KernelMeta>, Vec<VariableMeta>), String> {
    let machine = codegen::machine(&config.cpu, config.opt_level)?;
    // SAFETY: by contract; linking disposes of `bare`.
    unsafe {
        let checks = if bare.is_some() { Checks::Kept } else { Checks::None };
        let lowered = lower_functions(module, &machine, checks, |module, kernels, reach, layout| {
            describe::kernels(module, kernels, reach, layout, site_functions, positions)
        })?;
        let metas = lowered.described;
        let names: Vec<_> = metas.iter().map(|k| k.name.as_str()).collect();
        image::add_entries(module, &names, image::ENTRY);
        let (of_blocks, of_checked_blocks);
        if let Some(bare) = bare {
            of_checked_blocks = blocks::add_entries(module, &lowered.of_blocks);
            let lowered = lower_functions(bare, &machine, Checks::None, |_, _, _, _| ())?;
            image::add_entries(bare, &names, image::BARE_ENTRY);
            of_blocks = blocks::add_entries(bare, &lowered.of_blocks);
            image::share_variables(module, bare);
            if LLVMLinkModules2(module, reread(bare)?) != 0 {
                return Err("internal error: the checked and the bare code cannot be linked".to_owned());
            }
        } else {
            of_blocks = blocks::add_entries(module, &lowered.of_blocks);
            of_checked_blocks = Vec::new();
        }
        let (addresses, variables): (Vec<_>, Vec<_>) = lowered.variables.into_iter().unzip();
        let table: Vec<_> = addresses.iter().map(|name| name.as_str()).zip(&variables).collect();
        image::add_table(module, &names, &of_blocks, &of_checked_blocks, &table, config.cpu == "x86-64-v3");
        codegen::internalise(module);
        verify(module)?;
        codegen::emit(module, &machine, config.opt_level, &config.object)?;
        Ok((metas, variables))
    }
}

/// What [`lower_functions`] knows of a module.
struct Lowered<T> {
    /// What the caller made of the kernels.
    described: T,
    /// Device variables: the symbol that their table entry addresses, and their
    /// description.
    variables: Vec<(String, VariableMeta)>,
    /// The kernels that may have an entry for whole blocks.
    of_blocks: Vec<blocks::Candidate>,
}

/// Lowers the functions of a module, all but the kernels' entries. `describe` sees the
/// kernels before they change.
unsafe fn lower_functions<T>(
    module: LLVMModuleRef,
    machine: &TargetMachine,
    checks: Checks,
    describe: impl FnOnce(LLVMModuleRef, &[(LLVMValueRef, u32)], &[reach::Reach], &shared::Layout) -> T,
) -> Result<Lowered<T>, String> {
    // SAFETY: by `to_object`'s contract.
    unsafe {
        codegen::retarget(module, machine);
        codegen::drop_lists(module);
        yields::insert(module);
        let kernels = ir::kernels(module);
        let functions: Vec<_> = kernels.iter().map(|&(f, _)| f).collect();
        let reach = reach::of_kernels(module, &functions);
        let mut layout = shared::lay_out(module, &reach);
        layout.managed = managed::add_cells(module, 0);
        let of_blocks = blocks::candidates(&kernels, &reach, checks);
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

/// The module, written as bitcode and read again; the original is disposed of.
///
/// A copy shares its struct types with the module that it was copied from, and
/// LLVM's linker, which renames and merges the types of what it links in, then
/// leaves values of two types for one. What was read has types of its own.
pub(crate) unsafe fn reread(module: LLVMModuleRef) -> Result<LLVMModuleRef, String> {
    // SAFETY: by `to_object`'s contract; buffer and module are freed once.
    unsafe {
        let context = ir::context(module);
        let buffer = LLVMWriteBitcodeToMemoryBuffer(module);
        LLVMDisposeModule(module);
        let mut read = std::ptr::null_mut();
        let failed = LLVMParseBitcodeInContext2(context, buffer, &mut read);
        LLVMDisposeMemoryBuffer(buffer);
        if failed == 0 { Ok(read) } else { Err("internal error: cannot read back the bare code".to_owned()) }
    }
}

/// Reads bitcode that came with the pass.
///
/// # Safety
/// `context` is live.
pub(crate) unsafe fn parse_bitcode(context: LLVMContextRef, bitcode: &[u8]) -> Option<LLVMModuleRef> {
    // SAFETY: by contract; the buffer is a copy, freed once.
    unsafe {
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode.as_ptr().cast(), bitcode.len(), c"".as_ptr());
        let mut read = std::ptr::null_mut();
        let failed = LLVMParseBitcodeInContext2(context, buffer, &mut read);
        LLVMDisposeMemoryBuffer(buffer);
        (failed == 0).then_some(read)
    }
}

/// Checks that what the lowering made is valid IR.
pub(crate) unsafe fn verify(module: LLVMModuleRef) -> Result<(), String> {
    let mut message = std::ptr::null_mut();
    // SAFETY: by contract; the message is freed once.
    unsafe {
        let broken =
            LLVMVerifyModule(module, LLVMVerifierFailureAction::LLVMReturnStatusAction, &mut message);
        let text = ir::text(message);
        LLVMDisposeMessage(message);
        if broken == 0 {
            Ok(())
        } else {
            Err(format!("internal error: the lowered module is not valid: {text}"))
        }
    }
}
