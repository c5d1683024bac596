//! Linear terms over integer unknowns, and formulas over comparisons of them.

use std::collections::BTreeMap;

use gpurace_protocol::range::Range;

/// An integer unknown of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Atom(pub u32);

/// The largest coefficient of a term. Queries with larger ones are too hard for the solver.
const LIMIT: i128 = 1 << 100;

/// The error that a number left the range in which queries are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooBig;

/// A part of a query, unless a number in it is too big.
pub type Encoded<T> = Result<T, TooBig>;

/// The linear term `constant + sum of coefficient * atom`. Its atoms are sorted; no coefficient is
/// 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lin {
    /// The constant.
    pub constant: i128,
    /// The atoms with their coefficients.
    pub terms: Vec<(Atom, i128)>,
}

impl Lin {
    /// Returns the term of a constant.
    pub fn constant(constant: i128) -> Self {
        Self { constant, terms: Vec::new() }
    }

    /// Returns the term of one unknown.
    pub fn atom(atom: Atom) -> Self {
        Self { constant: 0, terms: vec![(atom, 1)] }
    }

    /// Returns the constant if the term has no unknown.
    pub fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// `self + factor * other`.
    pub fn plus(&self, factor: i128, other: &Self) -> Encoded<Self> {
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
    pub fn times(&self, factor: i128) -> Encoded<Self> {
        Self::default().plus(factor, self)
    }

    /// `self - other`.
    pub fn minus(&self, other: &Self) -> Encoded<Self> {
        self.plus(-1, other)
    }

    /// `self + constant`.
    pub fn shifted(&self, constant: i128) -> Encoded<Self> {
        self.plus(1, &Self::constant(constant))
    }

    /// Returns `high` and `low` with `self == by * high + low`: `high` has the atoms whose
    /// coefficients are multiples of `by`. The constant of `low` is between 0 and `by`.
    pub fn split(&self, by: i128) -> (Self, Self) {
        let mut high = Self::constant(self.constant.div_euclid(by));
        let mut low = Self::constant(self.constant.rem_euclid(by));
        for &(atom, c) in &self.terms {
            if c % by == 0 {
                high.terms.push((atom, c / by));
            } else {
                low.terms.push((atom, c));
            }
        }
        (high, low)
    }

    /// Returns the greatest common divisor of the coefficients; 0 if there are none.
    pub fn gcd(&self) -> i128 {
        self.terms.iter().fold(0, |g, (_, c)| gcd(g, c.abs()))
    }
}

/// Returns the greatest common divisor.
pub fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A Boolean formula over comparisons of linear terms.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Formula {
    /// True.
    True,
    /// False.
    False,
    /// The term is at most 0.
    Nonpositive(Lin),
    /// The term is 0.
    Zero(Lin),
    /// The negation.
    Not(Box<Formula>),
    /// The conjunction.
    All(Vec<Formula>),
    /// The disjunction.
    Any(Vec<Formula>),
}

impl Formula {
    /// `a <= b`
    pub fn le(a: &Lin, b: &Lin) -> Encoded<Self> {
        let d = a.minus(b)?;
        Ok(match d.as_constant() {
            Some(c) if c <= 0 => Self::True,
            Some(_) => Self::False,
            None => {
                // Dividing by the common factor and rounding makes the bound tight.
                let g = d.gcd();
                let constant = -(-d.constant).div_euclid(g);
                let terms = d.terms.iter().map(|(a, c)| (*a, c / g)).collect();
                Self::Nonpositive(Lin { constant, terms })
            }
        })
    }

    /// `a < b`
    pub fn lt(a: &Lin, b: &Lin) -> Encoded<Self> {
        Self::le(&a.shifted(1)?, b)
    }

    /// `a == b`
    pub fn eq(a: &Lin, b: &Lin) -> Encoded<Self> {
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
    pub fn within(a: &Lin, range: Range) -> Encoded<Self> {
        Ok(Self::all([Self::le(&Lin::constant(range.lo), a)?, Self::le(a, &Lin::constant(range.hi))?]))
    }

    /// Returns the negation.
    pub fn negated(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// Returns the conjunction.
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

    /// Returns the disjunction.
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

    /// True where both formulas have the same value.
    pub fn alike(a: Self, b: Self) -> Self {
        Self::any([Self::all([a.clone(), b.clone()]), Self::all([a.negated(), b.negated()])])
    }

    /// True where the formulas have different values.
    pub fn differ(a: Self, b: Self) -> Self {
        Self::any([Self::all([a.clone(), b.clone().negated()]), Self::all([a.negated(), b])])
    }

    /// `self` implies `then`.
    pub fn implies(self, then: Self) -> Self {
        Self::any([self.negated(), then])
    }

    /// Adds to `found` terms that are at most 0 wherever the formula holds.
    pub fn nonpositive(&self, found: &mut Vec<Lin>) -> Encoded<()> {
        self.nonpositive_if(true, found)
    }

    /// The same where the formula has this value.
    fn nonpositive_if(&self, holds: bool, found: &mut Vec<Lin>) -> Encoded<()> {
        match (self, holds) {
            (Self::Nonpositive(lin), true) => found.push(lin.clone()),
            (Self::Nonpositive(lin), false) => found.push(lin.times(-1)?.shifted(1)?),
            (Self::Zero(lin), true) => found.extend([lin.clone(), lin.times(-1)?]),
            (Self::Not(inner), _) => inner.nonpositive_if(!holds, found)?,
            (Self::All(parts), true) | (Self::Any(parts), false) => {
                for part in parts {
                    part.nonpositive_if(holds, found)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the formula's unknowns to `found`.
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
