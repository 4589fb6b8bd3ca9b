//! What a caller may ask of a solve.

use super::descent::Rule;
use super::lagrangian::OuterSettings;
use super::linear::{Linear, Preconditioner, Wanted};
use super::method::{Dogleg, Method};
use leastwise_device::Precision;
use leastwise_error::Error;
use serde::Deserialize;

/// Options of a solve; those left out have Ceres' defaults where Ceres has them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Options {
    /// `"lm"`: Levenberg–Marquardt; `"gauss-newton"`; `"newton"`; `"dogleg"`; by the gradient alone, the name of a [`Rule`].
    pub method: Option<String>,
    /// Pairs of steps and changes of the gradient that `"lbfgs"` keeps, from 1 to 20; default: 10.
    pub memory: Option<f64>,
    /// Adam's η, default: 0.01, and β₁ and β₂, defaults: 0.9 and 0.999.
    pub learning_rate: Option<f64>,
    /// Decay rates β₁ and β₂ of Adam's means; default: 0.9 and 0.999.
    pub decays: Option<[f64; 2]>,
    /// `"traditional"` or `"subspace"`: where the method `"dogleg"` looks for its steps.
    pub dogleg: Option<String>,
    /// `"auto"`; `"dense"`, `"sparse-cholesky"` or `"schur"`: factors on the host; `"pcg"`: conjugate gradients on
    /// JᵀWJ + λD, preconditioned by its diagonal blocks; `"assembled-pcg"`: the same on the host, with the
    /// matrix; `"schur-pcg"`: the same on a Schur complement, on the device.
    pub linear: Option<String>,
    /// `"auto"`, or the name of a [`Preconditioner`].
    pub preconditioner: Option<String>,
    /// The tables that `"schur"` and `"schur-pcg"` eliminate; default: the best.
    pub eliminate: Option<Vec<u32>>,
    /// Steps in a row that may end above the lowest cost so far; default: 0. Ceres' usual number is 5.
    pub nonmonotone: Option<f64>,
    /// Iterations of an iterative linear solver in a step.
    pub max_inner_iterations: Option<f64>,
    /// η: the part of the linear system that an iterative solver may leave. Default: between 0.001 and 0.1, by how well
    /// the model did.
    pub forcing: Option<f64>,
    /// Greatest number of steps; default: by the linear solver and the precision.
    pub max_iterations: Option<f64>,
    /// Where there are constraints: how much of one may be left, μ at the start, and minimisations at most.
    pub feasibility_tolerance: Option<f64>,
    /// Penalty μ at the start; default: 10.
    pub penalty: Option<f64>,
    /// Greatest number of minimisations of a constrained problem; default: 50.
    pub max_outer_iterations: Option<f64>,
    /// Milliseconds after which the solve ends; default: no limit.
    pub time_limit_ms: Option<f64>,
    /// Convergence test |Δcost| ≤ tolerance · cost; default: by the linear solver and the precision.
    pub cost_tolerance: Option<f64>,
    /// Convergence test max |gᵢ| ≤ tolerance; default: by the linear solver and the precision.
    pub gradient_tolerance: Option<f64>,
    /// Convergence test ‖s‖ ≤ tolerance · (‖x‖ + tolerance); default: by the linear solver and the precision.
    pub step_tolerance: Option<f64>,
}

/// Options after validation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Method.
    pub method: Method,
    /// Linear solver and preconditioner as requested.
    pub linear: Wanted,
    /// Steps in a row that may end above the lowest cost.
    pub nonmonotone: u32,
    /// Greatest number of iterations of an iterative linear solver in a step.
    pub max_inner_iterations: Option<u32>,
    /// The least and the largest η.
    pub forcing: [f64; 2],
    /// Milliseconds after which the solve ends; infinite: no limit.
    pub time_limit_ms: f64,
    /// Settings of the outer iterations of constrained problems.
    pub outer: OuterSettings,
    /// Greatest number of steps, if one was given.
    pub max_iterations: Option<u32>,
    cost_tolerance: Option<f64>,
    gradient_tolerance: Option<f64>,
    step_tolerance: Option<f64>,
}

/// When a solve ends at last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerances {
    pub max_iterations: u32,
    pub cost: f64,
    pub gradient: f64,
    pub step: f64,
}

