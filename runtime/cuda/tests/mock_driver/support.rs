//! The processes of the tests, and what they launch.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gpurace_abi::LaunchShape;
use gpurace_abi::gpu_code::Arch;
use gpurace_cuda::driver::Stream;
use gpurace_cuda::{Code, Gpu, KernelLaunch, Module, Variant};

/// Builds the mock driver once. Returns its folder.
fn mock() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let root = Path::new(env!("CARGO_MANIFEST_DIR"));
            let prefix =
                std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
            let device = root.join("../device/cpp");
            let built = Command::new(format!("{prefix}/bin/clang++"))
                .args([
                    "-shared",
                    "-fPIC",
                    "-std=c++17",
                    "-O1",
                    "-w",
                    "-Wl,-soname,libcuda.so.1",
                    "-Wl,-Bsymbolic",
                    "-I",
                ])
                .arg(&device)
                .arg(root.join("tests/mock/libcuda.cpp"))
                .arg("-o")
                .arg(folder.path().join("libcuda.so.1"))
                .status()
                .unwrap();
            assert!(built.success());
            folder
        })
        .path()
}

/// True in the process that runs the test `name`. Otherwise runs the test in such a process, with
/// the driver in `folder` and these variables.
pub fn is_inner(name: &str, folder: Option<&Path>, variables: &[(&str, &str)]) -> bool {
    if std::env::var("GPURACE_MOCK").is_ok_and(|v| v == name) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--nocapture"]).env("GPURACE_MOCK", name);
    command.envs(variables.iter().copied());
    match folder {
        Some(folder) => command.env("LD_LIBRARY_PATH", folder),
        None => command.env_remove("LD_LIBRARY_PATH"),
    };
    let output = command.output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    false
}

/// The calls of the driver, in a file that is removed with this.
pub struct CallLog(PathBuf);

impl CallLog {
    pub fn read(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    pub fn clear(&self) {
        let _ = std::fs::remove_file(&self.0);
    }

    pub fn count(&self, call: &str) -> usize {
        self.read().matches(call).count()
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        self.clear();
    }
}

/// In the process of the test `name`, with the mock driver and these variables: the GPU, a loaded
/// module, and the calls.
pub fn opened(name: &str, variables: &[(&str, &str)]) -> Option<(Gpu, Module, CallLog)> {
    let log = std::env::temp_dir().join(format!("gpurace-mock-{name}-{}", std::process::id()));
    let log = log.to_string_lossy().into_owned();
    let variables = [variables, &[("MOCK_LOG", &log)]].concat();
    if !is_inner(name, Some(mock_folder()), &variables) {
        return None;
    }
    let log = CallLog(std::env::var_os("MOCK_LOG").unwrap().into());
    let mut gpu = Gpu::open().unwrap();
    let module = gpu.load(&PTX).unwrap();
    Some((gpu, module, log))
}

pub const fn arch(number: u32) -> Arch {
    Arch { number, alone: false }
}

/// Code for the mock driver, which knows its kernels by name.
pub const PTX: Code<'static> = Code {
    sass: None,
    ptx: Some((arch(70), b"// PTX\0")),
    orders: false,
    annotated: false,
    variables: &["total", "not_there"],
};

/// A launch of blocks of 64 threads.
pub fn launch(kernel: &str, variant: Variant, blocks: u32) -> KernelLaunch<'_> {
    KernelLaunch {
        kernel,
        variant,
        shape: LaunchShape::flat(blocks, 64),
        static_shared: 0,
        cooperative: false,
        observes: false,
        stream: Stream::DEFAULT,
        number: 7,
    }
}

/// Launches a kernel with one argument.
pub fn run(gpu: &mut Gpu, module: &mut Module, launch: &KernelLaunch<'_>, mut a: u64) -> Result<(), String> {
    let arguments = [(&raw mut a).cast::<c_void>()];
    // SAFETY: the mock's kernels take one address.
    unsafe { gpu.launch(module, launch, &arguments) }.map_err(|e| e.to_string())
}

/// The mock driver's folder. The inner process needs none.
pub fn mock_folder() -> &'static Path {
    if std::env::var_os("GPURACE_MOCK").is_some() { Path::new("/") } else { mock() }
}
