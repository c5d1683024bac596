//! `gpurace doctor`: checks that everything a build needs is installed.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use gpurace_abi::plugin::Cpu;

use crate::cuda::{self, Origin};
use crate::diagnostic::Error;
use crate::libraries;
use crate::toolchain::{self, Driver, World};

/// One thing that a build needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name.
    pub what: &'static str,
    /// Where it was found, or why it cannot be used.
    pub outcome: Result<String, Error>,
}

/// Checks for each thing that a build needs.
pub fn examine(world: &World) -> Vec<Finding> {
    let compiler = |driver| {
        world.compiler(driver, None).and_then(|found| {
            let version = toolchain::llvm_version(&found.path)?;
            Ok(format!("{version} at `{}`", found.path.display()))
        })
    };
    let installation = world.installation();
    vec![
        Finding { what: "clang", outcome: compiler(Driver::C) },
        Finding { what: "clang++", outcome: compiler(Driver::Cxx) },
        Finding {
            what: "plugin",
            outcome: installation.clone().map(|found| format!("`{}`", found.plugin.display())),
        },
        Finding {
            what: "runtime",
            outcome: installation
                .clone()
                .map(|found| format!("`{}`", found.library_dir.join("libgpurace_rt.so").display())),
        },
        Finding {
            what: "solver",
            outcome: installation.and_then(|found| match found.solver {
                Some(solver) => Ok(format!("`{}`", solver.display())),
                None => Err(Error::new(format!(
                    "`libgpurace_solve.so` is not in `{}`; without it nothing is proved and every access is checked",
                    found.library_dir.display()
                ))
                .hint("build gpurace with `scripts/setup`")),
            }),
        },
        Finding {
            what: "linker",
            outcome: world.compiler(Driver::C, None).and_then(|found| linker(&found.path)),
        },
        Finding {
            what: "C++ library",
            outcome: world.compiler(Driver::C, None).and_then(|found| {
                libraries::check_host(&found.path).map(|library| format!("`{}`", library.display()))
            }),
        },
        Finding { what: "CUDA toolkit", outcome: toolkit(&world.cuda_search(None).run()) },
        Finding {
            what: "processor",
            outcome: Ok(match Cpu::of_this_machine() {
                Cpu::V3 => "x86-64-v3: device code uses AVX2 and FMA".to_owned(),
                Cpu::Baseline => "x86-64: device code does not use AVX2 and FMA".to_owned(),
            }),
        },
    ]
}

/// Returns the linker that makes images of device code.
fn linker(clang: &Path) -> Result<String, Error> {
    let cannot = Error::cannot("run", clang);
    let output = Command::new(clang).arg("-print-prog-name=ld.lld").output().map_err(cannot)?;
    let found = String::from_utf8_lossy(&output.stdout);
    // clang prints the bare name if it finds no such program.
    let path = Path::new(found.trim());
    if path.is_absolute() && path.is_file() {
        Ok(format!("`{}`", path.display()))
    } else {
        Err(Error::new(format!("`{}` finds no `ld.lld`", clang.display()))
            .hint("install lld of the same version, on Debian with `apt-get install lld-22`"))
    }
}

/// Returns which CUDA toolkit is used, and why others are not.
fn toolkit(found: &cuda::Found) -> Result<String, Error> {
    let Some(toolkit) = &found.toolkit else {
        return Err(toolchain::no_toolkit_error(found));
    };
    let mut text = format!("{} at `{}`", toolkit.version, toolkit.path.display());
    text += match toolkit.origin {
        Origin::Argument | Origin::System => "",
        Origin::Environment => " (from the environment)",
        Origin::Own => " (gpurace's own)",
    };
    for (path, why) in &found.unusable {
        // Writing to a string cannot fail.
        let _ = write!(text, "; {}", why.explain(path));
    }
    Ok(text)
}

/// Returns the findings as text, one on each line.
pub fn render(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { what, outcome } in findings {
        let _ = match outcome {
            Ok(found) => writeln!(text, "ok       {what:<13} {found}"),
            Err(error) => writeln!(text, "missing  {what:<13} {}", error.message),
        };
        if let Err(Error { hint: Some(hint), .. }) = outcome {
            let _ = writeln!(text, "{:23}hint: {hint}", "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_a_hint() {
        let findings = [
            Finding { what: "clang", outcome: Ok("22.1.8 at `/usr/bin/clang-22`".into()) },
            Finding {
                what: "CUDA toolkit",
                outcome: Err(toolchain::no_toolkit_error(&cuda::Found::default())),
            },
        ];
        insta::assert_snapshot!(render(&findings), @r"
        ok       clang         22.1.8 at `/usr/bin/clang-22`
        missing  CUDA toolkit  no CUDA toolkit was found
                               hint: run `scripts/setup` (in an installation: `share/gpurace/get-cuda`) to get one, or set `--cuda-path=DIR` to a toolkit from 11.0 to before 14.0
        ");
    }
}
