//! The blocks of a covariance that somebody asks for.

use super::{Covariance, Inverse};
use crate::error::Error;
use crate::problem::BlockRows;

/// An instance of a table: the table's number in the pattern, and the instance.
pub type Variable = (usize, u32);

/// The rows and the columns of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    pub row: Variable,
    pub column: Variable,
}

/// What is to be made of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Block by block, row by row.
    Blocks,
    /// The roots of the diagonals of diagonal blocks.
    Errors,
    /// Diagonal blocks, divided by the roots of their diagonals.
    Correlations,
    /// One matrix of all instances, row by row; and its correlations.
    Joint,
    JointCorrelations,
}

/// Scalars of a joint matrix, and of all that is asked for at once.
const MOST_VALUES: u64 = 1 << 27;

/// Blocks on their way.
pub struct Blocks {
    pairs: Vec<Pair>,
    form: Form,
    /// With respect to stored scalars, not to degrees of freedom.
    lifted: bool,
    /// The pairs by their columns' numbers, in this order; and how many are done.
    order: Vec<(u32, u32)>,
    done: usize,
    blocks: Vec<Vec<f64>>,
    /// The column that was solved for last.
    solved: Option<(Variable, Vec<Vec<f64>>)>,
}

impl Form {
    pub fn of_name(name: &str) -> Result<Self, Error> {
        match name {
            "covariance" => Ok(Self::Blocks),
            "errors" => Ok(Self::Errors),
            "correlation" => Ok(Self::Correlations),
            "joint" => Ok(Self::Joint),
            "joint-correlation" => Ok(Self::JointCorrelations),
            other => Err(Error::InvalidOption(format!("\"{other}\" is nothing that a covariance is asked for"))),
        }
    }

    fn is_joint(self) -> bool {
        matches!(self, Self::Joint | Self::JointCorrelations)
    }
}

impl Blocks {
    /// Of these instances, given as the problem's table and the instance, with themselves, with those in `others` one by one,
    /// or (a joint matrix) with each other.
    pub fn new(
        covariance: &mut Covariance,
        of: &[(u32, u32)],
        others: Option<&[(u32, u32)]>,
        form: Form,
        lifted: bool,
    ) -> Result<Self, Error> {
        let of = covariance.variables(of)?;
        let others = others.map(|others| covariance.variables(others)).transpose()?;
        if let Some(others) = others.as_ref().filter(|others| others.len() != of.len()) {
            let message = format!("pairs of instances are as many of the one as of the other, not {} and {}", of.len(), others.len());
            return Err(Error::InvalidOption(message));
        }
        let size = |variable: &Variable| covariance.width(variable.0, lifted) as u64;
        let values: u64 = if form.is_joint() {
            of.iter().map(size).sum::<u64>().saturating_pow(2)
        } else {
            of.iter().zip(others.as_ref().unwrap_or(&of)).map(|(row, column)| size(row) * size(column)).sum()
        };
        if values > MOST_VALUES {
            return Err(Error::Limits(format!(
                "covariance: {values} values are asked for at once, but {MOST_VALUES} can be: ask for fewer instances"
            )));
        }
        let pairs: Vec<Pair> = match &others {
            Some(others) => of.iter().zip(others).map(|(&row, &column)| Pair { row, column }).collect(),
            None if form.is_joint() => {
                (0..of.len()).flat_map(|j| (j..of.len()).map(move |i| (i, j))).map(|(i, j)| Pair { row: of[i], column: of[j] }).collect()
            }
            None => of.iter().map(|&variable| Pair { row: variable, column: variable }).collect(),
        };
        let number = |pair: &Pair| covariance.pattern.tables[pair.column.0].first + pair.column.1;
        let mut order: Vec<(u32, u32)> = pairs.iter().map(number).zip(0..).collect();
        order.sort_unstable();
        covariance.prepare(&pairs, &order);
        Ok(Self { blocks: vec![Vec::new(); pairs.len()], pairs, form, lifted, order, done: 0, solved: None })
    }

    /// One block more; whether all are there.
    pub fn advance(&mut self, covariance: &mut Covariance) -> bool {
        let Some(&(_, number)) = self.order.get(self.done) else { return true };
        let pair = self.pairs[number as usize];
        self.blocks[number as usize] = covariance.block(pair, self.lifted, &mut self.solved);
        self.done += 1;
        self.done == self.order.len()
    }

    /// What was asked for.
    pub fn finish(self, covariance: &Covariance) -> Vec<f64> {
        let width = |variable: Variable| covariance.width(variable.0, self.lifted);
        match self.form {
            Form::Blocks => self.blocks.concat(),
            Form::Errors => {
                let errors = |block: &Vec<f64>, n: usize| (0..n).map(|k| block[k * (n + 1)].max(0.0).sqrt()).collect::<Vec<f64>>();
                self.blocks.iter().zip(&self.pairs).flat_map(|(block, pair)| errors(block, width(pair.row))).collect()
            }
            Form::Correlations => {
                let blocks = self.blocks.into_iter().zip(&self.pairs);
                blocks.flat_map(|(block, pair)| correlations(block, width(pair.row))).collect()
            }
            Form::Joint | Form::JointCorrelations => {
                // As many instances as the first column has blocks.
                let count = ((8.0 * self.pairs.len() as f64 + 1.0).sqrt() as usize).saturating_sub(1) / 2;
                let sizes: Vec<usize> = self.pairs[..count].iter().map(|pair| width(pair.row)).collect();
                let firsts: Vec<usize> = sizes.iter().scan(0, |next, size| Some(std::mem::replace(next, *next + size))).collect();
                let n: usize = sizes.iter().sum();
                let mut joint = vec![0.0; n * n];
                let places = (0..count).flat_map(|j| (j..count).map(move |i| (i, j)));
                for ((i, j), block) in places.zip(&self.blocks) {
                    for (place, &value) in block.iter().enumerate() {
                        let (row, column) = (firsts[i] + place / sizes[j], firsts[j] + place % sizes[j]);
                        joint[row * n + column] = value;
                        joint[column * n + row] = value;
                    }
                }
                if self.form == Form::Joint { joint } else { correlations(joint, n) }
            }
        }
    }
}

