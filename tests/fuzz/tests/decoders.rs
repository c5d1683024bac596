//! The decoders of compiler and tools. Those of the runtime, which has an allocator of its own, are in `runtime.rs`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};

use bolero::check;
use clap::Parser as _;
use gpurace_abi::gpu_code;
use gpurace_abi::image::{Container, SectionKind, build_container};
use gpurace_abi::meta::ModuleMeta;
use gpurace_abi::part::Symbols;
use gpurace_abi::plugin::PassConfig;
use gpurace_driver::response;
use gpurace_driver::tool::Cli;
use gpurace_driver::tool::explain::Explained;
use gpurace_driver::tool::lsp::wire;
use gpurace_fuzz::{Input, Target, allocates, edited, time};
use gpurace_options::Options;
use gpurace_options::select::ObjectDescription;
use gpurace_pass::translate::ptx;
use gpurace_render::{github, gitlab, html, markdown, sarif};
use gpurace_report::merge::Merger;
use gpurace_report::schema::Report;
use gpurace_report::sources::StoredSources;
use gpurace_report::text::TextRenderer;
use gpurace_report::{baseline, coverage, fix};

/// The system's allocator. It notes the sizes.
struct Noting;

#[global_allocator]
static ALLOCATOR: Noting = Noting;

// SAFETY: everything is the system's.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocates(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocates(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        allocates(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Fuzzes a decoder with changes of these valid inputs.
macro_rules! fuzz {
    ($name:literal, $valid:expr, $decode:expr) => {{
        let (valid, decode): (Vec<Vec<u8>>, _) = ($valid, $decode);
        let target = Target::new($name);
        for input in &valid {
            target.run(input.clone(), |bytes| {
                assert!(decode(bytes), "{} refuses a valid input", $name);
                true
            });
        }
        check!().with_iterations(usize::MAX).with_test_time(time()).with_type::<Input>().for_each(|input| {
            target.run(edited(&valid, input), decode);
        });
    }};
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

const DESCRIPTION: &str = include_str!("../corpus/description.json");
const FACTS: &str = include_str!("../corpus/facts.json");
const REPORTS: [&str; 2] = [
    include_str!("../../../runtime/render/src/tests/everything.json"),
    include_str!("../../../runtime/base/report/src/tests/interface.json"),
];

fn container() -> Vec<u8> {
    let sm_80 = gpu_code::section(gpu_code::Arch::of_name("sm_80").unwrap(), b".version 8.0\n\0");
    build_container(&[
        (SectionKind::HostImage, b"\x7fELF"),
        (SectionKind::Meta, DESCRIPTION.as_bytes()),
        (SectionKind::GpuMeta, b"{}"),
        (SectionKind::GpuPtx, &sm_80),
        (SectionKind::Proofs, b"gprp"),
    ])
}

/// Makes the checksums of a container right, and its size what it has.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 64 {
        let size = bytes.len() as u64;
        bytes[16..24].copy_from_slice(&size.to_le_bytes());
        let start = *blake3::hash(&bytes[..24]).as_bytes();
        bytes[24..32].copy_from_slice(&start[..8]);
        let rest = *blake3::hash(&bytes[64..]).as_bytes();
        bytes[32..64].copy_from_slice(&rest);
    }
    bytes
}

#[test]
fn container_and_sections() {
    let read = |bytes: &[u8]| {
        let Ok(container) = Container::at_start_of(bytes) else { return false };
        for (_, content) in container.sections() {
            assert!(content.len() <= container.size());
        }
        let codes = gpu_code::in_sections(container.sections());
        let _ = gpu_code::best(&codes, 80);
        let _ = container.find(SectionKind::Bitcode);
        true
    };
    fuzz!("container", vec![container()], |bytes: &[u8]| {
        read(bytes);
        read(&sealed(bytes))
    });
}

#[test]
fn description_of_a_module() {
    fuzz!("description", vec![DESCRIPTION.into()], |bytes: &[u8]| {
        serde_json::from_slice::<ModuleMeta>(bytes).is_ok()
    });
}

