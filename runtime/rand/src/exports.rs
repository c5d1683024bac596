//! The exported functions.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

use gpurace_library::operation::submit;

use crate::distribution::{Discrete, normal_at, normal_pair};
use crate::generator::{self, GENERATORS, Generator, Kind, RawGenerator, Sequence};
use crate::sequence::Bits;
use crate::status::{Outcome, Status};
use crate::{histogram, sobol};

/// The version of cuRAND that the functions are those of: 10.4.0.
const VERSION: [c_int; 3] = [10, 4, 0];

unsafe extern "C" {
    fn cudaPeekAtLastError() -> u32;
}

/// Numbers of a result's type from a sequence.
trait Numbers: 'static {
    /// Their type.
    type Number: 'static;

    /// Some of them.
    fn next(&self, sequence: &mut Sequence, count: usize, each: impl FnMut(Self::Number));

    /// Pseudorandom ones come in pairs.
    fn in_pairs(&self) -> bool {
        false
    }
}

/// How many random bits a pseudorandom number takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    Narrow,
    Wide,
}

/// Each number is made of its own random bits.
struct Single<F>(Width, F);

impl<T: 'static, F: Fn(Bits) -> T + 'static> Numbers for Single<F> {
    type Number = T;

    fn next(&self, sequence: &mut Sequence, count: usize, mut each: impl FnMut(T)) {
        let Self(width, number) = self;
        match sequence {
            Sequence::Pseudo(words) => (0..count).for_each(|_| {
                each(number(match width {
                    Width::Narrow => words.narrow(),
                    Width::Wide => words.wide(),
                }));
            }),
            Sequence::Quasi(points) => points.points(count, |bits| each(number(bits))),
        }
    }
}

/// Numbers made of those of the standard normal distribution.
struct Normal<F>(Width, F);

impl<T: 'static, F: Fn(f64) -> T + 'static> Numbers for Normal<F> {
    type Number = T;

    fn next(&self, sequence: &mut Sequence, count: usize, mut each: impl FnMut(T)) {
        let Self(width, number) = self;
        match sequence {
            Sequence::Pseudo(words) => (0..count / 2).for_each(|_| {
                let (first, second) = match width {
                    Width::Narrow => (words.narrow(), words.narrow()),
                    Width::Wide => (words.wide(), words.wide()),
                };
                let (first, second) = normal_pair(first, second);
                each(number(first));
                each(number(second));
            }),
            Sequence::Quasi(points) => points.points(count, |bits| each(number(normal_at(bits)))),
        }
    }

    fn in_pairs(&self) -> bool {
        true
    }
}

/// Writes random numbers: to the host's memory at once, to the device's as an operation on the generator's stream.
fn generate<N: Numbers>(
    name: &'static CStr,
    raw: RawGenerator,
    to: *mut N::Number,
    count: usize,
    numbers: N,
) -> Outcome {
    let shared = GENERATORS.get(raw)?;
    let (is_on_host, stream, multiple) = {
        let generator = shared.lock();
        let multiple = match generator.kind {
            Kind::Pseudo(_) => 1 + usize::from(numbers.in_pairs()),
            Kind::Quasi { .. } => generator.dimensions as usize,
        };
        (generator.is_on_host, generator.stream, multiple)
    };
    Status::LENGTH_NOT_MULTIPLE.unless(count.is_multiple_of(multiple))?;
    let write = move |generator: &mut Generator| {
        let sequence = generator.sequence();
        let count = if matches!(sequence, Sequence::Quasi(_)) { count / multiple } else { count };
        let mut to = to;
        numbers.next(sequence, count, |number| {
            // SAFETY: the program's memory has room for `count` numbers, or the runtime has checked it.
            unsafe {
                to.write_unaligned(number);
                to = to.add(1);
            }
        });
    };
    if is_on_host {
        Status::LAUNCH_FAILURE.unless(!to.is_null() || count == 0)?;
        write(&mut shared.lock());
        return Ok(());
    }
    // SAFETY: the runtime's.
    Status::PREEXISTING_FAILURE.unless(unsafe { cudaPeekAtLastError() } == 0)?;
    let touches = move |mut touches: gpurace_library::touched::Touches| {
        touches.elements(to.cast_const(), count, true);
    };
    submit(name, stream, false, touches, move || write(&mut shared.lock()))
        .map_err(|_| Status::LAUNCH_FAILURE)
}

