//! `gpurace lsp` on real programs and their reports: what an editor gets to see.

mod client;
mod extension;
mod lifecycle;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gpurace_tests::toolchain::{compile, run_checked, work_folder};
use serde_json::{Value, json};

use client::{Client, apply};

/// A barrier is missing before line 9. The characters before the accesses have other lengths in UTF-8, in UTF-16 and
/// in words of people.
const SOURCE: &str = "\
__global__ void expect(const int* in) {
    if (in[threadIdx.x] < 0) __trap();
}

__global__ void mirror(int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    /* größe 𝄞 */ tile[t] = t;
    out[blockIdx.x * blockDim.x + t] = /* größe 𝄞 */ tile[63 - t];
}

template <class T>
__global__ void fill(T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1;
    if (n < 0) out[0] = 2;
}

int main() {
    int* out;
    cudaMalloc(&out, 128 * sizeof(int));
    mirror<<<2, 64>>>(out);
    expect<<<1, 64>>>(out);
    fill<int><<<2, 64>>>(out, 128);
    fill<long><<<1, 64>>>((long*)out, 64);
    return cudaDeviceSynchronize();
}
";

/// All that a modern client can do.
fn abilities() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-16"] },
        "workspace": {
            "didChangeWatchedFiles": { "dynamicRegistration": true, "relativePatternSupport": true },
            "codeLens": { "refreshSupport": true },
            "workspaceEdit": { "documentChanges": true },
        },
        "textDocument": {
            "publishDiagnostics": { "relatedInformation": true },
            "hover": { "contentFormat": ["markdown", "plaintext"] },
        },
    })
}

/// Returns the row and the UTF-16 columns of a text on a line of the source.
fn at(line: u32, text: &str) -> Value {
    let whole = SOURCE.lines().nth(line as usize - 1).unwrap();
    let start = whole[..whole.find(text).unwrap()].encode_utf16().count();
    let end = start + text.encode_utf16().count();
    json!({ "start": { "line": line - 1, "character": start }, "end": { "line": line - 1, "character": end } })
}

/// Compiles and runs a source; its report is then beside it.
fn build(folder: &Path, name: &str, text: &str) -> Option<i32> {
    std::fs::write(folder.join(name), text).unwrap();
    let args = ["-fsanitize=gpurace", "-Wno-gpurace", "-fgpurace-facts=facts.json", name, "-o", "program"];
    compile(&args, folder).unwrap();
    run_checked(&folder.join("program"), &[], "", folder).unwrap().outcome.status
}

/// Returns a folder with the source, its facts and its report, which are built once.
fn workspace(test: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = work_folder("lsp built").unwrap();
        assert_eq!(build(&folder, "größe k.cu", SOURCE), Some(66));
        folder
    });
    let folder = work_folder(&format!("lsp {test}")).unwrap().canonicalize().unwrap();
    // The facts are newer than the source.
    for name in ["größe k.cu", "facts.json"] {
        std::fs::copy(built.join(name), folder.join(name)).unwrap();
    }
    std::fs::copy(built.join("report.json"), folder.join("gpurace.json")).unwrap();
    folder
}

const NAME: &str = "größe k.cu";

/// Returns the diagnostics that the server tells next, which are those of this file.
fn diagnostics(client: &mut Client, uri: &str) -> Vec<Value> {
    let told = client.wait_for("textDocument/publishDiagnostics");
    assert_eq!(told["uri"], uri);
    told["diagnostics"].as_array().unwrap().clone()
}

