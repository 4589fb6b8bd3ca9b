//! Losses of terms: a kind, which is part of the kernels, and the values of its parameters, which are data.

use leastwise_error::Error;
use leastwise_expr::{Graph, Leaf, tape};
use leastwise_kernel::{LossKind, TracedLoss};
use std::sync::Arc;

/// ρ in ½ w ρ(‖r‖²).
#[derive(Clone, PartialEq, Debug)]
pub struct Loss {
    pub kind: Arc<LossKind>,
    pub parameters: Vec<f64>,
}

/// Scales may be so small, and their inverse so large, that their squares are still squared in f32.
const LEAST_SCALE: f64 = 1e-9;
/// What stands for α = −∞ in Barron's loss: to both precisions there is no difference.
const BARRON_WELSCH: f64 = -1e18;
/// Losses that scaled and composed ones are made of.
const MAX_DEPTH: usize = 16;

impl Loss {
    /// s: the same as no loss.
    pub fn trivial() -> Self {
        Self { kind: Arc::new(LossKind::Trivial), parameters: Vec::new() }
    }

    pub fn huber(delta: f64) -> Result<Self, Error> {
        Self::with_scale(LossKind::Huber, "delta", delta)
    }

    pub fn soft_l1(c: f64) -> Result<Self, Error> {
        Self::with_scale(LossKind::SoftL1, "c", c)
    }

    pub fn cauchy(c: f64) -> Result<Self, Error> {
        Self::with_scale(LossKind::Cauchy, "c", c)
    }

    /// `a` is compared with s, not with ‖r‖.
    pub fn arctan(a: f64) -> Result<Self, Error> {
        Self::with_scale(LossKind::Arctan, "a", a)
    }

    pub fn tukey(c: f64) -> Result<Self, Error> {
        Self::with_scale(LossKind::Tukey, "c", c)
    }

    pub fn geman_mc_clure(c: f64) -> Result<Self, Error> {
        Self::with_scale(LossKind::GemanMcClure, "c", c)
    }

    pub fn welsch(c: f64) -> Result<Self, Error> {
        Self::with_scale(LossKind::Welsch, "c", c)
    }

    /// `a` and `b` are compared with s, not with ‖r‖.
    pub fn tolerant(a: f64, b: f64) -> Result<Self, Error> {
        checked("tolerant", "a", a, |a| a >= 0.0, "must not be negative")?;
        scale("tolerant", "b", b)?;
        Ok(Self { kind: Arc::new(LossKind::Tolerant), parameters: vec![a, b] })
    }

    /// α may be −∞.
    pub fn barron(alpha: f64, c: f64) -> Result<Self, Error> {
        if alpha.is_nan() || alpha > 1e6 {
            return Err(Error::InvalidOption(format!("barron(alpha, c): alpha must be a number of at most 1e6 or −Infinity, not {alpha}")));
        }
        scale("barron", "c", c)?;
        Ok(Self { kind: Arc::new(LossKind::Barron), parameters: vec![alpha.max(BARRON_WELSCH), c] })
    }

    /// factor · ρ(s)
    pub fn scaled(loss: &Loss, factor: f64) -> Result<Self, Error> {
        checked("scaled", "factor", factor, |factor| factor >= 0.0, "must not be negative")?;
        let parameters = [factor].into_iter().chain(loss.parameters.iter().copied()).collect();
        Ok(Self { kind: Arc::new(LossKind::Scaled(loss.kind.clone())), parameters })
    }

    /// outer(inner(s))
    pub fn composed(outer: &Loss, inner: &Loss) -> Self {
        let parameters = outer.parameters.iter().chain(&inner.parameters).copied().collect();
        Self { kind: Arc::new(LossKind::Composed(outer.kind.clone(), inner.kind.clone())), parameters }
    }

    /// A function that was traced: source 0 is s, the others are its parameters.
    pub fn traced(words: &[u32], output: u32, parameters: &[f64]) -> Result<Self, Error> {
        let refused = |message: String| Error::InvalidOption(format!("loss(function, parameters): {message}"));
        let leaf = |number: usize| match number {
            0 => Leaf::Slot { slot: 0, component: 0 },
            number => Leaf::Data { column: number as u32 - 1, component: 0 },
        };
        let sources: Vec<tape::Source> = (0..=parameters.len()).map(|number| tape::Source { leaf: leaf(number), width: 1 }).collect();
        let mut graph = Graph::new();
        let read = tape::check_literals(words, f32::MAX.into()).and_then(|()| tape::read_lifted(&mut graph, words, &[output], &sources));
        let (values, literals) = read.map_err(|error| refused(error.to_string()))?;
        let &[value] = &values[..] else {
            return Err(refused(format!("it gives {} scalars, but a loss is one", values.len())));
        };
        let (traced, leaves) =
            TracedLoss::new(&graph, value, leaf(0)).ok_or_else(|| refused("what it gives does not depend on s".into()))?;
        let values = leaves.iter().map(|leaf| match *leaf {
            Leaf::Data { column, .. } => checked("loss", &format!("parameter {column}"), parameters[column as usize], |_| true, ""),
            Leaf::Literal(number) => Ok(literals[number as usize]),
            _ => unreachable!("a tape has no other leaves"),
        });
        Ok(Self { parameters: values.collect::<Result<_, _>>()?, kind: Arc::new(LossKind::Traced(Arc::new(traced))) })
    }

