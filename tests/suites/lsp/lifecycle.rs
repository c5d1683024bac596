//! The life of the server, and input that it does not want: it says what is wrong, and never panics.

use std::io::{Read as _, Write as _};

use gpurace_tests::toolchain::{TIME_LIMIT, work_folder};
use serde_json::{Value, json};
use wait_timeout::ChildExt as _;

use super::client::{Client, spawn};
use super::{NAME, abilities, diagnostics, workspace};

/// Returns the code of an error.
fn code(answer: Result<Value, Value>) -> i64 {
    answer.unwrap_err()["code"].as_i64().unwrap()
}

#[test]
fn requests_are_refused_before_the_start_and_after_the_end() {
    let folder = work_folder("lsp life").unwrap();
    let mut client = Client::unborn(&folder);
    assert_eq!(code(client.request("textDocument/hover", json!({}))), -32002);
    assert_eq!(code(client.request("shutdown", Value::Null)), -32002);
    client.notify("initialized", json!({}));
    assert_eq!(code(client.request("initialize", json!({ "capabilities": 5 }))), -32602);
    client.request("initialize", json!({ "capabilities": {} })).unwrap();
    assert_eq!(code(client.request("initialize", json!({ "capabilities": {} }))), -32600);
    assert_eq!(code(client.request("textDocument/rename", json!({}))), -32601);
    assert_eq!(code(client.request("textDocument/hover", json!({ "position": "here" }))), -32602);
    client.notify("$/setTrace", json!({ "value": "off" }));
    client.notify("textDocument/didOpen", json!([1, 2]));
    let said = client.wait_for("window/logMessage");
    assert!(said["message"].as_str().unwrap().starts_with("`textDocument/didOpen`: "), "{said}");
    client.request("shutdown", Value::Null).unwrap();
    assert_eq!(code(client.request("textDocument/hover", json!({}))), -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), (Some(0), String::new()));
}

#[test]
fn an_end_without_shutdown_has_status_1() {
    let folder = work_folder("lsp end").unwrap();
    // Before `initialize`, and after it.
    let mut unborn = Client::unborn(&folder);
    unborn.notify("exit", Value::Null);
    assert_eq!(unborn.ended(), (Some(1), String::new()));
    let (mut client, _) = Client::start(&folder, Value::Null, json!({}));
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), (Some(1), String::new()));
    // A client that is gone.
    let (mut client, _) = Client::start(&folder, Value::Null, json!({}));
    client.hang_up();
    let (status, errors) = client.ended();
    assert_eq!(status, Some(1));
    assert_eq!(errors, "gpurace: error: standard input ended before `shutdown`\n");
    let (mut client, _) = Client::start(&folder, Value::Null, json!({}));
    client.request("shutdown", Value::Null).unwrap();
    client.hang_up();
    assert_eq!(client.ended().0, Some(0));
}

#[test]
fn input_that_is_no_message_is_an_error() {
    let folder = work_folder("lsp input").unwrap();
    let inputs: [&[u8]; 7] = [
        b"hello\n",
        b"Content-Length: 18446744073709551615\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n{",
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 7\r\n\r\n\xff\xfe\x00{}{}",
        b"Content-Length: 900\r\n\r\n{\"jsonrpc\"",
        b"\x00\x00\x00",
    ];
    for input in inputs {
        let mut child = spawn(&folder);
        child.stdin.take().unwrap().write_all(input).unwrap();
        let status = child.wait_timeout(TIME_LIMIT).unwrap().expect("an end");
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let shown = String::from_utf8_lossy(input);
        assert_eq!(status.code(), Some(1), "{shown:?}: {errors}");
        assert!(
            errors.starts_with("gpurace: error: standard input has no message of the protocol: "),
            "{errors}"
        );
        assert!(errors.contains("\ngpurace: hint: ") && !errors.contains("panicked"), "{shown:?}: {errors}");
    }
}

