//! The built-in losses: a file each, which declares what [`LossFunction`] asks for.
//!
//! This list is generated from the files (`npm run generate`), and a test holds it to them.

mod arctan;
mod barron;
mod cauchy;
mod geman_mc_clure;
mod huber;
mod soft_l1;
mod tolerant;
mod tukey;
mod welsch;

use arctan::*;
use barron::*;
use cauchy::*;
use geman_mc_clure::*;
use huber::*;
use soft_l1::*;
use tolerant::*;
use tukey::*;
use welsch::*;

use crate::loss_function::{LossFunction, Parameter, Symbol, built_in_losses};

built_in_losses! {
    Huber,
    SoftL1,
    Cauchy,
    Arctan,
    Tukey,
    GemanMcClure,
    Welsch,
    Tolerant,
    Barron,
}
