//! A program: its source, and what became of it.

use std::ffi::CString;

use crate::compile::{self, Compiled};
use crate::options::Options;
use crate::status::{Outcome, Status};

/// A header that exists in memory only.
#[derive(Clone, Debug)]
pub struct Header {
    /// The name by which it is included.
    pub name: String,
    /// Its text.
    pub text: Vec<u8>,
}

/// `nvrtcProgram`
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its file name in messages and reports.
    pub name: String,
    /// Its text.
    pub source: Vec<u8>,
    /// Its headers in memory.
    pub headers: Vec<Header>,
    /// The name expressions.
    pub expressions: Vec<String>,
    state: State,
}

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    New,
    /// With what the compiler said.
    Failed(String),
    Compiled(Compiled),
}

impl Program {
    /// A program that is not yet compiled.
    pub fn new(name: String, source: Vec<u8>, headers: Vec<Header>) -> Self {
        Self { name, source, headers, ..Self::default() }
    }

    /// Adds a name expression.
    ///
    /// # Errors
    /// The program is compiled.
    pub fn ask(&mut self, expression: String) -> Outcome {
        match self.state {
            State::New => self.expressions.push(expression),
            _ => return Err(Status::NO_NAME_EXPRESSIONS_AFTER_COMPILATION),
        }
        Ok(())
    }

    /// Compiles the program.
    ///
    /// # Errors
    /// The compiler's. Its words are in the log.
    pub fn compile(&mut self, options: &[String]) -> Outcome {
        let options = Options::new(options, !self.expressions.is_empty());
        match compile::compile(self, &options) {
            Ok(compiled) => {
                self.state = State::Compiled(compiled);
                Ok(())
            }
            Err((log, status)) => {
                self.state = State::Failed(log);
                Err(status)
            }
        }
    }

    /// What the compiler said.
    pub fn log(&self) -> &str {
        match &self.state {
            State::New => "",
            State::Failed(log) => log,
            State::Compiled(compiled) => &compiled.log,
        }
    }

    /// What the compiler made.
    ///
    /// # Errors
    /// It was not compiled, or that failed.
    pub fn compiled(&self) -> Outcome<&Compiled> {
        match &self.state {
            State::Compiled(compiled) => Ok(compiled),
            _ => Err(Status::INVALID_PROGRAM),
        }
    }

    /// The mangled name of a name expression. It lives as long as the program.
    ///
    /// # Errors
    /// The program is not compiled, or has no such expression.
    pub fn lowered(&self, expression: &str) -> Outcome<&CString> {
        let compiled = self.compiled().map_err(|_| Status::NO_LOWERED_NAMES_BEFORE_COMPILATION)?;
        let number = self.expressions.iter().position(|asked| asked == expression);
        number.and_then(|number| compiled.lowered.get(number)).ok_or(Status::NAME_EXPRESSION_NOT_VALID)
    }
}
