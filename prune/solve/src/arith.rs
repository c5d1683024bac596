//! Operators beyond sums: quotients, remainders, shifts, bits, and products of
//! unknowns.
//!
//! # Products
//! A product of unknowns is one more unknown, keyed by its factors, with facts
//! that hold of true products: whatever two products share is a common factor
//! `R`, and `x >= y + 1` gives `x R >= y R + R` for `R >= 0`. That is what is
//! needed to tell apart the digits of `a[i * w + j]` or of a grid-stride loop,
//! and leaves the query linear.

use gpurace_protocol::expr::{BinOp, ExprId, Width};
use gpurace_protocol::range::{Range, View};

use crate::encode::{Division, Encoder, Frame};
use crate::linear::{Formula, Lin, TooBig, gcd};

type Result<T> = std::result::Result<T, TooBig>;

/// Most bits that a bitwise operator is followed through.
const MOST_BITS: u32 = 34;
/// Most runs of bits that a mask may have to be taken out by division.
const MOST_FIELDS: usize = 4;
/// Most cases that a product or quotient is told apart by.
pub(crate) const MOST_CASES: usize = 90;

impl<'a> Encoder<'a> {
    pub(crate) fn lift_bin(
        &mut self,
        f: &mut Frame<'a>,
        op: BinOp,
        a: ExprId,
        b: ExprId,
        view: View,
    ) -> Result<Lin> {
        use View::{Signed, Unsigned};
        let exprs = self.setting.exprs;
        let width = exprs.width(a);
        let bits = i128::from(width.bits());
        let constant = exprs.as_const(b).map(i128::from);
        match op {
            BinOp::Add => {
                let (x, y) = (self.lift(f, a, view)?, self.lift(f, b, view)?);
                x.plus(1, &y)
            }
            BinOp::Sub => {
                let (x, y) = (self.lift(f, a, view)?, self.lift(f, b, view)?);
                x.minus(&y)
            }
            BinOp::Mul => {
                let (x, y) = (self.lift(f, a, view)?, self.lift(f, b, view)?);
                self.product(&x, &y)
            }
            BinOp::Shl => match constant {
                Some(c) if c < bits => self.lift(f, a, view)?.times(1 << c),
                Some(_) => Ok(Lin::constant(0)),
                None => {
                    let x = self.lift(f, a, view)?;
                    self.by_amount(f, b, bits, |_, s| x.times(1 << s), Lin::constant(0))
                }
            },
            BinOp::UDiv | BinOp::URem => {
                let (x, d) = (self.computed(f, a, Unsigned)?, self.computed(f, b, Unsigned)?);
                let (q, r) = self.divide_by(&x, &d, Unsigned, op, width)?;
                Ok(if op == BinOp::UDiv { q } else { r })
            }
            BinOp::SDiv | BinOp::SRem => {
                let (x, d) = (self.computed(f, a, Signed)?, self.computed(f, b, Signed)?);
                // What guards say of the dividend's sign is not in its unknowns.
                let positive = f.ranges.computed(a, Signed).lo >= 0;
                let by = if positive { Unsigned } else { Signed };
                let (q, r) = self.divide_by(&x, &d, by, op, width)?;
                Ok(if op == BinOp::SDiv { q } else { r })
            }
            BinOp::LShr | BinOp::AShr => {
                let by = if op == BinOp::LShr { Unsigned } else { Signed };
                let x = self.computed(f, a, by)?;
                match constant {
                    Some(c) if c < bits => Ok(self.divide(&x, 1 << c)?.0),
                    Some(_) if op == BinOp::LShr => Ok(Lin::constant(0)),
                    Some(_) => Ok(self.divide(&x, 1 << bits)?.0),
                    None => {
                        let beyond = self.divide(&x, 1 << bits)?.0;
                        self.by_amount(f, b, bits, |e, s| Ok(e.divide(&x, 1 << s)?.0), beyond)
                    }
                }
            }
            BinOp::And | BinOp::Or | BinOp::Xor => self.bitwise(f, op, a, b),
            BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax => {
                let by = if matches!(op, BinOp::UMin | BinOp::UMax) { Unsigned } else { Signed };
                let (x, y) = (self.computed(f, a, by)?, self.computed(f, b, by)?);
                let less = Formula::le(&x, &y)?;
                if matches!(op, BinOp::UMin | BinOp::SMin) {
                    self.choice(less, &x, &y)
                } else {
                    self.choice(less, &y, &x)
                }
            }
        }
    }