/// Whole numbers of a distribution.
fn discrete(
    name: &'static CStr,
    raw: RawGenerator,
    to: *mut u32,
    count: usize,
    distribution: impl FnOnce() -> Outcome<Discrete>,
) -> Outcome {
    GENERATORS.get(raw)?;
    let distribution = distribution()?;
    generate(name, raw, to, count, Single(Width::Wide, move |bits| distribution.at(bits)))
}

fn poisson(lambda: f64) -> Outcome<Discrete> {
    Status::OUT_OF_RANGE.unless(lambda > 0.0 && lambda <= 400_000.0)?;
    Ok(Discrete::poisson(lambda))
}

fn binomial(trials: u32, p: f64) -> Outcome<Discrete> {
    Status::OUT_OF_RANGE.unless((0.0..=1.0).contains(&p))?;
    Ok(Discrete::binomial(trials, p))
}

/// The numbers of 64 bits that a kind makes: none, or a quasirandom sequence of such.
fn is_wide(raw: RawGenerator) -> Outcome<bool> {
    Ok(matches!(GENERATORS.get(raw)?.lock().kind, Kind::Quasi { is_wide: true, .. }))
}

/// Writes a result through the caller's pointer, or returns this status for a null pointer.
fn put<T>(to: *mut T, value: T, missing: Status) -> Outcome {
    // SAFETY: the program passes null or a valid pointer.
    missing.unless(unsafe { gpurace_library::export::put(to, value) })
}

/// Makes a generator and writes its handle.
fn create(to: *mut RawGenerator, kind: u32, is_on_host: bool) -> Outcome {
    Status::NOT_INITIALIZED.unless(!to.is_null())?;
    put(to, generator::create(Kind::new(kind)?, is_on_host), Status::NOT_INITIALIZED)
}

