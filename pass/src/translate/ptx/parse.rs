//! Statements, scopes, labels and operands: from tokens to a program.

use std::collections::HashMap;

use super::error::ParseError;
use super::lex::{self, Token};
use super::op::{BlockId, Op, Operand, Reg};
use super::table;
use super::template::{self, AsmOperand};
use super::types::Ty;
use super::{Asm, BasicBlock, Guard, RegInfo, Stmt};

mod arguments;

/// Most registers that one asm may declare, so that `.reg .b32 r<100000000>;` does not exhaust memory.
const MAX_REGISTERS: usize = 1 << 16;
/// Deepest nesting of scopes and vectors.
const MAX_DEPTH: usize = 64;

/// Reads the template and constraint string of an inline asm call. PTX that is not modelled becomes
/// [`Op::Unsupported`].
///
/// # Errors
/// The text is not PTX.
pub fn parse(asm_template: &str, constraint_string: &str) -> Result<Asm, ParseError> {
    let constraints = template::constraints(constraint_string)?;
    let text = template::expand(asm_template, constraints.slots.len())?;
    let tokens = lex::tokens(&text)?;
    let mut regs: Vec<RegInfo> = Vec::new();
    for (i, operand) in constraints.operands.iter().enumerate() {
        let slot = constraints.slots.iter().position(|&s| s == i as u32).unwrap_or(i);
        regs.push(RegInfo { name: format!("${slot}"), ty: operand.ty, operand: Some(*operand) });
    }
    let mut parser = Parser {
        tokens,
        at: 0,
        within: String::new(),
        operands: constraints.operands,
        slots: constraints.slots,
        regs,
        scopes: vec![HashMap::new()],
        labels: vec![HashMap::new()],
        statements: Vec::new(),
        depth: 0,
    };
    parser.statements()?;
    parser.finish(constraints.memory_clobber)
}

/// The meaning of a declared name.
#[derive(Clone)]
enum Named {
    Reg(Reg),
    Vector(Vec<Reg>),
}

