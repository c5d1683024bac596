//! gpurace's LLVM pass: finds the accesses and the synchronisation of CUDA
//! device code, inserts checks, and lowers the result to host code.
//!
//! clang 19 loads the library with `-fpass-plugin` and runs it at the start of
//! the pipeline, over NVPTX device IR. The stages, in [`compile`]:
//!
//! 0. [`annotations`]: what the source marks as not to be checked.
//! 1. [`prepare`]: one fixed preparation at every `-O` level.
//!    A copy becomes the code for a GPU, where one is asked for ([`gpu`]).
//! 2. [`lower`]'s first half: inline PTX and NVVM intrinsics become plain IR and
//!    calls of entry points.
//! 3. [`sites`]: what is instrumented, what is skipped, and why that is safe.
//! 4. [`prove`]: what the prover says of each access ([`protocol`]: what it is
//!    told of a kernel); [`facts`] and [`diagnose`] tell the user.
//! 5. [`instrument`]: a check before each access, unless one beside it stands
//!    for it ([`covered`]). Those that are proved keep
//!    theirs: whether a proof's conditions hold, and whether other launches run
//!    beside it, is known at the launch, which runs the code without checks or
//!    skips single ones.
//! 6. [`sync`]: synchronisation calls learn where in the source they stand.
//! 7. [`lower`]'s second half, on a copy: an object file for the host.
//! 8. [`describe`]: the module's description for the runtime.
//!
//! Over the host's side of a source it is run too, for its device variables ([`host`]).
//!
//! Invariant: nothing unwinds into LLVM. An error is reported through clang's
//! diagnostics and fails the compilation.

pub mod address;
pub mod annotations;
pub mod atomics;
pub mod config;
pub mod covered;
pub mod debug_info;
pub mod describe;
pub mod diagnose;
pub mod entry_calls;
pub mod facts;
pub mod gpu;
pub mod grid_sync;
pub mod host;
pub mod instrument;
pub mod ir;
pub mod lower;
pub mod observes;
pub mod part;
pub mod position;
pub mod prepare;
pub mod protocol;
pub mod prove;
pub mod ptx;
pub mod reach;
pub mod sites;
pub mod sync;

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use gpurace_abi::meta::{KernelMeta, ModuleMeta, Site, Verdict};
use gpurace_protocol::wire;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::config::{Config, Prune};
use crate::position::Positions;
use crate::prove::{KernelFacts, Proofs};

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

/// What clang looks for in a plugin. It stands here and not in the C++ file
/// because a Rust library exports only what Rust defines.
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
        compile(module, &Config::from_env()?)
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
/// the link ([`part`]): the object and the description are written
/// where `config` says, and `module` is left without code.
///
/// # Safety
/// `module` is live and nobody else uses it meanwhile.
///
/// # Errors
/// A message that names what could not be done.
pub unsafe fn compile(module: LLVMModuleRef, config: &Config) -> Result<(), String> {
    if let Some(bitcode) = &config.part {
        // SAFETY: by contract.
        let symbols = unsafe {
            let symbols = part::write(module, bitcode)?;
            remove_code(module);
            symbols
        };
        let text = serde_json::to_string(&symbols).map_err(|e| format!("cannot serialise names: {e}"))?;
        return write(&config.meta, text.as_bytes());
    }
    let mut positions = Positions::new(&config.system_prefixes);
    let mut proofs = None;
    let mut spared = covered::Spared::default();
    // SAFETY: by contract.
    let mut meta = unsafe {
        // clang's release builds discard names, and LLVM then parses no text,
        // which the lowering of intrinsics does.
        LLVMContextSetDiscardValueNames(ir::context(module), 0);
        if config.sanitize {
            annotations::mark(module);
            if config.prune != Prune::Off {
                grid_sync::mark(module);
            }
        }
        let clusters = annotations::cluster_dims(module);
        prepare::prepare(module)?;
        if let Some(files) = &config.gpu {
            let copy = LLVMCloneModule(module);
            grid_sync::unmark(copy);
            // Whatever goes wrong there must not fail a build that has the executor.
            let written = catch_unwind(AssertUnwindSafe(|| gpu::write(copy, config, files, &clusters)))
                .unwrap_or_else(|_| Err("internal error".to_owned()));
            LLVMDisposeModule(copy);
            if let Err(why) = written {
                write(&files.note, why.as_bytes())?;
            }
        }
        if config.exec == config::ANOTHER_ARCH {
            remove_code(module);
            return Ok(());
        }
        let mut unsupported = lower::normalize(module);
        unsupported.sort();
        unsupported.dedup();
        // What a launch runs that is not to be checked, or needs no check.
        let bare = config.sanitize.then(|| LLVMCloneModule(module));
        if let Some(bare) = bare {
            grid_sync::unmark(bare);
            sync::number(bare, &mut positions);
        }
        let (sites, site_functions) = if config.sanitize {
            let found = sites::collect(module, &mut positions);
            if config.prune != Prune::Off {
                proofs = Some(prove::prove(module, &found.accesses, config));
                grid_sync::unmark(module);
                spared = covered::spared(&found.accesses);
            }
            instrument::insert_checks(module, &found.accesses, &spared);
            let functions = found.accesses.iter().map(|a| ir::name(a.function)).collect();
            ((found.sites, found.skipped), functions)
        } else {
            (Default::default(), Vec::new())
        };
        let arch = (lower::nvvm::architecture(module) / 10) as u32;
        let syncs = sync::number(module, &mut positions);
        let copy = LLVMCloneModule(module);
        let lowered = lower::to_object(copy, bare, config, &site_functions, &mut positions);
        LLVMDisposeModule(copy);
        let (mut kernels, variables) = lowered?;
        for kernel in &mut kernels {
            kernel.cluster = clusters.get(&kernel.name).copied();
        }
        remove_code(module);
        ModuleMeta {
            arch,
            source: config.main_file.clone(),
            instrumented: config.sanitize,
            files: Vec::new(),
            sites: sites.0,
            skipped: sites.1,
            covered: spared.covered.into_iter().flatten().collect(),
            syncs,
            kernels,
            variables,
            unsupported,
        }
    };
    meta.files = positions.into_files();
    let Proofs { kernels: mut known, section } = proofs.unwrap_or_default();
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

/// Writes into the description what was proved: of each kernel's sites, and of
/// each site the least of its kernels' verdicts.
fn add_verdicts(sites: &mut [Site], kernels: &mut [KernelMeta], known: &[KernelFacts]) {
    let mut least: Vec<Option<Verdict>> = vec![None; sites.len()];
    for kernel in kernels {
        let Some(known) = known.iter().find(|k| k.name == kernel.name) else { continue };
        kernel.verdicts = kernel.sites.iter().map(|&id| facts::of_site(known, id).verdict).collect();
        for (&id, &verdict) in kernel.sites.iter().zip(&kernel.verdicts) {
            let least = &mut least[id as usize];
            *least = Some(least.map_or(verdict, |other| other.and(verdict)));
        }
    }
    for (site, least) in sites.iter_mut().zip(least) {
        site.verdict = least.unwrap_or_default();
    }
}

fn write(path: &str, content: &[u8]) -> Result<(), String> {
    std::fs::write(path, content).map_err(|e| format!("cannot write `{path}`: {e}"))
}

/// Takes the functions out of a module that has been lowered, so that clang
/// spends no time on code for a GPU that nobody asked for.
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