gpurace_library::functions! { name:
    fn curandCreateGenerator(to: *mut RawGenerator, kind: u32) {
        create(to, kind, false)
    }

    fn curandCreateGeneratorHost(to: *mut RawGenerator, kind: u32) {
        create(to, kind, true)
    }

    // It waits for nothing: cuRAND promises no order.
    fn curandDestroyGenerator(raw: RawGenerator) {
        GENERATORS.destroy(raw).map(drop)
    }

    fn curandGetVersion(to: *mut c_int) {
        put(to, VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2], Status::OUT_OF_RANGE)
    }

    fn curandGetProperty(part: u32, to: *mut c_int) {
        put(to, *VERSION.get(part as usize).ok_or(Status::OUT_OF_RANGE)?, Status::OUT_OF_RANGE)
    }

    fn curandSetStream(raw: RawGenerator, stream: *mut c_void) {
        GENERATORS.get(raw)?.lock().stream = stream;
        Ok(())
    }

    fn curandSetPseudoRandomGeneratorSeed(raw: RawGenerator, seed: u64) {
        GENERATORS.get(raw)?.lock().set_seed(seed)
    }

    fn curandSetGeneratorOffset(raw: RawGenerator, offset: u64) {
        GENERATORS.get(raw)?.lock().set_offset(offset)
    }

    fn curandSetGeneratorOrdering(raw: RawGenerator, ordering: u32) {
        GENERATORS.get(raw)?.lock().set_ordering(ordering)
    }

    fn curandSetQuasiRandomGeneratorDimensions(raw: RawGenerator, dimensions: u32) {
        GENERATORS.get(raw)?.lock().set_dimensions(dimensions)
    }

    // The sequence is made when the first number is asked for.
    fn curandGenerateSeeds(raw: RawGenerator) {
        GENERATORS.get(raw)?.lock().sequence();
        Ok(())
    }

    fn curandGenerate(raw: RawGenerator, to: *mut u32, count: usize) {
        Status::TYPE_ERROR.unless(!is_wide(raw)?)?;
        generate(name, raw, to, count, Single(Width::Narrow, Bits::top))
    }

    fn curandGenerateLongLong(raw: RawGenerator, to: *mut u64, count: usize) {
        Status::TYPE_ERROR.unless(is_wide(raw)?)?;
        let all = |bits| match bits {
            Bits::Narrow(bits) => bits.into(),
            Bits::Wide(bits) => bits,
        };
        generate(name, raw, to, count, Single(Width::Wide, all))
    }

    fn curandGenerateUniform(raw: RawGenerator, to: *mut f32, count: usize) {
        generate(name, raw, to, count, Single(Width::Narrow, |bits: Bits| bits.unit() as f32))
    }

    fn curandGenerateUniformDouble(raw: RawGenerator, to: *mut f64, count: usize) {
        generate(name, raw, to, count, Single(Width::Wide, Bits::unit))
    }

    fn curandGenerateNormal(raw: RawGenerator, to: *mut f32, count: usize, mean: f32, deviation: f32) {
        let (mean, deviation) = (f64::from(mean), f64::from(deviation));
        generate(name, raw, to, count, Normal(Width::Narrow, move |z| (mean + deviation * z) as f32))
    }

    fn curandGenerateNormalDouble(raw: RawGenerator, to: *mut f64, count: usize, mean: f64, deviation: f64) {
        generate(name, raw, to, count, Normal(Width::Wide, move |z| mean + deviation * z))
    }

    fn curandGenerateLogNormal(raw: RawGenerator, to: *mut f32, count: usize, mean: f32, deviation: f32) {
        let (mean, deviation) = (f64::from(mean), f64::from(deviation));
        generate(name, raw, to, count, Normal(Width::Narrow, move |z: f64| (mean + deviation * z).exp() as f32))
    }

    fn curandGenerateLogNormalDouble(raw: RawGenerator, to: *mut f64, count: usize, mean: f64, deviation: f64) {
        generate(name, raw, to, count, Normal(Width::Wide, move |z: f64| (mean + deviation * z).exp()))
    }

    fn curandGeneratePoisson(raw: RawGenerator, to: *mut u32, count: usize, lambda: f64) {
        discrete(name, raw, to, count, || poisson(lambda))
    }

    // All methods give the same distribution.
    fn curandGeneratePoissonMethod(raw: RawGenerator, to: *mut u32, count: usize, lambda: f64, _method: u32) {
        discrete(name, raw, to, count, || poisson(lambda))
    }

    fn curandGenerateBinomial(raw: RawGenerator, to: *mut u32, count: usize, trials: u32, p: f64) {
        discrete(name, raw, to, count, || binomial(trials, p))
    }

    fn curandGenerateBinomialMethod(
        raw: RawGenerator,
        to: *mut u32,
        count: usize,
        trials: u32,
        p: f64,
        _method: u32,
    ) {
        discrete(name, raw, to, count, || binomial(trials, p))
    }

    fn curandCreatePoissonDistribution(lambda: f64, to: *mut *mut c_void) {
        Status::NOT_INITIALIZED.unless(!to.is_null())?;
        put(to, null_mut(), Status::NOT_INITIALIZED)?;
        put(to, histogram::create(lambda)?, Status::NOT_INITIALIZED)
    }

    fn curandDestroyDistribution(distribution: *mut c_void) {
        histogram::destroy(distribution)
    }

    // A scrambled sequence has the same vectors and is scrambled by its constants.
    fn curandGetDirectionVectors32(to: *mut *const [u32; 32], set: u32) {
        Status::OUT_OF_RANGE.unless(matches!(set, 101 | 102))?;
        put(to, sobol::VECTORS_32.as_ptr(), Status::OUT_OF_RANGE)
    }

    fn curandGetDirectionVectors64(to: *mut *const [u64; 64], set: u32) {
        Status::OUT_OF_RANGE.unless(matches!(set, 103 | 104))?;
        put(to, sobol::VECTORS_64.as_ptr(), Status::OUT_OF_RANGE)
    }

    fn curandGetScrambleConstants32(to: *mut *const u32) {
        put(to, sobol::CONSTANTS_32.as_ptr(), Status::OUT_OF_RANGE)
    }

    fn curandGetScrambleConstants64(to: *mut *const u64) {
        put(to, sobol::CONSTANTS_64.as_ptr(), Status::OUT_OF_RANGE)
    }
}
