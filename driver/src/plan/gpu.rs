//! Code for an NVIDIA GPU beside the executor's: which files, and the commands
//! that make them of what the plugin writes.

use std::path::PathBuf;

use gpurace_abi::gpu_code::Arch;

use super::{CudaInputFiles, Planner, ToolCommand, clang_command, joined};
use crate::args::Input;
use crate::config::{self, PassConfig};
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
    /// What it is for. `None` for linked device code, whose units say it.
    pub arch: Option<String>,
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

/// Whether the checker runs on a GPU of this architecture: threads of a warp
/// are scheduled independently.
pub fn checks_on(arch: &str) -> bool {
    Arch::of_name(arch).is_some_and(|arch| arch.number >= 70)
}

/// Why it does not.
pub fn too_old(arch: &str) -> String {
    format!("`{arch}` is too old, wanted `sm_70` or newer")
}

impl Planner<'_> {
    /// The files for GPUs, an architecture each, where code for them is to be made.
    pub(super) fn gpus(&self, files: &CudaInputFiles) -> Vec<GpuFiles> {
        if !self.wants_gpu() {
            return Vec::new();
        }
        if files.linked {
            return vec![gpu_files(files, None, "")];
        }
        let archs = self.archs();
        let checked = archs.iter().filter(|arch| checks_on(arch));
        checked
            .map(|&arch| match arch == self.arch() {
                true => gpu_files(files, Some(arch), ""),
                false => gpu_files(files, Some(arch), &format!("{arch}.")),
            })
            .collect()
    }

    /// What the plugin writes for a GPU where it compiles for the executor.
    pub(super) fn gpu_of_device(&self, files: &CudaInputFiles) -> Option<config::Gpu> {
        let of_unit = self.args.separate_compilation.is_some() && !files.linked;
        let own = self
            .gpus(files)
            .into_iter()
            .find(|gpu| gpu.arch.as_deref().is_none_or(|arch| arch == self.arch()));
        own.filter(|_| !of_unit).map(|gpu| gpu.from_plugin)
    }

    /// The compilations for all other architectures.
    pub(super) fn other_archs(
        &self,
        input: &Input,
        files: &CudaInputFiles,
    ) -> impl Iterator<Item = ToolCommand> {
        let main_file = input.path.to_string_lossy();
        self.gpus(files).into_iter().filter_map(move |gpu| {
            let arch = gpu.arch.as_deref().filter(|arch| *arch != self.arch())?;
            let bitcode = gpu.from_plugin.bitcode.with_extension("rest");
            let config = PassConfig {
                exec: config::ANOTHER_ARCH.to_owned(),
                gpu: Some(gpu.from_plugin.clone()),
                ..self.config(&main_file, files)
            };
            let mut command = self.device_for(input, arch, &bitcode, &config);
            // What there is to say of the source has been said once.
            command.arg("-w");
            Some(command)
        })
    }

    fn archs(&self) -> Vec<&str> {
        match &self.args.gpu_archs[..] {
            [] => vec![self.arch()],
            named => named.iter().map(String::as_str).collect(),
        }
    }

    fn wants_gpu(&self) -> bool {
        let asked = &self.args.asked;
        asked.sanitize && asked.exec.unwrap_or_default() != Exec::Cpu
    }

    /// Why no code for a GPU can be made, where it is to be.
    pub(super) fn no_gpu(&self) -> Option<String> {
        // Linked device code is for what its units say.
        let linked = self.args.separate_compilation.is_some()
            || self.args.links_units
            || self.args.device_link.is_some();
        let none = self.wants_gpu() && !linked && !self.archs().iter().any(|arch| checks_on(arch));
        none.then(|| too_old(self.arch()))
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
    pub(super) fn ptx(&self, files: &GpuFiles) -> ToolCommand {
        let mut command = clang_command(self.toolchain);
        command.args(["--target=nvptx64-nvidia-cuda", "-nogpulib", "-Wno-override-module"]);
        command.arg(match &files.arch {
            Some(arch) => format!("-march={arch}").into(),
            None => joined("@", &self.linked_arch()),
        });
        let version = self.toolchain.toolkit.as_ref().map(|t| t.version.ptx());
        command.args(["-Xclang", "-target-feature", "-Xclang"]);
        command.arg(format!("+ptx{}", version.unwrap_or(OLDEST_PTX)));
        // A link is seldom told a level: its units were.
        let least = if files.arch.is_some() { 1 } else { 2 };
        command.arg(format!("-O{}", self.args.opt_level.clamp(least, 3)));
        command.args(["-S", "-x", "ir"]);
        command.arg(&files.from_plugin.bitcode);
        command.arg("-o");
        command.arg(&files.ptx);
        command
    }

    /// From PTX to the processor's code. Not for `auto`: the driver can do it, and
    /// the build need not wait.
    pub(super) fn sass(&self, files: &GpuFiles) -> Option<ToolCommand> {
        let ptxas = self.toolchain.toolkit.as_ref()?.path.join("bin/ptxas");
        if self.args.asked.exec != Some(Exec::Cuda) || !ptxas.is_file() {
            return None;
        }
        let mut command = ToolCommand { program: ptxas, ..ToolCommand::default() };
        // Without one: as the PTX says, which is there by then.
        command.args(files.arch.iter().map(|arch| format!("-arch={arch}")));
        command.arg(&files.ptx);
        command.arg("-o");
        command.arg(&files.sass);
        Some(command)
    }
}

fn gpu_files(files: &CudaInputFiles, arch: Option<&str>, prefix: &str) -> GpuFiles {
    let name = |end: &str| files.device_object.with_extension(format!("{prefix}{end}"));
    GpuFiles {
        from_plugin: config::Gpu { bitcode: name("gpu.bc"), meta: name("gpu.json"), note: name("gpu.note") },
        ptx: name("ptx"),
        sass: name("cubin"),
        arch: arch.map(str::to_owned),
    }
}
