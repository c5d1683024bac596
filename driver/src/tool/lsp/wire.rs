//! Messages from the client and to it. The library `lsp-server` reads and writes their form. This module adds a limit
//! on their length, and notices when the client no longer listens.

use std::io::{self, BufRead, Read as _, Write};

use gen_lsp_types as lsp;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::Value;

/// The most bytes of a message's header.
const LONGEST_HEADER: usize = 4096;
/// The most bytes of a message.
const LONGEST: u64 = 256 << 20;

/// Reads a message. `None` at the end of the input.
///
/// # Errors
/// The input cannot be read, or is no message.
pub fn read(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    let wrong = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
    let mut header = Vec::new();
    loop {
        let start = header.len();
        let left = LONGEST_HEADER.saturating_sub(start);
        let read = input.by_ref().take(left as u64).read_until(b'\n', &mut header)?;
        match (read, start) {
            (0, 0) => return Ok(None),
            (0, _) if left == 0 => {
                return Err(wrong(format!("a header has more than {LONGEST_HEADER} bytes")));
            }
            (0, _) => return Err(wrong("the input ends in a header".to_owned())),
            _ => {}
        }
        let line = String::from_utf8_lossy(&header[start..]);
        let Some(line) = line.strip_suffix('\n').map(str::trim_end) else { continue };
        if line.is_empty() {
            break;
        }
        let length = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        // The library makes room for the whole message before it reads it.
        if let Some((_, length)) = length
            && length.trim().parse::<u64>().is_ok_and(|length| length > LONGEST)
        {
            return Err(wrong(format!("a message has {} bytes, wanted at most {LONGEST}", length.trim())));
        }
    }
    Message::read(&mut header.as_slice().chain(input))
}

/// An error as the answer to a request.
pub type Refusal = (ErrorCode, String);

/// The client, as the server talks to it.
#[derive(Debug)]
pub struct Client<W> {
    output: W,
    /// The number of the next request.
    next: i32,
    /// Why the client can no longer be reached.
    failed: Option<io::Error>,
}

impl<W: Write> Client<W> {
    /// Returns the client that reads `output`.
    pub fn new(output: W) -> Self {
        Self { output, next: 1, failed: None }
    }

    /// Returns why the client can no longer be reached. `None` if it can.
    pub fn failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Answers a request.
    pub fn answer(&mut self, id: RequestId, answer: Result<Value, Refusal>) {
        self.send(match answer {
            Ok(value) => Response { id, response_result: Ok(value) }.into(),
            Err((code, text)) => Response::new_err(id, code as i32, text).into(),
        });
    }

    /// Tells something.
    pub fn notify<N: lsp::Notification>(&mut self, params: &N::Params) {
        self.send(Message::Notification(Notification {
            method: N::METHOD.to_string(),
            // No parameter has a map with keys that JSON lacks.
            params: serde_json::to_value(params).unwrap_or_default(),
        }));
    }

    /// Asks for something. The server needs no answers.
    pub fn request<R: lsp::Request>(&mut self, params: Value) {
        let id = RequestId::from(self.next);
        self.next = self.next.wrapping_add(1);
        self.send(Message::Request(Request { id, method: R::METHOD.to_string(), params }));
    }

    /// Shows a message to the user.
    pub fn show(&mut self, kind: lsp::MessageType, message: String) {
        self.notify::<lsp::ShowMessageNotification>(&lsp::ShowMessageParams { kind, message });
    }

    /// Writes a message to the log.
    pub fn log(&mut self, kind: lsp::MessageType, message: String) {
        self.notify::<lsp::LogMessageNotification>(&lsp::LogMessageParams { kind, message });
    }

    fn send(&mut self, message: Message) {
        if self.failed.is_none() {
            self.failed = message.write(&mut self.output).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Result<usize, String> {
        let mut input = text;
        let mut count = 0;
        loop {
            match read(&mut input) {
                Ok(Some(_)) => count += 1,
                Ok(None) => return Ok(count),
                Err(e) => return Err(e.to_string()),
            }
        }
    }

    #[test]
    fn messages_are_read_until_the_end() {
        assert_eq!(all(b""), Ok(0));
        let one = "Content-Length: 16\r\n\r\n{\"method\":\"m\"}  ";
        assert_eq!(all(one.as_bytes()), Ok(1));
        let typed = "content-length: 14\r\nContent-Type: x\r\n\r\n{\"method\":\"m\"}";
        assert_eq!(all(format!("{one}{typed}").as_bytes()), Ok(2));
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let long = format!("X: {}\r\n\r\n", "x".repeat(LONGEST_HEADER));
        for (text, wanted) in [
            ("hello\r\n\r\n", "malformed header"),
            ("Content-Length: 3\n\n", "malformed header"),
            ("X: 1\r\n\r\n", "no Content-Length"),
            ("Content-Length: x\r\n\r\n", "invalid digit"),
            ("Content-Length: 18446744073709551615\r\n\r\n", "wanted at most"),
            ("Content-Length: 999999999999\r\n\r\n", "wanted at most"),
            ("Content-Length: 9\r\n\r\n{}", "failed to fill"),
            ("Content-Length: 2\r\n\r\n{}", "malformed LSP payload"),
            ("Content-Length: 2\r\n", "ends in a header"),
            ("Content-Length: 2", "ends in a header"),
            (&long, "more than"),
        ] {
            let said = all(text.as_bytes()).unwrap_err();
            assert!(said.contains(wanted), "{text:.60}: {said:.200}");
        }
        assert!(all(b"\xff\xfe\r\n\r\n").is_err());
        let deep = "[".repeat(100_000);
        assert!(all(format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes()).is_err());
    }

    #[test]
    fn a_client_that_left_is_noticed() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut client = Client::new(Gone);
        assert!(client.failure().is_none());
        client.show(lsp::MessageType::Info, "hello".to_owned());
        assert!(client.failure().is_some());
    }
}
