//! Looks at memory that a launch loads indices from: whether they are sorted or distinct, and between which
//! bounds they lie.
//!
//! One pass shows whether values are sorted. One more finds the bounds of the others, and one that marks each value in
//! a set of bits shows whether they are distinct. Values far apart are sorted for that.

use gpurace_protocol::contents::{Choice, Contents, Distinct, Wanted, keep_unchanged, wanted};
use gpurace_protocol::expr::Width;
use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::protocol::{Protocol, SiteId};

/// The most bits of a set, for each value.
const BITS_FOR_EACH: u64 = 64;
/// Values further apart than this are said to be so far apart.
const MOST_APART: u64 = 1 << 16;
/// Significant bits of a bound. They are few, so the answer for one launch also serves for others with similar values.
const SIGNIFICANT: u32 = 6;

/// Memory whose values proofs of a kernel may need, and whether they have helped.
#[derive(Default)]
pub struct Looks {
    wanted: Vec<Wanted>,
    use_so_far: Usefulness,
}

/// Whether looks at a kernel's memory have helped.
#[derive(Default)]
pub struct Usefulness {
    /// Number of launches in a row for which nothing more was proved.
    in_vain: usize,
    has_helped: bool,
}

/// The launches in a row after which a kernel's memory is no longer looked at because no look helped: before the first
/// look that helps, and after it.
const MOST_IN_VAIN: [usize; 2] = [3, 16];

impl Usefulness {
    /// True if another look may help.
    pub fn is_worth_it(&self) -> bool {
        self.in_vain < MOST_IN_VAIN[usize::from(self.has_helped)]
    }

    /// Says whether a look has proved more.
    pub fn note(&mut self, helped: bool) {
        self.has_helped |= helped;
        self.in_vain = if helped { 0 } else { self.in_vain + 1 };
    }
}

impl Looks {
    /// What is worth a look in a kernel. `is_open` says which sites are not proved for all launches.
    pub fn new(protocol: &Protocol, is_open: impl Fn(SiteId) -> bool) -> Self {
        Self { wanted: wanted(protocol, is_open), ..Self::default() }
    }

    /// True if a launch is worth a look.
    pub fn are_worth_it(&self) -> bool {
        !self.wanted.is_empty() && self.use_so_far.is_worth_it()
    }

    /// Says whether what was found has proved more.
    pub fn have_helped(&mut self, helped: bool) {
        self.use_so_far.note(helped);
    }

    /// Returns what is known of the values that a launch loads. The launch has the addresses of this process, and all
    /// its allocations can be read.
    ///
    /// # Safety
    /// The known allocations of the launch's objects stay allocated, in this process's memory.
    pub unsafe fn look(&self, protocol: &Protocol, mut launch: ProverLaunch) -> Vec<Contents> {
        let mut looked_at = Vec::new();
        for wanted in &self.wanted {
            let Some(bytes) = wanted.bytes(protocol, &launch) else { continue };
            let Some(extent) = launch.objects.get(wanted.object.0 as usize).copied().flatten() else {
                continue;
            };
            // SAFETY: `Wanted::bytes` stays within the known allocation.
            let Some(values) = (unsafe { Values::at(extent.base, bytes, wanted.width) }) else { continue };
            let (range, sorted) = values.bounds();
            let mut contents = wanted.described(bytes);
            (contents.range, contents.sorted) = (rounded(range), sorted);
            launch.contents.push(contents);
            looked_at.push((wanted, values, range));
        }
        for (at, (wanted, values, range)) in looked_at.iter().enumerate() {
            let own = &launch.contents[at];
            let mut distinct: Vec<Distinct> = Vec::new();
            for choices in wanted.choices(protocol, &launch, own) {
                let deciding = choices.iter().map(|choice| {
                    let of = launch.contents.iter().position(|of| of.loads.contains(&choice.value))?;
                    Some((choice, looked_at[of].1))
                });
                let Some(deciding) = deciding.collect::<Option<Vec<_>>>() else { continue };
                if distinct.iter().any(|known| known.choices == choices) {
                    continue;
                }
                if let Some(apart) = values.apart(*range, &deciding) {
                    let among_all = choices.is_empty();
                    distinct.push(Distinct { choices, apart });
                    if among_all {
                        break;
                    }
                }
            }
            launch.contents[at].distinct = distinct;
        }
        keep_unchanged(protocol, &mut launch);
        launch.contents
    }
}

