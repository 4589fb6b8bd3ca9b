//! Declarations of descent rules: the trait that a file of [`rules`](super::rules) implements, and the enumeration that is
//! made of all of them.

pub(crate) use super::Descent;
pub use crate::options::Options;
pub use crate::{Workspace, state};
pub use leastwise_device::{Command, Slice};
pub use leastwise_error::Error;
pub use leastwise_kernels::descent;
pub use leastwise_problem::Problem;

/// Method that knows nothing but the gradient: the way in which it makes directions.
pub trait DescentRule: Copy {
    /// Number by which `two_loop.wgsl` knows it.
    const NUMBER: u32;
    /// Number by which `line_search.wgsl` knows it, or another rule that looks for its points in the same way.
    const SEARCH: u32 = Self::NUMBER;
    /// Name in options and reports.
    const NAME: &'static str;
    /// Line in the documentation of `SolveOptions.method`.
    const DESCRIPTION: &'static str;
    /// Cells of its line in `docs/METHODS.md`: a step, and what it is good for.
    const STEP: &'static str;
    const GOOD_FOR: &'static str;
    /// Options that not every rule takes, by their names in TypeScript.
    const OPTIONS: &'static [&'static str] = &[];
    /// True if it looks for a point along its direction. Else every finite trial is taken, whatever its cost.
    const SEARCHES: bool = true;
    /// True if its directions depend on more than the last step: then it needs fewer of them.
    const REMEMBERS: bool = false;

    /// The rule of these options, checked.
    fn of(options: &Options) -> Result<Self, Error>;

    /// Pairs s, y that are kept.
    fn pairs(self) -> u32 {
        1
    }

    /// The state that the first trial finds.
    fn start(self) -> Vec<(u32, f64)> {
        Vec::new()
    }

    /// Its options in words: a solver that restores a checkpoint must have the same.
    fn manner(self) -> String {
        String::new()
    }

    /// Command that makes the next direction, in `work.z`; `None` if `two_loop.wgsl` has its coefficients.
    fn direction(self, _: &Turn, _: &Workspace, _: &Problem) -> Option<Command> {
        None
    }
}

/// Inputs of a direction, beside the workspace's.
pub struct Turn {
    /// s₀ …, y₀ …, and the elements between two of them.
    pub history: Slice,
    pub stride: u32,
    /// Elements that may move, if `is_masked`.
    pub free: Slice,
    pub is_masked: bool,
}

/// Declarations of a rule that need no options.
pub struct RuleEntry {
    /// Name in options and reports.
    pub name: &'static str,
    /// Line of the rule in the documentation of `SolveOptions.method`.
    pub description: &'static str,
    /// Cells of its line in `docs/METHODS.md`, but for the name.
    pub row: [&'static str; 2],
    /// Options that not every rule takes, by their names in TypeScript.
    pub options: &'static [&'static str],
    /// True if the rule looks for a point along its direction.
    pub searches: bool,
}

/// The enumeration of rules, in the order of their numbers.
macro_rules! descent_rules {
    ($($name:ident,)*) => {
        /// Rule of a descent: how directions are made of gradients.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum Rule { $(#[doc = concat!("Rule with the options of [`", stringify!($name), "`].")] $name($name)),* }

        impl Rule {
            /// Declarations of all rules, in the order of their numbers.
            pub const TABLE: &[RuleEntry] = &[$(RuleEntry {
                name: <$name as DescentRule>::NAME,
                description: <$name as DescentRule>::DESCRIPTION,
                row: [<$name as DescentRule>::STEP, <$name as DescentRule>::GOOD_FOR],
                options: <$name as DescentRule>::OPTIONS,
                searches: <$name as DescentRule>::SEARCHES,
            }),*];

            /// All rules, as options have them.
            pub fn all(options: &Options) -> Result<Vec<Self>, Error> {
                Ok(vec![$(Self::$name($name::of(options)?)),*])
            }

            /// Name in options and reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name(_) => <$name as DescentRule>::NAME),* }
            }

            /// True if the rule takes this option, which not every rule does.
            pub fn takes(self, option: &str) -> bool {
                match self { $(Self::$name(_) => <$name as DescentRule>::OPTIONS.contains(&option)),* }
            }

            /// True if the rule looks for a point along its direction. Otherwise it takes every finite trial.
            pub fn searches(self) -> bool {
                match self { $(Self::$name(_) => <$name as DescentRule>::SEARCHES),* }
            }

            pub(crate) fn remembers(self) -> bool {
                match self { $(Self::$name(_) => <$name as DescentRule>::REMEMBERS),* }
            }

            pub(crate) fn manner(self) -> String {
                match self { $(Self::$name(rule) => rule.manner()),* }
            }

            /// Elements of the solver's state, with the values that the first trial finds.
            pub fn start(self) -> Vec<(u32, f64)> {
                match self { $(Self::$name(rule) => rule.start()),* }
            }

            pub(super) fn search(self) -> u32 {
                match self { $(Self::$name(_) => <$name as DescentRule>::SEARCH),* }
            }

            pub(super) fn number(self) -> u32 {
                match self { $(Self::$name(_) => <$name as DescentRule>::NUMBER),* }
            }

            pub(super) fn pairs(self) -> u32 {
                match self { $(Self::$name(rule) => rule.pairs()),* }
            }

            pub(super) fn direction(self, turn: &Turn, work: &Workspace, problem: &Problem) -> Option<Command> {
                match self { $(Self::$name(rule) => rule.direction(turn, work, problem)),* }
            }
        }
    };
}

pub(crate) use descent_rules;