#[test]
fn findings_are_at_their_lines_with_the_other_access() {
    let folder = workspace("findings");
    let (mut client, said) = Client::start(&folder, Value::Null, abilities());
    assert_eq!(said["capabilities"]["positionEncoding"], "utf-16");
    let uri = client.uri(NAME);
    let told = diagnostics(&mut client, &uri);
    assert_eq!(told.len(), 1, "{told:?}");
    let found = &told[0];
    assert_eq!(found["range"], at(9, "tile[63 - t]"));
    assert_eq!(found["severity"], 1);
    assert_eq!((&found["code"], &found["source"]), (&json!("missing-barrier"), &json!("gpurace")));
    assert!(found["message"].as_str().unwrap().starts_with("Data race: read of size 4"), "{found}");
    let related = found["relatedInformation"].as_array().unwrap();
    assert_eq!(related[0]["location"], json!({ "uri": uri, "range": at(8, "tile[t]") }));
    assert!(related[0]["message"].as_str().unwrap().starts_with("Previous write of size 4"), "{related:?}");
    assert_eq!(related[1]["location"]["range"]["start"]["line"], 21);
    assert!(related[1]["message"].as_str().unwrap().contains("`mirror(int*)`"));
    client.stop();
}

#[test]
fn columns_are_bytes_for_clients_that_want_bytes() {
    let folder = workspace("bytes");
    let wanted = json!({ "general": { "positionEncodings": ["utf-8", "utf-16"] } });
    let (mut client, said) = Client::start(&folder, Value::Null, wanted);
    assert_eq!(said["capabilities"]["positionEncoding"], "utf-8");
    let uri = client.uri(NAME);
    let told = diagnostics(&mut client, &uri);
    let start = SOURCE.lines().nth(8).unwrap().find("tile[63").unwrap();
    assert_eq!(told[0]["range"]["start"], json!({ "line": 8, "character": start }));
    // This client did not say that it shows related places.
    assert!(told[0].get("relatedInformation").is_none());
    client.stop();
}

#[test]
fn a_quick_fix_ends_the_finding() {
    let folder = workspace("fix");
    let (mut client, _) = Client::start(&folder, Value::Null, abilities());
    let uri = client.open(NAME);
    let told = diagnostics(&mut client, &uri);
    assert!(client.fixes(&uri, 3).is_empty(), "a line without a finding");
    let fixes = client.fixes(&uri, 8);
    let [fix] = &fixes[..] else { panic!("{fixes:?}") };
    assert_eq!((&fix["kind"], &fix["isPreferred"]), (&json!("quickfix"), &json!(true)));
    assert!(fix["title"].as_str().unwrap().starts_with("insert `__syncthreads();` before line 9"), "{fix}");
    assert_eq!(fix["diagnostics"], json!(told));
    let change = &fix["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"], json!({ "uri": uri, "version": 1 }));
    let edits = change["edits"].as_array().unwrap();
    let mended = apply(SOURCE, edits);
    assert_eq!(mended, SOURCE.replace("    out[blockIdx", "    __syncthreads();\n    out[blockIdx"));
    // Windows' ends of lines stay.
    let windows = SOURCE.replace('\n', "\r\n");
    client.edit(&uri, 2, &windows);
    let fixes = client.fixes(&uri, 8);
    let change = &fixes[0]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["version"], 2);
    assert_eq!(apply(&windows, change["edits"].as_array().unwrap()), mended.replace('\n', "\r\n"));
    // The edit fits neither the mended text, nor one whose lines moved or changed.
    let moved = format!("\n{SOURCE}");
    for (version, other) in (3..).zip([&*mended, &moved, &SOURCE.replace("int t = ", "int  t = "), ""]) {
        client.edit(&uri, version, other);
        assert!(client.fixes(&uri, 8).is_empty(), "{other}");
    }
    client.edit(&uri, 9, SOURCE);
    assert_eq!(client.fixes(&uri, 8).len(), 1);
    // Without versions, an edit is by URI.
    client.stop();
    let (mut client, _) = Client::start(&folder, Value::Null, json!({}));
    diagnostics(&mut client, &uri);
    assert_eq!(client.fixes(&uri, 8)[0]["edit"]["changes"][&uri], json!(edits));
    client.stop();
    // The mended program has no finding.
    assert_eq!(build(&folder, NAME, &mended), Some(0));
}