    /// A shift by an amount that is not constant, one case for each amount.
    fn by_amount(
        &mut self,
        f: &mut Frame<'a>,
        amount: ExprId,
        bits: i128,
        mut shifted: impl FnMut(&mut Self, i128) -> Result<Lin>,
        beyond: Lin,
    ) -> Result<Lin> {
        let range = f.ranges.computed(amount, View::Unsigned);
        let amount = self.computed(f, amount, View::Unsigned)?;
        let mut cases = Vec::new();
        for s in range.lo.max(0)..=range.hi.min(bits - 1) {
            let at = Formula::eq(&amount, &Lin::constant(s))?;
            let value = shifted(self, s)?;
            cases.push((at, value));
        }
        if range.hi >= bits {
            cases.push((Formula::le(&Lin::constant(bits), &amount)?, beyond));
        }
        let range =
            cases.iter().map(|(_, value)| self.range(value)).reduce(Range::hull).unwrap_or(Range::one(0));
        // An amount that guards exclude gives no case: any value then.
        self.by_cases("shifted", cases, range)
    }

    /// Quotient and remainder by a positive constant, the remainder not
    /// negative.
    pub(crate) fn divide(&mut self, x: &Lin, by: i128) -> Result<(Lin, Lin)> {
        if by == 1 {
            return Ok((x.clone(), Lin::constant(0)));
        }
        // Multiples of the divisor come out as they are.
        let (mut whole, mut rest) = (Lin::default(), Lin::default());
        for (atom, c) in &x.terms {
            if c % by == 0 {
                whole.terms.push((*atom, c / by));
            } else {
                rest.terms.push((*atom, *c));
            }
        }
        whole.constant = x.constant.div_euclid(by);
        rest.constant = x.constant.rem_euclid(by);
        let range = self.range(&rest);
        if range.lo >= 0 && range.hi < by {
            return Ok((whole, rest));
        }
        if rest.terms.is_empty() {
            return Ok((whole, rest));
        }
        // A digit below a factor of the divisor stays in the remainder:
        // (g h + l) / by == h / (by / g), where 0 <= l < g.
        if let Some((g, high, low)) = self.low_digit(&rest, by) {
            let (q, r) = self.divide(&high, by / g)?;
            return Ok((whole.plus(1, &q)?, r.times(g)?.plus(1, &low)?));
        }
        // A common factor of what is left and the divisor stays in the
        // remainder.
        let g = gcd(rest.gcd(), by);
        let low = rest.constant.rem_euclid(g);
        let small = Lin {
            constant: (rest.constant - low) / g,
            terms: rest.terms.iter().map(|(a, c)| (*a, c / g)).collect(),
        };
        let key = Division::new(small.clone(), Lin::constant(by / g));
        let (q, r) = match self.quotients.get(&key) {
            Some(known) => known.clone(),
            None => {
                let by = by / g;
                if let Some(cases) = self.constant_cases(&small) {
                    let quotients =
                        cases.into_iter().map(|(at, c)| (at, Lin::constant(c.div_euclid(by)))).collect();
                    let range = self.range(&small);
                    if !range.bounded() {
                        return Err(TooBig);
                    }
                    let range = Range::new(range.lo.div_euclid(by), range.hi.div_euclid(by));
                    let q = self.by_cases("quotient", quotients, range)?;
                    let r = small.plus(-by, &q)?;
                    let fact = Formula::within(&r, Range::new(0, by - 1))?;
                    self.facts.push(fact);
                    self.quotients.insert(key, (q.clone(), r.clone()));
                    return Ok((whole.plus(1, &q)?, r.times(g)?.shifted(low)?));
                }
                let range = self.range(&small);
                if !range.bounded() {
                    return Err(TooBig);
                }
                let quotients = Range::new(range.lo.div_euclid(by), range.hi.div_euclid(by));
                let q = Lin::atom(self.fresh("quotient", quotients));
                let r = small.plus(-by, &q)?;
                let fact = Formula::within(&r, Range::new(0, by - 1))?;
                self.facts.push(fact);
                self.quotients.insert(key, (q.clone(), r.clone()));
                (q, r)
            }
        };
        Ok((whole.plus(1, &q)?, r.times(g)?.shifted(low)?))
    }

