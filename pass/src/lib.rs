//! gpurace's LLVM pass: finds the accesses and the synchronisation of CUDA
//! device code, inserts checks, and lowers the result to host code.
//!
//! clang 22 loads the library with `-fpass-plugin` and runs it at the start of
//! the pipeline, over NVPTX device IR. [`compile`] lists the stages. The pass also
//! runs over the host side of a source, for its device variables ([`host`]).
//!
//! # Layers
//! A module uses its own layer and the layers above it in this list, never one below it:
//!
//! 1. [`config`]: what gclang asks for.
//! 2. [`ir`]: reads and builds LLVM IR.
//! 3. [`analysis`]: what is known of the program without changing it.
//! 4. [`translate`]: inline PTX and NVVM intrinsics become plain IR and calls of entry points.
//! 5. [`checks`]: which accesses are checked, and the insertion of their checks.
//! 6. [`protocol`]: what the prover is told of a kernel.
//! 7. [`blocks`]: cuts kernels at their barriers, and batches checks.
//! 8. [`codegen`]: the object file for the host, and its description.
//! 9. [`gpu`]: the code for a GPU.
//! 10. [`host`], [`prepare`], [`prove`], [`diagnose`], [`facts`], and [`compile`] itself.
//!
//! # Decisions
//! - **One front end.** The device front end runs at `-O2` whatever the user's level, because
//!   clang marks every function `noinline` at `-O0`. So verdicts do not depend on the level.
//! - **Translate, then insert checks.** The checker then also sees accesses that inline assembly
//!   would hide.
//! - **The thread context is a parameter.** A thread-local variable would cost a call per access in
//!   an image that is opened at run time. A parameter disappears when LLVM inlines.
//! - **Shared variables have one offset per module.** Offsets per kernel would need a copy of each
//!   function per kernel. One offset for all variables would not fit large modules.
//! - **Address spaces stay in the IR.** The code generator for x86-64 treats NVPTX's as one.
//! - **No contraction of floating point.** A check between a multiplication and an addition would
//!   decide if they fuse. So checked and bare code compute the same bits.
//! - **An instruction that cannot be translated** becomes a call of
//!   [`Unsupported`](gpurace_abi::entry::Entry::Unsupported). A program that never reaches the call
//!   runs.
//! - **A checked variant, a bare one, and one between them.** Only a launch shows if a proof's conditions
//!   hold and if anything may overlap it. So checked code has the checks of proved accesses too. The checker
//!   gets the set of proved sites and returns at once for them, except that a proved atomic keeps
//!   its effect on order. Kernels with proved and open sites also have [open code](codegen::open), for
//!   launches that meet all conditions. A variant for each set of proofs would cost compile time and code.
//!
//! Invariant: nothing unwinds into LLVM. An error is reported through clang's
//! diagnostics and fails the compilation.

pub mod analysis;
pub mod blocks;
pub mod checks;
pub mod codegen;
pub mod config;
pub mod diagnose;
pub mod facts;
pub mod gpu;
pub mod host;
pub mod ir;
pub mod prepare;
pub mod protocol;
pub mod prove;
pub mod translate;

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use gpurace_abi::deciding::Memory;
use gpurace_abi::meta::{KernelMeta, ModuleMeta, Site, VariableMeta, Verdict};
use gpurace_abi::plugin::{ANOTHER_ARCH, PassConfig, Prune};
use gpurace_protocol::wire;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::deciding;
use crate::checks::covered::Spared;
use crate::checks::flow::Flows;
use crate::checks::grid_sync;
use crate::checks::sites::{ConstantMemory, Sites};
use crate::checks::skipped::{self, Skippable};
use crate::checks::{annotations, covered, flow, instrument, kept, sites, sync};
use crate::codegen::{open, part, write};
use crate::ir::position::Positions;
use crate::ir::structs::Structs;
use crate::prove::{KernelFacts, Proofs};

/// The blocks of a cluster, by the name of the kernel.
type Clusters = HashMap<String, [u32; 3]>;

/// `llvm::PassPluginLibraryInfo`.
#[repr(C)]
pub struct PassPluginLibraryInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: *const c_void,
}

