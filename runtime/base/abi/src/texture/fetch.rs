//! The texels that a fetch reads, and the bytes that a surface access touches.
//!
//! The rules are those of the CUDA C++ Programming Guide, "Texture Fetching": point sampling,
//! linear filtering with 8 bits of fraction, and the four address modes. Levels of detail are
//! ignored: there are no mipmaps.

use super::{AddressMode, FetchPoint, Geometry, SurfaceAccess, Texels, Texture};

/// The most texels that a fetch reads.
pub const MOST_TEXELS: usize = 8;

/// A texel that takes part in a fetch.
#[derive(Clone, Copy, Debug, Default)]
pub struct TexelPart {
    /// Its number among the texels that are read; `None` for the border.
    pub read: Option<usize>,
    /// Its weight in the result.
    pub weight: f32,
}

/// The texels of a fetch: which are read, and how they take part.
#[derive(Clone, Copy, Debug)]
pub struct FetchPlan {
    addresses: [usize; MOST_TEXELS],
    reads: usize,
    parts: [TexelPart; MOST_TEXELS],
    count: usize,
    gather: Option<usize>,
}

impl FetchPlan {
    /// The addresses of the texels that are read.
    pub fn reads(&self) -> &[usize] {
        &self.addresses[..self.reads]
    }

    /// The texels that take part, the border's among them.
    pub fn parts(&self) -> &[TexelPart] {
        &self.parts[..self.count]
    }

    /// The `n`th texel that takes part; nothing beyond the last one.
    pub fn part(&self, n: usize) -> TexelPart {
        self.parts.get(n).copied().unwrap_or_default()
    }

    /// The component that a gather takes from each of four texels.
    pub fn gather(&self) -> Option<usize> {
        self.gather
    }
}

/// The position along one coordinate: one or two indices, each with its weight. An index is `None`
/// for the border.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    indices: [Option<usize>; 2],
    weights: [f32; 2],
    count: usize,
}

impl Axis {
    fn one(index: Option<usize>) -> Self {
        Self { indices: [index, None], weights: [1.0, 0.0], count: 1 }
    }
}

fn in_range(index: i64, size: usize) -> Option<usize> {
    usize::try_from(index).ok().filter(|&index| index < size)
}

impl AddressMode {
    /// The index inside the texture that an index means, or `None` for the border.
    fn index(self, index: i64, size: usize) -> Option<usize> {
        let n = size as i64;
        match self {
            AddressMode::Clamp => Some(index.clamp(0, n - 1) as usize),
            AddressMode::Border => in_range(index, size),
            AddressMode::Wrap => Some(index.rem_euclid(n) as usize),
            AddressMode::Mirror => {
                let at = index.rem_euclid(2 * n);
                Some(if at < n { at } else { 2 * n - 1 - at } as usize)
            }
        }
    }
}

impl Texture {
    /// The position along one dimension. `pair` asks for the two texels around it.
    fn axis(&self, dimension: usize, coordinate: f32, pair: bool) -> Axis {
        let size = self.texels.size[dimension];
        let mut mode = self.address_modes[dimension];
        if !self.normalized_coordinates && matches!(mode, AddressMode::Wrap | AddressMode::Mirror) {
            mode = AddressMode::Clamp;
        }
        let scaled = if self.normalized_coordinates {
            f64::from(coordinate) * size as f64
        } else {
            f64::from(coordinate)
        };
        // NaN becomes 0, and a number far outside stays outside.
        let floor = |x: f64| x.floor().clamp(-1e15, 1e15) as i64;
        if !pair {
            return Axis::one(mode.index(floor(scaled), size));
        }
        let from = scaled - 0.5;
        let first = floor(from);
        // 9-bit fixed point with 8 bits of fraction (CUDA C++ Programming Guide, "Linear
        // Filtering").
        let fraction = (((from - from.floor()) * 256.0).round() / 256.0) as f32;
        let fraction = if fraction.is_finite() { fraction } else { 0.0 };
        Axis {
            indices: [mode.index(first, size), mode.index(first + 1, size)],
            weights: [1.0 - fraction, fraction],
            count: 2,
        }
    }