    /// `x` as `g * high + low`, where `0 <= low < g` and `g` divides `by`.
    fn low_digit(&self, x: &Lin, by: i128) -> Option<(i128, Lin, Lin)> {
        let mut radices: Vec<_> =
            x.terms.iter().map(|(_, c)| c.abs()).filter(|c| *c > 1 && by % c == 0).collect();
        radices.sort_unstable();
        radices.dedup();
        radices.into_iter().rev().find_map(|g| {
            let (mut high, mut low) = (Lin::default(), Lin::default());
            for (atom, c) in &x.terms {
                if c % g == 0 {
                    high.terms.push((*atom, c / g));
                } else {
                    low.terms.push((*atom, *c));
                }
            }
            high.constant = x.constant.div_euclid(g);
            low.constant = x.constant.rem_euclid(g);
            let range = self.range(&low);
            (!low.terms.is_empty() && range.lo >= 0 && range.hi < g).then_some((g, high, low))
        })
    }

    /// Quotient towards zero and its remainder; any values where the divisor
    /// is not positive. `Unsigned` says that the dividend is not negative.
    fn divide_by(&mut self, x: &Lin, by: &Lin, view: View, op: BinOp, width: Width) -> Result<(Lin, Lin)> {
        let floor = view == View::Unsigned || self.range(x).lo >= 0;
        if let Some(c) = by.as_constant() {
            if c >= 1 && floor {
                return self.divide(x, c);
            }
        }
        let positive = self.range(by).lo >= 1;
        let key = Division {
            towards_zero: !floor,
            otherwise: (!positive).then_some((matches!(op, BinOp::SDiv | BinOp::SRem), width)),
            ..Division::new(x.clone(), by.clone())
        };
        if let Some(known) = self.quotients.get(&key) {
            return Ok(known.clone());
        }
        // A divisor with few constant values: a case for each.
        if let Some(cases) = self.constant_cases(by) {
            if floor && cases.iter().all(|(_, c)| *c >= 0) {
                let (mut quotients, mut remainders) = (Vec::new(), Vec::new());
                for (at, c) in cases {
                    if c >= 1 {
                        let (q, r) = self.divide(x, c)?;
                        quotients.push((at.clone(), q));
                        remainders.push((at, r));
                    }
                }
                let all = View::Unsigned.all(width);
                let q = self.by_cases("quotient", quotients, all)?;
                let r = self.by_cases("remainder", remainders, all)?;
                self.quotients.insert(key, (q.clone(), r.clone()));
                return Ok((q, r));
            }
        }
        // Neither is further from 0 than the dividend, or any value.
        let all = View::Signed.all(width).hull(View::Unsigned.all(width)).hull(self.range(x));
        let q = Lin::atom(self.fresh("quotient", all));
        let r = Lin::atom(self.fresh("remainder", all));
        let (zero, one) = (Lin::constant(0), Lin::constant(1));
        let product = self.product(&q, by)?;
        let divides = Formula::all([
            Formula::eq(x, &product.plus(1, &r)?)?,
            Formula::any([
                Formula::all([
                    Formula::le(&zero, x)?,
                    Formula::le(&zero, &r)?,
                    Formula::lt(&r, by)?,
                    Formula::le(&zero, &q)?,
                    Formula::le(&q, x)?,
                ]),
                Formula::all([
                    Formula::lt(x, &zero)?,
                    Formula::le(&r, &zero)?,
                    Formula::lt(&zero.minus(by)?, &r)?,
                    Formula::le(&q, &zero)?,
                    Formula::le(x, &q)?,
                ]),
            ]),
        ]);
        self.facts.push(Formula::le(&one, by)?.implies(divides));
        self.quotients.insert(key, (q.clone(), r.clone()));
        Ok((q, r))
    }

