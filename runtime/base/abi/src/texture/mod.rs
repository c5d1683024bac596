//! Textures and surfaces: what a handle means, and which memory an instruction accesses through it.
//!
//! The executor applies these rules when a kernel fetches. The prover needs the descriptions alone.

mod fetch;

pub use fetch::{FetchPlan, MOST_TEXELS, TexelPart};

/// The treatment of a coordinate outside the texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The texture repeats; for normalised coordinates only.
    Wrap,
    /// The nearest texel of the edge.
    Clamp,
    /// The texture repeats, every second time mirrored; for normalised coordinates only.
    Mirror,
    /// The border's colour.
    Border,
}

/// The type of a texel's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentKind {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number of 16 or 32 bits.
    Float,
}

/// The format of a texel: components of equal width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TexelFormat {
    /// Number of components: 1, 2 or 4.
    pub components: usize,
    /// Bits of each: 8, 16 or 32.
    pub bits: u32,
    /// Type of each.
    pub kind: ComponentKind,
}

impl TexelFormat {
    /// Bytes of a texel.
    pub fn bytes(&self) -> usize {
        self.components * self.bits as usize / 8
    }
}

/// Memory that a texture or surface is a view of: texels in rows, rows in slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texels {
    /// Address of the first texel.
    pub address: usize,
    /// Texels of a row, rows of a slice, slices; 1 for each that the view does not have.
    pub size: [usize; 3],
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Format of each texel.
    pub format: TexelFormat,
}

impl Texels {
    /// The address of a texel.
    fn at(&self, [x, y, z]: [usize; 3]) -> usize {
        self.address + (z * self.size[1] + y) * self.pitch + x * self.format.bytes()
    }
}

/// A texture object.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// The memory that it shows.
    pub texels: Texels,
    /// The address mode of each coordinate.
    pub address_modes: [AddressMode; 3],
    /// Linear filtering: neighbouring texels are mixed.
    pub linear: bool,
    /// Integers are read as numbers of [0, 1] or [-1, 1].
    pub normalized_float: bool,
    /// Coordinates are of [0, 1].
    pub normalized_coordinates: bool,
    /// The first three components are encoded as sRGB.
    pub srgb: bool,
    /// The colour of [`AddressMode::Border`].
    pub border: [f32; 4],
}

/// The object that a handle refers to.
#[derive(Clone, Debug, PartialEq)]
pub enum TextureObject {
    /// A texture object.
    Texture(Texture),
    /// A surface object.
    Surface(Texels),
}

/// The shape of an instruction's coordinates, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// `1d`.
    OneD,
    /// `2d`.
    TwoD,
    /// `3d`.
    ThreeD,
    /// `a1d`: a layer, then a coordinate.
    OneDLayered,
    /// `a2d`.
    TwoDLayered,
    /// `cube`.
    Cube,
    /// `acube`.
    CubeLayered,
}

impl Geometry {
    fn of_number(number: u32) -> Option<Self> {
        use Geometry::{Cube, CubeLayered, OneD, OneDLayered, ThreeD, TwoD, TwoDLayered};
        let all = [OneD, TwoD, ThreeD, OneDLayered, TwoDLayered, Cube, CubeLayered];
        all.get(number as usize).copied()
    }
}

/// The operation of an instruction on a texture or surface, and its coordinates.
#[derive(Clone, Copy, Debug)]
pub struct FetchPoint {
    /// The geometry's number in bits 0 to 7. For a texture: bit 8 if the coordinates are integers,
    /// and in bits 16 to 19 n for a gather of component n - 1, or 0. For a surface: in bits 8 and 9
    /// the result of an access outside: 0 ends the launch, 1 accesses nothing (`.zero`), 2 accesses
    /// the edge (`.clamp`).
    pub operation: u32,
    /// The coordinates, as the instruction has them.
    pub coordinates: [u32; 4],
}

/// The memory that an access to a surface touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceAccess {
    /// The bytes at this address.
    At(usize),
    /// None: it is outside, reads zeros and writes nothing.
    Nowhere,
    /// None: it is outside, and that ends the launch.
    Outside,
    /// None: the handle is no surface, or there is no such geometry.
    NoSurface,
}
