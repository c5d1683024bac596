//! Linear terms over integer unknowns, and formulas over comparisons of them.

use std::collections::BTreeMap;

use gpurace_protocol::range::Range;

/// An integer unknown of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Atom(pub u32);

/// Coefficients beyond this make a query too hard to be worth asking.
const LIMIT: i128 = 1 << 100;

/// A number left the range in which queries are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooBig;

/// `constant + sum of coefficient * atom`, atoms in order, no coefficient 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lin {
    /// The constant.
    pub constant: i128,
    /// The rest.
    pub terms: Vec<(Atom, i128)>,
}

impl Lin {
    /// A constant.
    pub fn constant(constant: i128) -> Self {
        Self { constant, terms: Vec::new() }
    }

    /// An unknown.
    pub fn atom(atom: Atom) -> Self {
        Self { constant: 0, terms: vec![(atom, 1)] }
    }

    /// The constant, where there is no unknown.
    pub fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// `self + factor * other`.
    pub fn plus(&self, factor: i128, other: &Self) -> Result<Self, TooBig> {
        let scaled = |c: i128| {
            let c = c.checked_mul(factor).ok_or(TooBig)?;
            if c.abs() > LIMIT { Err(TooBig) } else { Ok(c) }
        };
        let mut sum: BTreeMap<Atom, i128> = self.terms.iter().copied().collect();
        for (atom, c) in &other.terms {
            *sum.entry(*atom).or_default() += scaled(*c)?;
        }
        let constant = self.constant + scaled(other.constant)?;
        let terms: Vec<_> = sum.into_iter().filter(|(_, c)| *c != 0).collect();
        if constant.abs() > LIMIT || terms.iter().any(|(_, c)| c.abs() > LIMIT) {
            return Err(TooBig);
        }
        Ok(Self { constant, terms })
    }

    /// `factor * self`.
    pub fn times(&self, factor: i128) -> Result<Self, TooBig> {
        Self::default().plus(factor, self)
    }

    /// `self - other`.
    pub fn minus(&self, other: &Self) -> Result<Self, TooBig> {
        self.plus(-1, other)
    }

    /// `self + constant`.
    pub fn shifted(&self, constant: i128) -> Result<Self, TooBig> {
        self.plus(1, &Self::constant(constant))
    }

    /// Greatest common divisor of the coefficients, 0 without any.
    pub fn gcd(&self) -> i128 {
        self.terms.iter().fold(0, |g, (_, c)| gcd(g, c.abs()))
    }
}

/// Greatest common divisor.
pub fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Formula {
    /// Always.
    True,
    /// Never.
    False,
    /// The term is at most 0.
    Nonpositive(Lin),
    /// The term is 0.
    Zero(Lin),
    /// Negated.
    Not(Box<Formula>),
    /// All of these.
    All(Vec<Formula>),
    /// One of these.
    Any(Vec<Formula>),
}

impl Formula {
    /// `a <= b`
    pub fn le(a: &Lin, b: &Lin) -> Result<Self, TooBig> {
        let d = a.minus(b)?;
        Ok(match d.as_constant() {
            Some(c) if c <= 0 => Self::True,
            Some(_) => Self::False,
            None => {
                // Divided by the common factor, rounded towards the tighter side.
                let g = d.gcd();
                let constant = -(-d.constant).div_euclid(g);
                let terms = d.terms.iter().map(|(a, c)| (*a, c / g)).collect();
                Self::Nonpositive(Lin { constant, terms })
            }
        })
    }

    /// `a < b`
    pub fn lt(a: &Lin, b: &Lin) -> Result<Self, TooBig> {
        Self::le(&a.shifted(1)?, b)
    }

    /// `a == b`
    pub fn eq(a: &Lin, b: &Lin) -> Result<Self, TooBig> {
        let d = a.minus(b)?;
        Ok(match d.as_constant() {
            Some(0) => Self::True,
            Some(_) => Self::False,
            None => {
                let g = d.gcd();
                if d.constant % g != 0 {
                    return Ok(Self::False);
                }
                let sign = if d.terms[0].1 < 0 { -1 } else { 1 };
                let terms = d.terms.iter().map(|(a, c)| (*a, sign * c / g)).collect();
                Self::Zero(Lin { constant: sign * d.constant / g, terms })
            }
        })
    }

    /// `range.lo <= a <= range.hi`
    pub fn within(a: &Lin, range: Range) -> Result<Self, TooBig> {
        Ok(Self::all([Self::le(&Lin::constant(range.lo), a)?, Self::le(a, &Lin::constant(range.hi))?]))
    }

    /// Negation.
    pub fn negated(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// Conjunction.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::True => {}
                Self::False => return Self::False,
                Self::All(inner) => kept.extend(inner),
                part => kept.push(part),
            }
        }
        match kept.len() {
            0 => Self::True,
            1 => kept.remove(0),
            _ => Self::All(kept),
        }
    }

    /// Disjunction.
    pub fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::False => {}
                Self::True => return Self::True,
                Self::Any(inner) => kept.extend(inner),
                part => kept.push(part),
            }
        }
        match kept.len() {
            0 => Self::False,
            1 => kept.remove(0),
            _ => Self::Any(kept),
        }
    }

    /// `self` implies `then`.
    pub fn implies(self, then: Self) -> Self {
        Self::any([self.negated(), then])
    }

    /// Its unknowns, added to `found`.
    pub fn atoms(&self, found: &mut std::collections::BTreeSet<Atom>) {
        match self {
            Self::True | Self::False => {}
            Self::Nonpositive(lin) | Self::Zero(lin) => {
                found.extend(lin.terms.iter().map(|(atom, _)| *atom));
            }
            Self::Not(inner) => inner.atoms(found),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|p| p.atoms(found)),
        }
    }
}
