//! Directions that no residual sees, in words: which variables they move, and how.
//!
//! That a table of points moves as a whole is found by comparing spaces: what the directions do to its points with what
//! translations, rotations and a scaling about any point do. The common directions of two spaces with orthonormal bases A
//! and B are the singular values 1 of AᵀB (Golub & Van Loan, *Matrix Computations*, 4th ed., section 6.4.3).

use super::jacobi::{dot, length, orthogonalise, orthonormal};
use crate::problem::{BlockRows, Pattern};
use serde::Serialize;

/// Instances that are listed.
const LISTED: usize = 8;
/// The least part of the largest movement that counts as one.
const STILL: f64 = 1e-6;
/// How far a singular value may be from 1.
const COMMON: f64 = 1e-6;

/// What of a variable can move without any residual changing, to first order.
#[derive(Clone, Debug, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unseen {
    pub variable: String,
    /// How many instances move, and the first of them.
    pub instances: u32,
    pub listed: Vec<u32>,
    /// Those of them that no residual touches.
    pub untouched: u32,
    /// Of points in the plane or in space: the independent movements of all as a whole.
    pub translations: u32,
    pub rotations: u32,
    pub scalings: u32,
}

/// A table whose instances are, or have, points in the plane or in space.
pub struct Points {
    /// The number of the table in the pattern.
    pub table: usize,
    pub dimensions: usize,
    pub places: Vec<f64>,
    /// How degrees of freedom move the coordinates, instance by instance and row by row; none where they are them.
    pub slopes: Option<Vec<f64>>,
}

/// What these orthonormal directions do, and unknowns that nothing touches.
pub fn describe(pattern: &Pattern, directions: &[Vec<f64>], untouched: &[bool], points: &[Points]) -> Vec<Unseen> {
    let size = |table: &BlockRows, instance: u32| {
        let first = (table.scalar + instance * table.width) as usize;
        let own = first..first + table.width as usize;
        directions.iter().map(|direction| dot(&direction[own.clone()], &direction[own.clone()])).sum::<f64>().sqrt()
    };
    let all = |table: &BlockRows| (0..table.count).map(|instance| size(table, instance)).collect::<Vec<f64>>();
    let sizes: Vec<Vec<f64>> = pattern.tables.iter().map(all).collect();
    let largest = sizes.iter().flatten().fold(0.0, |top: f64, size| top.max(*size));
    let mut described = Vec::new();
    for (number, table) in pattern.tables.iter().enumerate() {
        let is_untouched = |instance: &u32| {
            let first = (table.scalar + instance * table.width) as usize;
            untouched[first..first + table.width as usize].contains(&true)
        };
        let moves = |instance: &u32| is_untouched(instance) || largest > 0.0 && sizes[number][*instance as usize] > STILL * largest;
        let moving: Vec<u32> = (0..table.count).filter(moves).collect();
        if moving.is_empty() {
            continue;
        }
        let [translations, rotations, scalings] =
            points.iter().find(|points| points.table == number).map_or([0; 3], |points| points.moved(table, directions));
        described.push(Unseen {
            variable: table.name.clone(),
            instances: moving.len() as u32,
            untouched: (0..table.count).filter(is_untouched).count() as u32,
            listed: moving.into_iter().take(LISTED).collect(),
            translations,
            rotations,
            scalings,
        });
    }
    described
}

impl Points {
    /// Independent translations, rotations and scalings among the directions.
    fn moved(&self, table: &BlockRows, directions: &[Vec<f64>]) -> [u32; 3] {
        let d = self.dimensions;
        let count = self.places.len() / d;
        let width = table.width as usize;
        let of_points = |direction: &Vec<f64>| -> Vec<f64> {
            let own = &direction[table.scalar as usize..][..count * width];
            let Some(slopes) = &self.slopes else { return own.to_vec() };
            let instances = slopes.chunks_exact(d * width).zip(own.chunks_exact(width));
            instances.flat_map(|(slopes, step)| slopes.chunks_exact(width).map(|row| dot(row, step))).collect()
        };
        let found = orthonormal(directions.iter().map(of_points).filter(|direction| length(direction) > STILL).collect());
        let centre: Vec<f64> = (0..d).map(|axis| self.places.iter().skip(axis).step_by(d).sum::<f64>() / count as f64).collect();
        let field = |of: &dyn Fn(&[f64]) -> Vec<f64>| -> Vec<f64> {
            let around = |place: &[f64]| place.iter().zip(&centre).map(|(x, c)| x - c).collect::<Vec<f64>>();
            self.places.chunks_exact(d).flat_map(|place| of(&around(place))).collect()
        };
        let mut spaces = vec![Vec::new(), Vec::new(), Vec::new()];
        for axis in 0..d {
            spaces[0].push(field(&|_| (0..d).map(|k| f64::from(u8::from(k == axis))).collect()));
            for other in 0..axis {
                spaces[1].push(field(&|x| {
                    let mut turned = vec![0.0; d];
                    (turned[axis], turned[other]) = (x[other], -x[axis]);
                    turned
                }));
            }
        }
        spaces[2].push(field(&|x| x.to_vec()));
        // Points in one place, or on a line, turn less than others.
        let reach = length(&spaces[2][0]);
        let mut known: Vec<Vec<f64>> = Vec::new();
        let mut before = 0;
        let counted = spaces.into_iter().map(|space| {
            known.extend(space.into_iter().filter(|field| length(field) > STILL * reach));
            known = orthonormal(std::mem::take(&mut known));
            let mut products: Vec<Vec<f64>> = found.iter().map(|a| known.iter().map(|b| dot(a, b)).collect()).collect();
            orthogonalise(&mut products);
            let common = products.iter().filter(|product| length(product) > 1.0 - COMMON).count() as u32;
            let more = common.saturating_sub(before);
            before = common.max(before);
            more
        });
        let counted: Vec<u32> = counted.collect();
        [counted[0], counted[1], counted[2]]
    }
}

impl std::fmt::Display for Unseen {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { variable, instances, listed, untouched, .. } = self;
        let list = listed.iter().map(u32::to_string).collect::<Vec<String>>().join(", ");
        let more = if *instances as usize > listed.len() { ", …" } else { "" };
        write!(f, "\"{variable}\" ({instances} instances: {list}{more}")?;
        if *untouched > 0 {
            write!(f, "; no residual touches {untouched} of them")?;
        }
        let plural = |count: u32, what: &str| (count > 0).then(|| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        let motions = [(self.translations, "translation"), (self.rotations, "rotation"), (self.scalings, "scaling")];
        let motions: Vec<String> = motions.into_iter().filter_map(|(count, what)| plural(count, what)).collect();
        if !motions.is_empty() {
            write!(f, "; as a whole: {}", motions.join(", "))?;
        }
        write!(f, ")")
    }
}
