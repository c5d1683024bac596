//! `gpurace init`: what a project needs to be built with gpurace, for the build systems that it has.

mod workflow;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::Done;
use crate::diagnostic::{Error, read_file, write_file};
use crate::project::{self, SYSTEMS, System};
use crate::toolchain::World;

/// The compiler with its flags, for a variable of a Makefile.
const COMPILER: &str = "gclang++ -fsanitize=gpurace -fgpurace-exec=cpu";
/// The presets of one user, which CMake reads beside those of the project.
const USER_PRESETS: &str = "CMakeUserPresets.json";
const PRESETS: [&str; 2] = ["CMakePresets.json", USER_PRESETS];

/// Arguments of `gpurace init`.
#[derive(Args)]
pub struct InitArgs {
    /// The project's folder
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,
}

/// Writes what is needed, for the build and for a CI, and says how to go on.
///
/// # Errors
/// The folder has no known build system, or a file cannot be read or written.
pub fn init(args: &InitArgs) -> Result<Done, Error> {
    let world = World::real()?;
    let mut text = String::new();
    for (system, file) in project::systems(&args.folder) {
        let is_first = text.is_empty();
        text += &match system {
            System::Cmake => with_cmake(&args.folder, &world.cmake_toolchain()?)?,
            System::Bazel => with_bazel(&file, &world.bazel_rules()?),
            System::Meson => with_meson(&file),
            System::Make => with_make(&file)?,
        };
        if is_first {
            text += &workflow::write(&args.folder, system, &file)?;
        }
    }
    if text.is_empty() {
        let wanted: Vec<_> =
            SYSTEMS.iter().flat_map(|(_, files)| *files).map(|file| format!("`{file}`")).collect();
        return Err(Error::new(format!(
            "found no build system in `{}`, wanted one of {}",
            args.folder.display(),
            wanted.join(", ")
        ))
        .hint(format!("without one: {COMPILER} app.cu -o app && ./app")));
    }
    let obstacles = project::examine(&args.folder, world.cuda_search(None).run().toolkit.as_ref())?;
    Ok(Done::success(text + &obstacles.render()))
}

/// Writes the presets of the user.
fn with_cmake(folder: &Path, toolchain: &Path) -> Result<String, Error> {
    let presets = presets(toolchain);
    let cd = match folder == Path::new(".") {
        true => String::new(),
        false => format!("cd {} && ", shlex::try_quote(&folder.to_string_lossy()).unwrap_or_default()),
    };
    let next = format!(
        "next: {cd}cmake --preset gpurace && cmake --build --preset gpurace && ctest --preset gpurace\n"
    );
    for name in PRESETS {
        let path = folder.join(name);
        if has_preset(&path)? {
            return Ok(format!("`{}` has a preset `gpurace`\n{next}", path.display()));
        }
    }
    let path = folder.join(USER_PRESETS);
    if path.exists() {
        return Ok(format!("add these presets to `{}`:\n{presets}\n{next}", path.display()));
    }
    write_file(&path, format!("{presets}\n"))?;
    Ok(format!(
        "wrote `{}`, which is for this machine: keep it out of the repository\n{next}",
        path.display()
    ))
}

/// The presets, as indented JSON.
fn presets(toolchain: &Path) -> String {
    let presets = json!({
        "version": 6,
        "configurePresets": [{
            "name": "gpurace",
            "displayName": "CUDA checked for data races, on the host",
            "binaryDir": "${sourceDir}/build/gpurace",
            "toolchainFile": toolchain,
            "cacheVariables": { "CMAKE_BUILD_TYPE": "RelWithDebInfo" },
        }],
        "buildPresets": [{ "name": "gpurace", "configurePreset": "gpurace" }],
        "testPresets": [{
            "name": "gpurace",
            "configurePreset": "gpurace",
            "output": { "outputOnFailure": true },
        }],
    });
    // A value is always JSON.
    serde_json::to_string_pretty(&presets).unwrap_or_default()
}

/// True if a file of presets has one of the name `gpurace`. A file that is missing has none.
fn has_preset(path: &Path) -> Result<bool, Error> {
    if !path.exists() {
        return Ok(false);
    }
    let presets: Value = serde_json::from_slice(&read_file(path)?)
        .map_err(|error| Error::new(format!("`{}` is not JSON: {error}", path.display())))?;
    let all = presets["configurePresets"].as_array();
    Ok(all.is_some_and(|all| all.iter().any(|preset| preset["name"] == "gpurace")))
}

