//! An editor without a screen: a client of `gpurace lsp` over standard input and output.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use gpurace_tests::toolchain::tool;
use serde_json::{Value, json};

/// How long the client waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a server without a word to it.
pub fn spawn(folder: &Path) -> Child {
    let mut command = Command::new(tool("gpurace").unwrap());
    command.arg("lsp").current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A client and its server.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    /// What the server told and nobody has asked for yet.
    told: VecDeque<Value>,
    folder: PathBuf,
    next: i64,
}

impl Client {
    /// Starts a server for a folder, without `initialize`.
    pub fn unborn(folder: &Path) -> Self {
        let mut child = spawn(folder);
        let input = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, output) = channel();
        thread::spawn(move || {
            loop {
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if stdout.read_line(&mut line).unwrap_or_default() == 0 {
                        return;
                    }
                    if line == "\r\n" {
                        break;
                    }
                    if let Some(value) = line.strip_prefix("Content-Length: ") {
                        length = value.trim().parse().unwrap();
                    }
                }
                let mut text = vec![0; length];
                stdout.read_exact(&mut text).unwrap();
                if sender.send(serde_json::from_slice(&text).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, input, output, told: VecDeque::new(), folder: folder.to_owned(), next: 1 }
    }

    /// Starts a server for a folder. Returns what it said of itself, too.
    pub fn start(folder: &Path, options: Value, abilities: Value) -> (Self, Value) {
        let mut client = Self::unborn(folder);
        let answer = client.request(
            "initialize",
            json!({
                "processId": null,
                "rootUri": client.uri(""),
                "workspaceFolders": [{ "uri": client.uri(""), "name": "tests" }],
                "capabilities": abilities,
                "initializationOptions": options,
            }),
        );
        client.notify("initialized", json!({}));
        (client, answer.unwrap())
    }

    /// Returns the URI of a file in the folder, as VS Code writes it.
    pub fn uri(&self, name: &str) -> String {
        const KEPT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
            .remove(b'/')
            .remove(b'-')
            .remove(b'.')
            .remove(b'_')
            .remove(b'~');
        let path = if name.is_empty() { self.folder.clone() } else { self.folder.join(name) };
        format!("file://{}", percent_encoding::utf8_percent_encode(path.to_str().unwrap(), KEPT))
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let input = self.input.as_mut().unwrap();
        // A server that has ended is found by those who wait for its words.
        let _ = write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).and_then(|()| input.flush());
    }

    /// Tells the server something.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Returns the answer to a request, or its error.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = self.receive(deadline).unwrap_or_else(|| panic!("no answer to `{method}`"));
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.told.push_back(message);
        }
    }

    fn receive(&mut self, deadline: Instant) -> Option<Value> {
        self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    /// Returns the parameters of the next notification or request of a method.
    pub fn wait_for(&mut self, method: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        if let Some(at) = self.told.iter().position(|message| message["method"] == method) {
            return self.told.remove(at).unwrap()["params"].clone();
        }
        loop {
            let message = self.receive(deadline).unwrap_or_else(|| panic!("no `{method}`: {:?}", self.told));
            if message["method"] == method {
                return message["params"].clone();
            }
            self.told.push_back(message);
        }
    }

    /// Returns how often the server has told something, once it has answered all that was asked before.
    pub fn count(&mut self, method: &str) -> usize {
        // The server reads files apart from its loop.
        thread::sleep(Duration::from_millis(500));
        self.request("workspace/executeCommand", json!({ "command": "no such command" })).unwrap_err();
        self.told.iter().filter(|message| message["method"] == method).count()
    }

    /// Opens a file that is on disk.
    pub fn open(&mut self, name: &str) -> String {
        let uri = self.uri(name);
        let text = std::fs::read_to_string(self.folder.join(name)).unwrap();
        let document = json!({ "uri": uri, "languageId": "cuda-cpp", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        uri
    }

    /// Replaces an open file's text, as typing does.
    pub fn edit(&mut self, uri: &str, version: i64, text: &str) {
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "text": text }],
            }),
        );
    }

    /// Asks for a hover until there is one.
    pub fn hover(&mut self, uri: &str, line: u32, character: u32) -> Value {
        let deadline = Instant::now() + PATIENCE;
        let at = json!({
            "textDocument": { "uri": uri }, "position": { "line": line, "character": character },
        });
        loop {
            let answer = self.request("textDocument/hover", at.clone()).unwrap();
            if !answer.is_null() {
                return answer;
            }
            assert!(Instant::now() < deadline, "no hover: {:?}", self.told);
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the quick fixes for a line.
    pub fn fixes(&mut self, uri: &str, line: u32) -> Vec<Value> {
        let at = json!({ "line": line, "character": 0 });
        let params = json!({
            "textDocument": { "uri": uri }, "range": { "start": at, "end": { "line": line, "character": 999 } },
            "context": { "diagnostics": [], "only": ["quickfix"] },
        });
        self.request("textDocument/codeAction", params).unwrap().as_array().unwrap().clone()
    }

    /// Closes the server's input without `exit`.
    pub fn hang_up(&mut self) {
        self.input = None;
    }

    /// Waits for the end of the server. Returns its status and its standard error.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let mut errors = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        let status = self.child.wait().unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        (status.code(), errors)
    }

    /// Ends the server as editors do.
    pub fn stop(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Ok(Value::Null));
        self.notify("exit", Value::Null);
        assert_eq!(self.ended(), (Some(0), String::new()));
    }
}

/// Returns a text after the edits of an action, whose columns count UTF-16.
pub fn apply(text: &str, edits: &[Value]) -> String {
    let offset = |at: &Value| {
        let (line, character) = (at["line"].as_u64().unwrap() as usize, at["character"].as_u64().unwrap());
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let mut left = character as usize;
        let rest = text[start..].char_indices().find(|(_, c)| {
            let is_there = left == 0;
            left = left.saturating_sub(c.len_utf16());
            is_there
        });
        start + rest.map_or(text.len() - start, |(at, _)| at)
    };
    let mut edits: Vec<_> = edits
        .iter()
        .map(|edit| {
            let range = &edit["range"];
            (offset(&range["start"]), offset(&range["end"]), edit["newText"].as_str().unwrap())
        })
        .collect();
    edits.sort();
    edits.iter().rev().fold(text.to_owned(), |mut text, (start, end, new)| {
        text.replace_range(start..end, new);
        text
    })
}