    /// The values of a term, where each is constant and its condition known.
    pub(crate) fn constant_cases(&self, lin: &Lin) -> Option<Vec<(Formula, i128)>> {
        let [(atom, c)] = lin.terms[..] else { return None };
        let cases = self.cases.get(&atom)?;
        if cases.len() > MOST_CASES {
            return None;
        }
        cases.iter().map(|(at, value)| Some((at.clone(), c * value.as_constant()? + lin.constant))).collect()
    }

    fn bitwise(&mut self, f: &mut Frame<'a>, op: BinOp, a: ExprId, b: ExprId) -> Result<Lin> {
        let exprs = self.setting.exprs;
        let width = exprs.width(a);
        let mask = i128::from(width.mask());
        if let (BinOp::And, Some(m)) = (op, exprs.as_const(b).map(i128::from)) {
            if (m + 1) & m == 0 {
                // The low bits of any congruent number.
                let x = self.lift(f, a, View::Unsigned)?;
                return Ok(self.divide(&x, m + 1)?.1);
            }
            let low = !m & mask;
            if (low + 1) & low == 0 {
                let x = self.computed(f, a, View::Unsigned)?;
                let cut = self.divide(&x, low + 1)?.1;
                return x.minus(&cut);
            }
        }
        let range = f.ranges.computed(a, View::Unsigned).hull(f.ranges.computed(b, View::Unsigned));
        let (x, y) = (self.computed(f, a, View::Unsigned)?, self.computed(f, b, View::Unsigned)?);
        if op == BinOp::Xor && exprs.as_const(b).map(i128::from) == Some(mask) {
            return Lin::constant(mask).minus(&x);
        }
        if op == BinOp::Or {
            for (high, low) in [(&x, &y), (&y, &x)] {
                let unit = match high.as_constant() {
                    Some(c) => c & c.wrapping_neg(),
                    None => {
                        let c = high.constant.abs();
                        gcd(high.gcd(), c)
                    }
                };
                // The largest power of two that divides it.
                let unit = if unit == 0 { i128::MAX } else { unit & unit.wrapping_neg() };
                let range = self.range(low);
                if range.lo >= 0 && range.hi < unit {
                    return x.plus(1, &y);
                }
            }
        }
        for (known, other) in [(&y, &x), (&x, &y)] {
            if let Some(cases) = self.constant_cases(known) {
                if cases.iter().all(|(_, c)| (0..=mask).contains(c)) {
                    let mut values = Vec::new();
                    for (at, c) in cases {
                        let value = self.bits_with(op, other, &Lin::constant(c), range, width)?;
                        values.push((at, value));
                    }
                    return self.by_cases("bits", values, View::Unsigned.all(width));
                }
            }
        }
        self.bits_with(op, &x, &y, range, width)
    }

