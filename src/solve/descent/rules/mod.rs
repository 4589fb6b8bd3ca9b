//! The rules of descents: a file each, which declares what [`DescentRule`] asks for.
//!
//! This list is generated from the files (`npm run generate`), and a test holds it to them.

mod adam;
mod conjugate_gradients;
mod gradient_descent;
mod lbfgs;

use super::rule::{Command, DescentRule, Error, Options, Problem, RuleEntry, Turn, Workspace, descent_rules};

use adam::*;
use conjugate_gradients::*;
use gradient_descent::*;
use lbfgs::*;

descent_rules! {
    Lbfgs,
    ConjugateGradients,
    GradientDescent,
    Adam,
}
