//! `gclang`, `gclang++` and `gpurace`.
//!
//! `gclang` is clang with one more sanitizer. Without `-fsanitize=gpurace` and `-fgpurace-exec=cpu` it only
//! runs clang. With one of them, each CUDA input takes five steps: device code, image, container, host code,
//! link. clang still does everything else.
//!
//! | module | what it knows |
//! |---|---|
//! | [`flags`] | the flags that gpurace adds, each defined once |
//! | [`clang_form`] | how clang prints warnings and remarks |
//! | [`clang_options`] | which of clang's options take a value, and which stage they belong to |
//! | [`response`] | `@file` arguments |
//! | [`nvcc`] | nvcc's arguments in clang's words |
//! | [`args`] | a command line, sorted into inputs, options and the flags of gpurace |
//! | [`cuda`] | where CUDA toolkits are and which of them clang can parse |
//! | [`cuda13`] | what CUDA 13 changed: headers that have it all the same, hints for the rest |
//! | [`toolchain`] | where clang, the plugin, the runtime and the toolkit are |
//! | [`libraries`] | which libraries are often missing at the link |
//! | [`dialect`] | what nvcc accepts in a source and clang does not |
//! | [`device_code`] | what of device code gpurace cannot build or run |
//! | [`headers`] | which headers of the toolkit clang reads in an adapted copy |
//! | [`refuse`] | which command lines gpurace cannot build |
//! | [`plan`] | the commands to run: a pure function of arguments and toolchain |
//! | [`part`] | separately compiled device code: how it travels in objects, and how a link joins it |
//! | [`run`] | how to run them |
//! | [`diagnostic`] | errors, notes and hints in clang's form; exit statuses |
//! | [`gclang`] | the stages of `gclang`: parse, find, plan, run |
//! | [`doctor`] | what `gpurace doctor` prints |
//! | [`project`] | what a project's files show before a build: its build systems, and what will not build |
//! | [`tool`] | the commands of `gpurace` |

pub mod args;
pub mod clang_form;
pub mod clang_options;
pub mod cuda;
pub mod cuda13;
pub mod device_code;
pub mod diagnostic;
pub mod dialect;
pub mod doctor;
pub mod flags;
pub mod gclang;
pub mod headers;
pub mod libraries;
pub mod nvcc;
pub mod part;
pub mod plan;
pub mod project;
pub mod refuse;
pub mod response;
pub mod run;
pub mod tool;
pub mod toolchain;