    /// A bitwise operator on values in `range`, bit by bit.
    fn bits_with(&mut self, op: BinOp, x: &Lin, y: &Lin, range: Range, width: Width) -> Result<Lin> {
        // A constant that its width does not hold is one that the proof's conditions
        // rule out, such as `s - 1` where doubling has brought `s` to 0.
        let held = 0..=i128::from(width.mask());
        if [x, y].iter().any(|of| of.as_constant().is_some_and(|c| !held.contains(&c))) {
            return Ok(Lin::atom(self.fresh("bits", View::Unsigned.all(width))));
        }
        for (x, mask) in [(x, y.as_constant()), (y, x.as_constant())] {
            if let Some(mask) = mask
                && let Some(common) = self.masked(x, mask)?
            {
                return match op {
                    BinOp::And => Ok(common),
                    BinOp::Or => x.shifted(mask)?.minus(&common),
                    _ => x.shifted(mask)?.plus(-2, &common),
                };
            }
        }
        let hi = range.hi.max(self.range(y).hi.min(i128::from(width.mask())));
        let count = 128 - hi.max(0).leading_zeros();
        if count > MOST_BITS {
            return Ok(Lin::atom(self.fresh("bits", View::Unsigned.all(width))));
        }
        let (xs, ys) = (self.bits_of(x, count)?, self.bits_of(y, count)?);
        let mut sum = Lin::default();
        for (i, (a, b)) in xs.iter().zip(&ys).enumerate() {
            let bit = match (op, a.as_constant(), b.as_constant()) {
                (BinOp::And, Some(0), _) | (BinOp::And, _, Some(0)) => Lin::constant(0),
                (BinOp::And, Some(_), _) => b.clone(),
                (BinOp::And, _, Some(_)) => a.clone(),
                (_, Some(0), _) => b.clone(),
                (_, _, Some(0)) => a.clone(),
                (BinOp::Or, Some(_), _) | (BinOp::Or, _, Some(_)) => Lin::constant(1),
                (_, Some(_), _) => Lin::constant(1).minus(b)?,
                (_, _, Some(_)) => Lin::constant(1).minus(a)?,
                _ => {
                    let bit = Lin::atom(self.fresh("bit", Range::new(0, 1)));
                    let one = Lin::constant(1);
                    let (p, q) = (Formula::eq(a, &one)?, Formula::eq(b, &one)?);
                    let is = match op {
                        BinOp::And => Formula::all([p, q]),
                        BinOp::Or => Formula::any([p, q]),
                        _ => Formula::any([
                            Formula::all([p.clone(), q.clone().negated()]),
                            Formula::all([p.negated(), q]),
                        ]),
                    };
                    let set = Formula::eq(&bit, &one)?;
                    self.facts.push(is.clone().implies(set.clone()));
                    self.facts.push(set.implies(is));
                    bit
                }
            };
            sum = sum.plus(1 << i, &bit)?;
        }
        Ok(sum)
    }

    /// `x & mask` by division, where the mask has few runs of bits.
    fn masked(&mut self, x: &Lin, mask: i128) -> Result<Option<Lin>> {
        let fields = fields(mask);
        if fields.len() > MOST_FIELDS || self.range(x).lo < 0 {
            return Ok(None);
        }
        let mut sum = Lin::default();
        for (at, count) in fields {
            let high = self.divide(x, 1 << at)?.0;
            let field = self.divide(&high, 1 << count)?.1;
            sum = sum.plus(1 << at, &field)?;
        }
        Ok(Some(sum))
    }

    /// The low bits of a number that is not negative and has no more.
    fn bits_of(&mut self, x: &Lin, count: u32) -> Result<Vec<Lin>> {
        if let Some(c) = x.as_constant() {
            return Ok((0..count).map(|i| Lin::constant(c >> i & 1)).collect());
        }
        if let Some(known) = self.bits.get(&(x.clone(), count)) {
            return Ok(known.clone());
        }
        let bits: Vec<_> = (0..count).map(|_| Lin::atom(self.fresh("bit", Range::new(0, 1)))).collect();
        let mut sum = Lin::default();
        for (i, bit) in bits.iter().enumerate() {
            sum = sum.plus(1 << i, bit)?;
        }
        // A number that guards keep below `2^count` may not be so in a moment
        // that is not reached.
        let has_no_more = Formula::within(x, Range::new(0, (1 << count) - 1))?;
        let fact = has_no_more.implies(Formula::eq(x, &sum)?);
        self.facts.push(fact);
        self.bits.insert((x.clone(), count), bits.clone());
        Ok(bits)
    }

