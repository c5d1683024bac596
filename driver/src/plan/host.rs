//! The compilation of inputs that are not CUDA, and archives.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Planner, Step, ToolCommand, clang_command};
use crate::args::{Input, InputKind, Role};
use crate::cuda::Toolkit;
use crate::toolchain::FALLBACK_HEADERS;

impl Planner<'_> {
    /// Returns the compilations (`-c`) of the inputs that are not CUDA: one for C, one for all others.
    pub(super) fn compile_others(&self) -> impl Iterator<Item = ToolCommand> {
        [true, false].into_iter().filter_map(|c| {
            let chosen = |input: &&Input| input.kind() == InputKind::Host && input.is_c() == c;
            let inputs: Vec<_> = self.args.inputs().filter(chosen).collect();
            let output = self.args.output.as_ref().map(Path::new);
            (!inputs.is_empty()).then(|| self.compile_host(&inputs, output))
        })
    }

    /// True if a step of its own compiles this input, which is not CUDA, to a temporary object. The link compiles all
    /// others, by one run of clang, but the standard of C++ is none of C.
    pub(super) fn is_apart(&self, input: &Input) -> bool {
        let args = self.args;
        let makes_other = args.compile_only || args.device_only.is_some() || args.device_link.is_some();
        input.kind() == InputKind::Host && !makes_other && (input.is_c() || args.archive)
    }

    /// Returns the compilation (`-c`) of inputs that are not CUDA, and either all C or none.
    pub(super) fn compile_host(&self, inputs: &[&Input], output: Option<&Path>) -> ToolCommand {
        let are_c = inputs.iter().all(|input| input.is_c());
        let mut command = clang_command(self.toolchain);
        let options = self.options(&[Role::Any, Role::Dependency, Role::Driver]);
        command.args.extend(options.filter(|word| !are_c || !names_cxx(word)));
        self.host_only_options(&mut command);
        self.add_adapted_headers(&mut command);
        command.arg("-c");
        if let Some(output) = output {
            command.arg("-o");
            command.arg(output);
        }
        let mut language = None;
        for input in inputs {
            let asked = if are_c { Some("c") } else { input.language.as_deref() };
            command.input(&input.path, asked, &mut language);
        }
        command
    }

    /// Adds the folders of `cuda_runtime.h` for host code that is not CUDA. clang searches them last.
    pub(super) fn host_only_options(&self, command: &mut ToolCommand) {
        self.debug_info(command);
        for dir in self.toolchain.toolkit.iter().flat_map(Toolkit::include_dirs) {
            command.arg("-idirafter");
            command.arg(dir);
        }
        let ours = &self.installation.include_dir;
        for dir in [ours, &ours.join(FALLBACK_HEADERS)] {
            command.arg("-idirafter");
            command.arg(dir);
        }
    }

    /// Returns the step that writes an archive of the objects that earlier steps made, and of the user's.
    pub(super) fn archive(&self, objects: &[PathBuf]) -> Step {
        let output = PathBuf::from(self.args.output.clone().unwrap_or_else(|| "a.a".into()));
        let mut command = ToolCommand { program: "ar".into(), ..ToolCommand::default() };
        command.arg("qcs");
        command.path(output.as_os_str());
        let mut made = objects.iter();
        for input in self.args.inputs() {
            match input.kind() {
                // A shared library is no member of an archive.
                InputKind::Linker if input.path.to_string_lossy().contains(".so") => {}
                InputKind::Linker => command.path(&input.path),
                InputKind::Cuda | InputKind::Host => command.args(made.next()),
            }
        }
        Step::Archive { command, output }
    }
}

/// True if this option names a standard of C++.
fn names_cxx(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    ["-std=", "--std="].iter().any(|name| text.strip_prefix(name).is_some_and(|value| value.contains("++")))
}