unsafe extern "C" {
    fn gpurace_plugin_info(info: *mut PassPluginLibraryInfo);
    fn gpurace_emit_error(module: LLVMModuleRef, message: *const c_char);
}

/// The entry that clang looks up in a plugin. It is defined here and not in the C++ file, since a
/// Rust library exports only what Rust defines.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn llvmGetPassPluginInfo() -> PassPluginLibraryInfo {
    let mut info = std::mem::MaybeUninit::uninit();
    // SAFETY: fills in all of `info`.
    unsafe {
        gpurace_plugin_info(info.as_mut_ptr());
        info.assume_init()
    }
}

/// Runs the pass over a module; called by the C++ side.
///
/// # Safety
/// `module` is live and nobody else uses it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpurace_run_on_module(module: LLVMModuleRef) {
    // SAFETY: by contract.
    let run = || unsafe {
        let triple = ir::text(LLVMGetTarget(module));
        if !triple.starts_with("nvptx") {
            host::prepare(module);
            return Ok(());
        }
        compile(module, &config::from_env()?)
    };
    let message = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return,
        Ok(Err(message)) => message,
        Err(panic) => {
            let what = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("unknown panic");
            format!("internal error: {what}")
        }
    };
    let message = ir::c(&format!("gpurace: {message}"));
    // SAFETY: the module is live, the message a C string.
    unsafe { gpurace_emit_error(module, message.as_ptr()) };
}

/// Compiles one device module, or, of separately compiled ones, keeps it for
/// the link ([`part`]). The object and the description are written
/// where `config` says, and `module` is left without code.
///
/// # Safety
/// `module` is live and nobody else uses it meanwhile.
///
/// # Errors
/// A message that names what could not be done.
pub unsafe fn compile(module: LLVMModuleRef, config: &PassConfig) -> Result<(), String> {
    // SAFETY: by contract.
    unsafe {
        if let Some(bitcode) = &config.part {
            return keep_for_link(module, bitcode, config);
        }
        let skippable = if config.sanitize { skipped::barriers(module) } else { Skippable::new() };
        let structs = ir::structs::take(module, config.strip_types);
        let clusters = prepare(module, config)?;
        if config.sanitize {
            kept::insert(module);
        }
        write_gpu_code(module, &clusters, config)?;
        if config.exec == ANOTHER_ARCH {
            remove_code(module);
            return Ok(());
        }
        let mut positions = Positions::new(&config.system_prefixes);
        let unsupported = translate::normalize(module);
        let bare = config.sanitize.then(|| copy_unchecked(module, &mut positions, &skippable));
        let sites = find_sites(module, &mut positions, config);
        let proofs = prove_sites(module, &sites, &structs, config);
        let flows = match config.sanitize {
            true => flow::of_kernels(module, &sites, &mut positions),
            false => Flows::default(),
        };
        let deciding = deciding_memory(module, config);
        grid_sync::unmark(module);
        let spared = spare_checks(&sites, config);
        instrument::insert_checks(module, &sites.accesses, &spared);
        let syncs = sync::number(module, &mut positions, &skippable);
        let arch = (translate::nvvm::architecture(module) / 10) as u32;
        let (mut kernels, variables) =
            generate_code(module, bare, &sites, &proofs.proved_sites(), &mut positions, config)?;
        for kernel in &mut kernels {
            kernel.cluster = clusters.get(&kernel.name).copied();
            kernel.flow = flows.of_kernels.get(&kernel.name).cloned();
            kernel.memory = deciding.get(&kernel.name).cloned();
            for (param, structs) in
                kernel.params.iter_mut().zip(structs.of_kernels.get(&kernel.name).into_iter().flatten())
            {
                param.pointee.clone_from(&structs.pointee);
                param.own_type.clone_from(&structs.own);
            }
        }
        remove_code(module);
        let meta = ModuleMeta {
            arch,
            cuda: config.cuda,
            source: config.main_file.clone(),
            instrumented: config.sanitize,
            files: positions.into_files(),
            sites: sites.sites,
            skipped: sites.skipped,
            covered: spared.covered.into_iter().flatten().collect(),
            inlined: flows.inlined,
            syncs,
            kernels,
            variables,
            unsupported,
        };
        write_results(meta, proofs, config)
    }
}

