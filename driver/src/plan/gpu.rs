//! Code for NVIDIA GPUs: its files, and the commands that make them from the plugin's output.

use std::path::PathBuf;

use gpurace_abi::gpu_code::Arch;
use gpurace_abi::plugin::{self, PassConfig};

use super::{CudaInputFiles, Planner, ToolCommand, clang_command, joined};
use crate::args::Input;
use crate::cuda;
use crate::flags::Exec;

/// The files for one GPU architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuFiles {
    /// The files that the plugin writes.
    pub from_plugin: plugin::Gpu,
    /// PTX.
    pub ptx: PathBuf,
    /// Machine code. The file does not exist if only PTX is made.
    pub sass: PathBuf,
    /// The architecture. `None` for linked device code, since its units name it.
    pub arch: Option<String>,
}

/// What the build does if it cannot make code for a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It ends with an error, since the program has no other code.
    Error,
    /// It continues with a remark, since the user asked for such code.
    Remark,
    /// It continues without a word, since the user did not ask. The container has the reason.
    Silent,
}

/// True if the checker runs on GPUs of this architecture. It needs independent scheduling of the threads of a
/// warp.
pub fn checks_on(arch: &str) -> bool {
    Arch::of_name(arch).is_some_and(|arch| arch.number >= 70)
}

/// Returns the reason why the checker does not run on GPUs of this architecture.
pub fn too_old(arch: &str) -> String {
    format!("`{arch}` is too old, wanted `sm_70` or newer")
}

impl Planner<'_> {
    /// Returns the files for GPUs, one item for each architecture.
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

    /// Returns the GPU files that the plugin writes while it compiles for the executor.
    pub(super) fn gpu_of_device(&self, files: &CudaInputFiles) -> Option<plugin::Gpu> {
        let of_unit = self.args.separate_compilation.is_some() && !files.linked;
        let own = self
            .gpus(files)
            .into_iter()
            .find(|gpu| gpu.arch.as_deref().is_none_or(|arch| arch == self.arch()));
        own.filter(|_| !of_unit).map(|gpu| gpu.from_plugin)
    }

    /// Returns the compilations for all other architectures.
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
                exec: plugin::ANOTHER_ARCH.to_owned(),
                gpu: Some(gpu.from_plugin.clone()),
                ..self.config(&main_file, files)
            };
            let mut command = self.device_for(input, arch, &bitcode, &config);
            // The first compilation has already printed all warnings.
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

    /// Returns the reason if code for a GPU is requested and none of the architectures allows it.
    pub(super) fn no_gpu(&self) -> Option<String> {
        // The units of linked device code name their architecture.
        let linked = self.args.separate_compilation.is_some()
            || self.args.links_units
            || self.args.device_link.is_some();
        let none = self.wants_gpu() && !linked && !self.archs().iter().any(|arch| checks_on(arch));
        none.then(|| too_old(self.arch()))
    }

    /// Returns what the build does if it cannot make code for a GPU.
    pub(super) fn gpu_failure(&self) -> Failure {
        match self.args.asked.exec {
            Some(Exec::Cuda) => Failure::Error,
            Some(_) => Failure::Remark,
            None => Failure::Silent,
        }
    }

    /// Adds the options that make clang write the toolkit's version of PTX, for a run without `--cuda-path`.
    pub(super) fn ptx_version(&self, command: &mut ToolCommand) {
        let version = self.toolchain.toolkit.as_ref().map_or(cuda::NEWEST_PTX, |t| t.version.ptx());
        command.args(["-Xclang", "-target-feature", "-Xclang"]);
        command.arg(format!("+ptx{version}"));
    }

    /// Returns the command from the plugin's bitcode to PTX.
    pub(super) fn ptx(&self, files: &GpuFiles) -> ToolCommand {
        let mut command = clang_command(self.toolchain);
        command.args(["--target=nvptx64-nvidia-cuda", "-nogpulib", "-Wno-override-module"]);
        command.arg(match &files.arch {
            Some(arch) => format!("-march={arch}").into(),
            None => joined("@", &self.linked_arch()),
        });
        self.ptx_version(&mut command);
        // Users seldom give a level to a link, so its level is at least 2.
        let least = if files.arch.is_some() { 1 } else { 2 };
        command.arg(format!("-O{}", self.args.opt_level.clamp(least, 3)));
        command.args(["-S", "-x", "ir"]);
        command.arg(&files.from_plugin.bitcode);
        command.arg("-o");
        command.arg(&files.ptx);
        command
    }

    /// Returns the command from PTX to machine code. There is none for `auto`: the GPU's driver can translate
    /// PTX too, and the build need not wait for it.
    pub(super) fn sass(&self, files: &GpuFiles) -> Option<ToolCommand> {
        let ptxas = self.toolchain.toolkit.as_ref()?.path.join("bin/ptxas");
        if self.args.asked.exec != Some(Exec::Cuda) || !ptxas.is_file() {
            return None;
        }
        let mut command = ToolCommand { program: ptxas, ..ToolCommand::default() };
        // For linked device code, the step reads the architecture from the PTX.
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
        from_plugin: plugin::Gpu { bitcode: name("gpu.bc"), meta: name("gpu.json"), note: name("gpu.note") },
        ptx: name("ptx"),
        sass: name("cubin"),
        arch: arch.map(str::to_owned),
    }
}
