//! The compilation of inputs that are not CUDA, and the link.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Planner, ToolCommand, clang_command, joined};
use crate::args::{self, InputKind, Item, Role};
use crate::clang_options as clang;
use crate::cuda::Toolkit;
use crate::flags::Exec;
use crate::libraries;
use crate::toolchain::{Driver, FALLBACK_HEADERS};

/// The assembly that connects NVTX's headers with the runtime, in the folder of headers. It comes before all other
/// objects.
const NVTX: &str = "gpurace/nvtx.s";

/// The purpose of a link.
pub(super) enum LinkTo<'a> {
    /// To write what the user asked for, with the object that joins device code, if any.
    Output { joining: Option<&'a Path> },
    /// To learn which objects the linker takes.
    Trial(&'a Path),
}

impl LinkTo<'_> {
    fn is_trial(&self) -> bool {
        matches!(self, LinkTo::Trial(_))
    }
}

impl Planner<'_> {
    /// Returns the compilation (`-c`) of the inputs that are not CUDA.
    pub(super) fn compile_others(&self) -> ToolCommand {
        let mut command = clang_command(self.toolchain);
        command.args.extend(self.options(&[Role::Any, Role::Dependency, Role::Driver]));
        self.host_only_options(&mut command);
        command.arg("-c");
        if let Some(output) = &self.args.output {
            command.arg("-o");
            command.arg(output);
        }
        let mut language = None;
        for input in self.args.inputs().filter(|input| input.kind() == InputKind::Host) {
            command.input(&input.path, input.language.as_deref(), &mut language);
        }
        command
    }

    /// Adds the folders of `cuda_runtime.h` for host code that is not CUDA. clang searches them last.
    fn host_only_options(&self, command: &mut ToolCommand) {
        self.debug_info(command);
        for dir in self.toolchain.toolkit.iter().flat_map(Toolkit::include_dirs) {
            command.arg("-idirafter");
            command.arg(dir);
        }
        command.arg("-idirafter");
        command.arg(self.installation.include_dir.join(FALLBACK_HEADERS));
    }

    /// True if this file is a library that another replaces in this link.
    fn is_replaced_file(&self, file: &OsStr) -> bool {
        self.replaced().any(|libraries| clang::is_file_of(libraries, &file.to_string_lossy()))
    }

    /// True if these words name a library that another replaces in this link, or that is missing.
    fn is_left_out(&self, words: &[OsString]) -> bool {
        self.replaced().any(|libraries| names_one_of(libraries, words))
            || self.args.missing_libraries.iter().any(|library| names_one_of(&[&library.name], words))
    }

    /// The libraries that others replace in this link.
    fn replaced(&self) -> impl Iterator<Item = &'static [&'static str]> {
        let own = self.args.own_libraries.iter().map(|library| library.replaces);
        let has_own = !self.args.own_libraries.is_empty() || self.args.asked.exec == Some(Exec::Cpu);
        let of_static = has_own.then_some(clang::OF_STATIC_LIBRARIES);
        let of_gcc = libraries::links_openmp(self.args).then_some(clang::OPENMP_OF_GCC);
        own.chain(of_static).chain(of_gcc).chain([clang::REPLACED_LIBRARIES])
    }

    /// Returns the link, which also compiles the inputs that are not CUDA.
    pub(super) fn link(&self, objects: &[PathBuf], to: &LinkTo) -> ToolCommand {
        let compiles = self.args.inputs().any(|input| input.kind() == InputKind::Host);
        let mut command = clang_command(self.toolchain);
        let mut language = None;
        if compiles {
            self.host_only_options(&mut command);
        }
        let links_nvtx = !self.args.bare_link && !to.is_trial();
        if !objects.is_empty() || (links_nvtx && !compiles) {
            command.arg("-Qunused-arguments");
        }
        if links_nvtx {
            let nvtx = self.installation.include_dir.join(NVTX);
            command.input(nvtx.as_os_str(), Some("assembler"), &mut language);
        }
        let mut objects = objects.iter();
        for item in &self.args.items {
            match item {
                Item::Input(input) => match input.kind() {
                    InputKind::Cuda => {
                        if let Some(object) = objects.next() {
                            command.input(object.as_os_str(), None, &mut language);
                        }
                    }
                    _ if self.is_replaced_file(&input.path) => {}
                    _ => command.input(&input.path, input.language.as_deref(), &mut language),
                },
                Item::Option { words, role } => {
                    if self.takes(words, *role, compiles, to) {
                        command.args.extend(words.iter().cloned());
                    }
                }
            }
        }
        match to {
            LinkTo::Output { joining: None } => {}
            LinkTo::Output { joining: Some(object) } => {
                command.input(object.as_os_str(), None, &mut language)
            }
            LinkTo::Trial(output) => {
                command.args(["-Wl,--unresolved-symbols=ignore-all", "-o"]);
                command.arg(output);
            }
        }
        if !self.args.bare_link {
            self.add_runtime(&mut command);
        }
        command
    }

    /// True if a link takes an option of the user's. `compiles`: it also compiles.
    fn takes(&self, words: &[OsString], role: Role, compiles: bool, to: &LinkTo) -> bool {
        match role {
            Role::Any => true,
            Role::Link => !self.is_left_out(words),
            Role::Dependency | Role::Driver => compiles && !to.is_trial(),
            Role::Output => !to.is_trial(),
            Role::CompileOnly | Role::Device | Role::Language => false,
        }
    }

    /// Adds the libraries of gpurace, and those that the runtime needs.
    fn add_runtime(&self, command: &mut ToolCommand) {
        let library_dir = &self.installation.library_dir;
        command.arg(joined("-L", library_dir));
        for library in &self.args.own_libraries {
            command.arg(format!("-l{}", library.name));
        }
        command.arg("-lgpurace_rt");
        command.arg(joined("-Wl,-rpath,", library_dir));
        if self.toolchain.compiler.driver == Driver::C {
            // Host code of CUDA is C++, and nvcc links as g++ does.
            command.args(["-Wl,--push-state,--as-needed", "-lstdc++", "-lm", "-Wl,--pop-state"]);
        }
    }
}

/// True if these words name one of these libraries, such as `-lcudart`.
fn names_one_of(libraries: &[&str], words: &[OsString]) -> bool {
    args::joined(words).strip_prefix("-l").is_some_and(|name| match name.strip_prefix(':') {
        Some(file) => clang::is_file_of(libraries, file),
        None => libraries.contains(&name),
    })
}