/// Returns what to add to a project of Bazel.
fn with_bazel(file: &Path, rules: &Path) -> String {
    let path = rules.display();
    let lines = match file.file_name().is_some_and(|name| name == "MODULE.bazel") {
        true => format!(
            "bazel_dep(name = \"gpurace\")\nlocal_path_override(module_name = \"gpurace\", path = \"{path}\")"
        ),
        false => format!("local_repository(name = \"gpurace\", path = \"{path}\")"),
    };
    format!(
        "add to `{}`:\n{lines}\n\
         add to a `BUILD` file:\nload(\"@gpurace//:gpurace.bzl\", \"gpurace_test\")\n\
         gpurace_test(name = \"sum_test\", srcs = [\"sum_test.cu\"])\n\
         next: bazel test --action_env=PATH --test_output=errors //...\n",
        file.display()
    )
}

fn with_meson(file: &Path) -> String {
    format!(
        "`{}`: compile the kernels by a `custom_target` that calls `gclang++`, as docs/build-systems.md shows\n\
         next: CXX=gclang++ meson setup build\n",
        file.display()
    )
}

fn with_make(file: &Path) -> Result<String, Error> {
    let text = read_file(file)?;
    let text = String::from_utf8_lossy(&text);
    let folder = file.parent().filter(|folder| *folder != Path::new(".") && !folder.as_os_str().is_empty());
    let there = folder.map_or_else(String::new, |folder| {
        format!(" -C {}", shlex::try_quote(&folder.to_string_lossy()).unwrap_or_default())
    });
    Ok(format!("next, where nothing is built yet: {}\n", make_command(&text, &there)))
}

/// The command that builds what a Makefile describes, with these arguments before its variables.
fn make_command(makefile: &str, arguments: &str) -> String {
    let toolkit = variable_of(makefile, names_toolkit)
        .map_or_else(String::new, |name| format!(" {name}=\"$(gpurace toolkit)\""));
    match variable_of(makefile, calls_nvcc) {
        Some(name) => format!("make{arguments} {name}=\"{COMPILER}\"{toolkit}"),
        None if makefile.contains("nvcc") => {
            format!("PATH=\"$(gpurace toolkit)/bin:$PATH\" make{arguments}{toolkit}")
        }
        None => format!("make{arguments} CXX=\"{COMPILER}\"{toolkit}"),
    }
}

/// The first variable of a Makefile with such a value.
fn variable_of(makefile: &str, is_wanted: impl Fn(&str) -> bool) -> Option<&str> {
    makefile.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim_end_matches([':', '?', '+']).trim();
        let name = name.strip_prefix("export ").unwrap_or(name).trim();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (is_name && is_wanted(value.split('#').next().unwrap_or_default())).then_some(name)
    })
}

/// True for a command that is nvcc, with or without a path, a launcher or options.
fn calls_nvcc(value: &str) -> bool {
    value.split_whitespace().any(|word| word.rsplit('/').next() == Some("nvcc"))
}

/// True for the path of a toolkit, such as `/usr/local/cuda-12.6`.
fn names_toolkit(value: &str) -> bool {
    let path = value.trim().trim_end_matches('/');
    let name = path.strip_prefix('/').and_then(|path| path.rsplit('/').next());
    name.is_some_and(|name| name.starts_with("cuda") && !name.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_that_is_nvcc() {
        for (makefile, variable) in [
            ("NVCC = nvcc\n", Some("NVCC")),
            (
                "CUDA_PATH ?= /usr/local/cuda\nCUCC := $(CUDA_PATH)/bin/nvcc -ccbin g++ # compiler\n",
                Some("CUCC"),
            ),
            ("export CC=nvcc", Some("CC")),
            ("CXX = g++ # not nvcc\n", None),
            ("app: app.cu\n\tnvcc -arch=sm_80 app.cu -o app\n", None),
            ("app: app.cu\n\tnvcc -std=c++17 app.cu\n", None),
            ("NAME = nvcc_tests\n", None),
        ] {
            assert_eq!(variable_of(makefile, calls_nvcc), variable, "{makefile}");
        }
    }

    #[test]
    fn a_makefile_gets_what_it_asks_for() {
        for (text, wanted) in [
            ("NVCC = nvcc\n", "make NVCC=\"C\""),
            (
                "CUDA_HOME ?= /usr/local/cuda-12.6/ # here\nNVCC := $(CUDA_HOME)/bin/nvcc\n",
                "make NVCC=\"C\" CUDA_HOME=\"T\"",
            ),
            ("app: app.cu\n\tnvcc app.cu\n", "PATH=\"T/bin:$PATH\" make"),
            (
                "CUDA=/opt/cuda\napp: app.cu\n\tnvcc -I$(CUDA)/include app.cu\n",
                "PATH=\"T/bin:$PATH\" make CUDA=\"T\"",
            ),
            ("CUDA_SRC = /src/cuda a.cu\nSRC = cuda\n", "make CXX=\"C\""),
        ] {
            let wanted =
                wanted.replace("\"C\"", &format!("\"{COMPILER}\"")).replace("\"T", "\"$(gpurace toolkit)");
            assert_eq!(make_command(text, ""), wanted, "{text}");
        }
    }
}
