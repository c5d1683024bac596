//! Makes an object file for the host's processor from lowered IR.

use std::ffi::c_uint;
use std::path::Path;
use std::ptr;

use gpurace_abi::entry::Entry;
use gpurace_abi::image::IMAGE_SYMBOL;
use gpurace_abi::plugin::Cpu;
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use llvm_sys::comdat::LLVMSetComdat;
use llvm_sys::core::*;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMDisposeTargetData, LLVMSetModuleDataLayout};
use llvm_sys::target_machine::{
    LLVMCodeGenFileType, LLVMCreateTargetDataLayout, LLVMTargetMachineEmitToFile, LLVMTargetMachineRef,
};
use llvm_sys::{LLVMLinkage, LLVMVisibility};

use crate::ir;

unsafe extern "C" {
    fn gpurace_optimize(module: LLVMModuleRef, machine: LLVMTargetMachineRef, level: c_uint);
}

/// The host's triple.
const TRIPLE: &str = "x86_64-pc-linux-gnu";

/// Makes the code generator for `cpu` at `-O` level `level`.
///
/// # Errors
/// If LLVM refuses the processor.
pub fn machine(cpu: Cpu, level: u8) -> Result<TargetMachine, String> {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetTriple::create(TRIPLE);
    let target = Target::from_triple(&triple).map_err(|e| format!("LLVM has no target `{TRIPLE}`: {e}"))?;
    let level = match level {
        0 | 1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    target
        .create_target_machine(&triple, cpu.name(), "", level, RelocMode::PIC, CodeModel::Default)
        .ok_or_else(|| format!("LLVM cannot generate code for `{}`", cpu.name()))
}

/// Gives the module the host's triple and data layout. Sizes and alignments of
/// types are the same on NVPTX and on x86-64.
///
/// # Safety
/// `module` is live.
pub unsafe fn retarget(module: LLVMModuleRef, machine: &TargetMachine) {
    // SAFETY: by contract; the layout is copied into the module.
    unsafe {
        LLVMSetTarget(module, ir::c(TRIPLE).as_ptr());
        let layout = LLVMCreateTargetDataLayout(machine.as_mut_ptr());
        LLVMSetModuleDataLayout(module, layout);
        LLVMDisposeTargetData(layout);
    }
}

/// Makes plain loads of loads that clang calls invariant (`__ldg`). On the host they read what the thread
/// wrote before, at every `-O` level.
///
/// # Safety
/// `module` is live.
pub unsafe fn forget_invariance(module: LLVMModuleRef) {
    // SAFETY: by contract.
    unsafe {
        for function in ir::definitions(module) {
            for load in ir::instructions(function).into_iter().filter(|&i| !LLVMIsALoadInst(i).is_null()) {
                let kind = ir::metadata_kind(load, "invariant.load");
                if !LLVMGetMetadata(load, kind).is_null() {
                    LLVMSetMetadata(load, kind, ptr::null_mut());
                }
            }
        }
    }
}

/// Deletes LLVM's lists of used symbols and of constructors: an image has neither, and their
/// symbols are replaced.
///
/// # Safety
/// `module` is live.
pub unsafe fn drop_lists(module: LLVMModuleRef) {
    // SAFETY: by contract.
    unsafe {
        for name in ["llvm.used", "llvm.compiler.used", "llvm.global_ctors", "llvm.global_dtors"] {
            let global = LLVMGetNamedGlobal(module, ir::c(name).as_ptr());
            if !global.is_null() {
                LLVMDeleteGlobal(global);
            }
        }
    }
}

/// Makes every symbol except the table local to the image, so that device code cannot clash with
/// symbols of the host program.
///
/// # Safety
/// `module` is live.
pub unsafe fn internalise(module: LLVMModuleRef) {
    // SAFETY: by contract.
    unsafe {
        for global in ir::globals(module).chain(ir::definitions(module)) {
            if LLVMIsDeclaration(global) == 0 && ir::name(global) != IMAGE_SYMBOL {
                LLVMSetComdat(global, ptr::null_mut());
                LLVMSetVisibility(global, LLVMVisibility::LLVMDefaultVisibility);
                LLVMSetLinkage(global, LLVMLinkage::LLVMInternalLinkage);
            }
        }
    }
}

/// Lets all functions keep frame pointers if a thread asks which lanes are active: the runtime then follows the
/// calls that led to the question.
///
/// # Safety
/// `module` is live.
pub unsafe fn keep_frame_pointers(module: LLVMModuleRef) {
    // SAFETY: by contract.
    unsafe {
        let asks = LLVMGetNamedFunction(module, ir::c(Entry::Activemask.symbol()).as_ptr());
        if !asks.is_null() {
            ir::definitions(module).for_each(|f| ir::set_string_attribute(f, "frame-pointer", "all"));
        }
    }
}

/// Optimises the module at one of clang's levels. The second one stands for the third one, which unrolls
/// more: the vectoriser of LLVM 22 takes hours for long chains of minima (`exec/least_found_by_one_thread`).
///
/// # Safety
/// `module` is live and retargeted to `machine`.
unsafe fn optimize(module: LLVMModuleRef, machine: &TargetMachine, level: u8) {
    // SAFETY: by contract.
    unsafe { gpurace_optimize(module, machine.as_mut_ptr(), level.clamp(1, 2).into()) }
}

/// What LLVM calls to make a `bfloat` of a `float`. It also keeps a `bfloat` that lives in several basic blocks
/// as a `float` with 16 zero bits at the end, and gets it back so: then no bit changes, not even of a NaN.
const NARROW: &str = "define bfloat @__truncsfbf2(float %value) {
  %bits = bitcast float %value to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %below = add i32 %odd, 32767
  %sum = add i32 %bits, %below
  %near = lshr i32 %sum, 16
  %nan = fcmp uno float %value, %value
  %rounded = select i1 %nan, i32 32767, i32 %near
  %rest = and i32 %bits, 65535
  %exact = icmp eq i32 %rest, 0
  %chosen = select i1 %exact, i32 %high, i32 %rounded
  %low = trunc i32 %chosen to i16
  %result = bitcast i16 %low to bfloat
  ret bfloat %result
}";

