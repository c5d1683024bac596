//! The arguments of an instruction.

use super::{MAX_DEPTH, Parser};
use crate::translate::ptx::error::ParseError;
use crate::translate::ptx::lex::Token;
use crate::translate::ptx::op::{Address, Operand, Reg};
use crate::translate::ptx::special;
use crate::translate::ptx::table;

impl Parser {
    /// One argument of an instruction: an operand, `a|b`, or an address.
    pub(super) fn argument(&mut self) -> Result<table::Argument, ParseError> {
        if self.eat('[') {
            let address = self.address()?;
            if self.is(',') {
                self.at += 1;
                let coordinates = self.operand()?;
                if self.eat(']') {
                    let coordinates = match coordinates {
                        Operand::Vector(elements) => elements,
                        one => vec![one],
                    };
                    return Ok(table::Argument::Place(address.base, coordinates));
                }
                // More operands than a texture with its sampler has: only
                // unsupported instructions take them.
                while !matches!(self.peek(), None | Some(Token::Punct(';' | ']'))) {
                    self.at += 1;
                }
                self.expect(']', "`]`")?;
                return Ok(table::Argument::Other);
            }
            self.expect(']', "`]`")?;
            return Ok(table::Argument::Address(address));
        }
        let first = self.operand()?;
        if self.eat('|') {
            let second = self.operand()?;
            return Ok(table::Argument::Pair(first, second));
        }
        Ok(table::Argument::Operand(first))
    }

    /// The contents of `[ ]`.
    fn address(&mut self) -> Result<Address, ParseError> {
        let base = self.operand()?;
        let mut offset = 0i64;
        loop {
            let negative = match self.peek() {
                Some(Token::Punct('+')) => false,
                Some(Token::Punct('-')) => true,
                _ => break,
            };
            self.at += 1;
            // `+-8` is common in generated code.
            let negative = negative ^ self.eat('-');
            let Some(Token::Int(n)) = self.next() else {
                self.at = self.at.saturating_sub(1);
                return self.wanted("a constant offset");
            };
            let n = n as i64;
            offset = if negative { offset.wrapping_sub(n) } else { offset.wrapping_add(n) };
        }
        Ok(Address { base, offset })
    }

    pub(super) fn operand(&mut self) -> Result<Operand, ParseError> {
        let Some(token) = self.peek().cloned() else { return self.wanted("an operand") };
        match token {
            Token::Operand(n) => {
                self.at += 1;
                let slot = self.slots.get(n as usize).copied();
                match slot.filter(|&slot| (slot as usize) < self.operands.len()) {
                    Some(slot) => Ok(Operand::Reg(Reg(slot))),
                    None => Err(ParseError::Undeclared { name: format!("${n}") }),
                }
            }
            Token::Int(n) => {
                self.at += 1;
                Ok(Operand::Int(n))
            }
            Token::F32(bits) => {
                self.at += 1;
                Ok(Operand::F32(bits))
            }
            Token::F64(bits) => {
                self.at += 1;
                Ok(Operand::F64(bits))
            }
            Token::Punct('-') => {
                self.at += 1;
                match self.next() {
                    Some(Token::Int(n)) => Ok(Operand::Int(n.wrapping_neg())),
                    Some(Token::F32(bits)) => Ok(Operand::F32(bits ^ 1 << 31)),
                    Some(Token::F64(bits)) => Ok(Operand::F64(bits ^ 1 << 63)),
                    _ => {
                        self.at -= 1;
                        self.wanted("a number")
                    }
                }
            }
            Token::Punct('!') => {
                self.at += 1;
                match self.operand_nested()? {
                    Operand::Reg(reg) => Ok(Operand::NotReg(reg)),
                    _ => self.wanted("a predicate register after `!`"),
                }
            }
            Token::Punct('(') => {
                self.at += 1;
                let inside = self.operand_nested()?;
                self.expect(')', "`)`")?;
                Ok(inside)
            }
            Token::Punct('{') => {
                self.at += 1;
                let mut elements = Vec::new();
                loop {
                    elements.push(self.operand_nested()?);
                    if !self.eat(',') {
                        break;
                    }
                }
                self.expect('}', "`}` or `,`")?;
                Ok(Operand::Vector(elements))
            }
            Token::Word(name) => {
                self.at += 1;
                self.named(&name)
            }
            Token::Punct(_) | Token::Str(_) => self.wanted("an operand"),
        }
    }

    fn operand_nested(&mut self) -> Result<Operand, ParseError> {
        if self.depth >= MAX_DEPTH {
            return Err(ParseError::TooLarge);
        }
        self.depth += 1;
        let operand = self.operand();
        self.depth -= 1;
        operand
    }

    fn named(&mut self, name: &str) -> Result<Operand, ParseError> {
        if name == "_" {
            return Ok(Operand::Sink);
        }
        if let Some(operand) = self.lookup(name) {
            return Ok(operand);
        }
        if name == "WARP_SZ" {
            return Ok(Operand::Int(32));
        }
        if let Some(register) = name.strip_prefix('%') {
            return match special::find(register) {
                Some(special) => Ok(Operand::Special(special)),
                None => Err(ParseError::Undeclared { name: name.to_owned() }),
            };
        }
        if name.starts_with('.') {
            self.at -= 1;
            return self.wanted("an operand");
        }
        Ok(Operand::Symbol(name.to_owned()))
    }
}
