//! The plan: the commands for a command line. It is a pure function of arguments and toolchain.
//!
//! If the command line asks nothing of gpurace, the plan is one run of clang. Otherwise each CUDA input takes
//! these steps:
//!
//! ```text
//! device     clang --cuda-device-only, plugin loaded   → object and description of the device code
//! image      clang -shared                             → host image, an ELF shared object
//! container  image + description + proofs              → content of the fat-binary slot
//! host       clang --cuda-host-only                    → object that carries the container
//! ```
//!
//! With `--cuda-device-only` the container is the output, a file that `cuModuleLoad` takes.
//!
//! One more run of clang compiles all other inputs and links. Separately compiled device code gets its image
//! at the link: see [`part`](crate::part).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::args::{Args, Input, InputKind, Item, Role};
use crate::cuda::Origin;
use crate::flags::Exec;
use crate::toolchain::{Installation, Toolchain};

mod compile;
mod gpu;
mod host;
mod link;
mod preprocess;
mod separate;
mod step;

pub use gpu::{Failure, GpuFiles, checks_on, too_old};
pub use preprocess::preprocesses;
pub use step::{LONGEST_COMMAND, Plan, Step, ToolCommand};

/// Makes our header define nvcc's own macro, behind what CUDA's headers do for nvcc alone.
pub const DEFINES_NVCC: &str = "-D__GPURACE_NVCC__=1";

/// The architecture of device code if the user names none.
pub const DEFAULT_GPU_ARCH: &str = "sm_80";

/// True if gpurace builds or links something for this command line.
pub fn builds(args: &Args) -> bool {
    let has_work = match args.device_only {
        Some(_) => args.has_cuda_input(),
        None => args.inputs().any(|i| !args.compile_only || i.kind() != InputKind::Linker),
    };
    args.asked.builds() && args.no_object.is_none() && has_work
}

/// True if clang alone cannot do what this command line asks for.
pub fn is_ours(args: &Args) -> bool {
    builds(args) || preprocesses(args)
}

/// True if this command line links what gpurace has built.
pub fn links(args: &Args) -> bool {
    let makes_file = args.compile_only || args.device_only.is_some();
    builds(args) && !makes_file && !args.relocatable && !args.archive && args.device_link.is_none()
}

/// Returns the steps for `args`. Temporary files go to `work`.
pub fn plan(args: &Args, toolchain: &Toolchain, work: &Path) -> Plan {
    match &toolchain.installation {
        Some(installation) if is_ours(args) => Planner { args, toolchain, installation, work }.plan(),
        _ => Plan { steps: vec![Step::Clang(as_clang(args, toolchain, work))] },
    }
}

/// True if clang alone reads sources as gpurace builds them, for `-M` and its like.
pub fn only_reads(args: &Args) -> bool {
    args.asked.builds() && !is_ours(args) && args.inputs().any(|input| input.kind() != InputKind::Linker)
}

/// Returns the one run of clang for a command line that builds nothing of gpurace.
fn as_clang(args: &Args, toolchain: &Toolchain, work: &Path) -> ToolCommand {
    let reader = toolchain.installation.as_ref().filter(|_| only_reads(args));
    let planner = reader.map(|installation| Planner { args, toolchain, installation, work });
    let of_cuda = planner.as_ref().filter(|_| args.has_cuda_input());
    let mut command = of_cuda.map_or_else(|| clang_command(toolchain), Planner::cuda_command);
    if args.has_cuda_input() && args.cuda_path.is_none() {
        // A toolkit of `Origin::System` is one that clang finds by itself.
        if let Some(toolkit) = toolchain.toolkit.as_ref().filter(|t| t.origin != Origin::System) {
            command.arg(joined("--cuda-path=", &toolkit.path));
            command.arg("-Wno-unknown-cuda-version");
        }
    }
    command.args.extend(args.passed.iter().cloned());
    if let Some(planner) = of_cuda {
        planner.add_headers_apart(&mut command);
        // A build leaves out architectures that the toolkit lacks.
        command.arg("--no-cuda-version-check");
    } else if let Some(planner) = &planner {
        planner.host_only_options(&mut command);
    }
    command
}

/// Returns a run of clang without arguments.
fn clang_command(toolchain: &Toolchain) -> ToolCommand {
    let compiler = &toolchain.compiler;
    let args = compiler.mode.iter().map(OsString::from).collect();
    ToolCommand { program: compiler.path.clone(), args, env: Vec::new() }
}

struct Planner<'a> {
    args: &'a Args,
    toolchain: &'a Toolchain,
    installation: &'a Installation,
    work: &'a Path,
}

/// The files that the steps of one CUDA input write.
struct CudaInputFiles {
    bitcode: PathBuf,
    device_object: PathBuf,
    meta: PathBuf,
    proofs: PathBuf,
    diagnostics: PathBuf,
    image: PathBuf,
    container: PathBuf,
    /// The host object that carries the container.
    object: PathBuf,
    /// Bitcode of a unit, as the front end made it.
    unit: PathBuf,
    /// A response file that declares the unit's names.
    declarations: PathBuf,
    /// True for the device code of a link.
    linked: bool,
}