/// Gives an optimised module the function [`NARROW`].
///
/// # Safety
/// `module` is live.
///
/// # Errors
/// LLVM's message.
unsafe fn define_narrowing(module: LLVMModuleRef) -> Result<(), String> {
    // SAFETY: by contract; the linker takes the parsed module.
    unsafe {
        let parsed = ir::modules::parse_text(module, NARROW)?;
        if LLVMLinkModules2(module, parsed) != 0 {
            return Err("internal error: `__truncsfbf2` is defined twice".to_owned());
        }
        // The linker would leave out an internal function that no instruction calls.
        let narrow = LLVMGetNamedFunction(module, c"__truncsfbf2".as_ptr());
        LLVMSetLinkage(narrow, LLVMLinkage::LLVMInternalLinkage);
        Ok(())
    }
}

/// Optimises the module and writes it as an object file.
///
/// # Safety
/// `module` is live and retargeted to `machine`.
///
/// # Errors
/// LLVM's message.
pub unsafe fn emit(
    module: LLVMModuleRef,
    machine: &TargetMachine,
    level: u8,
    path: &Path,
) -> Result<(), String> {
    // SAFETY: by contract; the message is freed once.
    unsafe {
        optimize(module, machine, level);
        define_narrowing(module)?;
        let mut message = ptr::null_mut();
        let failed = LLVMTargetMachineEmitToFile(
            machine.as_mut_ptr(),
            module,
            ir::path(path).into_raw(),
            LLVMCodeGenFileType::LLVMObjectFile,
            &mut message,
        );
        if failed == 0 {
            return Ok(());
        }
        let text = ir::text(message);
        LLVMDisposeMessage(message);
        Err(format!("cannot write object file `{}`: {text}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop at `-O2`, in which some accesses have no group.
    fn optimised(properties: &str, body: &str) -> String {
        let text = format!(
            "define void @k(ptr %a, ptr %b, i64 %n) {{
             start:
               br label %loop
             loop:
               %i = phi i64 [ 0, %start ], [ %next, %loop ]
               {body}
               %next = add nuw i64 %i, 1
               %again = icmp ult i64 %next, %n
               br i1 %again, label %loop, label %end, !llvm.loop !1
             end:
               ret void
             }}
             !0 = distinct !{{}}
             !1 = distinct !{{!1{properties}}}
             !2 = !{{!\"llvm.loop.parallel_accesses\", !0}}"
        );
        let machine = machine(Cpu::V3, 2).expect("a host");
        // SAFETY: the module is live.
        ir::testing::with_module(&text, |module| unsafe {
            retarget(module, &machine);
            optimize(module, &machine, 2);
            ir::text(LLVMPrintModuleToString(module))
        })
    }

    #[test]
    fn loops_over_threads_compare_no_addresses() {
        let body = "%from = getelementptr inbounds i32, ptr %a, i64 %i
            %value = load i32, ptr %from, !llvm.access.group !0
            %more = add i32 %value, 1
            %to = getelementptr inbounds i32, ptr %b, i64 %i
            store i32 %more, ptr %to";
        let threads = optimised(", !2", body);
        assert!(threads.contains("vector.body") && !threads.contains("diff.check"), "{threads}");
        let other = optimised("", body);
        assert!(other.contains("diff.check"), "{other}");
    }

    #[test]
    fn no_load_moves_over_a_store_that_may_write_it() {
        // Each thread has a pair of elements in each array.
        let addresses = "%first = shl nuw i64 %i, 1
            %second = or disjoint i64 %first, 1
            %a0 = getelementptr inbounds i32, ptr %a, i64 %first
            %a1 = getelementptr inbounds i32, ptr %a, i64 %second
            %b0 = getelementptr inbounds i32, ptr %b, i64 %first
            %b1 = getelementptr inbounds i32, ptr %b, i64 %second";
        let first = "%u = load i32, ptr %a0 %more = mul i32 %u, 3";
        let second = "%v = load i32, ptr %a1 %less = sub i32 5, %v";
        let [write_first, write_second] = ["store i32 %more, ptr %b0", "store i32 %less, ptr %b1"];
        let is_joined = |accesses: [&str; 4]| {
            let body = [&[addresses], &accesses[..]].concat().join("\n");
            optimised(", !2", &body).contains("shufflevector")
        };
        assert!(is_joined([first, second, write_first, write_second]));
        assert!(!is_joined([first, write_first, second, write_second]));
    }
}
