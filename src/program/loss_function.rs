//! Declarations of built-in losses: the trait that a file of [`losses`](crate::losses) implements, and the enumeration that
//! is made of all of them.

pub use leastwise_expr::Symbol;

/// Values that a parameter may have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Range {
    /// Positive, and its square is squared in f32.
    Scale,
    /// Zero or positive.
    NotNegative,
    /// At most this, or −∞.
    AtMost(f64),
}

/// Parameter of a built-in loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Name in TypeScript.
    pub name: &'static str,
    /// Symbol in formulas.
    pub symbol: &'static str,
    /// Values that are allowed.
    pub range: Range,
}

/// Built-in loss: defined for every s ≥ 0, 0 at 0, and never falling.
pub trait LossFunction {
    /// Number on the wire, which stays for good: checkpoints have it. `src/session/surface.idl` has those that are not free.
    const NUMBER: u32;
    /// Name of its function in TypeScript.
    const NAME: &'static str;
    /// Documentation of that function, and its example.
    const DESCRIPTION: &'static str;
    const EXAMPLE: &'static str;
    const PARAMETERS: &'static [Parameter];
    /// Cells of its line in `docs/LOSSES.md`: ρ(s), its least upper bound, where ρ(x²) becomes concave, and its source.
    const FORMULA: &'static str;
    const BOUND: &'static str;
    const INFLECTION: &'static str;
    const SOURCE: &'static str;

    /// ρ(s), with the parameters `p`.
    fn value<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        Self::rise(s.scope().constant(0.0), s, s, p)
    }

    /// ρ′(s)
    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g>;

    /// ρ″(s)
    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g>;

    /// ρ(high) − ρ(low) for low ≤ high = low + by, without cancellation.
    fn rise<'g>(low: Symbol<'g>, high: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g>;
}

/// The enumeration of built-in losses, in the order of their numbers.
macro_rules! built_in_losses {
    ($($name:ident,)*) => {
        /// Built-in loss.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum BuiltInLoss { $(#[doc = concat!("[`", stringify!($name), "`].")] $name),* }

        impl BuiltInLoss {
            /// All built-in losses.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The loss of this number.
            pub fn of(number: u32) -> Option<Self> {
                Self::ALL.iter().copied().find(|loss| loss.number() == number)
            }

            /// Number by which it crosses.
            pub fn number(self) -> u32 {
                match self { $(Self::$name => <$name as LossFunction>::NUMBER),* }
            }

            /// Name of its function in TypeScript.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => <$name as LossFunction>::NAME),* }
            }

            /// Documentation of that function, and its example.
            pub fn documentation(self) -> [&'static str; 2] {
                match self { $(Self::$name => [<$name as LossFunction>::DESCRIPTION, <$name as LossFunction>::EXAMPLE]),* }
            }

            /// Parameters, in their order.
            pub fn parameters(self) -> &'static [Parameter] {
                match self { $(Self::$name => <$name as LossFunction>::PARAMETERS),* }
            }

            /// Cells of its line in `docs/LOSSES.md`, but for the call.
            pub fn row(self) -> [&'static str; 4] {
                match self {
                    $(Self::$name => [
                        <$name as LossFunction>::FORMULA,
                        <$name as LossFunction>::BOUND,
                        <$name as LossFunction>::INFLECTION,
                        <$name as LossFunction>::SOURCE,
                    ]),*
                }
            }

            pub(crate) fn value<'g>(self, s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
                match self { $(Self::$name => <$name as LossFunction>::value(s, p)),* }
            }

            pub(crate) fn slope<'g>(self, s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
                match self { $(Self::$name => <$name as LossFunction>::slope(s, p)),* }
            }

            pub(crate) fn bend<'g>(self, s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
                match self { $(Self::$name => <$name as LossFunction>::bend(s, p)),* }
            }

            pub(crate) fn rise<'g>(self, low: Symbol<'g>, high: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
                match self { $(Self::$name => <$name as LossFunction>::rise(low, high, by, p)),* }
            }
        }
    };
}

pub(crate) use built_in_losses;