#[test]
fn a_new_report_replaces_the_old_one() {
    let folder = workspace("reload");
    let report = folder.join("gpurace.json");
    let old = std::fs::read_to_string(&report).unwrap();
    std::fs::remove_file(&report).unwrap();
    let (mut client, _) = Client::start(&folder, Value::Null, abilities());
    let asked = client.wait_for("client/registerCapability");
    let watchers = asked["registrations"][0]["registerOptions"]["watchers"].clone();
    assert_eq!(watchers[0]["globPattern"], json!({ "baseUri": client.uri(""), "pattern": "gpurace.json" }));
    let uri = client.open(NAME);
    assert_eq!(client.count("textDocument/publishDiagnostics"), 0);
    assert_eq!(client.count("window/showMessage"), 0, "no run is no mistake");
    let changed = json!({ "changes": [{ "uri": client.uri("gpurace.json"), "type": 2 }] });
    // The editor says so ...
    std::fs::write(&report, &old).unwrap();
    client.notify("workspace/didChangeWatchedFiles", changed.clone());
    assert_eq!(diagnostics(&mut client, &uri).len(), 1);
    // ... or nothing has changed ...
    client.notify("workspace/didChangeWatchedFiles", changed);
    assert_eq!(client.count("textDocument/publishDiagnostics"), 0);
    // ... or a file is saved after a run without a finding ...
    let clean: Value = serde_json::from_str(&old).unwrap();
    let mut clean = clean.as_object().unwrap().clone();
    for list in ["races", "findings"] {
        clean.insert(list.to_owned(), json!([]));
    }
    std::fs::write(&report, Value::from(clean).to_string()).unwrap();
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(diagnostics(&mut client, &uri).len(), 0);
    // ... or the user says so.
    std::fs::write(&report, &old).unwrap();
    client.request("workspace/executeCommand", json!({ "command": "gpurace.reload" })).unwrap();
    assert_eq!(diagnostics(&mut client, &uri).len(), 1);
    // A line that changed since the run is marked as a whole.
    client.edit(&uri, 2, &SOURCE.replace("tile[63 - t]", "tile[t]"));
    client.request("workspace/executeCommand", json!({ "command": "gpurace.reload" })).unwrap();
    let told = diagnostics(&mut client, &uri);
    assert_eq!(told[0]["range"]["start"]["character"], 4);
    assert!(told[0]["message"].as_str().unwrap().ends_with("(The source has changed since the run.)"));
    assert!(client.count("workspace/codeLens/refresh") >= 3);
    client.stop();
}

#[test]
fn a_file_is_called_as_the_client_calls_it() {
    let folder = workspace("names");
    // The report has the file's own name, the client comes through a link.
    let own = folder.join(NAME);
    let report = std::fs::read_to_string(folder.join("gpurace.json")).unwrap();
    let report = report.replace(&format!("\"{NAME}\""), &format!("\"{}\"", own.display()));
    std::fs::write(folder.join("gpurace.json"), report).unwrap();
    let link = folder.with_file_name("lsp link");
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    let (mut client, _) = Client::start(&link, Value::Null, abilities());
    let told = client.wait_for("textDocument/publishDiagnostics");
    let before = told["uri"].as_str().unwrap().to_owned();
    assert!(before.contains("names") && told["diagnostics"][0]["range"] == at(9, "tile[63 - t]"), "{told}");
    let uri = client.open(NAME);
    assert_ne!(uri, before);
    assert!(diagnostics(&mut client, &before).is_empty());
    assert_eq!(diagnostics(&mut client, &uri).len(), 1);
    let fixes = client.fixes(&uri, 8);
    assert_eq!(fixes[0]["edit"]["documentChanges"][0]["textDocument"]["uri"], uri);
    client.stop();
}

#[test]
fn reports_of_a_folder_are_joined() {
    let folder = workspace("folder");
    let reports = folder.join("reports");
    std::fs::create_dir(&reports).unwrap();
    for name in ["1.json", "2.json"] {
        std::fs::copy(folder.join("gpurace.json"), reports.join(name)).unwrap();
    }
    std::fs::write(reports.join("other.txt"), "no report").unwrap();
    let (mut client, _) = Client::start(&folder, json!({ "report": "reports" }), abilities());
    let uri = client.uri(NAME);
    assert_eq!(diagnostics(&mut client, &uri).len(), 1);
    client.stop();
}