/// The values of an array, from the least to the greatest index that a launch may load.
#[derive(Clone, Copy)]
struct Values<'a> {
    numbers: Numbers<'a>,
    /// The index of the first one.
    first: i64,
}

/// Signed numbers of each width.
#[derive(Clone, Copy)]
enum Numbers<'a> {
    W8(&'a [i8]),
    W16(&'a [i16]),
    W32(&'a [i32]),
    W64(&'a [i64]),
}

/// Evaluates an expression for the numbers of any width.
macro_rules! of_any_width {
    ($numbers:expr, |$values:ident| $result:expr) => {
        match $numbers {
            Numbers::W8($values) => $result,
            Numbers::W16($values) => $result,
            Numbers::W32($values) => $result,
            Numbers::W64($values) => $result,
        }
    };
}

impl<'a> Values<'a> {
    /// The values of a width at these bytes, counted from a base. `None` if there is none, or if they are not aligned.
    ///
    /// # Safety
    /// The bytes are allocated while the values are used. No other operation writes to them. A host thread that
    /// does has a race with the launch.
    unsafe fn at(base: u64, bytes: (i64, i64), width: Width) -> Option<Self> {
        let size = i64::from(width.bits() / 8);
        let (first, count) = (base.wrapping_add_signed(bytes.0), (bytes.1 - bytes.0).checked_div(size)?);
        let count = usize::try_from(count).ok().filter(|count| *count > 0 && first % size as u64 == 0)?;
        // SAFETY: by contract; the place is aligned.
        let numbers = unsafe {
            match width {
                Width::W8 => Numbers::W8(std::slice::from_raw_parts(first as *const i8, count)),
                Width::W16 => Numbers::W16(std::slice::from_raw_parts(first as *const i16, count)),
                Width::W32 => Numbers::W32(std::slice::from_raw_parts(first as *const i32, count)),
                Width::W64 => Numbers::W64(std::slice::from_raw_parts(first as *const i64, count)),
                Width::W1 => return None,
            }
        };
        Some(Self { numbers, first: bytes.0 / size })
    }

    /// The least and the greatest value, and whether they are sorted.
    fn bounds(self) -> ((i64, i64), bool) {
        of_any_width!(self.numbers, |values| bounds(values))
    }

    /// How far apart the values of two elements are at least, among the elements that other values choose. `None` if a
    /// value comes twice. The values have these bounds. The others reach as far.
    fn apart(self, range: (i64, i64), deciding: &[(&Choice, Self)]) -> Option<i64> {
        let mut chosen = None;
        for (choice, by) in deciding {
            let skipped = (self.first - by.first) as usize;
            chosen = Some(of_any_width!(by.numbers, |values| choose(&values[skipped..], choice, chosen)));
        }
        of_any_width!(self.numbers, |values| match chosen {
            None => apart(values.iter().copied(), values.len(), range),
            Some(chosen) => {
                let chosen = values.iter().zip(chosen).filter(|(_, chosen)| *chosen);
                apart(chosen.map(|(value, _)| *value), values.len(), range)
            }
        })
    }
}

fn bounds<T: Copy + Ord + Into<i64>>(values: &[T]) -> ((i64, i64), bool) {
    if values.is_sorted() {
        return ((values[0].into(), values[values.len() - 1].into()), true);
    }
    let (least, most) = values.iter().fold((values[0], values[0]), |(a, b), v| (a.min(*v), b.max(*v)));
    ((least.into(), most.into()), false)
}

/// For each value, whether a choice and those before it choose it.
fn choose<T: Copy + Into<i64>>(values: &[T], choice: &Choice, before: Option<Vec<bool>>) -> Vec<bool> {
    let (lo, hi) = choice.range;
    let is = |value: &T| (lo <= (*value).into() && (*value).into() <= hi) == choice.inside;
    match before {
        None => values.iter().map(is).collect(),
        Some(mut chosen) => {
            chosen.iter_mut().zip(values).for_each(|(chosen, value)| *chosen &= is(value));
            chosen
        }
    }
}

/// How far two values are apart at least; `None` if one comes twice. There are at most `count` values, within these
/// bounds.
fn apart<T: Into<i64>>(
    values: impl Iterator<Item = T>,
    count: usize,
    (least, most): (i64, i64),
) -> Option<i64> {
    let span = most.abs_diff(least);
    if span / BITS_FOR_EACH >= count as u64 {
        let mut all: Vec<i64> = values.map(Into::into).collect();
        all.sort_unstable();
        let distinct = all.is_sorted_by(|a, b| a < b);
        return distinct.then(|| least_distance(all.iter().map(|value| value.abs_diff(least))));
    }
    let mut seen = vec![0u64; (span / 64 + 1) as usize];
    for value in values {
        let at = value.into().abs_diff(least);
        let (word, bit) = (&mut seen[(at / 64) as usize], 1 << (at % 64));
        if *word & bit != 0 {
            return None;
        }
        *word |= bit;
    }
    let bits = (0..).step_by(64).zip(&seen).flat_map(|(first, word)| {
        let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|rest| *rest != 0);
        std::iter::successors(Some(*word).filter(|bits| *bits != 0), rest)
            .map(move |bits| first + u64::from(bits.trailing_zeros()))
    });
    Some(least_distance(bits))
}

/// The least distance of two of these numbers, each of which is greater than the one before. One alone is far from all.
fn least_distance(mut numbers: impl Iterator<Item = u64>) -> i64 {
    let (mut least, mut before) = (MOST_APART, numbers.next());
    for number in numbers {
        least = least.min(before.map_or(MOST_APART, |before| number - before));
        before = Some(number);
        if least == 1 {
            break;
        }
    }
    least as i64
}

/// Bounds with few significant bits that hold all numbers between the given ones.
fn rounded((least, most): (i64, i64)) -> (i64, i64) {
    let up = |n: u64| {
        let unit = 1u64 << (64 - n.leading_zeros()).saturating_sub(SIGNIFICANT);
        n.checked_next_multiple_of(unit).unwrap_or(u64::MAX)
    };
    let above = |n: i64| i64::try_from(up(n as u64)).unwrap_or(i64::MAX);
    let below = |n: i64| 0i64.checked_sub_unsigned(up(n.unsigned_abs())).unwrap_or(i64::MIN);
    (if least < 0 { below(least) } else { 0 }, if most > 0 { above(most) } else { most.min(0) })
}

#[cfg(test)]
mod tests {
    use gpurace_protocol::expr::{Expr, OpaqueId, ParamId};
    use gpurace_protocol::protocol::*;

    use super::*;

    #[test]
    fn looks_end_when_they_do_not_help() {
        let some = Looks { wanted: wanted_of_one_array(), ..Looks::default() };
        let after = |helped: &[bool]| {
            let mut looks = Looks { wanted: some.wanted.clone(), ..Looks::default() };
            helped.iter().for_each(|helped| looks.have_helped(*helped));
            looks.are_worth_it()
        };
        assert!(!Looks::default().are_worth_it(), "nothing is wanted");
        assert!(after(&[]) && after(&[false; 2]) && !after(&[false; 3]));
        assert!(
            after(&[&[true][..], &[false; 15]].concat()) && !after(&[&[true][..], &[false; 16]].concat())
        );
        assert!(after(&[&[true][..], &[false; 15], &[true], &[false; 15]].concat()));
    }

    /// `out[from[0]] = ...`
    fn wanted_of_one_array() -> Vec<Wanted> {
        let mut p = Protocol::default();
        for name in ["from", "out"] {
            let id = ParamId(p.params.len() as u32);
            p.params.push(Param { name: name.into(), width: Width::W64, offset: 8 * id.0, pointer: true });
            p.objects.push(Object { name: name.into(), kind: ObjectKind::Param(id) });
        }
        p.opaques.push(Opaque {
            what: "a value".into(),
            width: Width::W64,
            uniform: Uniform::Thread,
            loops: Vec::new(),
            range: None,
            loaded_by: Some(SiteId(0)),
            argument: None,
            last: None,
            ticket: None,
        });
        let (zero, size) = (p.exprs.c64(0), p.exprs.c64(8));
        let to = p.exprs.add(Expr::Opaque { id: OpaqueId(0), width: Width::W64 });
        for (site, op, offset) in [(0, Op::Read, zero), (1, Op::Write, to)] {
            p.body.push(Stmt::Access(Access {
                site: SiteId(site),
                op,
                object: ObjectId(site),
                offset,
                size,
            }));
        }
        wanted(&p, |_| true)
    }

    #[test]
    fn order_and_distances_are_found() {
        let of = |all: &[i32]| {
            let values = Values { numbers: Numbers::W32(all), first: 0 };
            let (range, sorted) = values.bounds();
            (range, sorted, values.apart(range, &[]))
        };
        assert_eq!(of(&[0, 3, 3, 7]), ((0, 7), true, None));
        assert_eq!(of(&[-2, 3, 7]), ((-2, 7), true, Some(4)));
        assert_eq!(of(&[3, 0, 2, 1]), ((0, 3), false, Some(1)));
        assert_eq!(of(&[63, 130, 0, 66]), ((0, 130), false, Some(3)));
        assert_eq!(of(&[3, -1, 2, -1, 0]), ((-1, 3), false, None));
        assert_eq!(of(&[5]), ((5, 5), true, Some(MOST_APART as i64)));
        // So far apart that the set would be large.
        let all = (i32::MIN.into(), i32::MAX.into());
        assert_eq!(of(&[i32::MAX, i32::MIN]), (all, false, Some(MOST_APART as i64)));
        assert_eq!(of(&[i32::MAX, 7, i32::MIN, 9]), (all, false, Some(2)));
        assert_eq!(of(&[i32::MAX, 7, i32::MIN, 7]), (all, false, None));
        assert_eq!(of(&[i32::MAX, 7, 8, i32::MIN, 9, 9]), (all, false, None));
        assert_eq!(apart([127i8, -128, 0].into_iter(), 3, (-128, 127)), Some(127));
        let ends = [i64::MAX, i64::MIN];
        assert_eq!(apart(ends.into_iter(), 2, (i64::MIN, i64::MAX)), Some(MOST_APART as i64));
    }

    #[test]
    fn values_are_distinct_where_others_choose() {
        let by = Values { numbers: Numbers::W8(&[1, 0, 1, 0, 1]), first: 0 };
        let own = Values { numbers: Numbers::W32(&[0, 1, 1, 2, 2]), first: 0 };
        let choice = |range, inside| Choice { value: OpaqueId(0), range, inside };
        let are = |own: Values, choices: &[(&Choice, Values)]| own.apart((0, 2), choices).is_some();
        assert!(are(own, &[(&choice((0, 0), false), by)]));
        assert!(are(own, &[(&choice((1, 1), true), by)]));
        assert!(!are(own, &[(&choice((0, 1), true), by)]));
        // Both conditions hold.
        assert!(!are(own, &[(&choice((0, 1), true), by), (&choice((1, 1), false), own)]));
        assert!(are(own, &[(&choice((0, 0), true), by), (&choice((0, 1), true), own)]));
        // The values begin with the third flag.
        let later = Values { numbers: Numbers::W32(&[1, 2, 2]), first: 2 };
        assert!(are(later, &[(&choice((1, 1), true), by)]) && !are(later, &[(&choice((0, 1), true), by)]));
    }

    #[test]
    fn memory_is_read_where_it_is_aligned() {
        let memory = [1i32, 2, 3];
        let base = memory.as_ptr() as u64;
        // SAFETY: all places are within the array.
        unsafe {
            let values = Values::at(base + 4, (-4, 8), Width::W32).unwrap();
            assert_eq!((values.bounds(), values.first), (((1, 3), true), -1));
            assert!(Values::at(base + 2, (0, 4), Width::W32).is_none());
            assert!(Values::at(base, (0, 2), Width::W32).is_none());
            assert!(
                Values::at(base, (4, 4), Width::W32).is_none()
                    && Values::at(base, (0, 4), Width::W1).is_none()
            );
        }
    }

    #[test]
    fn bounds_are_rounded_outwards() {
        assert_eq!(rounded((0, 63)), (0, 63));
        assert_eq!(rounded((5, 64)), (0, 64));
        assert_eq!(rounded((5, 65)), (0, 66));
        assert_eq!(rounded((-1, 1000)), (-1, 1008));
        assert_eq!(rounded((-1001, -7)), (-1008, -7));
        assert_eq!(rounded((i64::MIN, i64::MAX)), (i64::MIN, i64::MAX));
        for n in (0..63).flat_map(|bit| [(1i64 << bit) - 1, 1 << bit, (1 << bit) + 1]) {
            let (below, above) = rounded((-n, n));
            assert!(below <= -n && n <= above);
        }
    }
}
