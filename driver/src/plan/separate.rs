//! The steps of separate compilation: for a unit, for a link that joins units, and for `-dlink`. [`part`]
//! explains them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use gpurace_abi::plugin::PassConfig;

use super::link::LinkTo;
use super::{CudaInputFiles, Planner, Step, ToolCommand, clang_command, joined};
use crate::args::{Input, InputKind};
use crate::clang_options as clang;
use crate::part;

impl Planner<'_> {
    /// Adds what both compilations of a unit get beside all else.
    pub(super) fn unit_options(&self, input: &Input, command: &mut ToolCommand) {
        let words = self.args.passed.iter().map(|word| word.as_encoded_bytes());
        let place = self.toolchain.work_dir.join(&input.path);
        let id = part::unit_id(std::iter::once(place.as_os_str().as_encoded_bytes()).chain(words));
        // The new driver's host code has no slot for a container.
        command.args(["-fgpu-rdc", "--no-offload-new-driver", "-fuse-cuid=none", "-Xclang"]);
        command.arg(format!("-cuid={id}"));
    }

    /// Returns the step that packs a unit for the link.
    pub(super) fn unit(&self, input: &Input, files: &CudaInputFiles) -> Step {
        Step::Unit {
            bitcode: files.unit.clone(),
            symbols: files.meta.clone(),
            unit: Box::new(part::Unit {
                config: PassConfig {
                    // The link writes the facts.
                    facts: None,
                    ..self.config(&input.path.to_string_lossy(), files)
                },
                arch: self.arch().to_owned(),
                needed: Vec::new(),
            }),
            container: files.container.clone(),
            declarations: files.declarations.clone(),
        }
    }

    /// Returns the link. If there is separately compiled device code, that code is linked first.
    pub(super) fn linked(&self, objects: &[PathBuf]) -> Vec<Step> {
        let compiled = self.args.separate_compilation.is_some();
        if self.args.relocatable || !(compiled || self.args.links_units) {
            return vec![Step::Clang(self.link(objects, &LinkTo::Output { joining: None }))];
        }
        let trial = self.work.join("trial");
        let joining = self.work.join("joining.o");
        let mut steps = vec![Step::Clang(self.link(objects, &LinkTo::Trial(&trial)))];
        steps.extend(self.joined(&trial, &joining));
        let to = LinkTo::Output { joining: Some(&joining) };
        steps.push(Step::Clang(self.link(objects, &to)));
        steps
    }

    /// Returns the steps of `-dlink`, which writes only the object that joins the device code of others.
    pub(super) fn device_link(&self, objects: &[PathBuf]) -> Vec<Step> {
        let trial = self.work.join("trial");
        let mut command = clang_command(self.toolchain);
        // One object of all objects, and of all members of archives. What they need of others may be missing.
        command.args(["-r", "-nostdlib", "-Wl,--whole-archive", "-Wl,--allow-multiple-definition"]);
        let mut compiled = objects.iter();
        for input in self.args.inputs() {
            let path = match input.kind() {
                InputKind::Cuda => compiled.next().map(|path| path.as_os_str()),
                InputKind::Host => None,
                InputKind::Linker => Some(input.path.as_os_str()),
            };
            // The toolkit's libraries and shared libraries have no device code to join.
            let is_object = |path: &&OsStr| {
                let name = path.to_string_lossy();
                !name.contains(".so") && !clang::is_replaced_library_file(&name)
            };
            if let Some(path) = path.filter(is_object) {
                command.path(path);
            }
        }
        command.arg("-o");
        command.arg(&trial);
        let output = self.args.output.clone().unwrap_or_else(|| "a_dlink.o".into());
        let mut steps = vec![Step::Clang(command)];
        steps.extend(self.joined(&trial, Path::new(&output)));
        steps
    }

    /// Returns the steps from a trial link to the object that joins its device code.
    fn joined(&self, trial: &Path, joining: &Path) -> Vec<Step> {
        let program = self.args.output.clone().unwrap_or_else(|| "a.out".into());
        let program = program.to_string_lossy().into_owned();
        let files = self.files_named("linked", joining.to_owned(), true);
        let place = |name: &str| self.work.join(name);
        let units = part::TrialLinkFiles {
            trial: trial.to_owned(),
            main: place("linked.0.bc"),
            others: place("linked.others"),
            settings: place("linked.settings"),
            arch: self.linked_arch(),
            stub: place("joining.c"),
            container: files.container.clone(),
        };
        let mut steps = vec![
            Step::Units {
                files: units.clone(),
                config: Box::new(self.config(&program, &files)),
                arch: self.arch().to_owned(),
            },
            Step::Linked { command: self.linked_device(&units, &files), settings: units.settings.clone() },
        ];
        steps.extend(self.image_steps(&files, &program, Some(&units.settings)));
        let mut stub = clang_command(self.toolchain);
        stub.args(["-w", "-O1", "-fPIC", "-x", "c", "-c"]);
        stub.arg(&units.stub);
        stub.arg("-o");
        stub.arg(&files.object);
        steps.push(Step::Clang(stub));
        steps
    }

    /// Returns the path of the response file with the architecture of linked device code.
    pub(super) fn linked_arch(&self) -> PathBuf {
        self.work.join("linked.arch")
    }

    /// Returns the command that runs the plugin over the bitcode of all units.
    fn linked_device(&self, units: &part::TrialLinkFiles, files: &CudaInputFiles) -> ToolCommand {
        let mut command = clang_command(self.toolchain);
        command.args(["--target=nvptx64-nvidia-cuda", "-nogpulib", "-Wno-unused-command-line-argument"]);
        command.args(["-O2", "-fno-discard-value-names", "-Wno-pass-failed"]);
        command.arg(joined("-fpass-plugin=", &self.installation.plugin));
        command.args(["-emit-llvm", "-c", "-o"]);
        command.arg(&files.bitcode);
        command.arg(joined("@", &units.arch));
        self.ptx_version(&mut command);
        command.args(["-x", "ir"]);
        command.arg(&units.main);
        command.arg(joined("@", &units.others));
        command
    }
}