/// A statement whose branch target is still a label.
struct RawStatement {
    guard: Option<Guard>,
    text: String,
    /// `Err` is a branch: the label, and the scopes to look it up in, the innermost last.
    op: Result<Op, (String, Vec<usize>)>,
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    within: String,
    operands: Vec<AsmOperand>,
    slots: Vec<u32>,
    regs: Vec<RegInfo>,
    scopes: Vec<HashMap<String, Named>>,
    /// For each scope its labels, with the index of the statement after the label. Closed scopes stay,
    /// since a branch may precede its label.
    labels: Vec<HashMap<String, usize>>,
    statements: Vec<RawStatement>,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is(&self, c: char) -> bool {
        self.peek() == Some(&Token::Punct(c))
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.is(c);
        self.at += usize::from(found);
        found
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    fn wanted<T>(&self, wanted: &'static str) -> Result<T, ParseError> {
        let found = self.peek().map(Token::text).unwrap_or_default();
        Err(ParseError::Token { found, wanted, within: self.within.clone() })
    }

    /// The error for the token that was taken last.
    fn wanted_instead<T>(&mut self, wanted: &'static str) -> Result<T, ParseError> {
        self.at = self.at.saturating_sub(1);
        self.wanted(wanted)
    }

    fn expect(&mut self, c: char, wanted: &'static str) -> Result<(), ParseError> {
        if self.eat(c) { Ok(()) } else { self.wanted(wanted) }
    }

    /// The whole text: statements in nested scopes.
    fn statements(&mut self) -> Result<(), ParseError> {
        // The scopes that enclose the current statement, as indices into `labels`.
        let mut open = vec![0usize];
        while let Some(token) = self.peek().cloned() {
            self.within.clear();
            match token {
                Token::Punct(';') => self.at += 1,
                Token::Punct('{') => {
                    self.at += 1;
                    if open.len() >= MAX_DEPTH {
                        return Err(ParseError::TooLarge);
                    }
                    open.push(self.labels.len());
                    self.labels.push(HashMap::new());
                    self.scopes.push(HashMap::new());
                }
                Token::Punct('}') => {
                    self.at += 1;
                    if open.len() == 1 {
                        return Err(ParseError::Scope);
                    }
                    open.pop();
                    self.scopes.pop();
                }
                Token::Word(word) if word.starts_with('.') => self.directive(&word)?,
                Token::Word(label) if self.tokens.get(self.at + 1) == Some(&Token::Punct(':')) => {
                    self.at += 2;
                    let scope = open[open.len() - 1];
                    if self.labels[scope].insert(label.clone(), self.statements.len()).is_some() {
                        return Err(ParseError::Redeclared { name: label });
                    }
                }
                Token::Word(_) | Token::Punct('@') => self.statement(&open)?,
                _ => return self.wanted("an instruction"),
            }
        }
        if open.len() == 1 { Ok(()) } else { Err(ParseError::Scope) }
    }

    /// Reads `.reg`, skips directives that mean nothing here, and refuses others by name.
    fn directive(&mut self, word: &str) -> Result<(), ParseError> {
        self.at += 1;
        self.within = word.to_owned();
        let mut parts = word.split('.').skip(1);
        match parts.next().unwrap_or_default() {
            "reg" => {
                let mut suffixes: Vec<String> = parts.map(str::to_owned).collect();
                while let Some(Token::Word(next)) = self.peek() {
                    let Some(more) = next.strip_prefix('.') else { break };
                    suffixes.extend(more.split('.').map(str::to_owned));
                    self.at += 1;
                }
                self.registers(&suffixes)
            }
            "pragma" | "loc" | "file" => {
                self.skip_statement();
                Ok(())
            }
            _ => {
                self.skip_statement();
                self.push(None, Ok(Op::Unsupported(word.to_owned())))
            }
        }
    }

    fn skip_statement(&mut self) {
        while self.next().is_some_and(|token| token != Token::Punct(';')) {}
    }

    /// The names after `.reg .type`.
    fn registers(&mut self, suffixes: &[String]) -> Result<(), ParseError> {
        let lanes = match suffixes.first().map(String::as_str) {
            Some("v2") => 2,
            Some("v4") => 4,
            _ => 1,
        };
        let ty = match &suffixes[usize::from(lanes > 1).min(suffixes.len())..] {
            [one] => Ty::from_suffix(one),
            _ => None,
        };
        let Some(ty) = ty else { return self.wanted("a type") };
        loop {
            let Some(Token::Word(name)) = self.next() else {
                return self.wanted_instead("a register's name");
            };
            if self.eat('<') {
                let Some(Token::Int(count)) = self.next() else {
                    return self.wanted_instead("a number of registers");
                };
                self.expect('>', "`>`")?;
                if count as usize > MAX_REGISTERS {
                    return Err(ParseError::TooLarge);
                }
                for i in 0..count {
                    self.declare(&format!("{name}{i}"), ty, lanes)?;
                }
            } else {
                self.declare(&name, ty, lanes)?;
            }
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';', "`;`")
    }

    fn declare(&mut self, name: &str, ty: Ty, lanes: usize) -> Result<(), ParseError> {
        if self.regs.len() + lanes > MAX_REGISTERS {
            return Err(ParseError::TooLarge);
        }
        let mut regs = Vec::new();
        for lane in LANES.iter().take(lanes) {
            regs.push(Reg(self.regs.len() as u32));
            let name = if lanes == 1 { name.to_owned() } else { format!("{name}.{lane}") };
            self.regs.push(RegInfo { name, ty, operand: None });
        }
        let named = if lanes == 1 { Named::Reg(regs[0]) } else { Named::Vector(regs) };
        let scope = self.scopes.last_mut().ok_or(ParseError::Scope)?;
        match scope.insert(name.to_owned(), named) {
            None => Ok(()),
            Some(_) => Err(ParseError::Redeclared { name: name.to_owned() }),
        }
    }

    fn lookup(&self, name: &str) -> Option<Operand> {
        let find = |name: &str| self.scopes.iter().rev().find_map(|scope| scope.get(name));
        match find(name) {
            Some(Named::Reg(reg)) => return Some(Operand::Reg(*reg)),
            Some(Named::Vector(regs)) => {
                return Some(Operand::Vector(regs.iter().copied().map(Operand::Reg).collect()));
            }
            None => {}
        }
        let (vector, lane) = name.rsplit_once('.')?;
        let lane = LANES.iter().chain(["r", "g", "b", "a"].iter()).position(|l| *l == lane)? % 4;
        match find(vector) {
            Some(Named::Vector(regs)) => regs.get(lane).copied().map(Operand::Reg),
            _ => None,
        }
    }

    /// `[@p] mnemonic operands;`.
    fn statement(&mut self, open: &[usize]) -> Result<(), ParseError> {
        let guard = if self.eat('@') {
            self.within = "@".to_owned();
            let negated = self.eat('!');
            let Operand::Reg(reg) = self.operand()? else {
                return self.wanted_instead("a predicate register");
            };
            Some(Guard { reg, negated })
        } else {
            None
        };
        let Some(Token::Word(mnemonic)) = self.peek().cloned() else {
            return self.wanted("an instruction");
        };
        self.at += 1;
        self.within.clone_from(&mnemonic);
        let base = mnemonic.split('.').next().unwrap_or_default();
        let known = table::is_instruction(base);
        if !known && !table::looks_like_mnemonic(&mnemonic) {
            return self.wanted_instead("an instruction");
        }
        if !known || table::is_refused(base) {
            // The syntax of its operands is unknown, so they are skipped.
            self.skip_statement();
            return self.push(guard, Ok(Op::Unsupported(mnemonic)));
        }
        if base == "bra" {
            let Some(Token::Word(label)) = self.next() else {
                return self.wanted_instead("a label");
            };
            self.end_of_statement()?;
            return self.push(guard, Err((label, open.to_vec())));
        }
        let mut operands = Vec::new();
        if !self.ends_statement() {
            operands.push(self.argument()?);
            while self.eat(',') {
                operands.push(self.argument()?);
            }
        }
        self.end_of_statement()?;
        let mut op = table::decode(&mnemonic, operands)?;
        if let Op::CpAsync { source_size, ignore, .. } = &mut op
            && source_size.as_ref().is_some_and(|o| self.is_predicate(o))
        {
            *ignore = source_size.take();
        }
        self.push(guard, Ok(op))
    }

    fn is_predicate(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Reg(reg) => self.regs[reg.0 as usize].ty == Ty::Pred,
            Operand::NotReg(_) => true,
            _ => false,
        }
    }

