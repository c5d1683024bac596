//! Products of unknowns.
//!
//! A product of unknowns is one more unknown, keyed by its factors. The query gets facts that hold
//! of true products: two products that share a common factor `R` are compared by their other
//! factors, since `x >= y + 1` gives `x R >= y R + R` for `R >= 0`. These facts tell the digits of
//! `a[i * w + j]` or of a grid-stride loop apart, and they leave the query linear. Squares are compared by their roots:
//! this tells the rows of a packed triangle apart, `a[i * (i + 1) / 2 + j]`.

use gpurace_protocol::range::Range;

use crate::encode::Encoder;
use crate::linear::{Atom, Encoded, Formula, Lin, TooBig};
use crate::operators::MOST_CASES;

impl Encoder<'_> {
    /// Returns the product of two terms.
    pub(crate) fn product(&mut self, a: &Lin, b: &Lin) -> Encoded<Lin> {
        if let Some(c) = a.as_constant() {
            return b.times(c);
        }
        if let Some(c) = b.as_constant() {
            return a.times(c);
        }
        for (x, y) in [(a, b), (b, a)] {
            for (i, (atom, c)) in x.terms.iter().enumerate() {
                let few = self.seen.cases.get(atom).is_some_and(|cases| cases.len() <= MOST_CASES);
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
        let sum = sum.shifted(ca.checked_mul(cb).ok_or(TooBig)?)?;
        for (x, rest) in [(a, b), (b, a)] {
            if x.constant != 0 && Range::one(0).within(self.range(x)) {
                self.seen.shifted_products.insert((x.clone(), rest.clone()), sum.clone());
            }
        }
        Ok(sum)
    }

    /// Returns the product of an unknown that has few cases and a term: a case for each.
    fn case_product(&mut self, atom: Atom, by: &Lin) -> Encoded<Lin> {
        if let Some(known) = self.seen.case_products.get(&(atom, by.clone())) {
            return Ok(known.clone());
        }
        let cases = self.seen.cases.get(&atom).cloned().unwrap_or_default();
        let mut products = Vec::new();
        for (at, value) in cases {
            products.push((at, self.product(&value, by)?));
        }
        let range = self.atoms[atom.0 as usize].range.times(self.range(by));
        let product = self.by_cases("product", products, range)?;
        self.seen.case_products.insert((atom, by.clone()), product.clone());
        Ok(product)
    }

    /// Returns the factors of a term: those of a product, or the term itself.
    fn factors_of(&self, lin: &Lin) -> Vec<Lin> {
        match lin.terms[..] {
            [(atom, 1)] => match self.seen.factors.get(&atom) {
                Some(factors) => factors.clone(),
                None => vec![lin.clone()],
            },
            _ => vec![lin.clone()],
        }
    }

    /// Returns the unknown for a product of factors; 1 for no factors.
    fn monomial(&mut self, factors: Vec<Lin>) -> Encoded<Lin> {
        match &factors[..] {
            [] => return Ok(Lin::constant(1)),
            [one] => return Ok(one.clone()),
            _ => {}
        }
        if let Some(atom) = self.seen.monomials.get(&factors) {
            return Ok(Lin::atom(*atom));
        }
        let range = factors.iter().fold(Range::one(1), |r, x| r.times(self.range(x)));
        let square = factors.len() == 2 && factors[0] == factors[1];
        let range = if square { Range::new(0.max(range.lo), range.hi) } else { range };
        let atom = self.fresh("product", range);
        self.seen.monomials.insert(factors.clone(), atom);
        self.seen.factors.insert(atom, factors);
        Ok(Lin::atom(atom))
    }

    /// Adds facts about the products of the query. Callers call it once, after all other encoding.
    pub fn product_facts(&mut self) -> Encoded<()> {
        let shifted: Vec<_> = self.seen.shifted_products.clone().into_iter().collect();
        for (n, ((x, rest), product)) in shifted.iter().enumerate() {
            self.bounds_of_product(product, x, rest)?;
            for ((y, other), other_product) in &shifted[n + 1..] {
                if x == y {
                    self.order_of_products((product, rest), (other_product, other), x)?;
                }
            }
        }
        let mut products: Vec<Vec<Lin>> = self.seen.monomials.keys().cloned().collect();
        products.sort();
        for (n, xs) in products.iter().enumerate() {
            for i in 0..xs.len() {
                if i > 0 && xs[i] == xs[i - 1] {
                    continue;
                }
                let rest = without(xs, i);
                let [product, others] = [xs, &rest].map(|factors| self.monomial(factors.clone()));
                self.bounds_of_product(&product?, &xs[i], &others?)?;
                self.spread(xs, &xs[i], &rest)?;
                for ys in &products[n + 1..] {
                    if ys.len() != xs.len() {
                        continue;
                    }
                    if let ([x, again], [y, once_more]) = (&xs[..], &ys[..])
                        && x == again
                        && y == once_more
                    {
                        self.order_of_squares(x, y)?;
                    }
                    for j in 0..ys.len() {
                        if j > 0 && ys[j] == ys[j - 1] {
                            continue;
                        }
                        if without(ys, j) == rest {
                            let [px, py, r] = [xs, ys, &rest].map(|factors| self.monomial(factors.clone()));
                            self.order_of_products((&px?, &xs[i]), (&py?, &ys[j]), &r?)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds facts that compare `product`, which is `x r`, with `r` and 0.
    fn bounds_of_product(&mut self, product: &Lin, x: &Lin, r: &Lin) -> Encoded<()> {
        let (zero, one) = (Lin::constant(0), Lin::constant(1));
        self.facts.push(Formula::eq(x, &zero)?.implies(Formula::eq(product, &zero)?));
        self.facts.push(Formula::eq(x, &one)?.implies(Formula::eq(product, r)?));
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
            // For R >= 0 the ends of x's range bound the product.
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

    /// Adds facts that compare `px`, which is `x r`, with `py`, which is `y r`.
    fn order_of_products(&mut self, (px, x): (&Lin, &Lin), (py, y): (&Lin, &Lin), r: &Lin) -> Encoded<()> {
        self.facts.push(Formula::eq(x, y)?.implies(Formula::eq(px, py)?));
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

    /// Adds facts that compare `x x` with `y y`: `y >= x + 1` gives `y y - x x == (y - x) (y + x) >= y + x` for
    /// `x >= 0`.
    fn order_of_squares(&mut self, x: &Lin, y: &Lin) -> Encoded<()> {
        let [xx, yy] = [x, y].map(|root| self.monomial(vec![root.clone(); 2]));
        let (xx, yy) = (xx?, yy?);
        self.facts.push(Formula::eq(x, y)?.implies(Formula::eq(&xx, &yy)?));
        for ((less, square), (more, larger)) in [((x, &xx), (y, &yy)), ((y, &yy), (x, &xx))] {
            let grows = Formula::all([Formula::le(&Lin::constant(0), less)?, Formula::lt(less, more)?]);
            let least = square.plus(1, less)?.plus(1, more)?;
            self.facts.push(grows.implies(Formula::le(&least, larger)?));
        }
        Ok(())
    }

    /// Adds the fact `(a + b) R == a R + b R` if the query contains all of these products.
    fn spread(&mut self, xs: &[Lin], x: &Lin, rest: &[Lin]) -> Encoded<()> {
        if x.terms.len() < 2 {
            return Ok(());
        }
        let mut sum = Lin::default();
        for (atom, c) in &x.terms {
            let mut factors = self.factors_of(&Lin::atom(*atom));
            factors.extend_from_slice(rest);
            factors.sort();
            if factors.len() > 1 && !self.seen.monomials.contains_key(&factors) {
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

/// Returns the other factors.
fn without(factors: &[Lin], i: usize) -> Vec<Lin> {
    let mut rest = factors.to_vec();
    rest.remove(i);
    rest
}

/// Returns `g` and `p` with `lin == constant + g * p`. The coefficients of `p` have no common
/// factor, and the first one is positive.
fn primitive(lin: &Lin) -> (i128, Lin) {
    let g = lin.gcd().max(1);
    let g = if lin.terms.first().is_some_and(|(_, c)| *c < 0) { -g } else { g };
    let terms = lin.terms.iter().map(|(atom, c)| (*atom, c / g)).collect();
    (g, Lin { constant: 0, terms })
}