impl Planner<'_> {
    /// Returns the steps of a command line that is ours.
    fn plan(&self) -> Plan {
        if preprocesses(self.args) {
            let steps = self.args.inputs().flat_map(|input| self.preprocess(input)).collect();
            return Plan { steps };
        }
        let mut plan = Plan::default();
        let mut objects = Vec::new();
        let mut others = Vec::new();
        if self.args.inputs().any(|input| input.kind() != InputKind::Linker) {
            plan.steps.extend(self.header_steps());
        }
        for input in self.args.inputs() {
            let files = self.files(input, objects.len());
            if self.is_apart(input) {
                others.push(Step::Clang(self.compile_host(&[input], Some(&files.object))));
                objects.push(files.object);
                continue;
            } else if input.kind() != InputKind::Cuda {
                continue;
            }
            plan.steps.push(Step::Clang(self.device(input, &files)));
            match self.args.separate_compilation {
                Some(_) => plan.steps.push(self.unit(input, &files)),
                None => {
                    plan.steps.extend(self.other_archs(input, &files).map(Step::Clang));
                    plan.steps.extend(self.image_steps(&files, &input.path.to_string_lossy(), None));
                }
            }
            if self.args.device_only.is_none() {
                plan.steps.push(Step::Clang(self.host(input, &files)));
            }
            objects.push(files.object);
        }
        plan.steps.append(&mut others);
        if self.args.device_only.is_some() {
            // The containers are what was asked for.
        } else if self.args.device_link.is_some() {
            plan.steps.extend(self.device_link(&objects));
        } else if self.args.compile_only {
            plan.steps.extend(self.compile_others().map(Step::Clang));
        } else if self.args.archive {
            plan.steps.push(self.archive(&objects));
        } else {
            plan.steps.extend(self.linked(&objects));
        }
        plan
    }

    /// Returns the files of an input. `index`: how many CUDA inputs come before it.
    fn files(&self, input: &Input, index: usize) -> CudaInputFiles {
        let stem = stem(&input.path);
        let unique = match index {
            0 => stem.clone(),
            n => format!("{stem}-{n}"),
        };
        let object = match (&self.args.output, self.args.compile_only) {
            (Some(output), true) => output.into(),
            (None, true) => format!("{stem}.o").into(),
            (_, false) => self.work.join(format!("{unique}.o")),
        };
        let mut files = self.files_named(&unique, object, false);
        if self.args.device_only.is_some() {
            files.container =
                self.args.output.as_ref().map_or_else(|| format!("{stem}.fatbin").into(), Into::into);
        }
        files
    }

    /// Returns the files for an object. All others are temporary and have this name.
    fn files_named(&self, unique: &str, object: PathBuf, linked: bool) -> CudaInputFiles {
        let temporary = |end: &str| self.work.join(format!("{unique}.gpurace{end}"));
        CudaInputFiles {
            bitcode: temporary(".bc"),
            device_object: temporary(".device.o"),
            meta: temporary(".json"),
            proofs: temporary(".proofs"),
            diagnostics: temporary(".diagnostics"),
            image: temporary(".so"),
            container: temporary(".container"),
            object,
            unit: temporary(".unit.bc"),
            declarations: temporary(".names"),
            linked,
        }
    }

    /// Returns the steps from the plugin's object to a container.
    fn image_steps(&self, files: &CudaInputFiles, source: &str, settings: Option<&Path>) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.args.asked.sanitize || settings.is_some() {
            steps.push(Step::Diagnostics {
                file: files.diagnostics.clone(),
                errors: self.warnings_are_errors(),
                settings: settings.map(Path::to_owned),
            });
        }
        let for_cpu = self.args.asked.exec != Some(Exec::Cuda);
        if for_cpu {
            steps.push(Step::Image {
                command: self.image(files),
                source: source.to_owned(),
                linked: settings.is_some(),
            });
        }
        let gpus = self.gpus(files);
        steps.extend(gpus.iter().map(|files| Step::Gpu {
            ptx: self.ptx(files),
            sass: self.sass(files),
            files: files.clone(),
            source: source.to_owned(),
            failure: self.gpu_failure(),
        }));
        steps.push(Step::Container {
            image: for_cpu.then(|| files.image.clone()),
            gpus,
            no_gpu: self.no_gpu().map(|why| (why, self.gpu_failure())),
            meta: files.meta.clone(),
            proofs: files.proofs.clone(),
            output: files.container.clone(),
        });
        steps
    }

    /// Returns the user's options of these roles, in order.
    fn options(&self, wanted: &[Role]) -> impl Iterator<Item = OsString> {
        self.args
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Option { words, role } if wanted.contains(role) => Some(words.clone()),
                _ => None,
            })
            .flatten()
    }

    fn warnings_are_errors(&self) -> bool {
        self.args.asked.werror.unwrap_or(self.args.warnings_are_errors)
    }
}

/// Returns the name of a file without folder and extension.
fn stem(path: &OsStr) -> String {
    Path::new(path).file_stem().unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns an option and its path as one word.
fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}
