//! `curandGenerator_t`: a kind, settings and a sequence.

use std::ffi::c_void;
use std::sync::Arc;

use gpurace_library::registry::{Raw, Registry};
use parking_lot::Mutex;

use crate::sequence::{Pseudo, Quasi};
use crate::sobol::MOST_DIMENSIONS;
use crate::status::{Outcome, Status};

/// `curandGenerator_t`
pub type RawGenerator = Raw;

/// `curandRngType_t`, without those that stand for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pseudorandom generator, by its number.
    Pseudo(u32),
    /// One of Sobol's sequences.
    Quasi {
        /// Its numbers are scrambled.
        is_scrambled: bool,
        /// Its numbers have 64 bits, otherwise 32.
        is_wide: bool,
    },
}

impl Kind {
    /// The kind with this number.
    ///
    /// # Errors
    /// `CURAND_STATUS_TYPE_ERROR` if there is none.
    pub fn new(number: u32) -> Outcome<Self> {
        match number {
            // The default is XORWOW.
            100 | 101 => Ok(Self::Pseudo(101)),
            // MRG32k3a, MTGP32, MT19937, Philox.
            121 | 141 | 142 | 161 => Ok(Self::Pseudo(number)),
            200 | 201 => Ok(Self::Quasi { is_scrambled: false, is_wide: false }),
            202 => Ok(Self::Quasi { is_scrambled: true, is_wide: false }),
            203 => Ok(Self::Quasi { is_scrambled: false, is_wide: true }),
            204 => Ok(Self::Quasi { is_scrambled: true, is_wide: true }),
            _ => Err(Status::TYPE_ERROR),
        }
    }

    fn is_pseudo(self) -> bool {
        matches!(self, Self::Pseudo(_))
    }
}

/// A sequence, made when the first number is asked for.
pub enum Sequence {
    /// See there.
    Pseudo(Box<Pseudo>),
    /// See there.
    Quasi(Quasi),
}

/// A generator.
pub struct Generator {
    /// Its kind.
    pub kind: Kind,
    /// It writes the host's memory.
    pub is_on_host: bool,
    /// The `cudaStream_t`.
    pub stream: *mut c_void,
    /// The dimensions of a quasirandom sequence.
    pub dimensions: u32,
    seed: u64,
    offset: u64,
    sequence: Option<Sequence>,
}

// SAFETY: the stream is only passed on.
unsafe impl Send for Generator {}

/// A generator that calls and operations share.
pub type Shared = Arc<Mutex<Generator>>;

/// The generators that exist. Graphs keep what they need of one that is destroyed.
pub static GENERATORS: Registry<Shared, Status> = Registry::new(Status::NOT_INITIALIZED);

/// Makes a generator.
pub fn create(kind: Kind, is_on_host: bool) -> RawGenerator {
    let generator = Generator {
        kind,
        is_on_host,
        stream: std::ptr::null_mut(),
        dimensions: 1,
        seed: 0,
        offset: 0,
        sequence: None,
    };
    GENERATORS.create(Arc::new(Mutex::new(generator)))
}

impl Generator {
    /// Sets the seed. The sequence begins again, at its offset.
    ///
    /// # Errors
    /// `CURAND_STATUS_TYPE_ERROR` for a quasirandom generator.
    pub fn set_seed(&mut self, seed: u64) -> Outcome {
        Status::TYPE_ERROR.unless(self.kind.is_pseudo())?;
        self.seed = seed;
        self.sequence = None;
        Ok(())
    }

    /// Sets the place from which the sequence goes on.
    ///
    /// # Errors
    /// `CURAND_STATUS_TYPE_ERROR` for MTGP32 and MT19937, which cannot skip.
    pub fn set_offset(&mut self, offset: u64) -> Outcome {
        Status::TYPE_ERROR.unless(!matches!(self.kind, Kind::Pseudo(141 | 142)))?;
        self.offset = offset;
        self.sequence = None;
        Ok(())
    }

    /// Sets the ordering (`curandOrdering_t`), which changes nothing but that the sequence begins again.
    ///
    /// # Errors
    /// `CURAND_STATUS_OUT_OF_RANGE` for one that the kind does not have.
    pub fn set_ordering(&mut self, ordering: u32) -> Outcome {
        let legal = if self.kind.is_pseudo() { 100..=104 } else { 201..=201 };
        Status::OUT_OF_RANGE.unless(legal.contains(&ordering))?;
        self.sequence = None;
        Ok(())
    }

    /// Sets the number of dimensions.
    ///
    /// # Errors
    /// `CURAND_STATUS_TYPE_ERROR` for a pseudorandom generator, `CURAND_STATUS_OUT_OF_RANGE` for a number that no
    /// sequence has.
    pub fn set_dimensions(&mut self, dimensions: u32) -> Outcome {
        Status::TYPE_ERROR.unless(!self.kind.is_pseudo())?;
        Status::OUT_OF_RANGE.unless((1..=MOST_DIMENSIONS).contains(&dimensions))?;
        self.dimensions = dimensions;
        self.sequence = None;
        Ok(())
    }

    /// The sequence, at the place from which it goes on.
    pub fn sequence(&mut self) -> &mut Sequence {
        self.sequence.get_or_insert_with(|| match self.kind {
            Kind::Pseudo(kind) => Sequence::Pseudo(Box::new(Pseudo::new(self.seed, kind, self.offset))),
            Kind::Quasi { is_scrambled, is_wide } => {
                Sequence::Quasi(Quasi::new(self.dimensions, is_scrambled, is_wide, self.offset))
            }
        })
    }
}
