//! An instruction as it is written: modifiers and arguments, which a decoder takes one by one.

use super::error::ParseError;
use super::op::{Address, Op, Operand};
use super::types::{Space, Ty};

/// One argument of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Argument {
    /// `a`.
    Operand(Operand),
    /// `a|b`.
    Pair(Operand, Operand),
    /// `[a+4]`.
    Address(Address),
    /// `[a, {x, y}]`: a texture, a surface or the address of a tensor map, and coordinates.
    Place(Address, Vec<Operand>),
    /// Something that only unsupported instructions take.
    Other,
}

/// Why a decoder gave no operation.
pub(super) enum Refusal {
    /// PTX, but not modelled.
    Unsupported,
    /// Not PTX.
    Error(ParseError),
}

/// Result of a decoder.
pub(super) type Decoded<T = Op> = Result<T, Refusal>;

/// Refuses a form that is not modelled.
pub(super) fn only_if(modelled: bool) -> Decoded<()> {
    if modelled { Ok(()) } else { Err(Refusal::Unsupported) }
}

/// An instruction whose modifiers and arguments a decoder takes.
pub(super) struct Instruction {
    mnemonic: String,
    /// Each modifier, and true once it is taken.
    modifiers: Vec<(String, bool)>,
    arguments: std::vec::IntoIter<Argument>,
    /// The number of arguments as written.
    pub(super) count: usize,
}

impl Instruction {
    pub(super) fn new(mnemonic: &str, arguments: Vec<Argument>) -> Self {
        Self {
            modifiers: mnemonic.split('.').skip(1).map(|m| (m.to_owned(), false)).collect(),
            mnemonic: mnemonic.to_owned(),
            count: arguments.len(),
            arguments: arguments.into_iter(),
        }
    }