#[test]
fn a_broken_report_is_named_once_and_mended_later() {
    let folder = workspace("broken");
    let report = folder.join("gpurace.json");
    let good = std::fs::read_to_string(&report).unwrap();
    let (mut client, _) = Client::start(&folder, Value::Null, abilities());
    let uri = client.open(NAME);
    assert_eq!(diagnostics(&mut client, &uri).len(), 1);
    let reload = |client: &mut Client| {
        client.request("workspace/executeCommand", json!({ "command": "gpurace.reload" })).unwrap();
        // The file has been read.
        client.wait_for("workspace/codeLens/refresh");
    };
    client.wait_for("workspace/codeLens/refresh");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let other = good.replacen("gpurace-report/1", "gpurace-report/9", 1);
    let half = &good[..good.len() / 2];
    for (broken, wanted) in [
        ("", "the file is empty"),
        (half, "EOF while parsing"),
        (&other, "expected `gpurace-report/1`"),
        ("{\"schema\": \"gpurace-report/1\", \"races\": 5}", "invalid type: integer `5`"),
        (&deep, "is not a report of this version"),
    ] {
        std::fs::write(&report, broken).unwrap();
        reload(&mut client);
        let said = client.wait_for("window/showMessage");
        let text = said["message"].as_str().unwrap();
        assert_eq!(said["type"], 1);
        assert!(text.starts_with("gpurace: error: `") && text.contains(wanted), "{text}");
        assert!(text.contains("gpurace.json`"), "{text}");
        // The same mistake is not shown again.
        reload(&mut client);
        assert_eq!(client.count("window/showMessage"), 0, "{wanted}");
    }
    assert_eq!(diagnostics(&mut client, &uri).len(), 0);
    // A folder in place of a file has no report, and a pipe is not read.
    std::fs::remove_file(&report).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(&report).status().unwrap();
    assert!(pipe.success());
    reload(&mut client);
    assert!(client.wait_for("window/showMessage")["message"].as_str().unwrap().ends_with("is no file"));
    // A report that is half written when the editor tells of it is no mistake.
    std::fs::remove_file(&report).unwrap();
    reload(&mut client);
    std::fs::write(&report, half).unwrap();
    client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [] }));
    std::thread::sleep(std::time::Duration::from_millis(50));
    std::fs::write(&report, &good).unwrap();
    assert_eq!(diagnostics(&mut client, &uri).len(), 1);
    assert_eq!(client.count("window/showMessage"), 0);
    client.stop();
}

/// Returns a report with each number and each text of its races replaced.
fn hostile(report: &Value, number: u64, text: &str) -> Value {
    fn replace(value: &mut Value, number: u64, text: &str) {
        match value {
            Value::Number(n) => *n = number.into(),
            Value::Array(list) => list.iter_mut().for_each(|item| replace(item, number, text)),
            Value::Object(fields) => {
                for (name, field) in fields {
                    match field {
                        // These are words of the schema.
                        Value::String(_)
                            if ["schema", "device", "kind", "space", "scope", "op", "state", "cause"]
                                .contains(&name.as_str()) => {}
                        Value::String(own) => *own = text.to_owned(),
                        other => replace(other, number, text),
                    }
                }
            }
            Value::String(own) => *own = text.to_owned(),
            Value::Null | Value::Bool(_) => {}
        }
    }
    let mut report = report.clone();
    replace(&mut report, number, text);
    report
}

#[test]
fn a_hostile_report_does_not_end_the_server() {
    let folder = workspace("hostile");
    let path = folder.join("gpurace.json");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let (mut client, _) = Client::start(&folder, Value::Null, abilities());
    let uri = client.open(NAME);
    client.wait_for("workspace/codeLens/refresh");
    let texts = [
        "",
        "/",
        "..",
        "/dev/zero",
        "/etc/passwd",
        "größe k.cu",
        "\u{0}\n\r%2F`*<b>",
        "--- a/größe k.cu\n@@ -4294967295 @@\n+x",
    ];
    for text in texts {
        for number in [0, 1, 8, u64::from(u32::MAX)] {
            std::fs::write(&path, hostile(&report, number, text).to_string()).unwrap();
            client.request("workspace/executeCommand", json!({ "command": "gpurace.reload" })).unwrap();
            // Either it is read, or the user is told; the lenses are then old.
            client.wait_for("workspace/codeLens/refresh");
            client.fixes(&uri, 8);
            client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } })).unwrap();
        }
    }
    client.stop();
}