/// A matrix divided by the roots of its diagonal. What does not move goes along with nothing but itself.
fn correlations(mut block: Vec<f64>, n: usize) -> Vec<f64> {
    let errors: Vec<f64> = (0..n).map(|k| block[k * (n + 1)].max(0.0).sqrt()).collect();
    for (place, value) in block.iter_mut().enumerate() {
        let (row, column) = (place / n, place % n);
        let size = errors[row] * errors[column];
        *value = if row == column {
            1.0
        } else if size > 0.0 {
            (*value / size).clamp(-1.0, 1.0)
        } else {
            0.0
        };
    }
    block
}

impl Covariance {
    /// Instances by the pattern's numbers of their tables.
    fn variables(&self, of: &[(u32, u32)]) -> Result<Vec<Variable>, Error> {
        let variable = |&(table, instance): &(u32, u32)| {
            let place = self.pattern.tables.iter().position(|rows| rows.table == table);
            let place = place.ok_or_else(|| {
                Error::InvalidOption("covariance: only variables have one, and only those that were there when it was made".into())
            })?;
            let BlockRows { name, count, .. } = &self.pattern.tables[place];
            if instance >= *count {
                return Err(Error::RowOutOfRange { table: name.clone(), index: instance, count: *count });
            }
            Ok((place, instance))
        };
        of.iter().map(variable).collect()
    }

    /// Rows of an instance's block.
    fn width(&self, table: usize, lifted: bool) -> usize {
        if lifted { self.widths[table] } else { self.pattern.tables[table].width as usize }
    }

    /// Has many blocks made together, where that is less work than to solve for their columns.
    fn prepare(&mut self, pairs: &[Pair], order: &[(u32, u32)]) {
        let Inverse::Sparse(sparse) = &mut self.inverse else { return };
        let (mut columns, mut last) = (0, None);
        for &(variable, pair) in order {
            if last.replace(variable) != Some(variable) {
                columns += self.pattern.tables[pairs[pair as usize].column.0].width;
            }
        }
        let (solve, subset) = sparse.work();
        if f64::from(columns) * solve > subset {
            sparse.make_subset();
        }
    }

    /// A block of σ²(JᵀWJ)⁺.
    fn block(&mut self, pair: Pair, lifted: bool, solved: &mut Option<(Variable, Vec<Vec<f64>>)>) -> Vec<f64> {
        let scalars = |(table, instance): Variable| {
            let rows = &self.pattern.tables[table];
            let first = (rows.scalar + instance * rows.width) as usize;
            first..first + rows.width as usize
        };
        let (rows, columns) = (scalars(pair.row), scalars(pair.column));
        let places = || rows.clone().flat_map(|row| columns.clone().map(move |column| (row, column)));
        let block: Vec<f64> = match &mut self.inverse {
            Inverse::Dense(dense) => places().map(|(row, column)| dense.at(row, column)).collect(),
            Inverse::Sparse(sparse) => {
                let known: Option<Vec<f64>> = places().map(|(row, column)| sparse.known(row, column)).collect();
                let entries = known.unwrap_or_else(|| {
                    if solved.as_ref().is_none_or(|solved| solved.0 != pair.column) {
                        *solved = Some((pair.column, columns.clone().map(|column| sparse.column(column)).collect()));
                    }
                    let of = &solved.as_ref().expect("just solved").1;
                    places().map(|(row, column)| of[column - columns.start][row]).collect()
                });
                places().zip(entries).map(|((row, column), entry)| entry + sparse.correction(row, column)).collect()
            }
        };
        let scaled: Vec<f64> = block.iter().map(|value| self.summary.variance * value).collect();
        if lifted { self.lift(pair, scaled) } else { scaled }
    }

    /// P C Pᵀ, with respect to the scalars that are stored.
    fn lift(&self, pair: Pair, block: Vec<f64>) -> Vec<f64> {
        let slopes = |(table, instance): Variable| {
            let (manifold, values) = self.tangents[table].as_ref()?;
            Some(manifold.slopes(&values[instance as usize * self.widths[table]..][..self.widths[table]]))
        };
        let [height, width] = [pair.row, pair.column].map(|variable| self.pattern.tables[variable.0].width as usize);
        let block = match slopes(pair.row) {
            None => block,
            Some(p) => p
                .chunks_exact(height)
                .flat_map(|row| (0..width).map(|c| (0..height).map(|k| row[k] * block[k * width + c]).sum()).collect::<Vec<f64>>())
                .collect(),
        };
        match slopes(pair.column) {
            None => block,
            Some(p) => block
                .chunks_exact(width)
                .flat_map(|row| p.chunks_exact(width).map(|of| super::jacobi::dot(row, of)).collect::<Vec<f64>>())
                .collect(),
        }
    }
}