    /// Takes this modifier. True if it was there.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        self.one(|m| (m == name).then_some(())).is_some()
    }

    /// Takes the first modifier that `read` understands.
    pub(super) fn one<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.modifiers.iter_mut().filter(|(_, used)| !used).find_map(|(modifier, used)| {
            let value = read(modifier)?;
            *used = true;
            Some(value)
        })
    }

    /// Takes the first modifier among named alternatives.
    pub(super) fn choice<T: Copy>(&mut self, of: &[(&str, T)]) -> Option<T> {
        self.one(|m| of.iter().find(|(name, _)| *name == m).map(|(_, value)| *value))
    }

    /// Takes one of the named alternatives, which must be there.
    pub(super) fn one_of<T: Copy>(&mut self, of: &[(&str, T)], wanted: &'static str) -> Decoded<T> {
        self.choice(of).ok_or_else(|| self.lacks(wanted))
    }

    /// Takes a modifier that must be there.
    pub(super) fn need(&mut self, name: &str, wanted: &'static str) -> Decoded<()> {
        if self.flag(name) { Ok(()) } else { Err(self.lacks(wanted)) }
    }

    /// Takes the next type.
    pub(super) fn ty(&mut self) -> Decoded<Ty> {
        self.one(Ty::from_suffix).ok_or_else(|| self.lacks("a type"))
    }

    /// Takes the next type, which must be one of those that `fits` admits.
    pub(super) fn ty_of(&mut self, fits: impl Fn(Ty) -> bool) -> Decoded<Ty> {
        let ty = self.ty()?;
        only_if(fits(ty))?;
        Ok(ty)
    }

    /// Takes a state space; without one, generic.
    pub(super) fn space(&mut self) -> Space {
        self.one(Space::from_suffix).unwrap_or(Space::Generic)
    }

    /// The error for a missing modifier.
    pub(super) fn lacks(&self, wanted: &'static str) -> Refusal {
        Refusal::Error(ParseError::Modifiers { mnemonic: self.mnemonic.clone(), wanted: wanted.to_owned() })
    }

    /// The error for operands that do not fit.
    pub(super) fn operands_wanted(&self, wanted: &'static str) -> Refusal {
        Refusal::Error(ParseError::Operands { mnemonic: self.mnemonic.clone(), found: self.count, wanted })
    }

    /// True if a modifier was not taken.
    pub(super) fn has_unknown_modifier(&self) -> bool {
        self.modifiers.iter().any(|(_, used)| !used)
    }

    /// How many arguments are left.
    pub(super) fn left(&self) -> usize {
        self.arguments.len()
    }

    /// Takes the next argument.
    fn next<T>(&mut self, read: impl Fn(Argument) -> Option<T>, wanted: &'static str) -> Decoded<T> {
        match self.arguments.next() {
            Some(argument) => read(argument).ok_or_else(|| self.operands_wanted(wanted)),
            None => Err(self.operands_wanted("more")),
        }
    }

    /// The next argument as a plain operand.
    pub(super) fn operand(&mut self) -> Decoded<Operand> {
        let plain = |argument| if let Argument::Operand(operand) = argument { Some(operand) } else { None };
        self.next(plain, "a register or constant")
    }

    /// The next argument, which must be one element: no vector.
    pub(super) fn scalar(&mut self) -> Decoded<Operand> {
        match self.operand()? {
            Operand::Vector(_) => Err(self.operands_wanted("a single register or constant")),
            operand => Ok(operand),
        }
    }

    /// The next argument like [`Self::scalar`], if the instruction has it.
    pub(super) fn scalar_if(&mut self, there: bool) -> Decoded<Option<Operand>> {
        if there { self.scalar().map(Some) } else { Ok(None) }
    }

    /// The next argument as something that can be written: a register or `_`.
    pub(super) fn destination(&mut self) -> Decoded<Operand> {
        let operand = self.operand()?;
        if operand.is_writable() { Ok(operand) } else { Err(self.operands_wanted("a register to write")) }
    }

    /// The next argument as `a` or `a|b`.
    fn one_or_two(&mut self) -> Decoded<(Operand, Option<Operand>)> {
        let read = |argument| match argument {
            Argument::Operand(first) => Some((first, None)),
            Argument::Pair(first, second) => Some((first, Some(second))),
            _ => None,
        };
        self.next(read, "a register to write")
    }

    /// The next argument as `a` or `a|b`, both to be written.
    pub(super) fn destinations(&mut self) -> Decoded<(Operand, Option<Operand>)> {
        let (first, second) = self.one_or_two()?;
        if first.is_writable() && second.iter().all(Operand::is_writable) {
            return Ok((first, second));
        }
        Err(self.operands_wanted("a register to write"))
    }

    /// The next argument as an address.
    pub(super) fn address(&mut self) -> Decoded<Address> {
        let read = |argument| match argument {
            Argument::Address(address) if !matches!(address.base, Operand::Vector(_)) => Some(address),
            _ => None,
        };
        self.next(read, "an address in `[ ]`")
    }

    /// The next argument as a texture or surface with coordinates.
    pub(super) fn place(&mut self) -> Decoded<(Operand, Vec<Operand>)> {
        let read = |argument| match argument {
            Argument::Place(object, coordinates) if object.offset == 0 => Some((object.base, coordinates)),
            _ => None,
        };
        self.next(read, "an object and coordinates in `[ ]`")
    }

    /// The next argument as the address of a tensor map with `rank` coordinates.
    pub(super) fn box_of(&mut self, rank: usize) -> Decoded<(Address, Vec<Operand>)> {
        let read = |argument| match argument {
            Argument::Place(map, at) if at.len() == rank && !matches!(map.base, Operand::Vector(_)) => {
                Some((map, at))
            }
            _ => None,
        };
        self.next(read, "a tensor map and as many coordinates as it has dimensions in `[ ]`")
    }

    /// The next argument as the `n` elements of a vector that is written, and a predicate.
    pub(super) fn written(&mut self, n: usize) -> Decoded<(Vec<Operand>, Option<Operand>)> {
        let (vector, predicate) = self.one_or_two()?;
        let elements = vector.into_elements();
        if elements.len() != n || !elements.iter().chain(&predicate).all(Operand::is_writable) {
            return Err(self.operands_wanted("as many registers to write as the vector has"));
        }
        Ok((elements, predicate))
    }

    /// True if the next argument is an address.
    pub(super) fn address_next(&self) -> bool {
        matches!(self.arguments.as_slice().first(), Some(Argument::Address(_)))
    }

    /// The next argument as `n` elements: itself, or the elements of a vector.
    pub(super) fn elements(&mut self, n: usize) -> Decoded<Vec<Operand>> {
        let elements = self.operand()?.into_elements();
        if elements.len() != n {
            return Err(self.operands_wanted("as many elements as the vector has"));
        }
        Ok(elements)
    }

    /// The next argument as `n` elements that are written.
    pub(super) fn registers(&mut self, n: usize) -> Decoded<Vec<Operand>> {
        let elements = self.elements(n)?;
        if !elements.iter().all(Operand::is_writable) {
            return Err(self.operands_wanted("registers to write"));
        }
        Ok(elements)
    }

    /// The mnemonic without modifiers.
    pub(super) fn base(&self) -> &str {
        self.mnemonic.split('.').next().unwrap_or_default()
    }

    /// Accepts all modifiers and arguments that are left.
    pub(super) fn accept_all(&mut self) {
        self.modifiers.clear();
        self.arguments = Vec::new().into_iter();
    }
}