#[test]
fn files_of_the_driver() {
    let valid = vec![
        br#"{"defined":[{"name":"k","weak":false}],"needed":["f"]}"#.to_vec(),
        br#"[{"kernel":"f(int*)","file":"k.cu","line":1,"column":1,"op":"write","size":"4 B","object":"global",
            "verdict":"checked","says":[["why","because"]]}]"#
            .to_vec(),
    ];
    fuzz!("driver's files", valid, |bytes: &[u8]| {
        let symbols = serde_json::from_slice::<Symbols>(bytes).is_ok();
        let config = serde_json::from_slice::<PassConfig>(bytes).is_ok();
        symbols | config | serde_json::from_slice::<Vec<Explained>>(bytes).is_ok()
    });
}

fn rendered(report: &Report) -> usize {
    let sources = StoredSources::new(report);
    let renderer = TextRenderer { pid: None, color: true, sources: &sources };
    let version = "0";
    let texts = [
        renderer.report(report, true),
        renderer.short(report),
        report.to_json(),
        coverage::text(report),
        coverage::lcov(report),
        sarif::Renderer { version, root: Some(Path::new("/src")), sources: &sources }.render(report),
        markdown::render(report, &sources),
        github::render(report, Some(Path::new("/src"))),
        gitlab::render(report, None),
        html::render(report, "fuzz", version, &sources),
    ];
    for finding in &report.findings {
        if let Some(diff) = &finding.fix.diff {
            let _ = (fix::edits(diff), fix::edits_that_fit(diff, "a\nb\n"));
        }
    }
    texts.iter().map(String::len).sum()
}

/// A report with all that the stored ones lack: sources, fixes, calls, coverage.
fn full_report() -> String {
    let mut report: serde_json::Value = serde_json::from_str(REPORTS[0]).unwrap();
    report["sources"] =
        serde_json::json!([{ "file": "a b/k.cu", "first": 3, "lines": ["a", "\tb = c;", ""] }]);
    report["coverage"] = serde_json::json!([{ "kernel": "f", "launches": 2, "accesses": [
        { "file": "a b/k.cu", "line": 4, "column": 2, "op": "read", "state": "never-ran" }] }]);
    let whole = Report::from_json(&report.to_string()).unwrap();
    let mut report: serde_json::Value = serde_json::from_str(&whole.to_json()).unwrap();
    report["findings"][0]["fix"]["diff"] =
        "--- a/k.cu\n+++ b/k.cu\n@@ -3,2 +3,3 @@\n a\n+\t__syncthreads();\n \tb\n".into();
    report["races"][0]["accesses"][0]["frames"] =
        serde_json::json!([{ "function": "g", "file": "a b/k.cu", "line": 4, "column": 2 }]);
    report["races"][0]["object"]["element"] =
        serde_json::json!({ "index": [3, 7], "byte": 1, "type": "float4", "field": "x.y" });
    report.to_string()
}

#[test]
fn stored_report() {
    let valid = REPORTS.iter().map(|text| text.as_bytes().to_vec()).chain([full_report().into()]).collect();
    fuzz!("report", valid, |bytes: &[u8]| {
        let Ok(report) = Report::from_json(&text(bytes)) else { return false };
        rendered(&report) > 0
    });
}

#[test]
fn baselines_and_merged_reports() {
    let valid = REPORTS.iter().map(|text| text.as_bytes().to_vec()).chain([full_report().into()]).collect();
    let known = Report::from_json(REPORTS[0]).unwrap();
    fuzz!("baseline", valid, |bytes: &[u8]| {
        let Ok(report) = Report::from_json(&text(bytes)) else { return false };
        let _ = baseline::new_findings(report.clone(), &known);
        let _ = baseline::new_findings(known.clone(), &report);
        let mut merger = Merger::default();
        for report in [known.clone(), report.clone(), report] {
            merger.add("fuzz", report);
        }
        rendered(&merger.finish().unwrap()) > 0
    });
}

/// Runs a command of `gpurace` on a file with these bytes.
fn command(folder: &Path, bytes: &[u8], words: &[&str]) -> bool {
    let file: PathBuf = folder.join("input.json");
    std::fs::write(&file, bytes).unwrap();
    let words = words.iter().map(|&word| if word == "FILE" { file.as_os_str() } else { word.as_ref() });
    Cli::try_parse_from(words).unwrap_or_else(|why| panic!("{why}")).run().is_ok()
}