    fn ends_statement(&self) -> bool {
        matches!(self.peek(), None | Some(Token::Punct(';' | '}')))
    }

    fn end_of_statement(&mut self) -> Result<(), ParseError> {
        // ptxas wants the last `;` too, but clang's headers leave it out before the end.
        if self.eat(';') || self.ends_statement() { Ok(()) } else { self.wanted("`,` or `;`") }
    }

    fn push(&mut self, guard: Option<Guard>, op: Result<Op, (String, Vec<usize>)>) -> Result<(), ParseError> {
        if self.statements.len() >= MAX_REGISTERS {
            return Err(ParseError::TooLarge);
        }
        self.statements.push(RawStatement { guard, text: self.within.clone(), op });
        Ok(())
    }

    /// Resolves branches and cuts the statements into basic blocks.
    fn finish(self, memory_clobber: bool) -> Result<Asm, ParseError> {
        let count = self.statements.len();
        let mut starts = vec![0usize];
        let mut targets = HashMap::new();
        for (i, raw) in self.statements.iter().enumerate() {
            if let Err((label, scopes)) = &raw.op {
                let target = scopes
                    .iter()
                    .rev()
                    .find_map(|&scope| self.labels[scope].get(label))
                    .ok_or_else(|| ParseError::Label { label: label.clone() })?;
                targets.insert(i, *target);
                starts.extend([*target, i + 1]);
            }
        }
        starts.sort_unstable();
        starts.dedup();
        // The basic block that starts at `count` is the end of the asm. It is empty, but a branch target.
        let block_of =
            |statement: usize| BlockId(starts.partition_point(|&s| s <= statement).saturating_sub(1) as u32);
        let blocks = starts
            .iter()
            .enumerate()
            .map(|(i, &start)| BasicBlock { statements: start..starts.get(i + 1).copied().unwrap_or(count) })
            .collect();
        let statements = self
            .statements
            .into_iter()
            .enumerate()
            .map(|(i, raw)| Stmt {
                guard: raw.guard,
                mnemonic: raw.text,
                op: raw.op.unwrap_or_else(|_| Op::Bra { target: block_of(targets[&i]) }),
            })
            .collect();
        Ok(Asm { regs: self.regs, operands: self.operands, statements, blocks, memory_clobber })
    }
}

const LANES: [&str; 4] = ["x", "y", "z", "w"];
