//! The arguments of an instruction.

use super::{MAX_DEPTH, Parser};
use crate::translate::ptx::error::ParseError;
use crate::translate::ptx::instruction::Argument;
use crate::translate::ptx::lex::Token;
use crate::translate::ptx::op::{Address, Operand, Reg};
use crate::translate::ptx::special;

impl Parser {
    /// One argument of an instruction: an operand, `a|b`, or an address.
    pub(super) fn argument(&mut self) -> Result<Argument, ParseError> {
        if self.eat('[') {
            let address = self.address()?;
            if self.eat(',') {
                let coordinates = self.operand()?;
                if self.eat(']') {
                    return Ok(Argument::Place(address, coordinates.into_elements()));
                }
                // Only unsupported instructions take more operands here.
                while !matches!(self.peek(), None | Some(Token::Punct(';' | ']'))) {
                    self.at += 1;
                }
                self.expect(']', "`]`")?;
                return Ok(Argument::Other);
            }
            self.expect(']', "`]`")?;
            return Ok(Argument::Address(address));
        }
        let first = self.operand()?;
        if self.eat('|') {
            let second = self.operand()?;
            return Ok(Argument::Pair(first, second));
        }
        Ok(Argument::Operand(first))
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
                return self.wanted_instead("a constant offset");
            };
            let n = n as i64;
            offset = if negative { offset.wrapping_sub(n) } else { offset.wrapping_add(n) };
        }
        Ok(Address { base, offset })
    }

    pub(super) fn operand(&mut self) -> Result<Operand, ParseError> {
        let Some(token) = self.next() else { return self.wanted("an operand") };
        match token {
            Token::Operand(n) => {
                let slot = self.slots.get(n as usize).copied();
                match slot.filter(|&slot| (slot as usize) < self.operands.len()) {
                    Some(slot) => Ok(Operand::Reg(Reg(slot))),
                    None => Err(ParseError::Undeclared { name: format!("${n}") }),
                }
            }
            Token::Int(n) => Ok(Operand::Int(n)),
            Token::F32(bits) => Ok(Operand::F32(bits)),
            Token::F64(bits) => Ok(Operand::F64(bits)),
            Token::Punct('-') => match self.next() {
                Some(Token::Int(n)) => Ok(Operand::Int(n.wrapping_neg())),
                Some(Token::F32(bits)) => Ok(Operand::F32(bits ^ 1 << 31)),
                Some(Token::F64(bits)) => Ok(Operand::F64(bits ^ 1 << 63)),
                _ => self.wanted_instead("a number"),
            },
            Token::Punct('!') => match self.operand_nested()? {
                Operand::Reg(reg) => Ok(Operand::NotReg(reg)),
                _ => self.wanted("a predicate register after `!`"),
            },
            Token::Punct('(') => {
                let inside = self.operand_nested()?;
                self.expect(')', "`)`")?;
                Ok(inside)
            }
            Token::Punct('{') => {
                let mut elements = vec![self.operand_nested()?];
                while self.eat(',') {
                    elements.push(self.operand_nested()?);
                }
                self.expect('}', "`}` or `,`")?;
                Ok(Operand::Vector(elements))
            }
            Token::Word(name) => self.named(&name),
            Token::Punct(_) | Token::Str(_) => self.wanted_instead("an operand"),
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
            return self.wanted_instead("an operand");
        }
        Ok(Operand::Symbol(name.to_owned()))
    }
}
