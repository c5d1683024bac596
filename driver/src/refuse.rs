//! Refuses command lines that gpurace cannot build, before it searches for any tool.

use crate::args::{Args, InputKind};
use crate::cuda::Toolkit;
use crate::diagnostic::Error;
use crate::flags::Exec;
use crate::plan;

/// Returns an error if this version cannot build what the command line asks for.
pub fn check(args: &Args) -> Result<(), Error> {
    if !plan::builds(args) {
        return match &args.device_link {
            Some(option) => Err(Error::new(format!(
                "`{option}` needs objects and `-fgpurace-exec=cpu` or `-fsanitize=gpurace`"
            ))
            .hint("for an NVIDIA GPU, `nvcc` links device code")),
            None if args.archive => Err(Error::new(
                "`--lib` needs sources or objects and `-fgpurace-exec=cpu` or `-fsanitize=gpurace`",
            )
            .hint("for an NVIDIA GPU, compile with `-c`, and make the library with `ar`")),
            None => Ok(()),
        };
    }
    if args.archive && (args.compile_only || args.device_link.is_some()) {
        return Err(Error::new("`--lib` cannot be combined with `-c` or `-dlink`: each makes another file"));
    }
    if let Some(option) = args.device_link.as_ref().filter(|_| args.compile_only) {
        return Err(Error::new(format!(
            "`{option}` and `-c` cannot be combined: one links objects, the other makes them"
        )));
    }
    if let (Some(option), Some(separate)) = (&args.device_only, &args.separate_compilation) {
        return Err(Error::new(format!("`{option}` and `{separate}` cannot be combined"))
            .hint("leave the second out: a module of the driver API is one source"));
    }
    let makes_file = args.compile_only || args.device_only.is_some();
    if let Some(option) = args.static_link.as_ref().filter(|_| !makes_file) {
        return Err(Error::new(format!("`{option}` is not supported with `{}`", asked_by(args))).hint(
            "the runtime must be a shared library: device code is loaded at run time and linked with it",
        ));
    }
    if let Some(target) = &args.other_target {
        return Err(Error::new(format!("`{target}` is not supported with `{}`", asked_by(args)))
            .hint("device code is built for x86-64 Linux"));
    }
    if args.inputs().any(|input| input.path == "-" && input.kind() == InputKind::Cuda) {
        return Err(Error::new(format!("CUDA on standard input is not supported with `{}`", asked_by(args)))
            .hint("gpurace compiles CUDA twice, for host and device: put the source in a file"));
    }
    if args.asked.exec == Some(Exec::Cuda) {
        let arch = args.gpu_archs.first().map_or(plan::DEFAULT_GPU_ARCH, |arch| arch);
        if !args.gpu_archs.is_empty() && !args.gpu_archs.iter().any(|arch| plan::checks_on(arch)) {
            return Err(Error::new(format!(
                "`{arch}` is not supported with `-fgpurace-exec=cuda`, wanted `sm_70` or newer"
            ))
            .hint("the checker needs independent thread scheduling, which older GPUs lack"));
        }
    }
    let sources = args.inputs().filter(|input| input.kind() != InputKind::Linker).count();
    if makes_file && args.output.is_some() && sources > 1 {
        return Err(Error::new("cannot specify -o when generating multiple output files"));
    }
    Ok(())
}

/// Leaves out the architectures that a toolkit no longer has. Returns what the user should know of it.
pub fn leave_out_old(args: &mut Args, toolkit: &Toolkit) -> Option<String> {
    let (old, kept): (Vec<_>, Vec<_>) =
        args.gpu_archs.iter().cloned().partition(|arch| !toolkit.has_architecture(arch));
    if old.is_empty() {
        return None;
    }
    let text = format!(
        "CUDA {} no longer has `{}`: device code is built for `{}`",
        toolkit.version,
        old.join("`, `"),
        kept.first().map_or(plan::DEFAULT_GPU_ARCH, |arch| arch)
    );
    args.gpu_archs = kept;
    Some(text)
}

/// Returns the flag that asked for the CPU executor.
fn asked_by(args: &Args) -> &'static str {
    if args.asked.sanitize { "-fsanitize=gpurace" } else { "-fgpurace-exec=cpu" }
}
