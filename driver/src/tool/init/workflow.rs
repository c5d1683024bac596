//! What a CI needs: a workflow of GitHub Actions, and a file for suppressions. No file that exists is overwritten.

use std::fs;
use std::path::Path;

use super::make_command;
use crate::diagnostic::{Error, read_file, write_file};
use crate::project::System;

const WORKFLOW: &str = ".github/workflows/gpurace.yml";
const SUPPRESSIONS: &str = "gpurace.supp";
const NO_SUPPRESSIONS: &str =
    "# Races that gpurace leaves out of its reports, one pattern in each line, such as
#   race:name_of_a_kernel
#   file:third_party/
";

/// How a project is built with gpurace, and tested, in the lines of a shell.
struct Commands {
    build: String,
    /// None where the build files show none.
    test: Option<String>,
}

/// Writes both files into a project's folder, and says so.
///
/// # Errors
/// A file cannot be read or written.
pub fn write(folder: &Path, system: System, file: &Path) -> Result<String, Error> {
    let suppressions = write_new(folder, SUPPRESSIONS, NO_SUPPRESSIONS)?;
    let said = match other_place(folder) {
        Some(instead) => format!("wrote no workflow for GitHub Actions: {instead}\n"),
        None => {
            let commands = commands(system, file)?;
            let said = write_new(folder, WORKFLOW, &workflow(&commands))?;
            let lacks_tests = said.starts_with("wrote") && commands.test.is_none();
            let wheel =
                "set the repository's variable `GPURACE_WHEEL` to the address of a wheel of gpurace\n";
            said + if lacks_tests { "name your tests in its last line\n" } else { "" } + wheel
        }
    };
    Ok(suppressions + &said)
}

/// Why a workflow in this folder would not be read.
fn other_place(folder: &Path) -> Option<String> {
    let above = fs::canonicalize(folder).ok()?;
    let root = above.ancestors().find(|path| path.join(".git").exists());
    match root {
        Some(root) if root != above => {
            Some(format!("the repository begins at `{}`, docs/ci.md shows one", root.display()))
        }
        _ if folder.join(".gitlab-ci.yml").exists() => Some("docs/ci.md shows a job for GitLab".to_owned()),
        _ => None,
    }
}

/// Writes a file unless it exists. Returns what was done, as text.
fn write_new(folder: &Path, name: &str, content: &str) -> Result<String, Error> {
    let path = folder.join(name);
    if path.symlink_metadata().is_ok() {
        return Ok(format!("kept `{}`, which exists\n", path.display()));
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(Error::cannot("make", parent))?;
    }
    write_file(&path, content)?;
    Ok(format!("wrote `{}`\n", path.display()))
}

/// Returns the commands that build and test a project.
fn commands(system: System, file: &Path) -> Result<Commands, Error> {
    let line = str::to_owned;
    Ok(match system {
        System::Cmake => Commands {
            build: line(
                "cmake -B build --toolchain \"$GPURACE_PREFIX/share/cmake/gpurace/gpurace-toolchain.cmake\"\n\
                 cmake --build build",
            ),
            test: Some(line("ctest --test-dir build --output-on-failure")),
        },
        System::Bazel => Commands {
            build: line("bazel build --action_env=PATH //..."),
            test: Some(line("bazel test --action_env=PATH --test_output=errors //...")),
        },
        System::Meson => Commands {
            build: line("pip install meson ninja\nCXX=gclang++ meson setup build\nmeson compile -C build"),
            test: Some(line("meson test -C build --print-errorlogs")),
        },
        System::Make => {
            let text = read_file(file)?;
            let text = String::from_utf8_lossy(&text);
            let make = make_command(&text, "");
            let test = test_target(&text).map(|target| format!("{make} {target}"));
            Commands { build: make, test }
        }
    })
}

/// The target of a Makefile that runs tests.
fn test_target(makefile: &str) -> Option<&'static str> {
    ["check", "test", "tests"].into_iter().find(|target| {
        let rule = |line: &str| line.strip_prefix(target).is_some_and(is_rule);
        makefile.lines().any(rule)
    })
}

/// True for what follows the target's name in a rule, false for a variable's value.
fn is_rule(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with(':') && !rest.trim_start_matches(':').starts_with('=')
}

