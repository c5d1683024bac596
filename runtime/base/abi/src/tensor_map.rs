//! Tensor maps: what a `CUtensorMap` holds here, and which memory a copy through it accesses.
//!
//! A map describes a tensor in global memory and a box. A copy moves the elements of a box between the
//! tensor, from given coordinates on, and shared memory, where the box is dense. [`TensorMap::plan`] cuts
//! the box into pieces: consecutive bytes in both memories, or bytes that lie outside of the tensor.

/// The most dimensions.
pub const MOST_DIMENSIONS: usize = 5;
/// The words of a `CUtensorMap`.
pub const WORDS: usize = 16;
/// The alignment of a box in shared memory (PTX ISA, "Tensor copies").
pub const BOX_ALIGNMENT: u64 = 128;

/// The first word of a map. Only gpurace makes maps with it.
const MAGIC: u64 = u64::from_le_bytes(*b"gpuracet");
/// The most bytes of a box: more than any block's shared memory.
const MOST_BYTES: u64 = 1 << 20;
/// What swizzles move.
const CHUNK: u64 = 16;

/// How the 16-byte chunks of a box lie in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swizzle {
    /// One after the other.
    None,
    /// Exchanged within 32 bytes.
    Bytes32,
    /// Exchanged within 64 bytes.
    Bytes64,
    /// Exchanged within 128 bytes.
    Bytes128,
}

impl Swizzle {
    /// The swizzle with this number in `CUtensorMapSwizzle`.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::None, Self::Bytes32, Self::Bytes64, Self::Bytes128].get(number as usize).copied()
    }

    /// The bytes within which chunks are exchanged, if they are.
    pub fn span(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }

    /// Where the byte at an address of shared memory is moved to. The index of the 128 bytes that hold it,
    /// modulo the chunks of the span, changes the index of its chunk by exclusive or.
    pub fn apply(self, address: u64) -> u64 {
        address ^ ((address >> 7 << 4) & (self.span().unwrap_or(CHUNK) - CHUNK))
    }
}

/// A tensor in global memory, and a box to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The address of the first element.
    pub address: u64,
    /// The number of dimensions, 1 to 5. What follows has one entry for each; others are 1, and strides 0.
    pub rank: usize,
    /// The bytes of an element.
    pub element: u64,
    /// The elements of each dimension, the innermost first.
    pub sizes: [u64; MOST_DIMENSIONS],
    /// The bytes from one index of a dimension to the next.
    pub strides: [u64; MOST_DIMENSIONS],
    /// The indices that the box spans, 1 to 256.
    pub spans: [u32; MOST_DIMENSIONS],
    /// Of how many of them the box has one, 1 to 8.
    pub steps: [u32; MOST_DIMENSIONS],
    /// The order of the box in shared memory.
    pub swizzle: Swizzle,
    /// True if elements outside of the tensor are NaNs, and not zeros.
    pub fills_nan: bool,
}

/// Bytes that a copy moves or fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorPiece {
    /// The first byte in global memory; 0 for bytes outside of the tensor.
    pub global: usize,
    /// The first byte in shared memory, from the start of the box on.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

impl TensorMap {
    /// The words of a `CUtensorMap`.
    pub fn encode(&self) -> [u64; WORDS] {
        let bytes = |values: [u32; MOST_DIMENSIONS]| {
            values.iter().rev().fold(0, |word, value| word << 8 | u64::from(value - 1))
        };
        let mut words = [0; WORDS];
        words[0] = MAGIC;
        words[1] = self.address;
        words[2] = self.rank as u64
            | self.element << 8
            | (self.swizzle as u64) << 16
            | u64::from(self.fills_nan) << 24;
        words[3..8].copy_from_slice(&self.sizes);
        words[8..13].copy_from_slice(&self.strides);
        words[13] = bytes(self.spans);
        words[14] = bytes(self.steps);
        words
    }

    /// The map that [`Self::encode`] has made these words of; `None` for other words.
    pub fn decode(words: &[u64; WORDS]) -> Option<Self> {
        let bytes = |word: u64| std::array::from_fn(|n| u32::from((word >> (8 * n)) as u8) + 1);
        let byte = |n: u32| (words[2] >> (8 * n)) & 255;
        let map = Self {
            address: words[1],
            rank: byte(0) as usize,
            element: byte(1),
            sizes: std::array::from_fn(|n| words[3 + n]),
            strides: std::array::from_fn(|n| words[8 + n]),
            spans: bytes(words[13]),
            steps: bytes(words[14]),
            swizzle: Swizzle::from_number(byte(2) as u32)?,
            fills_nan: byte(3) != 0,
        };
        (words[0] == MAGIC).then_some(map)
    }