    /// Plans a fetch; `None` if no instruction has such an operation.
    pub fn plan(&self, point: FetchPoint) -> Option<FetchPlan> {
        let gather = (point.operation >> 16 & 0xf).checked_sub(1).map(|c| c as usize & 3);
        let [x, y, z] = self.axes(point, gather.is_some() || self.linear)?;
        let mut plan = FetchPlan {
            addresses: [0; MOST_TEXELS],
            reads: 0,
            parts: [TexelPart::default(); MOST_TEXELS],
            count: 0,
            gather,
        };
        for k in 0..z.count {
            for j in 0..y.count {
                for i in 0..x.count {
                    let weight = x.weights[i] * y.weights[j] * z.weights[k];
                    // A texel without weight is not read.
                    if weight == 0.0 && gather.is_none() {
                        continue;
                    }
                    let texel = x.indices[i].zip(y.indices[j]).zip(z.indices[k]);
                    let read = texel.map(|((x, y), z)| {
                        plan.addresses[plan.reads] = self.texels.at([x, y, z]);
                        plan.reads += 1;
                        plan.reads - 1
                    });
                    plan.parts[plan.count] = TexelPart { read, weight };
                    plan.count += 1;
                }
            }
        }
        Some(plan)
    }

    /// The positions along the three dimensions.
    fn axes(&self, point: FetchPoint, pair: bool) -> Option<[Axis; 3]> {
        let geometry = Geometry::of_number(point.operation & 0xff)?;
        let c = point.coordinates;
        let f = c.map(f32::from_bits);
        let layer = |layer: u32| (layer as usize).min(self.texels.size[2] - 1);
        let slice = |index| Axis::one(Some(index));
        if point.operation & 0x100 != 0 {
            // Integer coordinates have neither address modes nor filtering.
            let at = |n: usize| Axis::one(in_range(i64::from(c[n] as i32), self.texels.size[n]));
            return match geometry {
                Geometry::OneD => Some([at(0), slice(0), slice(0)]),
                Geometry::TwoD => Some([at(0), at(1), slice(0)]),
                Geometry::ThreeD => Some([at(0), at(1), at(2)]),
                _ => None,
            };
        }
        let axis = |dimension, coordinate| self.axis(dimension, coordinate, pair);
        Some(match geometry {
            Geometry::OneD => [axis(0, f[0]), slice(0), slice(0)],
            Geometry::TwoD => [axis(0, f[0]), axis(1, f[1]), slice(0)],
            Geometry::ThreeD => [axis(0, f[0]), axis(1, f[1]), axis(2, f[2])],
            Geometry::OneDLayered => [axis(0, f[1]), slice(0), slice(layer(c[0]))],
            Geometry::TwoDLayered => [axis(0, f[1]), axis(1, f[2]), slice(layer(c[0]))],
            Geometry::Cube | Geometry::CubeLayered => {
                let is_layered = geometry == Geometry::CubeLayered;
                let direction = if is_layered { [f[1], f[2], f[3]] } else { [f[0], f[1], f[2]] };
                let (face, s, t) = cube_face(direction);
                let first = if is_layered { c[0] as usize * 6 } else { 0 };
                // Coordinates on a face are of [0, 1], and clamped.
                let on_face = |dimension, coordinate| {
                    let view = Texture {
                        normalized_coordinates: true,
                        address_modes: [AddressMode::Clamp; 3],
                        ..self.clone()
                    };
                    view.axis(dimension, coordinate, pair)
                };
                let last = self.texels.size[2] - 1;
                [on_face(0, s), on_face(1, t), slice((first + face).min(last))]
            }
        })
    }
}

/// The face of a cube that a direction meets, and the place on it, of [0, 1]
/// (CUDA C++ Programming Guide, "Cubemap Textures").
fn cube_face([x, y, z]: [f32; 3]) -> (usize, f32, f32) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let (face, m, s, t) = if ax >= ay && ax >= az {
        if x >= 0.0 { (0, ax, -z, -y) } else { (1, ax, z, -y) }
    } else if ay >= az {
        if y >= 0.0 { (2, ay, x, z) } else { (3, ay, x, -z) }
    } else if z >= 0.0 {
        (4, az, x, -y)
    } else {
        (5, az, -x, -y)
    };
    (face, (s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0)
}