/// Returns a GitHub workflow that runs these commands.
fn workflow(commands: &Commands) -> String {
    let lines = |text: &str| text.lines().map(|line| format!("          {line}\n")).collect::<String>();
    let test = commands.test.as_deref().unwrap_or("./test    # name your tests here");
    format!(
        "# Builds the project with gpurace and runs its tests: one that races fails.
name: gpurace
on: [push, pull_request]
permissions:
  contents: read
jobs:
  races:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          submodules: recursive
      - name: install gpurace
        env:
          WHEEL: ${{{{ vars.GPURACE_WHEEL }}}}
          GPURACE_PREFIX: ${{{{ runner.temp }}}}/gpurace
        run: |
          test -n \"$WHEEL\" || {{ echo '::error::the variable GPURACE_WHEEL names no wheel of gpurace'; exit 1; }}
          python3 -m venv \"$GPURACE_PREFIX\"
          \"$GPURACE_PREFIX/bin/pip\" install \"$WHEEL\"
          echo \"$GPURACE_PREFIX/bin\" >> \"$GITHUB_PATH\"
          echo \"GPURACE_PREFIX=$GPURACE_PREFIX\" >> \"$GITHUB_ENV\"
      - name: build
        run: |
{}      - name: test
        env:
          GPURACE_OPTIONS: suppressions=${{{{ github.workspace }}}}/{SUPPRESSIONS}
        run: |
{}      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: gpurace-reports
          path: gpurace-reports
",
        lines(&commands.build),
        lines(&format!("gpurace ci -- {test}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn said(folder: &tempfile::TempDir, system: System, file: &str) -> String {
        let at = folder.path();
        write(at, system, &at.join(file)).unwrap().replace(&format!("{}/", at.display()), "")
    }

    #[test]
    fn a_workflow_builds_tests_and_shows() {
        let folder = folder(&[("Makefile", "TESTS := a\ntest := b\ncheck: app\n\t./app\n")]);
        insta::assert_snapshot!(said(&folder, System::Make, "Makefile"), @r"
        wrote `gpurace.supp`
        wrote `.github/workflows/gpurace.yml`
        set the repository's variable `GPURACE_WHEEL` to the address of a wheel of gpurace
        ");
        let text = fs::read_to_string(folder.path().join(WORKFLOW)).unwrap();
        insta::assert_snapshot!("workflow", text);
    }

    #[test]
    fn nothing_that_exists_is_overwritten() {
        let folder = folder(&[("CMakeLists.txt", ""), (WORKFLOW, "mine"), (SUPPRESSIONS, "race:mine")]);
        let said = said(&folder, System::Cmake, "CMakeLists.txt");
        assert!(said.starts_with("kept `gpurace.supp`, which exists\nkept `.github/"), "{said}");
        for (name, text) in [(WORKFLOW, "mine"), (SUPPRESSIONS, "race:mine")] {
            assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), text);
        }
    }

    #[test]
    fn a_link_to_nowhere_is_kept() {
        let folder = folder(&[("CMakeLists.txt", "")]);
        std::os::unix::fs::symlink("/nowhere", folder.path().join(SUPPRESSIONS)).unwrap();
        assert!(said(&folder, System::Cmake, "CMakeLists.txt").starts_with("kept `gpurace.supp`"));
    }

    #[test]
    fn where_no_workflow_is_read_none_is_written() {
        let inner = folder(&[(".git/HEAD", ""), ("sub/CMakeLists.txt", "")]);
        let text = write(&inner.path().join("sub"), System::Cmake, Path::new("CMakeLists.txt")).unwrap();
        assert!(text.contains("wrote no workflow for GitHub Actions: the repository begins at"), "{text}");
        assert!(!inner.path().join("sub/.github").exists() && !inner.path().join(".github").exists());
        let gitlab = folder(&[(".gitlab-ci.yml", ""), ("CMakeLists.txt", "")]);
        assert!(said(&gitlab, System::Cmake, "CMakeLists.txt").contains("a job for GitLab"));
    }

    #[test]
    fn tests_of_a_makefile() {
        for (makefile, target) in [
            ("all:\n\ncheck: all\n", Some("check")),
            ("test :\n\t./a\n", Some("test")),
            ("tests: a\n", Some("tests")),
            ("testing: a\ntest = x\ncheck := y\n\ttest: z\n", None),
        ] {
            assert_eq!(test_target(makefile), target, "{makefile}");
        }
    }
}