    /// The product of two terms.
    pub(crate) fn product(&mut self, a: &Lin, b: &Lin) -> Result<Lin> {
        if let Some(c) = a.as_constant() {
            return b.times(c);
        }
        if let Some(c) = b.as_constant() {
            return a.times(c);
        }
        for (x, y) in [(a, b), (b, a)] {
            for (i, (atom, c)) in x.terms.iter().enumerate() {
                let few = self.cases.get(atom).is_some_and(|cases| cases.len() <= MOST_CASES);
                if !few {
                    continue;
                }
                let mut rest = x.clone();
                rest.terms.remove(i);
                let told_apart = self.case_product(*atom, y)?;
                let rest = self.product(&rest, y)?;
                return rest.plus(*c, &told_apart);
            }
        }
        // (ca + ga A)(cb + gb B), A and B without a constant or common factor
        let (ca, cb) = (a.constant, b.constant);
        let (ga, pa) = primitive(a);
        let (gb, pb) = primitive(b);
        let mut factors = self.factors_of(&pa);
        factors.extend(self.factors_of(&pb));
        factors.sort();
        let monomial = self.monomial(factors)?;
        let g = ga.checked_mul(gb).ok_or(TooBig)?;
        let mut sum = monomial.times(g)?;
        sum = sum.plus(ca.checked_mul(gb).ok_or(TooBig)?, &pb)?;
        sum = sum.plus(cb.checked_mul(ga).ok_or(TooBig)?, &pa)?;
        sum.shifted(ca.checked_mul(cb).ok_or(TooBig)?)
    }

    fn case_product(&mut self, atom: crate::linear::Atom, by: &Lin) -> Result<Lin> {
        if let Some(known) = self.case_products.get(&(atom, by.clone())) {
            return Ok(known.clone());
        }
        let cases = self.cases.get(&atom).cloned().unwrap_or_default();
        let mut products = Vec::new();
        for (at, value) in cases {
            products.push((at, self.product(&value, by)?));
        }
        let range = self.atoms[atom.0 as usize].range.times(self.range(by));
        let product = self.by_cases("product", products, range)?;
        self.case_products.insert((atom, by.clone()), product.clone());
        Ok(product)
    }

    fn factors_of(&self, lin: &Lin) -> Vec<Lin> {
        match lin.terms[..] {
            [(atom, 1)] => match self.factors.get(&atom) {
                Some(factors) => factors.clone(),
                None => vec![lin.clone()],
            },
            _ => vec![lin.clone()],
        }
    }

    /// The unknown of a product of at least one factor.
    fn monomial(&mut self, factors: Vec<Lin>) -> Result<Lin> {
        match &factors[..] {
            [] => return Ok(Lin::constant(1)),
            [one] => return Ok(one.clone()),
            _ => {}
        }
        if let Some(atom) = self.monomials.get(&factors) {
            return Ok(Lin::atom(*atom));
        }
        let range = factors.iter().fold(Range::one(1), |r, x| r.times(self.range(x)));
        let square = factors.len() == 2 && factors[0] == factors[1];
        let range = if square { Range::new(0.max(range.lo), range.hi) } else { range };
        let atom = self.fresh("product", range);
        self.monomials.insert(factors.clone(), atom);
        self.factors.insert(atom, factors);
        Ok(Lin::atom(atom))
    }