impl Texels {
    /// The bytes that an access of `size` bytes to these texels as a surface touches. The first
    /// coordinate within a row counts bytes.
    pub fn surface_access(&self, point: FetchPoint, size: usize) -> SurfaceAccess {
        let Some(geometry) = Geometry::of_number(point.operation & 0xff) else {
            return SurfaceAccess::NoSurface;
        };
        let c = point.coordinates.map(|c| i64::from(c as i32));
        let [x, y, z] = match geometry {
            Geometry::OneD => [c[0], 0, 0],
            Geometry::TwoD => [c[0], c[1], 0],
            Geometry::ThreeD => [c[0], c[1], c[2]],
            Geometry::OneDLayered => [c[1], 0, c[0]],
            Geometry::TwoDLayered | Geometry::Cube | Geometry::CubeLayered => [c[1], c[2], c[0]],
        };
        let outside = point.operation >> 8 & 3;
        let index = |at: i64, most: usize| match usize::try_from(at) {
            Ok(at) if at <= most => Some(at),
            _ if outside == 2 => Some(at.clamp(0, most as i64) as usize),
            _ => None,
        };
        let row = self.size[0] * self.format.bytes();
        let x = row.checked_sub(size).and_then(|last| index(x, last));
        let at = x.zip(index(y, self.size[1] - 1)).zip(index(z, self.size[2] - 1));
        match at {
            Some(((x, y), z)) => SurfaceAccess::At(self.at([0, y, z]) + x),
            None if outside == 0 => SurfaceAccess::Outside,
            None => SurfaceAccess::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::{ComponentKind, TexelFormat};

    fn texture(size: usize, modes: AddressMode, linear: bool, normalized: bool) -> Texture {
        Texture {
            texels: Texels {
                address: 0,
                size: [size, 1, 1],
                pitch: 4 * size,
                format: TexelFormat { components: 1, bits: 32, kind: ComponentKind::Float },
            },
            address_modes: [modes; 3],
            linear,
            normalized_float: false,
            normalized_coordinates: normalized,
            srgb: false,
            border: [0.0; 4],
        }
    }

    #[test]
    fn address_modes_are_those_of_the_guide() {
        use AddressMode::{Border, Clamp, Mirror, Wrap};
        let all = |mode: AddressMode| (-5..9).map(|i| mode.index(i, 4)).collect::<Vec<_>>();
        let some = |list: [usize; 14]| list.map(Some).to_vec();
        assert_eq!(all(Clamp), some([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]));
        assert_eq!(all(Wrap), some([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0]));
        assert_eq!(all(Mirror), some([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0]));
        let border: Vec<_> = (-5i64..9).map(|i| in_range(i, 4)).collect();
        assert_eq!(all(Border), border);
    }

    #[test]
    fn a_coordinate_at_a_texels_centre_reads_it_alone() {
        let t = texture(8, AddressMode::Clamp, true, false);
        let a = t.axis(0, 3.5, true);
        assert_eq!((a.indices[0], a.weights), (Some(3), [1.0, 0.0]));
        let b = t.axis(0, 3.75, true);
        assert_eq!((b.indices, b.weights), ([Some(3), Some(4)], [0.75, 0.25]));
        let edge = texture(8, AddressMode::Wrap, true, true).axis(0, 0.0, true);
        assert_eq!((edge.indices, edge.weights), ([Some(7), Some(0)], [0.5, 0.5]));
    }

    #[test]
    fn coordinates_that_are_no_numbers_stay_inside() {
        for coordinate in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            let a = texture(8, AddressMode::Clamp, true, false).axis(0, coordinate, true);
            assert!(a.indices.iter().all(|i| i.is_some_and(|i| i < 8)), "{coordinate}");
        }
    }

    #[test]
    fn the_faces_of_a_cube_are_met_in_their_middle() {
        let middles = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]];
        for (face, direction) in middles.into_iter().enumerate() {
            assert_eq!(cube_face(direction.map(|c| c as f32)), (face, 0.5, 0.5));
        }
    }
}
