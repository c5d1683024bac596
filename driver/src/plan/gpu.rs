//! Code for an NVIDIA GPU beside the executor's: which files, and the commands
//! that make them of what the plugin writes.

use std::path::PathBuf;

use super::{Command, Files, Planner, clang_command};
use crate::config;
use crate::flags::Exec;

/// The version of PTX where the toolkit's is not known: what `sm_70` needs.
const OLDEST_PTX: u32 = 63;

/// What is made for a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuFiles {
    /// What the plugin writes.
    pub from_plugin: config::Gpu,
    /// PTX.
    pub ptx: PathBuf,
    /// Code for one processor; missing where it is not made.
    pub sass: PathBuf,
    /// The processor's number: 80 for `sm_80`.
    pub arch: u32,
}

/// What becomes of the build where no code for a GPU can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The program has no other code: it ends.
    Ends,
    /// Code for a GPU was asked for: it goes on, with a remark.
    IsSaid,
    /// Nobody has asked: it goes on, and the program knows why it has none.
    IsNoted,
}

/// The number of a GPU architecture: 80 for `sm_80`, 90 for `sm_90a`.
fn arch_number(arch: &str) -> Option<u32> {
    arch.strip_prefix("sm_")?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()
}

/// Whether the checker runs on a GPU of this architecture: threads of a warp
/// are scheduled independently.
pub fn checks_on(arch: &str) -> bool {
    arch_number(arch).is_some_and(|n| n >= 70)
}

impl Planner<'_> {
    /// The files for a GPU, where code for one is to be made.
    pub(super) fn gpu(&self, files: &Files) -> Option<GpuFiles> {
        if !self.wants_gpu() || self.no_gpu(files).is_some() {
            return None;
        }
        let name = |end: &str| files.device_object.with_extension(end);
        Some(GpuFiles {
            from_plugin: config::Gpu { bitcode: name("gpu.bc"), meta: name("gpu.json"), note: name("gpu.note") },
            ptx: name("ptx"),
            sass: name("cubin"),
            arch: arch_number(self.arch())?,
        })
    }

    fn wants_gpu(&self) -> bool {
        let asked = &self.args.asked;
        asked.sanitize && asked.exec.unwrap_or_default() != Exec::Cpu
    }

    /// Why no code for a GPU can be made, where it is to be.
    pub(super) fn no_gpu(&self, files: &Files) -> Option<String> {
        if !self.wants_gpu() {
            None
        } else if files.linked || self.args.separate_compilation.is_some() {
            Some("separately compiled device code (`-fgpu-rdc`) is not known there".to_owned())
        } else if !checks_on(self.arch()) {
            Some(format!("`{}` is too old, wanted `sm_70` or newer", self.arch()))
        } else {
            None
        }
    }

    /// What becomes of the build where code for a GPU cannot be made.
    pub(super) fn gpu_failure(&self) -> Failure {
        match self.args.asked.exec {
            Some(Exec::Cuda) => Failure::Ends,
            Some(_) => Failure::IsSaid,
            None => Failure::IsNoted,
        }
    }

    /// From the plugin's bitcode to PTX, of the version that clang takes for the toolkit.
    pub(super) fn ptx(&self, files: &GpuFiles) -> Command {
        let mut command = clang_command(self.toolchain);
        command.args(["--target=nvptx64-nvidia-cuda", "-nogpulib", "-Wno-override-module"]);
        command.arg(format!("-march={}", self.arch()));
        let version = self.toolchain.toolkit.as_ref().map(|t| t.version.ptx());
        command.args(["-Xclang", "-target-feature", "-Xclang"]);
        command.arg(format!("+ptx{}", version.unwrap_or(OLDEST_PTX)));
        command.arg(format!("-O{}", self.args.opt_level.clamp(1, 3)));
        command.args(["-S", "-x", "ir"]);
        command.arg(&files.from_plugin.bitcode);
        command.arg("-o");
        command.arg(&files.ptx);
        command
    }

    /// From PTX to the processor's code. Not for `auto`: the driver can do it, and
    /// the build need not wait.
    pub(super) fn sass(&self, files: &GpuFiles) -> Option<Command> {
        let ptxas = self.toolchain.toolkit.as_ref()?.path.join("bin/ptxas");
        if self.args.asked.exec != Some(Exec::Cuda) || !ptxas.is_file() {
            return None;
        }
        let mut command = Command { program: ptxas, ..Command::default() };
        command.arg(format!("-arch={}", self.arch()));
        command.arg(&files.ptx);
        command.arg("-o");
        command.arg(&files.sass);
        Some(command)
    }
}
