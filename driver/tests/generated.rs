//! Tests what is generated from definitions: completions, manual pages, and two pages in docs/ that must not
//! be stale.

use std::fs;
use std::path::Path;
use std::process::Command;

use clap_complete::Shell;
use gpurace_driver::tool::generate;

const COMMANDS: [&str; 16] = [
    "report",
    "merge",
    "run",
    "gdb",
    "init",
    "stress",
    "sweep",
    "ci",
    "facts",
    "explain",
    "lsp",
    "toolkit",
    "options",
    "doctor",
    "completions",
    "man",
];

#[test]
fn completions_know_every_command_and_format() {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let text = generate::completions(shell);
        for word in COMMANDS.iter().chain(&["sarif", "markdown", "baseline"]) {
            assert!(text.contains(word), "{shell} lacks `{word}`");
        }
    }
}

#[test]
fn bash_takes_its_completions() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gpurace.bash");
    fs::write(&file, generate::completions(Shell::Bash)).unwrap();
    let script = r#"source "$1"; COMP_WORDS=(gpurace report --format ''); COMP_CWORD=3
        _gpurace gpurace '' --format; echo "${COMPREPLY[*]}""#;
    let output = Command::new("bash").args(["-c", script, "bash"]).arg(&file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.trim(), "text short json sarif markdown html github gitlab lcov", "{output:?}");
}

#[test]
fn each_command_has_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    generate::write_man_pages(dir.path()).unwrap();
    let page = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    for command in COMMANDS {
        let text = page(&format!("gpurace-{command}.1"));
        assert!(text.contains(&format!(".TH gpurace-{command} 1")), "{text}");
        assert!(text.contains(".SH SYNOPSIS"), "{text}");
    }
    assert!(page("gpurace.1").contains("gpurace\\-report(1)"));
    let count = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(count, COMMANDS.len() + 1);
}

/// Returns the text of docs/options.md.
fn options_page() -> String {
    format!(
        "# Options\n\n\
         The environment variable `{}` controls an instrumented program: `key=value:key=value`. This page is\n\
         generated from `runtime/base/options/src/lib.rs`. `gpurace options` and `GPURACE_OPTIONS=help=1` print the same\n\
         list. A program with rights that its user lacks (setuid) ignores it. A running program may [change\n\
         some](host-api.md#options).\n\n{}",
        gpurace_options::VARIABLE,
        gpurace_options::markdown_table()
    )
}

/// Returns the text of docs/flags.md.
fn flags_page() -> String {
    format!(
        "# Flags of gclang\n\n\
         `gclang` and `gclang++` take every argument of clang, and nvcc's arguments that are common in build files. They\n\
         add the flags below. This page is generated from `driver/src/flags.rs`. `gclang --help` prints the same list.\n\n{}\n\
         With `-fsanitize=gpurace`, device code is compiled for `sm_80` if no architecture is named, and\n\
         `-gline-tables-only` is added if no option chooses debug info. The plugin also reads\n\
         the debug info of device code's types, for the names of fields, and takes it out again, unless `-g` with\n\
         `-fgpurace-exec=cpu` asks for it ([debugger](debugger.md)).\n\
         `-fsanitize=gpurace` can be combined with clang's other\n\
         `-fsanitize=` values. `-Rpass=gpurace` prints a remark on each proved access, and `-Rpass-missed=gpurace` on\n\
         each other access. `-fgpurace-exec=cpu` without `-fsanitize=gpurace` builds the plain program for the host.\n",
        gpurace_driver::flags::markdown_table()
    )
}

/// Returns the text of docs/nvcc.md.
fn nvcc_page() -> String {
    format!(
        "# nvcc's arguments\n\n\
         `gclang` reads the arguments that nvcc documents. This page is generated from `driver/src/nvcc/table.rs`. All\n\
         other arguments are clang's. Names of several letters may follow one dash or two. After one dash, clang reads\n\
         `-odir`, `-objtemp` and `-opt-info` as `-o`, and `-ldir`, `-link` and `-lto` as `-l`: write two. A value\n\
         follows `=` or is the next word. If the only `-x` stands behind all files, it holds for all sources, as for nvcc.\n\
         Files `.c` are C, without standards of C++. `-x c++` makes them C++.\n\n{}",
        gpurace_driver::nvcc::markdown_table()
    )
}

#[test]
fn the_page_of_nvccs_arguments_is_not_stale() {
    assert_fresh("nvcc.md", &nvcc_page());
}

/// Compares a page of docs/ with the generated text. `GPURACE_BLESS=1` writes the page.
fn assert_fresh(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    if std::env::var_os("GPURACE_BLESS").is_some() {
        fs::write(&path, wanted).unwrap();
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(text, wanted, "docs/{name} is stale: run this test with GPURACE_BLESS=1");
}

#[test]
fn the_options_page_is_not_stale() {
    assert_fresh("options.md", &options_page());
}

#[test]
fn the_flags_page_is_not_stale() {
    assert_fresh("flags.md", &flags_page());
}
