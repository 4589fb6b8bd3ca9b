// Written by `npm run generate` from src/session/surface.idl. Do not edit.
//! Numbers and names of what is packed as a `Loss`.

/// Kind of a loss, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossCode {
    Trivial = 0,
    Huber = 1,
    SoftL1 = 2,
    Cauchy = 3,
    Arctan = 4,
    Tukey = 5,
    GemanMcClure = 6,
    Welsch = 7,
    Tolerant = 8,
    Barron = 9,
    Scaled = 10,
    Composed = 11,
    Traced = 12,
}

impl LossCode {
    const ALL: [Self; 13] = [
        Self::Trivial,
        Self::Huber,
        Self::SoftL1,
        Self::Cauchy,
        Self::Arctan,
        Self::Tukey,
        Self::GemanMcClure,
        Self::Welsch,
        Self::Tolerant,
        Self::Barron,
        Self::Scaled,
        Self::Composed,
        Self::Traced,
    ];

    /// The kind of this number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Name of the function that makes one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Huber => "huber",
            Self::SoftL1 => "softL1",
            Self::Cauchy => "cauchy",
            Self::Arctan => "arctan",
            Self::Tukey => "tukey",
            Self::GemanMcClure => "gemanMcClure",
            Self::Welsch => "welsch",
            Self::Tolerant => "tolerant",
            Self::Barron => "barron",
            Self::Scaled => "scaled",
            Self::Composed => "composed",
            Self::Traced => "traced",
        }
    }

    /// Names of its parameters.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Huber => &["delta"],
            Self::SoftL1 | Self::Cauchy | Self::Tukey | Self::GemanMcClure | Self::Welsch => &["c"],
            Self::Arctan => &["a"],
            Self::Tolerant => &["a", "b"],
            Self::Barron => &["alpha", "c"],
            Self::Scaled => &["factor"],
            _ => &[],
        }
    }
}
