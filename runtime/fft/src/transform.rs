//! The transforms, unnormalised as cuFFT's.

use std::ffi::c_void;
use std::sync::Arc;

use num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

use crate::layout::Layout;
use crate::shape::{Kind, Shape};

/// Columns that are transformed together: a cache line has several complex numbers.
const COLUMNS: usize = 16;

/// Transforms along each dimension.
type Axes<T> = [Arc<dyn Fft<T>>; 3];

/// A transform that is ready to run.
pub struct Transform<T> {
    shape: Shape,
    forward: Option<Axes<T>>,
    inverse: Option<Axes<T>>,
}

/// Numbers of one array, in order.
struct Numbers<T> {
    values: Vec<Complex<T>>,
    sizes: [usize; 3],
    scratch: Vec<Complex<T>>,
    columns: Vec<Complex<T>>,
}

impl<T: FftNum> Numbers<T> {
    fn new(sizes: [usize; 3]) -> Self {
        let values = Vec::with_capacity(sizes.iter().product());
        Self { values, sizes, scratch: Vec::new(), columns: Vec::new() }
    }

    /// Transforms along one dimension.
    fn transform(&mut self, axis: usize, fft: &dyn Fft<T>) {
        let Self { values, sizes, scratch, columns } = self;
        let length = sizes[axis];
        // The transform of one number is itself.
        if length == 1 {
            return;
        }
        let zero = Complex::new(T::zero(), T::zero());
        scratch.resize(scratch.len().max(fft.get_inplace_scratch_len()), zero);
        let inner: usize = sizes[axis + 1..].iter().product();
        if inner == 1 {
            return fft.process_with_scratch(values, scratch);
        }
        columns.resize(length * COLUMNS, zero);
        for part in values.chunks_exact_mut(length * inner) {
            for first in (0..inner).step_by(COLUMNS) {
                let count = COLUMNS.min(inner - first);
                let columns = &mut columns[..length * count];
                for (i, row) in part.chunks_exact(inner).enumerate() {
                    for column in 0..count {
                        columns[column * length + i] = row[first + column];
                    }
                }
                fft.process_with_scratch(columns, scratch);
                for (i, row) in part.chunks_exact_mut(inner).enumerate() {
                    for column in 0..count {
                        row[first + column] = columns[column * length + i];
                    }
                }
            }
        }
    }
}

impl<T: FftNum> Transform<T> {
    /// Prepares the transform of a shape.
    pub fn new(shape: Shape) -> Self {
        let mut planner = FftPlanner::new();
        let mut axes = |direction| shape.sizes.map(|n| planner.plan_fft(n, direction));
        let kind = shape.ty.kind;
        Self {
            shape,
            forward: (kind != Kind::ToReal).then(|| axes(FftDirection::Forward)),
            inverse: (kind != Kind::FromReal).then(|| axes(FftDirection::Inverse)),
        }
    }

    /// Transforms all arrays. The direction counts for complex numbers only.
    ///
    /// # Safety
    /// The memory has the elements of the shape's layouts, which are those in place if both addresses are the same.
    pub unsafe fn run(&self, from: *const c_void, to: *mut c_void, inverse: bool) {
        let (input, output) = self.shape.layouts(from.addr() == to.addr());
        let kind = self.shape.ty.kind;
        let inverse = kind == Kind::ToReal || inverse && kind == Kind::Complex;
        let Some(axes) = (if inverse { &self.inverse } else { &self.forward }) else { return };
        let [n0, n1, n2] = self.shape.sizes;
        let kept = if kind == Kind::Complex { n2 } else { n2 / 2 + 1 };
        let mut numbers = Numbers::new([n0, n1, kept]);
        let mut row = Numbers::new([1, 1, n2]);
        for array in 0..input.counts[0] {
            // SAFETY: by the contract above.
            unsafe {
                match kind {
                    Kind::Complex => {
                        read(&mut numbers.values, input, array, from.cast());
                        (0..3).rev().for_each(|axis| numbers.transform(axis, &*axes[axis]));
                        write(&numbers.values, output, array, to.cast());
                    }
                    Kind::FromReal => {
                        numbers.values.clear();
                        input.rows(array, |first| {
                            row.values.clear();
                            let number =
                                |i| from.cast::<T>().add(first + i * input.steps[3]).read_unaligned();
                            row.values.extend((0..n2).map(|i| Complex::new(number(i), T::zero())));
                            row.transform(2, &*axes[2]);
                            numbers.values.extend_from_slice(&row.values[..kept]);
                        });
                        (0..2).rev().for_each(|axis| numbers.transform(axis, &*axes[axis]));
                        write(&numbers.values, output, array, to.cast());
                    }
                    Kind::ToReal => {
                        read(&mut numbers.values, input, array, from.cast());
                        (0..2).for_each(|axis| numbers.transform(axis, &*axes[axis]));
                        let mut halves = numbers.values.chunks_exact(kept);
                        output.rows(array, |first| {
                            let half = halves.next().unwrap_or_default();
                            whole_row(&mut row.values, half, n2);
                            row.transform(2, &*axes[2]);
                            for (i, value) in row.values.iter().enumerate() {
                                to.cast::<T>().add(first + i * output.steps[3]).write_unaligned(value.re);
                            }
                        });
                    }
                }
            }
        }
    }
}

/// Puts a whole row of `n` numbers in place of the half that it follows from. What belongs to itself is real.
fn whole_row<T: FftNum>(row: &mut Vec<Complex<T>>, half: &[Complex<T>], n: usize) {
    row.clear();
    row.extend_from_slice(half);
    row.extend((half.len()..n).map(|i| half[n - i].conj()));
    row[0].im = T::zero();
    if n.is_multiple_of(2) {
        row[n / 2].im = T::zero();
    }
}