#[test]
fn facts_of_a_build() {
    let folder = tempfile::tempdir().unwrap();
    fuzz!("facts", vec![FACTS.into()], |bytes: &[u8]| {
        let shown = command(folder.path(), bytes, &["gpurace", "facts", "FILE"]);
        let compared = command(folder.path(), bytes, &["gpurace", "facts", "FILE", "FILE"]);
        let explained = command(folder.path(), bytes, &["gpurace", "explain", "FILE"]);
        shown && compared && explained
    });
}

#[test]
fn options() {
    let valid = [
        "device=cpu:exitcode=3:halt_on_error=1:log_path=a%p.log:json=r-%p.json",
        "kernels=ns::*<int, 3>,f(int*):skip_kernels='{a,b}[c-d]?':objects=4096,64K,#2,shared,tile",
        "blocks=0,0-15,every:8:solve_budget=0.5:every=7:seed=18446744073709551615:same_value=ignore",
    ];
    let valid = valid.iter().map(|text| text.as_bytes().to_vec()).collect();
    fuzz!("options", valid, |bytes: &[u8]| {
        let Ok(options) = Options::parse(&text(bytes)) else { return false };
        let names = ["void ns::f<int, 3>(int*)", "", "operator<", "g"];
        for name in names {
            let _ = options.checks_kernel(name);
        }
        for block in [0, 7, u64::MAX] {
            let _ = options.checks_block(block);
        }
        let _ = options.checks_object(&ObjectDescription {
            shared: true,
            name: None,
            size: 4096,
            order: Some(2),
        });
        if let Some(globs) = &options.kernels {
            let _ = globs.idle(names.into_iter());
        }
        true
    });
}

#[test]
fn ptx_of_asm_statements() {
    let valid = [
        "{ .reg .pred p; .reg .u32 r<3>; setp.lt.s32 p, $1, 4; @p ld.global.u32 $0, [$2+8]; L1: @!p bra L1; }\0=r,r,l,~{memory}",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$0,$1,$2,$3};\0=f,=f,=f,=f,r,r,r,r,r,r",
        "cp.async.ca.shared.global [$0], [$1], 16; cp.async.wait_group 0;\0r,l",
        "bar.sync $0, 64; atom.acq_rel.gpu.add.u32 $1, [$2], 1; shfl.sync.bfly.b32 $1|p, $1, 1, 31, -1;\0r,=r,l",
        "mbarrier.try_wait.parity.shared.b64 $0, [$1], $2;\0=r,r,r",
    ];
    let valid = valid.iter().map(|text| text.as_bytes().to_vec()).collect();
    let target = Target::new("PTX");
    let decode = |bytes: &[u8]| {
        let whole = text(bytes);
        let (template, constraints) = whole.split_once('\0').unwrap_or((&whole, ""));
        let Ok(asm) = ptx::parse(template, constraints) else { return false };
        let _ = asm.unsupported().count();
        true
    };
    let valid: Vec<Vec<u8>> = valid;
    assert!(valid.iter().filter(|input| decode(input)).count() >= 3);
    check!().with_iterations(usize::MAX).with_test_time(time()).with_type::<Input>().for_each(|input| {
        target.run(edited(&valid, input), decode);
    });
}

#[test]
fn response_files() {
    let valid = vec![b"-c  a.cu\n-DX=\"a b\" 'q\"q' e\\ f \"\" @other\n".to_vec()];
    fuzz!("response file", valid, |bytes: &[u8]| {
        let words = response::split(bytes);
        assert_eq!(response::split(&response::render(&words)), words);
        true
    });
}

#[test]
fn messages_of_an_editor() {
    let valid = vec![
        b"Content-Length: 52\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\",\"a\":[1]}"
            .to_vec(),
        b"Content-Type: x\r\nContent-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"} "
            .to_vec(),
    ];
    fuzz!("editor's message", valid, |mut bytes: &[u8]| {
        let mut read = 0;
        while let Ok(Some(_)) = wire::read(&mut bytes) {
            read += 1;
        }
        read > 0
    });
}
