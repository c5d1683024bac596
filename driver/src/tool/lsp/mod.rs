//! `gpurace lsp`: a language server. An editor shows the findings of the last run and the verdicts of the prover in the
//! source, beside clangd.
//!
//! | module | content |
//! |---|---|
//! | [`wire`] | messages from and to the client |
//! | [`server`] | the life of the server: which message is allowed when |
//! | [`workspace`] | the state between them: what each message reads and changes |
//! | [`setup`] | what client and server agree on |
//! | [`documents`] | open files, names of files |
//! | [`position`] | lines and columns |
//! | [`load`] | reads stored reports and facts |
//! | [`findings`], [`fixes`], [`lenses`] | a report as diagnostics, quick fixes and code lenses |
//! | [`compile`], [`database`], [`hovers`] | verdicts: who compiles, how, and what a hover says of them |
//!
//! One loop handles all events in order, and waits for nothing else. Threads read the client's messages and the stored
//! files, and wait for compilations.

pub mod compile;
pub mod database;
pub mod documents;
pub mod findings;
pub mod fixes;
pub mod hovers;
pub mod lenses;
pub mod load;
pub mod position;
pub mod server;
pub mod setup;
pub mod wire;
pub mod workspace;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use clap::Args;
use lsp_server::Message;

use self::server::{Next, Server};
use super::Done;
use crate::diagnostic::Error;

/// Arguments of `gpurace lsp`.
#[derive(Args)]
pub struct LspArgs {
    /// Talk over standard input and output, which it always does; some editors add this
    #[arg(long, hide = true)]
    stdio: bool,
}

/// What happens to the server.
#[derive(Debug)]
pub enum Event {
    /// The client says something.
    Message(Message),
    /// The client says nothing more, or nothing that can be read.
    Closed(io::Result<()>),
    /// Stored files were read.
    Loaded(Box<load::Loaded>),
    /// A source was explained.
    Explained {
        /// The source.
        source: PathBuf,
        /// The compilation.
        number: u64,
        /// Its accesses.
        told: compile::Told,
    },
}

/// Serves a client over standard input and output until it says `exit`.
///
/// # Errors
/// The client left without `exit`, or said what is no message.
pub fn lsp(_: &LspArgs) -> Result<Done, Error> {
    let (sender, events) = mpsc::channel();
    let messages = sender.clone();
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        let end = loop {
            match wire::read(&mut input) {
                Ok(Some(message)) => {
                    // The loop has ended if nobody receives.
                    if messages.send(Event::Message(message)).is_err() {
                        return;
                    }
                }
                Ok(None) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        let _ = messages.send(Event::Closed(end));
    });
    let mut server = Server::new(io::stdout().lock(), sender);
    for event in events {
        match server.handle(event)? {
            Next::Wait => {}
            Next::Exit { is_orderly: true } => return Ok(Done::success("")),
            Next::Exit { is_orderly: false } => {
                return Ok(Done { text: String::new(), status: ExitCode::FAILURE });
            }
        }
    }
    Ok(Done::success(""))
}