/// Reads an array.
///
/// # Safety
/// Its elements are there.
unsafe fn read<T: Copy>(to: &mut Vec<Complex<T>>, layout: Layout, array: usize, from: *const Complex<T>) {
    to.clear();
    layout.rows(array, |first| {
        // SAFETY: by the contract above.
        let number = |i| unsafe { from.add(first + i * layout.steps[3]).read_unaligned() };
        to.extend((0..layout.counts[3]).map(number));
    });
}

/// Writes an array.
///
/// # Safety
/// There is room for its elements.
unsafe fn write<T: Copy>(from: &[Complex<T>], layout: Layout, array: usize, to: *mut Complex<T>) {
    let mut rows = from.chunks_exact(layout.counts[3]);
    layout.rows(array, |first| {
        for (i, number) in rows.next().unwrap_or_default().iter().enumerate() {
            // SAFETY: by the contract above.
            unsafe { to.add(first + i * layout.steps[3]).write_unaligned(*number) }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Type;

    const FORWARD: f64 = -1.0;
    const INVERSE: f64 = 1.0;

    fn shape(number: u32, sizes: [usize; 3], batch: usize) -> Shape {
        Shape::new(Type::new(number).unwrap(), sizes, batch, None).unwrap()
    }

    /// Each number of one array's transform, by its definition.
    fn by_definition(sizes: [usize; 3], values: &[Complex<f64>], sign: f64) -> Vec<Complex<f64>> {
        let [n0, n1, n2] = sizes;
        let at = |i: usize| [i / (n1 * n2), i / n2 % n1, i % n2];
        (0..n0 * n1 * n2)
            .map(|k| {
                let term = |(j, value): (usize, &Complex<f64>)| {
                    let part = |axis: usize| (at(j)[axis] * at(k)[axis]) as f64 / sizes[axis] as f64;
                    let turns: f64 = (0..3).map(part).sum();
                    value * Complex::from_polar(1.0, sign * std::f64::consts::TAU * turns)
                };
                values.iter().enumerate().map(term).sum()
            })
            .collect()
    }

    fn number(i: usize) -> Complex<f64> {
        Complex::new(((i * 7 + 3) % 11) as f64 - 5.0, ((i * 5 + 1) % 7) as f64 - 3.0)
    }

    fn assert_near(found: &[Complex<f64>], wanted: &[Complex<f64>]) {
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).norm() < 1e-9 * (1.0 + wanted.norm()), "{found} {wanted}");
        }
    }

    /// More than [`COLUMNS`] columns, primes, and single numbers.
    const SIZES: [[usize; 3]; 7] =
        [[1, 1, 1], [1, 1, 12], [1, 1, 31], [1, 5, 19], [3, 4, 5], [2, 17, 3], [4, 1, 2]];

    #[test]
    fn complex_numbers_agree_with_the_definition() {
        for sizes in SIZES {
            let count: usize = sizes.iter().product();
            let values: Vec<_> = (0..2 * count).map(number).collect();
            let transform = Transform::<f64>::new(shape(0x69, sizes, 2));
            for (sign, inverse) in [(FORWARD, false), (INVERSE, true)] {
                let mut found = vec![Complex::default(); 2 * count];
                // SAFETY: the arrays have all elements.
                unsafe { transform.run(values.as_ptr().cast(), found.as_mut_ptr().cast(), inverse) };
                for array in 0..2 {
                    let part = array * count..(array + 1) * count;
                    assert_near(&found[part.clone()], &by_definition(sizes, &values[part], sign));
                }
            }
        }
    }

    #[test]
    fn real_numbers_agree_with_the_definition_and_come_back() {
        for sizes in SIZES {
            let [n0, n1, n2] = sizes;
            let (count, kept) = (n0 * n1 * n2, n2 / 2 + 1);
            let values: Vec<f64> = (0..count).map(|i| number(i).re).collect();
            let mut found = vec![Complex::default(); n0 * n1 * kept];
            let forward = Transform::<f64>::new(shape(0x6a, sizes, 1));
            // SAFETY: the arrays have all elements.
            unsafe { forward.run(values.as_ptr().cast(), found.as_mut_ptr().cast(), false) };
            let all: Vec<_> = values.iter().map(|&re| Complex::new(re, 0.0)).collect();
            let wanted = by_definition(sizes, &all, FORWARD);
            let wanted: Vec<_> = wanted.chunks(n2).flat_map(|row| row[..kept].iter().copied()).collect();
            assert_near(&found, &wanted);

            let mut back = vec![0.0; count];
            let inverse = Transform::<f64>::new(shape(0x6c, sizes, 1));
            // SAFETY: as above.
            unsafe { inverse.run(found.as_ptr().cast(), back.as_mut_ptr().cast(), false) };
            for (found, wanted) in back.iter().zip(values) {
                assert!((found / count as f64 - wanted).abs() < 1e-12, "{found} {wanted}");
            }
        }
    }

    #[test]
    fn the_imaginary_part_of_what_must_be_real_is_ignored() {
        let half = [Complex::new(1.0, 9.0), Complex::new(2.0, 1.0), Complex::new(3.0, 9.0)];
        let mut row = Vec::new();
        whole_row(&mut row, &half, 4);
        let (a, c) = (Complex::new(1.0, 0.0), Complex::new(3.0, 0.0));
        assert_eq!(row, [a, half[1], c, half[1].conj()]);
        whole_row(&mut row, &half, 5);
        assert_eq!(row, [a, half[1], half[2], half[2].conj(), half[1].conj()]);
    }
}
