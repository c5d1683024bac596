//! Compiles the bitcode of code for a GPU, with the checker's functions in it, for the executor.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gpurace_abi::image::{SectionKind, build_container};
use gpurace_tests::toolchain::{run, tool, work_folder};
use serde_json::Value;

/// The prefix that the checker's functions get in lowered code. The executor has entry points of the
/// same names.
const PREFIX: &str = "on_gpu_";

/// Runs a command and returns its standard error.
///
/// # Errors
/// If the command fails.
pub fn must_run(command: &mut Command, folder: &Path) -> Result<String, String> {
    let ran = run(command.current_dir(folder), folder)?;
    match ran.status {
        Some(0) => Ok(ran.stderr),
        status => Err(format!("{command:?} ended with {status:?}: {}{}", ran.stdout, ran.stderr)),
    }
}

/// The parts of a command of gclang: clang, the plugin, the toolkit, and the plugin's input.
pub struct Calls {
    pub clang: String,
    pub plugin: String,
    pub toolkit: String,
    config: Value,
}

impl Calls {
    /// Returns the folder of the runtime library.
    pub fn libraries(&self) -> &Path {
        Path::new(&self.plugin).parent().unwrap()
    }
}

/// Reads gclang's plan, once.
pub fn calls() -> &'static Calls {
    static CALLS: OnceLock<Calls> = OnceLock::new();
    CALLS.get_or_init(|| {
        let folder = work_folder("executed-plan").unwrap();
        std::fs::write(folder.join("empty.cu"), "").unwrap();
        let mut command = Command::new(tool("gclang++").unwrap());
        let plan = must_run(command.args(["-fgpurace-exec=cpu", "-###", "-c", "empty.cu"]), &folder).unwrap();
        let line = plan.lines().find(|line| line.contains("GPURACE_PASS='")).expect("a device compilation");
        let (_, rest) = line.split_once("GPURACE_PASS='").unwrap();
        let (config, rest) = rest.split_once("' ").unwrap();
        let words: Vec<&str> = rest.split('"').collect();
        let word = |start: &str| {
            words
                .iter()
                .find_map(|word| word.strip_prefix(start))
                .unwrap_or_else(|| panic!("no `{start}` in {line}"))
                .to_owned()
        };
        Calls {
            clang: words[1].to_owned(),
            plugin: word("-fpass-plugin="),
            toolkit: word("--cuda-path="),
            config: serde_json::from_str(config).unwrap(),
        }
    })
}

/// Lowers `bitcode` in `folder`. Returns the container with the code, and the instructions that the
/// executor does not know.
///
/// # Errors
/// Returns the error of the step that fails.
pub fn lower(folder: &Path, bitcode: &str) -> Result<(PathBuf, Vec<Value>), String> {
    let calls = calls();
    let clang = || Command::new(&calls.clang);
    // Without a toolkit clang writes PTX 4.2, which LLVM refuses for today's architectures.
    let nvptx = [
        "--target=nvptx64-nvidia-cuda",
        "-nogpulib",
        "-w",
        "-Xclang",
        "-target-feature",
        "-Xclang",
        "+ptx88",
    ];
    let mut text = clang();
    text.args(nvptx).args(["-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-x", "ir", bitcode]);
    must_run(text.args(["-o", "checked.ll"]), folder)?;
    let read = |name: &str| std::fs::read(folder.join(name)).map_err(|e| format!("{name}: {e}"));
    let code = String::from_utf8(read("checked.ll")?).map_err(|e| e.to_string())?;
    if !code.contains("@__gpurace_enter(") {
        return Err("the checker's code is not in it".to_owned());
    }
    let code = code.replace("@__gpurace_", &format!("@{PREFIX}"));
    // The executor does not distinguish constant memory from other memory.
    let is_constant = "@llvm.nvvm.isspacep.const(ptr";
    let code: String = code
        .lines()
        .map(|line| match line.starts_with("declare ") && line.contains(is_constant) {
            true => format!("define internal i1 @{PREFIX}isspacep_const(ptr %p) {{\n  ret i1 false\n}}\n"),
            false => line.replace(is_constant, &format!("@{PREFIX}isspacep_const(ptr")) + "\n",
        })
        .collect();
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).map_err(|e| format!("{name}: {e}"))
    };
    write("renamed.ll", code.as_bytes())?;

    let mut config = calls.config.clone();
    for (key, value) in [("object", "lowered.o"), ("meta", "lowered.json"), ("main_file", "kernels.cu")] {
        config[key] = value.into();
    }
    config["opt_level"] = 2.into();
    let mut lower = clang();
    lower.args(nvptx).args([
        "-O2",
        "-fno-discard-value-names",
        "-march=sm_80",
        "-emit-llvm",
        "-c",
        "-o",
        "rest.bc",
    ]);
    lower.arg(format!("-fpass-plugin={}", calls.plugin)).args(["-x", "ir", "renamed.ll"]);
    must_run(lower.env("GPURACE_PASS", config.to_string()), folder)?;
    let meta = read("lowered.json")?;
    let described: Value = serde_json::from_slice(&meta).map_err(|e| e.to_string())?;
    let mut image = clang();
    image.args([
        "--driver-mode=gcc",
        "-shared",
        "-nostartfiles",
        "-fuse-ld=lld",
        "-Wl,-z,defs",
        "-Wl,-Bsymbolic",
        "lowered.o",
    ]);
    must_run(image.args(["-o", "image.so", "-lgpurace_rt", "-lm", "-L"]).arg(calls.libraries()), folder)?;
    let image = read("image.so")?;
    write("container", &build_container(&[(SectionKind::HostImage, &image), (SectionKind::Meta, &meta)]))?;
    let unsupported = described["unsupported"].as_array().cloned().unwrap_or_default();
    Ok((folder.join("container"), unsupported))
}
