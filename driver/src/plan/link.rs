//! The link.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Planner, ToolCommand, clang_command, joined};
use crate::args::{self, Input, InputKind, Item, Role};
use crate::clang_options as clang;
use crate::flags::Exec;
use crate::libraries;
use crate::toolchain::Driver;

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
        let links_openmp = libraries::links_openmp(self.args) || self.args.openmp_of_clang.is_some();
        let of_gcc = links_openmp.then_some(clang::OPENMP_OF_GCC);
        own.chain(of_static).chain(of_gcc).chain([clang::REPLACED_LIBRARIES])
    }

    /// Returns the link. It also compiles those inputs that no other step compiles.
    pub(super) fn link(&self, objects: &[PathBuf], to: &LinkTo) -> ToolCommand {
        let compiles_itself = |input: &Input| input.kind() == InputKind::Host && !self.is_apart(input);
        let compiles = self.args.inputs().any(compiles_itself);
        let mut command = clang_command(self.toolchain);
        let mut language = None;
        if compiles {
            self.host_only_options(&mut command);
            self.add_adapted_headers(&mut command);
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
                Item::Input(input) if input.kind() == InputKind::Cuda || self.is_apart(input) => {
                    if let Some(object) = objects.next() {
                        command.input(object.as_os_str(), None, &mut language);
                    }
                }
                Item::Input(input) if self.is_replaced_file(&input.path) => {}
                Item::Input(input) => command.input(&input.path, input.language.as_deref(), &mut language),
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
        if let Some(openmp) = &self.args.openmp_of_clang {
            command.arg("-Wl,--push-state,--as-needed");
            command.arg(openmp);
            command.arg("-Wl,--pop-state");
        }
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
