//! Level 1: vectors. `x` and `y` have the same length.

use crate::scalar::Scalar;
use crate::stored::Vector;

/// `y = alpha * x + y`
///
/// # Safety
/// The vectors are valid.
pub unsafe fn axpy<T: Scalar>(alpha: T, x: Vector<T>, y: Vector<T>) {
    if alpha == T::ZERO {
        return;
    }
    for i in 0..x.n {
        // SAFETY: by contract.
        unsafe { y.set(i, alpha * x.get(i) + y.get(i)) };
    }
}

/// `x = alpha * x`
///
/// # Safety
/// The vector is valid.
pub unsafe fn scal<T: Scalar>(alpha: T, x: Vector<T>) {
    for i in 0..x.n {
        // SAFETY: by contract.
        unsafe { x.set(i, alpha * x.get(i)) };
    }
}

/// The sum of `x[i] * y[i]`, with `x` conjugated on demand.
///
/// # Safety
/// The vectors are valid.
pub unsafe fn dot<T: Scalar>(x: Vector<T>, y: Vector<T>, conj: bool) -> T {
    let mut sum = T::ZERO;
    for i in 0..x.n {
        // SAFETY: by contract.
        sum += unsafe { x.get(i).conj_if(conj) * y.get(i) };
    }
    sum
}

/// The Euclidean norm. Squares neither overflow nor vanish.
///
/// # Safety
/// The vector is valid.
pub unsafe fn nrm2<T: Scalar>(x: Vector<T>) -> T::Real {
    // SAFETY: by contract.
    let parts = |i| unsafe { [x.get(i).re().to_f64(), x.get(i).im().to_f64()] };
    let (mut scale, mut sum) = (0.0f64, 1.0f64);
    for part in (0..x.n).flat_map(parts).map(f64::abs) {
        if part.is_nan() {
            return T::Real::of_f64(f64::NAN);
        }
        if part == 0.0 {
            continue;
        }
        if scale < part {
            // An infinite part would make the quotient below no number.
            sum = if part.is_infinite() { 1.0 } else { 1.0 + sum * (scale / part).powi(2) };
            scale = part;
        } else if scale.is_finite() {
            sum += (part / scale).powi(2);
        }
    }
    T::Real::of_f64(scale * sum.sqrt())
}

/// The sum of the absolute values of all parts.
///
/// # Safety
/// The vector is valid.
pub unsafe fn asum<T: Scalar>(x: Vector<T>) -> T::Real {
    let mut sum = T::Real::ZERO;
    for i in 0..x.n {
        // SAFETY: by contract.
        sum += unsafe { x.get(i) }.abs1();
    }
    sum
}

/// The position, from 1, of the first element with the largest or smallest absolute value. 0 if there is none.
///
/// # Safety
/// The vector is valid.
pub unsafe fn extreme<T: Scalar>(x: Vector<T>, largest: bool) -> usize {
    let mut found: Option<(usize, T::Real)> = None;
    for i in 0..x.n {
        // SAFETY: by contract.
        let value = unsafe { x.get(i) }.abs1();
        let better = |best: T::Real| if largest { value > best } else { value < best };
        if found.is_none_or(|(_, best)| better(best)) {
            found = Some((i + 1, value));
        }
    }
    found.map_or(0, |(at, _)| at)
}

/// `y = x`
///
/// # Safety
/// The vectors are valid.
pub unsafe fn copy<T: Copy>(x: Vector<T>, y: Vector<T>) {
    for i in 0..x.n {
        // SAFETY: by contract.
        unsafe { y.set(i, x.get(i)) };
    }
}

/// Exchanges `x` and `y`.
///
/// # Safety
/// The vectors are valid.
pub unsafe fn swap<T: Copy>(x: Vector<T>, y: Vector<T>) {
    for i in 0..x.n {
        // SAFETY: by contract.
        unsafe {
            let kept = x.get(i);
            x.set(i, y.get(i));
            y.set(i, kept);
        }
    }
}

/// `x = c * x + s * y`, `y = c * y - conj(s) * x`
///
/// # Safety
/// The vectors are valid.
pub unsafe fn rot<T: Scalar>(x: Vector<T>, y: Vector<T>, c: T::Real, s: T) {
    let c = T::of_real(c);
    for i in 0..x.n {
        // SAFETY: by contract.
        unsafe {
            let (a, b) = (x.get(i), y.get(i));
            x.set(i, c * a + s * b);
            y.set(i, c * b - s.conj() * a);
        }
    }
}

/// Applies the modified rotation `[flag, h11, h21, h12, h22]`.
///
/// # Safety
/// The vectors are valid.
pub unsafe fn rotm<T: Scalar<Real = T> + PartialOrd>(x: Vector<T>, y: Vector<T>, h: [T; 5]) {
    let [flag, h11, h21, h12, h22] = h;
    let (zero, one) = (T::ZERO, T::ONE);
    let [h11, h21, h12, h22] = if flag == -(one + one) {
        return;
    } else if flag < zero {
        [h11, h21, h12, h22]
    } else if flag == zero {
        [one, h21, h12, one]
    } else {
        [h11, -one, one, h22]
    };
    for i in 0..x.n {
        // SAFETY: by contract.
        unsafe {
            let (a, b) = (x.get(i), y.get(i));
            x.set(i, h11 * a + h12 * b);
            y.set(i, h21 * a + h22 * b);
        }
    }
}

/// The rotation that makes the second of `(a, b)` vanish: `(r, z, c, s)` (BLAS, `rotg`).
pub fn rotg<T: Scalar>(a: T, b: T) -> (T, T, T::Real, T) {
    let real = size_of::<T>() == size_of::<T::Real>();
    if !real {
        let (size_a, size_b) = (a.magnitude(), b.magnitude());
        if size_a == T::Real::ZERO {
            return (b, b, T::Real::ZERO, T::ONE);
        }
        let norm = (size_a * size_a + size_b * size_b).root();
        let direction = a / T::of_real(size_a);
        let s = direction * b.conj() / T::of_real(norm);
        return (direction * T::of_real(norm), b, size_a / norm, s);
    }
    let (ra, rb) = (a.re(), b.re());
    let zero = T::Real::ZERO;
    let leads = ra.magnitude() > rb.magnitude();
    let norm = (ra * ra + rb * rb).root();
    if norm == zero {
        return (T::ZERO, T::ZERO, T::Real::ONE, T::ZERO);
    }
    let sign = if leads { ra } else { rb } < zero;
    let r = if sign { -norm } else { norm };
    let (c, s) = (ra / r, rb / r);
    let z = match (leads, c == zero) {
        (true, _) => s,
        (false, false) => T::Real::ONE / c,
        (false, true) => T::Real::ONE,
    };
    (T::of_real(r), T::of_real(z), c, T::of_real(s))
}