impl Tolerances {
    /// Ceres'.
    const USUAL: Self = Self { max_iterations: 50, cost: 1e-6, gradient: 1e-10, step: 1e-8 };
    /// Where a step costs next to nothing, it is not saved: parameters are found to the digits that the arithmetic has. A change of
    /// the cost is a sum of differences, which is known to a small part of what the cost itself is.
    fn of_few_unknowns(precision: Precision) -> Self {
        let (cost, step) = match precision {
            Precision::F64 => (1e-15, 1e-15),
            Precision::F32x2 => (precision.epsilon() / 32.0, precision.epsilon()),
            Precision::F32 => (1e-9, 1e-9),
        };
        Self { max_iterations: 2000, cost, gradient: 1e-20, step }
    }
    /// Steps by the gradient alone are many and short, and a small one says less of what is left.
    const OF_DESCENTS: [Self; 2] = [
        Self { max_iterations: 1000, cost: 1e-12, gradient: 1e-10, step: 1e-12 },
        Self { max_iterations: 1000, cost: 2e-7, gradient: 1e-10, step: 1e-8 },
    ];
    /// Iterations of methods without memory.
    const MOST_ITERATIONS: u32 = 10_000;
}

impl Settings {
    /// What was asked for; else what suits the linear solver and the precision.
    pub fn tolerances(&self, linear: Linear, precision: Precision) -> Tolerances {
        let single = usize::from(precision == Precision::F32);
        let usual = match linear {
            Linear::Dense => Tolerances::of_few_unknowns(precision),
            Linear::None => match self.method.descent() {
                Some(rule) if !rule.remembers() => {
                    Tolerances { max_iterations: Tolerances::MOST_ITERATIONS, ..Tolerances::OF_DESCENTS[single] }
                }
                _ => Tolerances::OF_DESCENTS[single],
            },
            _ => Tolerances::USUAL,
        };
        Tolerances {
            max_iterations: self.max_iterations.unwrap_or(usual.max_iterations),
            cost: self.cost_tolerance.unwrap_or(usual.cost),
            gradient: self.gradient_tolerance.unwrap_or(usual.gradient),
            step: self.step_tolerance.unwrap_or(usual.step),
        }
    }
}

/// η unless it is told: the inner solver is cheap to stop early, and what it leaves the next step finds.
const FORCING: [f64; 2] = [1e-3, 0.1];

