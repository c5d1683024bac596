//! The runs of clang for one CUDA source: device code, host image, host code.

use std::path::{Path, PathBuf};

use gpurace_abi::plugin::{self, Cpu, PassConfig};

use super::{
    CudaInputFiles, DEFAULT_GPU_ARCH, DEFINES_NVCC, Planner, Step, ToolCommand, clang_command, joined, stem,
};
use crate::args::{Input, Role, SaveTemps};
use crate::cuda::Version;
use crate::flags::Exec;
use crate::toolchain::{COMPATIBILITY_HEADER, FALLBACK_HEADERS};
use crate::{cuda13, headers};

/// How nvcc says that lambdas may be for the device.
const LAMBDAS: &str = "-D__CUDACC_EXTENDED_LAMBDA__";

impl Planner<'_> {
    /// Returns the start of both compilations of a CUDA input: clang, and what nvcc declares in every source.
    pub(super) fn cuda_command(&self) -> ToolCommand {
        let mut command = clang_command(self.toolchain);
        command.arg("-isystem");
        command.arg(&self.installation.include_dir);
        command.args(["-include", COMPATIBILITY_HEADER]);
        command.arg("-idirafter");
        command.arg(self.installation.include_dir.join(FALLBACK_HEADERS));
        if self.args.asked.sanitize {
            // `gpurace/gpurace.h` tests this macro.
            command.arg("-D__GPURACE__=1");
        }
        if let Some(toolkit) = &self.toolchain.toolkit {
            // clang defines none of these. Programs choose by them what their CUDA can do, and print them.
            let Version { major, minor } = toolkit.version;
            command.arg(format!("-D__CUDACC_VER_MAJOR__={major}"));
            command.arg(format!("-D__CUDACC_VER_MINOR__={minor}"));
            command.arg("-D__CUDACC_VER_BUILD__=0");
        }
        command
    }

    /// Returns the headers and sources that clang reads in an adapted copy, and their copies.
    fn headers(&self) -> impl Iterator<Item = (&PathBuf, PathBuf)> {
        // Sources of two folders may have one name.
        let copy = |index: usize, from: &PathBuf| {
            let name = from.file_name().unwrap_or_default().to_string_lossy();
            self.work.join(format!("gpurace-{index}-{name}"))
        };
        let all = self.toolchain.adapted_headers.iter().enumerate();
        all.map(move |(index, from)| (from, copy(index, from)))
    }

    /// The file with [`headers::overlay`].
    fn overlay(&self) -> PathBuf {
        self.work.join("gpurace-overlay.json")
    }

    /// Returns the steps that make headers for clang.
    pub(super) fn header_steps(&self) -> Vec<Step> {
        let step = |(from, to): (&PathBuf, PathBuf)| Step::Header { from: from.clone(), to };
        let overlay = self.has_overlay().then(|| {
            let toolkit = self.toolchain.toolkit.as_ref().map(|toolkit| toolkit.path.as_path());
            let hidden = self.toolchain.hidden_header.as_deref().zip(toolkit);
            let copies: Vec<_> = self.headers().filter(|(from, _)| cuda13::is_header(from)).collect();
            let copies: Vec<_> = copies.iter().map(|(from, to)| (from.as_path(), to.as_path())).collect();
            Step::Overlay { text: headers::overlay(hidden, &copies), to: self.overlay() }
        });
        self.headers().map(step).chain(overlay).collect()
    }

    fn has_overlay(&self) -> bool {
        self.toolchain.hidden_header.is_some() || self.headers().any(|(from, _)| cuda13::is_header(from))
    }

    /// Lets clang read the adapted copies of headers and sources, which [`Self::header_steps`] make.
    pub(super) fn add_adapted_headers(&self, command: &mut ToolCommand) {
        for (from, to) in self.headers().filter(|(from, _)| !cuda13::is_header(from)) {
            command.args(["-Xclang", "-remap-file", "-Xclang"]);
            command.arg(joined(&format!("{};", from.display()), &to));
        }
        if self.has_overlay() {
            command.arg("-ivfsoverlay");
            command.arg(self.overlay());
        }
    }

    /// Adds the folders of the toolkit's headers that clang does not add itself.
    pub(super) fn add_headers_apart(&self, command: &mut ToolCommand) {
        let toolkit = self.toolchain.toolkit.iter();
        for dir in toolkit.flat_map(|toolkit| toolkit.include_dirs().skip(1)) {
            command.arg("-isystem");
            command.arg(dir);
        }
    }

    /// Adds what both compilations of a CUDA input get beside the user's options.
    pub(super) fn cuda_options(&self, command: &mut ToolCommand, arch: &str) {
        command.arg(format!("--cuda-gpu-arch={arch}"));
        if let Some(toolkit) = &self.toolchain.toolkit {
            command.arg(joined("--cuda-path=", &toolkit.path));
        }
        self.add_headers_apart(command);
        command.args.extend(self.toolchain.newer_standard.map(|standard| format!("-std={standard}").into()));
        if self.options(&[Role::Any]).any(|option| option.to_string_lossy().starts_with(LAMBDAS)) {
            // The macro makes cuda_runtime.h include <new>, before clang declares the device's malloc. Our
            // header defines it instead.
            command.args(["-U__CUDACC_EXTENDED_LAMBDA__", "-D__GPURACE_EXTENDED_LAMBDA__=1"]);
        }
        if self.args.defines("__NVCC__") {
            command.arg("-U__NVCC__");
            // CMake compiles a source of this name to learn which compiler it has.
            let is_cmakes = |input: &Input| input.path.to_string_lossy().ends_with("CMakeCUDACompilerId.cu");
            if !self.args.inputs().any(is_cmakes) {
                command.arg(DEFINES_NVCC);
            }
        }
        self.add_adapted_headers(command);
        self.debug_info(command);
        // Each step gets options that only another step uses. clang 22 warns of CUDA 13, which it can parse.
        command.args(["-Wno-unknown-cuda-version", "-Qunused-arguments"]);
        // nvcc judges calls of the side that it compiles only: `__CUDA_ARCH__` may take away what the other side calls.
        command.arg("-fgpu-defer-diag");
        // nvcc warns at most of these: `int i[] = {threadIdx.x}`, `a.template f(x)`, `register` in C++17.
        command.args(
            ["c++11-narrowing", "missing-template-arg-list-after-template-kw", "register"]
                .map(|name| format!("-Wno-error={name}")),
        );
    }

    /// True if device code is compiled with the debug info of types, for the names of fields. The pass reads it and
    /// takes it out again, unless a debugger is to read it, too. The bitcode of a separately compiled unit would keep
    /// it.
    fn adds_types(&self) -> bool {
        self.args.asked.sanitize && !self.args.no_debug_info && self.args.separate_compilation.is_none()
    }

    /// Returns the architecture whose code the executor runs.
    pub(super) fn arch(&self) -> &str {
        self.args.gpu_archs.first().map_or(DEFAULT_GPU_ARCH, |arch| arch)
    }

    pub(super) fn debug_info(&self, command: &mut ToolCommand) {
        if self.args.asked.sanitize && !self.args.debug_info {
            command.arg("-gline-tables-only");
        }
    }

    pub(super) fn device(&self, input: &Input, files: &CudaInputFiles) -> ToolCommand {
        let config = self.config(&input.path.to_string_lossy(), files);
        self.device_for(input, self.arch(), &files.bitcode, &config)
    }

    /// Returns the compilation of device code for an architecture.
    pub(super) fn device_for(
        &self,
        input: &Input,
        arch: &str,
        bitcode: &Path,
        config: &PassConfig,
    ) -> ToolCommand {
        let mut command = self.cuda_command();
        command.args.extend(self.options(&[Role::Any]));
        if self.args.device_only.is_some() && arch == self.arch() {
            command.args.extend(self.options(&[Role::Dependency]));
            self.dependency_names(input, &mut command);
        }
        command.arg("--cuda-device-only");
        // Programs shuffle a variable that only one lane has set, which is well-defined for nvcc only.
        command.args(["-Xclang", "-no-enable-noundef-analysis"]);
        self.cuda_options(&mut command, arch);
        command.arg("-fno-lto");
        // `#pragma unroll` is meant for GPUs. Do not warn that a loop was not unrolled here.
        command.arg("-Wno-pass-failed");
        if self.args.asked.sanitize {
            // Texts about proofs use the names of parameters.
            command.arg("-fno-discard-value-names");
        }
        if self.adds_types() {
            // clang gives optimised device code lines only, even for `-g`.
            command.args(["-Xclang", "-debug-info-kind=constructor"]);
        }
        // This follows the user's `-O`, so the front end is the same for all levels and verdicts do not
        // depend on the level. The pass gets the user's level in its configuration.
        command.arg("-O2");
        command.arg(joined("-fpass-plugin=", &self.installation.plugin));
        if self.args.separate_compilation.is_some() {
            self.unit_options(input, &mut command);
        }
        command.args(["-emit-llvm", "-c", "-o"]);
        command.arg(bitcode);
        command.source(input);
        // This cannot fail: the configuration has only strings, numbers and lists.
        let json = serde_json::to_string(&config).unwrap_or_default();
        command.env.push((plugin::VARIABLE.to_owned(), json));
        command
    }

    /// Returns what the plugin is told of a compilation.
    pub(super) fn config(&self, main_file: &str, files: &CudaInputFiles) -> PassConfig {
        let asked = &self.args.asked;
        let baseline = matches!(self.args.march.as_deref(), Some("x86-64" | "x86-64-v2"));
        PassConfig {
            version: plugin::VERSION,
            sanitize: asked.sanitize,
            exec: match self.args.asked.exec {
                Some(Exec::Cuda) => "cuda",
                Some(Exec::Auto) | None if asked.sanitize => "auto",
                _ => "cpu",
            }
            .to_owned(),
            gpu: self.gpu_of_device(files),
            prune: asked.prune,
            solver: self.installation.solver.clone(),
            opt_level: self.args.opt_level,
            object: files.device_object.clone(),
            meta: files.meta.clone(),
            proofs: files.proofs.clone(),
            diagnostics: files.diagnostics.clone(),
            facts: asked.facts.clone(),
            system_prefixes: self.toolchain.system_prefixes.clone(),
            cpu: if baseline { Cpu::Baseline } else { self.toolchain.cpu },
            warn: !asked.no_warn && !self.args.no_warnings,
            werror: self.warnings_are_errors(),
            rpass: asked.rpass,
            rpass_missed: asked.rpass_missed,
            main_file: main_file.to_owned(),
            // A debugger on the host reads them. Code for a GPU with them would not be optimised.
            strip_types: self.adds_types() && !(self.args.full_debug_info && asked.exec == Some(Exec::Cpu)),
            alone: self.args.device_only.is_some(),
            cuda: self.toolchain.toolkit.as_ref().map_or(0, |toolkit| toolkit.version.number()),
            part: self
                .args
                .separate_compilation
                .as_ref()
                .filter(|_| !files.linked)
                .map(|_| files.unit.clone()),
        }
    }

    /// Returns the link of a host image.
    pub(super) fn image(&self, files: &CudaInputFiles) -> ToolCommand {
        let mut command = clang_command(self.toolchain);
        // The C++ driver would link the C++ library.
        command.args(["--driver-mode=gcc", "-shared", "-nostartfiles", "-fuse-ld=lld"]);
        // A name that neither the image nor the runtime defines is an error now, not when the program opens
        // the image.
        command.args(["-Wl,-z,defs", "-Wl,-Bsymbolic", "-Wl,--error-limit=0"]);
        command.arg(&files.device_object);
        command.arg("-o");
        command.arg(&files.image);
        command.arg(joined("-L", &self.installation.library_dir));
        command.args(["-lgpurace_rt", "-lm"]);
        command
    }

    /// Returns the compilation of an input for the host, with its container.
    pub(super) fn host(&self, input: &Input, files: &CudaInputFiles) -> ToolCommand {
        let mut command = self.cuda_command();
        command.args.extend(self.options(&[Role::Any, Role::Dependency]));
        command.arg("--cuda-host-only");
        self.cuda_options(&mut command, self.arch());
        if self.args.separate_compilation.is_some() {
            self.unit_options(input, &mut command);
            command.arg(joined("@", &files.declarations));
        }
        // The plugin puts managed variables on pages of their own.
        command.arg(joined("-fpass-plugin=", &self.installation.plugin));
        command.args(["-Xclang", "-fcuda-include-gpubinary", "-Xclang"]);
        command.arg(&files.container);
        command.args(match self.args.save_temps {
            Some(SaveTemps::Cwd) => &["-save-temps=cwd"][..],
            Some(SaveTemps::Obj) => &["-save-temps=obj"],
            None => &[],
        });
        if !self.args.compile_only {
            self.dependency_names(input, &mut command);
        }
        command.args(["-c", "-o"]);
        command.arg(&files.object);
        command.source(input);
        command
    }

    /// Names the dependency file and its target after the source or the output, as one run of clang does. The
    /// default here would be the temporary object.
    fn dependency_names(&self, input: &Input, command: &mut ToolCommand) {
        let given: Vec<_> = self.options(&[Role::Dependency]).collect();
        let has = |options: &[&str]| {
            given.iter().any(|word| options.iter().any(|o| word.to_string_lossy().starts_with(o)))
        };
        if !has(&["-MD", "-MMD", "--write"]) {
            return;
        }
        if !has(&["-MF"]) {
            let file = match &self.args.output {
                Some(output) => Path::new(output).with_extension("d"),
                None => format!("{}.d", stem(&input.path)).into(),
            };
            command.arg("-MF");
            command.arg(file);
        }
        if !has(&["-MT", "-MQ"]) {
            let ending = if self.args.device_only.is_some() { "fatbin" } else { "o" };
            let object = || format!("{}.{ending}", stem(&input.path)).into();
            command.arg("-MT");
            command.arg(self.args.output.clone().unwrap_or_else(object));
        }
    }
}
