//! Null space of JᵀWJ in words: the variables that each of its directions moves, and how.
//!
//! That a table of points moves as a whole is found by comparing spaces: what the directions do to its points with what
//! translations, rotations and a scaling about any point do. The common directions of two spaces with orthonormal bases A
//! and B are the singular values 1 of AᵀB (Golub & Van Loan, *Matrix Computations*, 4th ed., section 6.4.3).

use super::jacobi::{dot, length, orthogonalise, orthonormal};
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::{BlockRows, Pattern};
use serde::Serialize;

/// Instances that are listed.
const LISTED: usize = 8;
/// The least part of the largest movement that counts as one.
const STILL: f64 = 1e-6;
/// How far a singular value may be from 1.
const COMMON: f64 = 1e-6;

/// Part of a table of variables in the null space: what of it can move without any residual changing, to first order.
#[derive(Clone, Debug, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NullSpacePart {
    /// Name of the table.
    pub variable: String,
    /// How many instances move, and the first of them.
    pub instances: u32,
    /// The first of the instances that move.
    pub listed: Vec<u32>,
    /// Those of them that no residual touches.
    pub untouched: u32,
    /// Of points in the plane or in space: the independent movements of all as a whole.
    pub translations: u32,
    /// Independent rotations of all points as a whole.
    pub rotations: u32,
    /// Scalings of all points as a whole: 0 or 1.
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
pub async fn describe(
    pattern: &Pattern,
    directions: &[Vec<f64>],
    untouched: &[bool],
    points: &[Points],
    pace: &Pace,
) -> Result<Vec<NullSpacePart>, Stopped> {
    // How far each instance is moved, and whether something of it is untouched.
    let mut sizes = Vec::new();
    for table in &pattern.tables {
        for instance in 0..table.count {
            let own = table.scalars_of(instance);
            let moved: f64 = directions.iter().map(|direction| dot(&direction[own.clone()], &direction[own.clone()])).sum();
            sizes.push((moved.sqrt(), untouched[own].contains(&true)));
            pace.spend((2 * directions.len() + 1) * table.width as usize).await?;
        }
    }
    let largest = sizes.iter().fold(0.0, |top: f64, size| top.max(size.0));
    let mut described = Vec::new();
    for (number, table) in pattern.tables.iter().enumerate() {
        let mut unseen = NullSpacePart { variable: table.name.clone(), ..NullSpacePart::default() };
        for (instance, &(size, is_untouched)) in (0..).zip(&sizes[table.first as usize..][..table.count as usize]) {
            unseen.untouched += u32::from(is_untouched);
            if is_untouched || size > STILL * largest {
                unseen.instances += 1;
                if unseen.listed.len() < LISTED {
                    unseen.listed.push(instance);
                }
            }
        }
        if unseen.instances > 0 {
            if let Some(points) = points.iter().find(|points| points.table == number) {
                [unseen.translations, unseen.rotations, unseen.scalings] = points.moved(table, directions, pace).await?;
            }
            described.push(unseen);
        }
    }
    Ok(described)
}

impl Points {
    /// Independent translations, rotations and scalings among the directions.
    async fn moved(&self, table: &BlockRows, directions: &[Vec<f64>], pace: &Pace) -> Result<[u32; 3], Stopped> {
        let (d, width) = (self.dimensions, table.width as usize);
        let count = self.places.len() / d;
        // What the directions do to the places.
        let mut found = Vec::new();
        for direction in directions {
            let mut moved = direction[table.scalar as usize..][..count * width].to_vec();
            if let Some(slopes) = &self.slopes {
                moved =
                    slopes.chunks_exact(width).enumerate().map(|(row, slopes)| dot(slopes, &moved[row / d * width..][..width])).collect();
            }
            if length(&moved) > STILL {
                found.push(moved);
            }
        }
        let found = orthonormal(found, pace).await?;
        // The places about their centre, which scaling moves along themselves.
        let mut around = self.places.clone();
        for axis in 0..d {
            let centre = self.places.iter().skip(axis).step_by(d).sum::<f64>() / count as f64;
            around.iter_mut().skip(axis).step_by(d).for_each(|x| *x -= centre);
        }
        let reach = length(&around);
        let (mut known, mut counted, mut before) = (Vec::new(), [0; 3], 0);
        for (kind, counted) in counted.iter_mut().enumerate() {
            let mut fields = Vec::new();
            match kind {
                0 => fields.extend((0..d).map(|axis| (0..d * count).map(|k| f64::from(u8::from(k % d == axis))).collect())),
                1 => {
                    for (a, b) in [(0, 1), (0, 2), (1, 2)].into_iter().filter(|(_, b)| *b < d) {
                        let mut turned = vec![0.0; d * count];
                        for place in (0..d * count).step_by(d) {
                            (turned[place + a], turned[place + b]) = (-around[place + b], around[place + a]);
                        }
                        fields.push(turned);
                    }
                }
                _ => fields.push(around.clone()),
            }
            // Points in one place, or on a line, turn less than others.
            known.extend(fields.into_iter().filter(|field: &Vec<f64>| length(field) > STILL * reach));
            known = orthonormal(known, pace).await?;
            // BᵀA, not AᵀB: of seven movements at most, columns are few however many directions there are.
            let mut products: Vec<Vec<f64>> = Vec::new();
            for b in &known {
                products.push(found.iter().map(|a| dot(a, b)).collect());
                pace.spend(2 * found.len() * b.len()).await?;
            }
            orthogonalise(&mut products, pace).await?;
            let common = products.iter().filter(|product| length(product) > 1.0 - COMMON).count() as u32;
            *counted = common.saturating_sub(before);
            before = common;
        }
        Ok(counted)
    }
}

impl std::fmt::Display for NullSpacePart {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { variable, instances, listed, untouched, .. } = self;
        let list = listed.iter().map(u32::to_string).collect::<Vec<String>>().join(", ");
        let more = if *instances as usize > listed.len() { ", …" } else { "" };
        write!(f, "\"{variable}\" ({instances} instances: {list}{more}")?;
        if *untouched > 0 {
            write!(f, "; no residual touches {untouched} of them")?;
        }
        let mut told = "; as a whole: ";
        for (count, what) in [(self.translations, "translation"), (self.rotations, "rotation"), (self.scalings, "scaling")] {
            if count > 0 {
                write!(f, "{told}{count} {what}{}", if count == 1 { "" } else { "s" })?;
                told = ", ";
            }
        }
        write!(f, ")")
    }
}