/// Writes the module as bitcode, and the names that it defines and needs, for the link.
unsafe fn keep_for_link(module: LLVMModuleRef, bitcode: &Path, config: &PassConfig) -> Result<(), String> {
    // SAFETY: by `compile`'s contract.
    let symbols = unsafe { part::write(module, bitcode)? };
    // SAFETY: as above.
    unsafe { remove_code(module) };
    let text = serde_json::to_string(&symbols).map_err(|e| format!("cannot serialise names: {e}"))?;
    write(&config.meta, text.as_bytes())
}

/// Prepares the module, in the same way at every `-O` level. Returns the blocks of a cluster for
/// each kernel whose source gives them.
unsafe fn prepare(module: LLVMModuleRef, config: &PassConfig) -> Result<Clusters, String> {
    // SAFETY: by `compile`'s contract.
    unsafe {
        // clang's release builds discard names, and LLVM then parses no text,
        // which the lowering of intrinsics does.
        LLVMContextSetDiscardValueNames(ir::context(module), 0);
        if config.sanitize {
            annotations::mark(module);
            grid_sync::mark(module);
        }
        let clusters = annotations::cluster_dims(module);
        if config.alone {
            prepare::open_static_variables(module);
        }
        prepare::prepare(module)?;
        Ok(clusters)
    }
}

/// Writes the code for a GPU, where it is asked for. A failure there must not fail a build that has
/// the executor: it is written down instead.
unsafe fn write_gpu_code(
    module: LLVMModuleRef,
    clusters: &Clusters,
    config: &PassConfig,
) -> Result<(), String> {
    let Some(files) = &config.gpu else { return Ok(()) };
    // SAFETY: by `compile`'s contract; the copy is disposed of once.
    let written = unsafe {
        let copy = LLVMCloneModule(module);
        grid_sync::unmark(copy);
        kept::make_traps(copy);
        let written = catch_unwind(AssertUnwindSafe(|| gpu::write(copy, config, files, clusters)));
        LLVMDisposeModule(copy);
        written
    };
    match written.unwrap_or_else(|_| Err("internal error".to_owned())) {
        Ok(()) => Ok(()),
        Err(why) => write(&files.note, why.as_bytes()),
    }
}

/// Copies the module as it is without checks, for launches and functions that need none.
unsafe fn copy_unchecked(
    module: LLVMModuleRef,
    positions: &mut Positions,
    skippable: &Skippable,
) -> LLVMModuleRef {
    // SAFETY: by `compile`'s contract.
    unsafe {
        let bare = LLVMCloneModule(module);
        grid_sync::unmark(bare);
        sync::number(bare, positions, skippable);
        bare
    }
}

/// Finds the accesses, if any are to be checked.
unsafe fn find_sites(module: LLVMModuleRef, positions: &mut Positions, config: &PassConfig) -> Sites {
    if config.sanitize {
        // SAFETY: by `compile`'s contract.
        unsafe { sites::collect(module, positions, ConstantMemory::IsChecked) }
    } else {
        Sites::default()
    }
}

/// Asks the prover about the accesses, unless it is switched off. Those that are proved keep their
/// checks: the conditions of a proof, and other launches beside it, are known at the launch alone,
/// which then runs the code without checks or skips single ones.
unsafe fn prove_sites(
    module: LLVMModuleRef,
    sites: &Sites,
    structs: &Structs,
    config: &PassConfig,
) -> Proofs {
    if !config.sanitize || config.prune == Prune::Off {
        return Proofs::default();
    }
    // SAFETY: by `compile`'s contract.
    unsafe { prove::prove(module, &sites.accesses, structs, config) }
}

