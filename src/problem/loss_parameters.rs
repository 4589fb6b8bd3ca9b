//! Losses of terms: a kind, which is part of the kernels, and the values of its parameters, which are data.

use leastwise_error::Error;
use leastwise_expr::{Graph, Leaf, tape};
use leastwise_program::{BuiltInLoss, LossKind, Parameter, Range, TracedLoss};
use std::sync::Arc;

/// ρ in ½ w ρ(‖r‖²).
#[derive(Clone, PartialEq, Debug)]
pub struct Loss {
    /// Function ρ, up to its parameters.
    pub kind: Arc<LossKind>,
    /// Values of its parameters, in the order of the kind.
    pub parameters: Vec<f64>,
}

/// Scales may be so small, and their inverse so large, that their squares are still squared in f32.
const LEAST_SCALE: f64 = 1e-9;
/// Number that stands for −∞ in a parameter that has no least value: to both precisions there is no difference.
const MINUS_INFINITY: f64 = -1e18;

impl Loss {
    /// s: the same as no loss.
    pub fn trivial() -> Self {
        Self { kind: Arc::new(LossKind::Trivial), parameters: Vec::new() }
    }

    /// A built-in loss with these values of its parameters, in their order.
    pub fn built_in(loss: BuiltInLoss, values: &[f64]) -> Result<Self, Error> {
        let parameters = loss.parameters();
        if values.len() != parameters.len() {
            let (name, given) = (loss.name(), values.len());
            return Err(Error::InvalidOption(format!("loss {name}: {given} parameters do not make one")));
        }
        let values = parameters.iter().zip(values).map(|(parameter, &value)| within(loss, parameter, value));
        Ok(Self { parameters: values.collect::<Result<_, _>>()?, kind: Arc::new(LossKind::BuiltIn(loss)) })
    }

    /// Huber's loss: s up to δ², then 2δ√s − δ².
    pub fn huber(delta: f64) -> Result<Self, Error> {
        Self::built_in(BuiltInLoss::Huber, &[delta])
    }

    /// Soft ℓ₁: 2c²(√(1 + s/c²) − 1).
    pub fn soft_l1(c: f64) -> Result<Self, Error> {
        Self::built_in(BuiltInLoss::SoftL1, &[c])
    }

    /// Cauchy's loss: c² ln(1 + s/c²).
    pub fn cauchy(c: f64) -> Result<Self, Error> {
        Self::built_in(BuiltInLoss::Cauchy, &[c])
    }

    /// `a` is compared with s, not with ‖r‖.
    pub fn arctan(a: f64) -> Result<Self, Error> {
        Self::built_in(BuiltInLoss::Arctan, &[a])
    }

    /// Tukey's biweight: c²/3·(1 − (1 − s/c²)³) up to c², constant beyond.
    pub fn tukey(c: f64) -> Result<Self, Error> {
        Self::built_in(BuiltInLoss::Tukey, &[c])
    }

    /// Geman and McClure's loss: s/(1 + s/c²).
    pub fn geman_mc_clure(c: f64) -> Result<Self, Error> {
        Self::built_in(BuiltInLoss::GemanMcClure, &[c])
    }

    /// Welsch's loss: c²(1 − exp(−s/c²)).
    pub fn welsch(c: f64) -> Result<Self, Error> {
        Self::built_in(BuiltInLoss::Welsch, &[c])
    }

    /// `a` and `b` are compared with s, not with ‖r‖.
    pub fn tolerant(a: f64, b: f64) -> Result<Self, Error> {
        Self::built_in(BuiltInLoss::Tolerant, &[a, b])
    }

    /// α may be −∞.
    pub fn barron(alpha: f64, c: f64) -> Result<Self, Error> {
        Self::built_in(BuiltInLoss::Barron, &[alpha, c])
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

    /// The kind, unless it is as good as none.
    pub(super) fn robust(&self) -> Option<&Arc<LossKind>> {
        Some(&self.kind).filter(|kind| ***kind != LossKind::Trivial)
    }
}

/// The value of a parameter, in its range.
fn within(loss: BuiltInLoss, Parameter { name, range, .. }: &Parameter, value: f64) -> Result<f64, Error> {
    match *range {
        Range::Scale => {
            let range = LEAST_SCALE..=1.0 / LEAST_SCALE;
            checked(loss.name(), name, value, |value| range.contains(&value), "must be positive, from 1e-9 to 1e9")
        }
        Range::NotNegative => checked(loss.name(), name, value, |value| value >= 0.0, "must not be negative"),
        Range::AtMost(most) if value.is_nan() || value > most => {
            let names: Vec<&str> = loss.parameters().iter().map(|parameter| parameter.name).collect();
            let must = format!("must be a number of at most {most:e} or −Infinity");
            Err(Error::InvalidOption(format!("{}({}): {name} {must}, not {value}", loss.name(), names.join(", "))))
        }
        Range::AtMost(_) => Ok(value.max(MINUS_INFINITY)),
    }
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