    /// The elements of the box along a dimension.
    fn extent(&self, dimension: usize) -> u32 {
        self.spans[dimension].div_ceil(self.steps[dimension])
    }

    /// The bytes of the box.
    pub fn box_bytes(&self) -> u64 {
        (0..MOST_DIMENSIONS).fold(self.element, |bytes, n| bytes.saturating_mul(u64::from(self.extent(n))))
    }

    /// Cuts the box at some coordinates into `pieces`. `shared` is where it begins in shared memory.
    /// Returns false if the box fits into no shared memory.
    pub fn plan(
        &self,
        coordinates: [i32; MOST_DIMENSIONS],
        shared: u64,
        pieces: &mut Vec<TensorPiece>,
    ) -> bool {
        pieces.clear();
        if self.box_bytes() > MOST_BYTES {
            return false;
        }
        let row = u64::from(self.extent(0)) * self.element;
        let mut index = [0; MOST_DIMENSIONS];
        for start in (0..self.box_bytes()).step_by(row as usize) {
            self.plan_row(coordinates, index, shared, start, pieces);
            for (n, at) in index.iter_mut().enumerate().skip(1) {
                *at += 1;
                if *at < self.extent(n) {
                    break;
                }
                *at = 0;
            }
        }
        true
    }

    /// Plans the row of the box with this index. It begins at byte `start` of the box.
    fn plan_row(
        &self,
        coordinates: [i32; MOST_DIMENSIONS],
        index: [u32; MOST_DIMENSIONS],
        shared: u64,
        start: u64,
        pieces: &mut Vec<TensorPiece>,
    ) {
        let at = |n: usize| i64::from(coordinates[n]) + i64::from(index[n]) * i64::from(self.steps[n]);
        let size = |n: usize| self.sizes[n] as i64;
        let there = (1..self.rank).all(|n| (0..size(n)).contains(&at(n)));
        let first = (1..self.rank)
            .fold(self.address as i64, |sum, n| sum.wrapping_add(at(n).wrapping_mul(self.strides[n] as i64)));
        let length = i64::from(self.extent(0));
        // The elements of the row that lie within the tensor, which are consecutive.
        let low = (-at(0)).clamp(0, length);
        let high = if there { (size(0) - at(0)).clamp(low, length) } else { low };
        let element = self.element as i64;
        for (from, to, inside) in [(0, low, false), (low, high, true), (high, length, false)] {
            let (mut from, to) = ((from * element) as u64, (to * element) as u64);
            while from < to {
                let end = match self.swizzle {
                    Swizzle::None => to,
                    _ => to.min((start + from + 1).next_multiple_of(CHUNK) - start),
                };
                let global = first.wrapping_add(at(0) * element).wrapping_add(from as i64);
                pieces.push(TensorPiece {
                    global: if inside { global as usize } else { 0 },
                    offset: self.swizzle.apply(shared + start + from) - shared,
                    bytes: end - from,
                });
                from = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rank: usize, element: u64, sizes: &[u64], spans: &[u32], steps: &[u32]) -> TensorMap {
        fn fill<T: Copy>(of: &[T], rest: T) -> [T; MOST_DIMENSIONS] {
            std::array::from_fn(|n| of.get(n).copied().unwrap_or(rest))
        }
        let sizes = fill(sizes, 1);
        let mut strides = [0; MOST_DIMENSIONS];
        strides[0] = element;
        for n in 1..rank {
            // Rows have some bytes between them.
            strides[n] = (strides[n - 1] * sizes[n - 1]).next_multiple_of(16) + 16;
        }
        TensorMap {
            address: 0x10000,
            rank,
            element,
            sizes,
            strides,
            spans: fill(spans, 1),
            steps: fill(steps, 1),
            swizzle: Swizzle::None,
            fills_nan: false,
        }
    }

    /// Each byte of the box in shared memory: which byte of global memory it is, one element after the other.
    fn by_elements(map: &TensorMap, coordinates: [i32; MOST_DIMENSIONS], shared: u64) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        let counts: Vec<u32> = (0..MOST_DIMENSIONS).map(|n| map.spans[n].div_ceil(map.steps[n])).collect();
        let elements: u32 = counts.iter().product();
        for e in 0..elements {
            let (mut rest, mut inside, mut global) = (e, true, map.address as i64);
            for (n, count) in counts.iter().enumerate().take(map.rank) {
                let c = i64::from(coordinates[n]) + i64::from(rest % count * map.steps[n]);
                rest /= count;
                inside &= c >= 0 && c < map.sizes[n] as i64;
                global += c * map.strides[n] as i64;
            }
            for byte in 0..map.element {
                let address = shared + u64::from(e) * map.element + byte;
                let (line, chunk) = (address / 128, address / 16 % 8);
                let chunks = map.swizzle.span().map_or(1, |span| span / 16);
                let moved = line * 128 + (chunk ^ (line % chunks)) * 16 + address % 16;
                found.push((moved - shared, if inside { global as u64 + byte } else { 0 }));
            }
        }
        found.sort_unstable();
        found
    }

    fn by_pieces(map: &TensorMap, coordinates: [i32; MOST_DIMENSIONS], shared: u64) -> Vec<(u64, u64)> {
        let mut pieces = Vec::new();
        assert!(map.plan(coordinates, shared, &mut pieces));
        let bytes = |piece: &TensorPiece| {
            let TensorPiece { global, offset, bytes } = *piece;
            (0..bytes).map(move |n| (offset + n, if global == 0 { 0 } else { global as u64 + n }))
        };
        let mut found: Vec<_> = pieces.iter().flat_map(bytes).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn pieces_are_the_elements_of_the_box() {
        let maps = [
            map(1, 4, &[21], &[16], &[]),
            map(2, 2, &[13, 9], &[8, 6], &[]),
            map(2, 8, &[6, 9], &[4, 7], &[1, 3]),
            map(3, 1, &[20, 5, 4], &[32, 3, 2], &[]),
            map(4, 4, &[5, 4, 3, 3], &[4, 2, 3, 2], &[1, 2, 1, 2]),
            map(5, 4, &[4, 3, 2, 3, 2], &[4, 2, 2, 2, 2], &[]),
        ];
        for of in maps {
            for number in 0..4 {
                let of = TensorMap { swizzle: Swizzle::from_number(number).unwrap(), ..of };
                for x in [-40, -3, -1, 0, 2, 5, 30] {
                    for y in [-2, 0, 1, 7] {
                        for shared in [0, 128, 896] {
                            let at = [x, y, -y, 1, 0];
                            assert_eq!(
                                by_pieces(&of, at, shared),
                                by_elements(&of, at, shared),
                                "{of:?} {at:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn swizzles_exchange_chunks_of_a_span() {
        // The first chunk of each of eight lines, as the chunk that it becomes.
        for (number, chunks) in [(0, [0; 8]), (1, [0, 1, 0, 1, 0, 1, 0, 1]), (2, [0, 1, 2, 3, 0, 1, 2, 3])] {
            let swizzle = Swizzle::from_number(number).unwrap();
            let found: [u64; 8] = std::array::from_fn(|line| swizzle.apply(128 * line as u64) % 128 / 16);
            assert_eq!(found, chunks);
        }
        assert!((0..8).all(|line| Swizzle::Bytes128.apply(128 * line) == 128 * line + 16 * line));
        assert_eq!(Swizzle::from_number(4), None);
    }

    #[test]
    fn maps_keep_what_they_are_made_of() {
        let mut of = map(5, 2, &[1 << 32, 3, 2, 3, 2], &[256, 2, 1, 2, 2], &[1, 8, 1, 2, 1]);
        (of.swizzle, of.fills_nan) = (Swizzle::Bytes64, true);
        assert_eq!(TensorMap::decode(&of.encode()), Some(of));
        assert_eq!(TensorMap::decode(&[0; WORDS]), None);
    }

    #[test]
    fn a_box_that_fits_nowhere_has_no_plan() {
        let of = map(3, 8, &[256, 256, 256], &[256, 256, 256], &[]);
        assert!(!of.plan([0; MOST_DIMENSIONS], 0, &mut Vec::new()));
    }
}