/// Finds what decides the accesses of each kernel, for launches that may be alike an earlier one.
unsafe fn deciding_memory(module: LLVMModuleRef, config: &PassConfig) -> HashMap<String, Vec<Memory>> {
    if !config.sanitize || config.prune != Prune::Launch {
        return HashMap::new();
    }
    // SAFETY: by `compile`'s contract.
    unsafe {
        let kernels = ir::kernels(module).into_iter();
        let found = |(kernel, _)| Some((ir::name(kernel), deciding::of_kernel(module, kernel)?));
        kernels.filter_map(found).collect()
    }
}

/// Finds the checks that other checks stand for.
unsafe fn spare_checks(sites: &Sites, config: &PassConfig) -> Spared {
    if config.prune == Prune::Off {
        return Spared::default();
    }
    // SAFETY: by `compile`'s contract.
    unsafe { covered::spared(&sites.accesses) }
}

/// Generates the object for the host from a copy of the module, and from `bare`, which is used up.
unsafe fn generate_code(
    module: LLVMModuleRef,
    bare: Option<LLVMModuleRef>,
    sites: &Sites,
    proved: &open::ProvedSites,
    positions: &mut Positions,
    config: &PassConfig,
) -> Result<(Vec<KernelMeta>, Vec<VariableMeta>), String> {
    // SAFETY: by `compile`'s contract; the copy is disposed of once.
    unsafe {
        let functions: Vec<_> = sites.accesses.iter().map(|access| ir::name(access.function)).collect();
        let copy = LLVMCloneModule(module);
        let generated = codegen::to_object(copy, bare, config, &functions, proved, positions);
        LLVMDisposeModule(copy);
        generated
    }
}

/// Writes the description with its verdicts, the proofs, the diagnostics and the facts.
fn write_results(mut meta: ModuleMeta, proofs: Proofs, config: &PassConfig) -> Result<(), String> {
    let Proofs { kernels: mut known, section } = proofs;
    prove::withdraw_doubtful_races(&meta.kernels, &mut known);
    add_verdicts(&mut meta.sites, &mut meta.kernels, &known);
    let text = serde_json::to_string(&meta).map_err(|e| format!("cannot serialise the module: {e}"))?;
    write(&config.meta, text.as_bytes())?;
    if !section.kernels.is_empty() {
        write(&config.proofs, &wire::to_bytes(&section))?;
    }
    let diagnostics = diagnose::diagnostics(&meta, &known, config);
    if !diagnostics.is_empty() {
        let text =
            serde_json::to_string(&diagnostics).map_err(|e| format!("cannot serialise diagnostics: {e}"))?;
        write(&config.diagnostics, text.as_bytes())?;
    }
    if let Some(path) = &config.facts {
        write(path, facts::render(&meta, &known, config.prune)?.as_bytes())?;
    }
    Ok(())
}

/// Adds the verdicts to the description: those of each kernel's sites, and for each site the
/// weakest of its kernels' verdicts.
fn add_verdicts(sites: &mut [Site], kernels: &mut [KernelMeta], known: &[KernelFacts]) {
    let mut least: Vec<Option<Verdict>> = vec![None; sites.len()];
    for kernel in kernels {
        let Some(known) = known.iter().find(|k| k.name == kernel.name) else { continue };
        kernel.verdicts = kernel.sites.iter().map(|&id| facts::of_site(known, id).verdict).collect();
        if kernel.verdicts.iter().all(|verdict| *verdict == Verdict::Proved) {
            (kernel.flow, kernel.memory) = (None, None);
        }
        for (&id, &verdict) in kernel.sites.iter().zip(&kernel.verdicts) {
            let least = &mut least[id as usize];
            *least = Some(least.map_or(verdict, |other| other.and(verdict)));
        }
    }
    for (site, least) in sites.iter_mut().zip(least) {
        site.verdict = least.unwrap_or_default();
    }
}

/// Removes the functions of a module that was compiled: clang is to spend no time on code for a GPU
/// that nobody asked for.
unsafe fn remove_code(module: LLVMModuleRef) {
    // SAFETY: by contract; each function is deleted once, when nothing uses it.
    unsafe {
        let all: Vec<_> = ir::definitions(module).collect();
        for function in all {
            LLVMReplaceAllUsesWith(function, LLVMGetPoison(LLVMTypeOf(function)));
            LLVMDeleteFunction(function);
        }
    }
}