    /// Facts that hold of the products of the query; to be called once, last.
    pub fn product_facts(&mut self) -> Result<()> {
        let mut products: Vec<Vec<Lin>> = self.monomials.keys().cloned().collect();
        products.sort();
        for (n, xs) in products.iter().enumerate() {
            for i in 0..xs.len() {
                if i > 0 && xs[i] == xs[i - 1] {
                    continue;
                }
                let rest = without(xs, i);
                self.bounds_of_product(xs, &xs[i], rest.clone())?;
                self.spread(xs, &xs[i], &rest)?;
                for ys in &products[n + 1..] {
                    if ys.len() != xs.len() {
                        continue;
                    }
                    for j in 0..ys.len() {
                        if j > 0 && ys[j] == ys[j - 1] {
                            continue;
                        }
                        if without(ys, j) == rest {
                            self.order_of_products((xs, &xs[i]), (ys, &ys[j]), rest.clone())?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// What `x R` is against `R` and 0.
    fn bounds_of_product(&mut self, xs: &[Lin], x: &Lin, rest: Vec<Lin>) -> Result<()> {
        let product = self.monomial(xs.to_vec())?;
        let r = self.monomial(rest)?;
        let (zero, one) = (Lin::constant(0), Lin::constant(1));
        self.facts.push(Formula::eq(x, &zero)?.implies(Formula::eq(&product, &zero)?));
        self.facts.push(Formula::eq(x, &one)?.implies(Formula::eq(&product, &r)?));
        let range = self.range(x);
        for sign in [1, -1] {
            let r = r.times(sign)?;
            let product = product.times(sign)?;
            let when = Formula::le(&zero, &r)?;
            if self.range(&r).hi < 0 {
                continue;
            }
            let mut facts = vec![
                Formula::le(&one, x)?.implies(Formula::le(&r, &product)?),
                Formula::le(x, &zero)?.implies(Formula::le(&product, &zero)?),
                Formula::le(x, &Lin::constant(-1))?.implies(Formula::le(&product, &r.times(-1)?)?),
            ];
            // With R at least 0 the ends of x's range bound the product.
            for (end, upper) in [(range.lo, false), (range.hi, true)] {
                if end.abs() < 1 << 40 {
                    let bound = r.times(end)?;
                    facts.push(if upper {
                        Formula::le(&product, &bound)?
                    } else {
                        Formula::le(&bound, &product)?
                    });
                }
            }
            self.facts.push(when.implies(Formula::all(facts)));
        }
        Ok(())
    }

    /// `x R` against `y R`.
    fn order_of_products(
        &mut self,
        (xs, x): (&[Lin], &Lin),
        (ys, y): (&[Lin], &Lin),
        rest: Vec<Lin>,
    ) -> Result<()> {
        let (px, py) = (self.monomial(xs.to_vec())?, self.monomial(ys.to_vec())?);
        let r = self.monomial(rest)?;
        self.facts.push(Formula::eq(x, y)?.implies(Formula::eq(&px, &py)?));
        let zero = Lin::constant(0);
        for sign in [1, -1] {
            let r = r.times(sign)?;
            if self.range(&r).hi < 0 {
                continue;
            }
            let (px, py) = (px.times(sign)?, py.times(sign)?);
            let facts = [
                Formula::lt(y, x)?.implies(Formula::le(&py.plus(1, &r)?, &px)?),
                Formula::lt(x, y)?.implies(Formula::le(&px.plus(1, &r)?, &py)?),
            ];
            self.facts.push(Formula::le(&zero, &r)?.implies(Formula::all(facts)));
        }
        Ok(())
    }

    /// `(a + b) R` is `a R + b R`, where all of these occur.
    fn spread(&mut self, xs: &[Lin], x: &Lin, rest: &[Lin]) -> Result<()> {
        if x.terms.len() < 2 {
            return Ok(());
        }
        let mut sum = Lin::default();
        for (atom, c) in &x.terms {
            let mut factors = self.factors_of(&Lin::atom(*atom));
            factors.extend_from_slice(rest);
            factors.sort();
            if factors.len() > 1 && !self.monomials.contains_key(&factors) {
                return Ok(());
            }
            sum = sum.plus(*c, &self.monomial(factors)?)?;
        }
        let product = self.monomial(xs.to_vec())?;
        let fact = Formula::eq(&product, &sum)?;
        self.facts.push(fact);
        Ok(())
    }
}

/// The runs of set bits of a mask that is not negative: where each begins, and how
/// many they are.
fn fields(mask: i128) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut at = 0;
    while mask >> at != 0 {
        at += (mask >> at).trailing_zeros();
        let count = (mask >> at).trailing_ones();
        found.push((at, count));
        at += count;
    }
    found
}

fn without(factors: &[Lin], i: usize) -> Vec<Lin> {
    let mut rest = factors.to_vec();
    rest.remove(i);
    rest
}

/// `g` and `p` with `lin == constant + g * p`, `p` without a common factor and
/// with a positive first coefficient.
fn primitive(lin: &Lin) -> (i128, Lin) {
    let g = lin.gcd().max(1);
    let g = if lin.terms.first().is_some_and(|(_, c)| *c < 0) { -g } else { g };
    let terms = lin.terms.iter().map(|(atom, c)| (*atom, c / g)).collect();
    (g, Lin { constant: 0, terms })
}
