//! The life of the server: it starts with `initialize`, ends with `shutdown` and `exit`, and answers each request.

use std::io::Write;
use std::sync::mpsc::Sender;

use gen_lsp_types as lsp;
use lsp_server::{ErrorCode, Message, Notification, Request};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Event;
use super::setup::Setup;
use super::wire::{Client, Refusal};
use super::workspace::Workspace;
use crate::diagnostic::Error;

/// The longest text of a broken message that an error shows, in characters.
const SHOWN: usize = 300;

/// How far the life of the server is.
#[derive(Debug)]
enum Life {
    /// Before `initialize`.
    Unborn,
    /// Between `initialize` and `shutdown`.
    Serving(Box<Workspace>),
    /// After `shutdown`.
    ShutDown,
}

/// What comes after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next event.
    Wait,
    /// The end of the process.
    Exit {
        /// True if `shutdown` came before.
        is_orderly: bool,
    },
}

/// The server.
#[derive(Debug)]
pub struct Server<W> {
    client: Client<W>,
    events: Sender<Event>,
    life: Life,
}

impl<W: Write> Server<W> {
    /// Returns a server that writes to `output` and gets further events through `events`.
    pub fn new(output: W, events: Sender<Event>) -> Self {
        Self { client: Client::new(output), events, life: Life::Unborn }
    }

    /// Handles an event.
    ///
    /// # Errors
    /// The client cannot be understood, or cannot be reached.
    pub fn handle(&mut self, event: Event) -> Result<Next, Error> {
        let next = match event {
            Event::Message(Message::Request(request)) => self.request(request),
            Event::Message(Message::Notification(told)) if told.method == "exit" => {
                Next::Exit { is_orderly: matches!(self.life, Life::ShutDown) }
            }
            Event::Message(Message::Notification(told)) => self.notification(told),
            // The server asks for nothing whose answer changes anything.
            Event::Message(Message::Response(_)) => Next::Wait,
            Event::Closed(Ok(())) => match self.life {
                Life::ShutDown => Next::Exit { is_orderly: true },
                Life::Unborn | Life::Serving(_) => {
                    return Err(Error::new("standard input ended before `shutdown`"));
                }
            },
            Event::Closed(Err(e)) => {
                let text: String = e.to_string().chars().take(SHOWN).collect();
                return Err(Error::new(format!("standard input has no message of the protocol: {text}"))
                    .hint("editors start this command and talk to it: see docs/editors.md"));
            }
            Event::Loaded(loaded) => {
                if let Life::Serving(workspace) = &mut self.life {
                    workspace.loaded(*loaded, &mut self.client);
                }
                Next::Wait
            }
            Event::Explained { source, number, told } => {
                if let Life::Serving(workspace) = &mut self.life {
                    workspace.explained(source, number, told, &mut self.client);
                }
                Next::Wait
            }
        };
        match self.client.failure() {
            // Nobody reads the last words.
            Some(_) if next != Next::Wait => Ok(next),
            Some(e) => Err(Error::new(format!("cannot write to the client: {e}"))),
            None => Ok(next),
        }
    }

    /// Answers a request.
    fn request(&mut self, request: Request) -> Next {
        let Request { id, method, params } = request;
        let answer = match (&mut self.life, method.as_str()) {
            (Life::Unborn, "initialize") => self.initialize(params),
            (Life::Unborn, other) => {
                Err((ErrorCode::ServerNotInitialized, format!("found `{other}`, wanted `initialize`")))
            }
            (Life::Serving(_), "initialize") => {
                Err((ErrorCode::InvalidRequest, "the server is initialized already".to_owned()))
            }
            (Life::Serving(_), "shutdown") => {
                // This ends compilations too.
                self.life = Life::ShutDown;
                Ok(Value::Null)
            }
            (Life::Serving(workspace), method) => answer(workspace, method, params),
            (Life::ShutDown, other) => {
                Err((ErrorCode::InvalidRequest, format!("found `{other}` after `shutdown`, wanted `exit`")))
            }
        };
        self.client.answer(id, answer);
        Next::Wait
    }

    fn initialize(&mut self, params: Value) -> Result<Value, Refusal> {
        let params: lsp::InitializeParams = read(params)?;
        let (setup, wrong) = Setup::new(&params);
        let answer = setup.answer();
        self.life = Life::Serving(Box::new(Workspace::new(setup, wrong, self.events.clone())));
        Ok(answer)
    }

    fn notification(&mut self, told: Notification) -> Next {
        // Before `initialize` and after `shutdown`, the protocol drops notifications.
        if let Life::Serving(workspace) = &mut self.life
            && let Err((_, wrong)) = tell(workspace, &told.method, told.params, &mut self.client)
        {
            self.client.log(lsp::MessageType::Warning, format!("`{}`: {wrong}", told.method));
        }
        Next::Wait
    }
}

/// Reads the parameters of a message.
fn read<P: DeserializeOwned>(params: Value) -> Result<P, Refusal> {
    serde_json::from_value(params).map_err(|e| (ErrorCode::InvalidParams, e.to_string()))
}

/// Answers a request.
fn answer(workspace: &mut Workspace, method: &str, params: Value) -> Result<Value, Refusal> {
    fn write<T: serde::Serialize>(answer: T) -> Result<Value, Refusal> {
        serde_json::to_value(answer).map_err(|e| (ErrorCode::InternalError, e.to_string()))
    }
    match method {
        "textDocument/hover" => write(workspace.hover(&read::<lsp::HoverParams>(params)?)),
        "textDocument/codeAction" => write(workspace.actions(&read::<lsp::CodeActionParams>(params)?)),
        "textDocument/codeLens" => write(workspace.lenses(&read::<lsp::CodeLensParams>(params)?)),
        "workspace/executeCommand" => {
            let params: lsp::ExecuteCommandParams = read(params)?;
            workspace.execute(&params.command).map(|()| Value::Null)
        }
        other => Err((ErrorCode::MethodNotFound, format!("there is no request `{other}`"))),
    }
}

/// Takes note of what the client tells. Unknown notifications mean nothing to the server.
fn tell<W: Write>(
    workspace: &mut Workspace,
    method: &str,
    params: Value,
    client: &mut Client<W>,
) -> Result<(), Refusal> {
    match method {
        "initialized" => workspace.start(client),
        "textDocument/didOpen" => workspace.opened(read::<lsp::DidOpenTextDocumentParams>(params)?, client),
        "textDocument/didChange" => workspace.changed(read::<lsp::DidChangeTextDocumentParams>(params)?),
        "textDocument/didSave" => workspace.saved(&read::<lsp::DidSaveTextDocumentParams>(params)?),
        "textDocument/didClose" => workspace.closed(&read::<lsp::DidCloseTextDocumentParams>(params)?),
        "workspace/didChangeWatchedFiles" => {
            workspace.files_changed(&read::<lsp::DidChangeWatchedFilesParams>(params)?);
        }
        _ => {}
    }
    Ok(())
}