#[test]
fn lenses_count_the_accesses_of_each_kernel() {
    let folder = workspace("lenses");
    let (mut client, _) = Client::start(&folder, Value::Null, abilities());
    let uri = client.open(NAME);
    diagnostics(&mut client, &uri);
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } })).unwrap();
    let shown: Vec<(u64, &str)> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|lens| {
            let row = lens["range"]["start"]["line"].as_u64().unwrap();
            (row, lens["command"]["title"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        shown,
        [
            (0, "gpurace: 1 launch; 1 access: 0 checked, 1 proved, 0 never ran"),
            (4, "gpurace: 1 launch; 3 accesses: 2 checked, 1 proved, 0 never ran"),
            (
                12,
                "gpurace: `void fill<int>(int*, int)`: 1 launch; 2 accesses: 0 checked, 1 proved, 1 never ran"
            ),
            (
                12,
                "gpurace: `void fill<long>(long*, int)`: 1 launch; 2 accesses: 0 checked, 1 proved, 1 never ran"
            ),
        ]
    );
    // The same numbers as `gpurace report --coverage`.
    let mut command = std::process::Command::new(gpurace_tests::toolchain::tool("gpurace").unwrap());
    command.args(["report", "--coverage", "gpurace.json"]).current_dir(&folder);
    let text = gpurace_tests::toolchain::run(&mut command, &folder).unwrap().stdout;
    assert!(text.contains(shown[0].1.trim_start_matches("gpurace: ")), "{text}");
    // Another file has none.
    std::fs::write(folder.join("other.cu"), SOURCE).unwrap();
    let other = client.open("other.cu");
    let lenses =
        client.request("textDocument/codeLens", json!({ "textDocument": { "uri": other } })).unwrap();
    assert_eq!(lenses, json!([]));
    client.stop();
}

/// Returns the text of a hover at the middle of an expression, and asserts that it is marked.
fn verdict(client: &mut Client, uri: &str, line: u32, text: &str) -> String {
    let range = at(line, text);
    let middle = |end: &str| range[end]["character"].as_u64().unwrap() as u32;
    let hover = client.hover(uri, line - 1, (middle("start") + middle("end")) / 2);
    assert_eq!(hover["range"], range, "{hover}");
    assert_eq!(hover["contents"]["kind"], "markdown");
    hover["contents"]["value"].as_str().unwrap().to_owned()
}

/// Asserts what hovers say of the source.
fn check_verdicts(client: &mut Client, uri: &str) {
    let proved = verdict(client, uri, 2, "in[threadIdx.x]");
    assert!(proved.starts_with("**gpurace: proved**: read of 4 B, global"), "{proved}");
    let conditional = verdict(client, uri, 9, "out[blockIdx.x * blockDim.x + t]");
    assert!(conditional.starts_with("**gpurace: proved-if**: write of 4 B"), "{conditional}");
    assert!(conditional.contains("\n- requires: blockDim.y == 1\n"), "{conditional}");
    let racy = verdict(client, uri, 8, "tile[t]");
    assert!(racy.starts_with("**gpurace: racy**: write of 4 B, shared"), "{racy}");
    assert!(racy.contains("\n- witness: write at line 8 by thread"), "{racy}");
    let unproved = verdict(client, uri, 16, "out[0]");
    assert!(unproved.starts_with("**gpurace: checked**: write of 4 B, global"), "{unproved}");
    assert!(unproved.contains("\n- why: may touch the same bytes without order"), "{unproved}");
}

#[test]
fn a_source_of_the_compile_database_is_explained() {
    let folder = workspace("compiled");
    let header = "struct Wrong {};\n";
    std::fs::create_dir(folder.join("build")).unwrap();
    std::fs::write(folder.join("build/own.h"), header).unwrap();
    let entry = json!([{
        "directory": folder.join("build"), "file": format!("../{NAME}"),
        "command": format!("ccache gclang++ -I. -include own.h -O1 -MD -MF k.d -o k.o -c \"../{NAME}\""),
    }]);
    std::fs::write(folder.join("build/compile_commands.json"), entry.to_string()).unwrap();
    let (mut client, _) = Client::start(&folder, Value::Null, abilities());
    let uri = client.open(NAME);
    check_verdicts(&mut client, &uri);
    // What no access is has no verdict.
    let nothing = json!({ "textDocument": { "uri": uri }, "position": { "line": 6, "character": 8 } });
    assert_eq!(client.request("textDocument/hover", nothing), Ok(Value::Null));
    // An edited text has none until it is saved.
    let access = json!({ "textDocument": { "uri": uri }, "position": at(8, "tile[t]")["start"] });
    let mended = SOURCE.replace("    out[blockIdx", "__syncthreads(); out[blockIdx");
    client.edit(&uri, 2, &mended);
    assert_eq!(client.request("textDocument/hover", access), Ok(Value::Null));
    std::fs::write(folder.join(NAME), &mended).unwrap();
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    let now = verdict(&mut client, &uri, 8, "tile[t]");
    assert!(now.starts_with("**gpurace: proved"), "{now}");
    // Code that does not compile is no mistake of the server.
    client.edit(&uri, 3, "int main( {");
    std::fs::write(folder.join(NAME), "int main( {").unwrap();
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    loop {
        let told = client.wait_for("window/logMessage");
        if told["message"].as_str().unwrap().contains("was not explained") {
            break;
        }
    }
    assert_eq!(client.count("window/showMessage"), 0);
    assert!(!folder.join("build/k.o").exists() && !folder.join("build/k.d").exists());
    client.stop();
}

#[test]
fn stored_facts_are_shown_while_they_are_newer_than_the_source() {
    let folder = workspace("facts");
    let (mut client, _) = Client::start(&folder, json!({ "facts": "facts.json" }), abilities());
    let uri = client.open(NAME);
    check_verdicts(&mut client, &uri);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    std::fs::File::options().write(true).open(folder.join(NAME)).unwrap().set_modified(later).unwrap();
    let access = json!({ "textDocument": { "uri": uri }, "position": at(8, "tile[t]")["start"] });
    assert_eq!(client.request("textDocument/hover", access), Ok(Value::Null));
    client.stop();
}

#[test]
fn a_source_without_an_entry_is_compiled_with_the_fallback_flags_only() {
    let folder = workspace("fallback");
    let (mut client, _) = Client::start(&folder, json!({ "fallbackFlags": ["-O1"] }), abilities());
    let uri = client.open(NAME);
    check_verdicts(&mut client, &uri);
    client.stop();
    let (mut client, _) = Client::start(&folder, Value::Null, abilities());
    client.open(NAME);
    std::thread::sleep(std::time::Duration::from_secs(4));
    let access = json!({ "textDocument": { "uri": uri }, "position": at(8, "tile[t]")["start"] });
    assert_eq!(client.request("textDocument/hover", access), Ok(Value::Null));
    client.stop();
}

/// Returns the processes whose command lines have a text.
fn processes(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(text)).collect()
}

/// Waits until a condition holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + gpurace_tests::toolchain::TIME_LIMIT;
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_compilation_blocks_nothing_and_ends_with_the_next_edit() {
    let folder = workspace("cancel");
    // clang waits for the pipe's text for ever.
    let pipe = folder.join("endless.h");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let shown = pipe.to_str().unwrap();
    let options = json!({ "fallbackFlags": ["-include", shown] });
    let (mut client, _) = Client::start(&folder, options, abilities());
    let uri = client.open(NAME);
    let runs = || processes(shown).len();
    // `gpurace explain` and its clang.
    until("the compilation begins", || runs() >= 2);
    assert_eq!(diagnostics(&mut client, &uri).len(), 1);
    assert_eq!(client.fixes(&uri, 8).len(), 1);
    client.edit(&uri, 2, SOURCE);
    until("the edit ends the compilation", || runs() == 0);
    // So does the end of the server.
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    until("the compilation begins again", || runs() >= 2);
    client.stop();
    until("the server's end ends the compilation", || runs() == 0);
}