    /// A loss as `ts/src/loss.ts` packs it: operations in words, in the order in which they are written as calls, and
    /// their parameters in numbers.
    pub fn unpack(words: &[u32], reals: &[f64]) -> Result<Self, Error> {
        let mut rest = Packed { words, reals };
        let loss = rest.loss(0)?;
        if rest.words.is_empty() && rest.reals.is_empty() { Ok(loss) } else { Err(incomplete()) }
    }

    /// The kind, unless it is as good as none.
    pub(super) fn robust(&self) -> Option<&Arc<LossKind>> {
        Some(&self.kind).filter(|kind| ***kind != LossKind::Trivial)
    }

    fn with_scale(kind: LossKind, parameter: &str, value: f64) -> Result<Self, Error> {
        scale(kind.name(), parameter, value)?;
        Ok(Self { kind: Arc::new(kind), parameters: vec![value] })
    }
}

fn scale(loss: &str, parameter: &str, value: f64) -> Result<f64, Error> {
    let range = LEAST_SCALE..=1.0 / LEAST_SCALE;
    checked(loss, parameter, value, |value| range.contains(&value), "must be positive, from 1e-9 to 1e9")
}

fn checked(loss: &str, parameter: &str, value: f64, holds: impl Fn(f64) -> bool, must: &str) -> Result<f64, Error> {
    if !value.is_finite() || value.abs() > f64::from(f32::MAX) {
        return Err(Error::InvalidOption(format!("loss {loss}: {parameter} is {value}, but must be finite")));
    }
    if !holds(value) {
        return Err(Error::InvalidOption(format!("loss {loss}: {parameter} is {value}, but {must}")));
    }
    Ok(value)
}

fn incomplete() -> Error {
    Error::InvalidOption("a loss crossed incompletely".into())
}

/// What is left of a packed loss.
struct Packed<'a> {
    words: &'a [u32],
    reals: &'a [f64],
}

impl<'a> Packed<'a> {
    fn word(&mut self) -> Result<u32, Error> {
        let (&word, rest) = self.words.split_first().ok_or_else(incomplete)?;
        self.words = rest;
        Ok(word)
    }

    fn reals(&mut self, count: usize) -> Result<&'a [f64], Error> {
        let (taken, rest) = self.reals.split_at_checked(count).ok_or_else(incomplete)?;
        self.reals = rest;
        Ok(taken)
    }

    fn loss(&mut self, depth: usize) -> Result<Loss, Error> {
        if depth > MAX_DEPTH {
            return Err(Error::InvalidOption(format!("a loss is made of more than {MAX_DEPTH} others inside each other")));
        }
        match self.word()? {
            0 => Ok(Loss::trivial()),
            1 => Loss::huber(self.reals(1)?[0]),
            2 => Loss::soft_l1(self.reals(1)?[0]),
            3 => Loss::cauchy(self.reals(1)?[0]),
            4 => Loss::arctan(self.reals(1)?[0]),
            5 => Loss::tukey(self.reals(1)?[0]),
            6 => Loss::geman_mc_clure(self.reals(1)?[0]),
            7 => Loss::welsch(self.reals(1)?[0]),
            8 => {
                let given = self.reals(2)?;
                Loss::tolerant(given[0], given[1])
            }
            9 => {
                let given = self.reals(2)?;
                Loss::barron(given[0], given[1])
            }
            10 => {
                let factor = self.reals(1)?[0];
                Loss::scaled(&self.loss(depth + 1)?, factor)
            }
            11 => {
                let outer = self.loss(depth + 1)?;
                Ok(Loss::composed(&outer, &self.loss(depth + 1)?))
            }
            12 => {
                let (parameters, output, length) = (self.word()?, self.word()?, self.word()?);
                let (tape, rest) = self.words.split_at_checked(length as usize).ok_or_else(incomplete)?;
                self.words = rest;
                Loss::traced(tape, output, self.reals(parameters as usize)?)
            }
            other => Err(Error::InvalidOption(format!("a loss crossed as number {other}, which there is none of"))),
        }
    }
}