impl Options {
    /// The options, checked.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for an unknown name, a value out of its range, and an option that the method does not take.
    pub fn settings(&self) -> Result<Settings, Error> {
        let descents = Rule::all(self)?.into_iter().map(Method::Descent);
        let methods: Vec<_> = Method::OF_SYSTEMS.into_iter().chain(descents).map(|method| (method.name(), method)).collect();
        let method = one_of("method", &self.method, &methods)?;
        self.only_with(method)?;
        let dogleg = one_of("dogleg", &self.dogleg, &[("traditional", Dogleg::Traditional), ("subspace", Dogleg::Subspace)])?;
        let method = match method {
            Method::Dogleg(_) => Method::Dogleg(dogleg),
            other if self.dogleg.is_some() => {
                return Err(Error::InvalidOption(format!("dogleg: the method is \"{}\"; say method: \"dogleg\"", other.name())));
            }
            other => other,
        };
        let known = Linear::ALL.map(|linear| (linear.name(), Some(linear)));
        let mut linear = one_of("linear", &self.linear, &[&[("auto", None)], &known[..]].concat())?;
        if self.eliminate.is_some() && !linear.get_or_insert(Linear::Schur).eliminates() {
            let message = "eliminate: only linear \"schur\" and \"schur-pcg\" eliminate variables; leave linear out, or say one of them";
            return Err(Error::InvalidOption(message.into()));
        }
        let known = Preconditioner::ALL.iter().map(|&preconditioner| (preconditioner.name(), Some(preconditioner)));
        let known: Vec<_> = [("auto", None)].into_iter().chain(known).collect();
        let preconditioner = one_of("preconditioner", &self.preconditioner, &known)?;
        if let (Some(preconditioner), Some(other)) = (preconditioner, linear)
            && !preconditioner.linears().contains(&other)
        {
            let linears: Vec<&str> = preconditioner.linears().iter().map(|linear| linear.name()).collect();
            return Err(Error::InvalidOption(format!(
                "preconditioner: \"{}\" is one of linear \"{}\", not of \"{}\"; leave one of the two out",
                preconditioner.name(),
                linears.join("\" and \""),
                other.name()
            )));
        }
        let number = |what: &str, given: Option<f64>| match given {
            Some(value) if value.is_nan() || value < 0.0 => {
                Err(Error::InvalidOption(format!("{what} must be a number that is not negative, not {value}")))
            }
            given => Ok(given),
        };
        let whole = |what: &str, given: Option<f64>| match number(what, given)? {
            Some(value) if value.is_finite() && value.fract() != 0.0 => {
                Err(Error::InvalidOption(format!("{what} must be a whole number, not {value}")))
            }
            given => Ok(given),
        };
        let forcing = match self.forcing {
            Some(eta) if eta > 0.0 && eta < 1.0 => [eta, eta],
            Some(eta) => return Err(Error::InvalidOption(format!("forcing must be between 0 and 1, not {eta}"))),
            None => FORCING,
        };
        let max_inner_iterations = match self.max_inner_iterations {
            Some(most) if most.is_nan() || most < 1.0 => {
                return Err(Error::InvalidOption(format!("maxInnerIterations must be at least 1, not {most}")));
            }
            most => whole("maxInnerIterations", most)?.map(|most| most as u32),
        };
        let usual = OuterSettings::default();
        let outer = OuterSettings {
            feasibility: match self.feasibility_tolerance {
                Some(tolerance) if tolerance.is_nan() || tolerance <= 0.0 => {
                    return Err(Error::InvalidOption(format!("feasibilityTolerance must be a positive number, not {tolerance}")));
                }
                tolerance => tolerance,
            },
            penalty: match self.penalty {
                Some(penalty) if !(penalty > 0.0 && penalty.is_finite()) => {
                    return Err(Error::InvalidOption(format!("penalty must be a positive number, not {penalty}")));
                }
                penalty => penalty.unwrap_or(usual.penalty),
            },
            max_iterations: match whole("maxOuterIterations", self.max_outer_iterations)? {
                Some(most) if most < 1.0 => {
                    return Err(Error::InvalidOption(format!("maxOuterIterations must be at least 1, not {most}")));
                }
                most => most.map_or(usual.max_iterations, |most| most as u32),
            },
        };
        Ok(Settings {
            method,
            outer,
            linear: Wanted { linear, preconditioner, eliminate: self.eliminate.clone(), max_iterations: max_inner_iterations },
            nonmonotone: whole("nonmonotone", self.nonmonotone)?.unwrap_or(0.0) as u32,
            max_inner_iterations,
            forcing,
            time_limit_ms: number("timeLimitMs", self.time_limit_ms)?.unwrap_or(f64::INFINITY),
            max_iterations: whole("maxIterations", self.max_iterations)?.map(|most| most as u32),
            cost_tolerance: number("costTolerance", self.cost_tolerance)?,
            gradient_tolerance: number("gradientTolerance", self.gradient_tolerance)?,
            step_tolerance: number("stepTolerance", self.step_tolerance)?,
        })
    }
}

impl Options {
    /// Refuses what the method would not look at.
    fn only_with(&self, method: Method) -> Result<(), Error> {
        let rule = method.descent();
        let of_systems = [
            ("linear", self.linear.as_deref().is_some_and(|linear| linear != "auto")),
            ("preconditioner", self.preconditioner.as_deref().is_some_and(|preconditioner| preconditioner != "auto")),
            ("eliminate", self.eliminate.is_some()),
            ("maxInnerIterations", self.max_inner_iterations.is_some()),
            ("forcing", self.forcing.is_some()),
            ("nonmonotone", self.nonmonotone.is_some_and(|steps| steps != 0.0)),
        ];
        let name = method.name();
        if let Some((option, _)) = of_systems.iter().find(|(_, given)| *given && rule.is_some()) {
            return Err(Error::InvalidOption(format!("{option}: method \"{name}\" solves no linear system; leave it out")));
        }
        let of_rules =
            [("memory", self.memory.is_some()), ("learningRate", self.learning_rate.is_some()), ("decays", self.decays.is_some())];
        match of_rules.iter().find(|(option, given)| *given && !rule.is_some_and(|rule| rule.takes(option))) {
            Some((option, _)) => {
                let taking: Vec<&str> = Rule::TABLE.iter().filter(|rule| rule.options.contains(option)).map(|rule| rule.name).collect();
                Err(Error::InvalidOption(format!("{option}: the method is \"{name}\"; say method: \"{}\"", taking.join("\" or \""))))
            }
            None => Ok(()),
        }
    }
}

/// What a name stands for; the first unless there is one.
fn one_of<T: Copy>(what: &str, given: &Option<String>, known: &[(&str, T)]) -> Result<T, Error> {
    let Some(name) = given.as_deref() else { return Ok(known[0].1) };
    known.iter().find(|(known, _)| *known == name).map(|found| found.1).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|known| known.0).collect();
        Error::InvalidOption(format!("{what}: \"{name}\" is not one of \"{}\"", names.join("\", \"")))
    })
}
