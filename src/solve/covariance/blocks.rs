//! The blocks of a covariance that somebody asks for.

use super::sparse::Sparse;
use super::{Covariance, Inverse};
use leastwise_base::task::{Pace, Stopped};
use leastwise_error::Error;
use leastwise_problem::BlockRows;
use std::ops::Range;

/// An instance of a table: the table's number in the pattern, and the instance.
pub type Variable = (usize, u32);

/// The rows and the columns of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// Variable of the rows.
    pub row: Variable,
    /// Variable of the columns.
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
    /// Correlations of [`Joint`](Self::Joint): entry (i, j) divided by the roots of entries (i, i) and (j, j).
    JointCorrelations,
}

/// Values that may be asked for at once.
const MOST_VALUES: u64 = 1 << 26;

/// Blocks on their way.
pub struct Blocks {
    pairs: Vec<Pair>,
    /// Instances that were asked for.
    count: usize,
    form: Form,
    /// With respect to stored scalars, not to degrees of freedom.
    lifted: bool,
    /// The pairs in the order of their columns.
    order: Vec<u32>,
    /// Scalars of all columns that there is something to solve for.
    columns: u32,
    blocks: Vec<Vec<f64>>,
}

/// Columns of a variable that were solved for.
#[derive(Default)]
struct Solved {
    of: Option<Variable>,
    /// Those of G, where some of its blocks are unknown.
    plain: Vec<Vec<f64>>,
    /// Those of which rows of constraints leave next to nothing.
    projected: Vec<Option<Vec<f64>>>,
}

impl Form {
    /// The form of this name in questions.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a name of none.
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
    pub fn new(covariance: &Covariance, of: &[(u32, u32)], others: Option<&[(u32, u32)]>, form: Form, lifted: bool) -> Result<Self, Error> {
        let of = covariance.variables(of)?;
        let others = others.map(|others| covariance.variables(others)).transpose()?;
        if let Some(others) = others.as_ref().filter(|others| others.len() != of.len()) {
            let message = format!("pairs of instances are as many of the one as of the other, not {} and {}", of.len(), others.len());
            return Err(Error::InvalidOption(message));
        }
        let width = |variable: Variable| covariance.width(variable.0, lifted) as u64;
        let values: u64 = match &others {
            None if form.is_joint() => of.iter().map(|&one| width(one)).sum::<u64>().saturating_pow(2),
            Some(others) => of.iter().zip(others).map(|(&row, &column)| width(row) * width(column)).sum(),
            None => of.iter().map(|&one| width(one).pow(2)).sum(),
        };
        if values > MOST_VALUES {
            return Err(Error::Limits(format!(
                "covariance: {values} values are asked for at once, but {MOST_VALUES} can be: ask for fewer instances"
            )));
        }
        let mut pairs = Vec::new();
        for (place, &column) in of.iter().enumerate() {
            match &others {
                Some(others) => pairs.push(Pair { row: column, column: others[place] }),
                None if form.is_joint() => pairs.extend(of[place..].iter().map(|&row| Pair { row, column })),
                None => pairs.push(Pair { row: column, column }),
            }
        }
        // Those of a column together.
        let mut next = vec![0u32; covariance.pattern.variables() as usize + 1];
        let mut columns = 0;
        for pair in &pairs {
            let count = &mut next[covariance.number(pair.column) + 1];
            columns += if *count == 0 { covariance.columns(pair.column) } else { 0 };
            *count += 1;
        }
        for variable in 1..next.len() {
            next[variable] += next[variable - 1];
        }
        let mut order = vec![0; pairs.len()];
        for (number, pair) in (0..).zip(&pairs) {
            let place = &mut next[covariance.number(pair.column)];
            order[*place as usize] = number;
            *place += 1;
        }
        Ok(Self { blocks: vec![Vec::new(); pairs.len()], count: of.len(), pairs, form, lifted, order, columns })
    }

    /// What was asked for.
    pub async fn values(mut self, covariance: &Covariance, pace: &Pace) -> Result<Vec<f64>, Stopped> {
        let shares = [pace.part(0.0..0.7), pace.part(0.7..1.0)];
        covariance.prepare(self.columns, &shares[0]).await?;
        let mut solved = Solved::default();
        for (done, &number) in self.order.iter().enumerate() {
            shares[1].tell(done, self.order.len());
            self.blocks[number as usize] = covariance.block(self.pairs[number as usize], self.lifted, &mut solved, pace).await?;
        }
        match self.form {
            Form::Blocks => {}
            Form::Errors => self.blocks.iter_mut().for_each(|block| *block = errors(block)),
            Form::Correlations => self.blocks.iter_mut().for_each(|block| correlate(block)),
            Form::Joint | Form::JointCorrelations => {
                let mut joint = self.joint(covariance);
                if self.form == Form::JointCorrelations {
                    correlate(&mut joint);
                }
                return Ok(joint);
            }
        }
        Ok(self.blocks.concat())
    }

    /// All blocks in one matrix.
    fn joint(&self, covariance: &Covariance) -> Vec<f64> {
        // The first instance is paired with all.
        let mut firsts = vec![0];
        for pair in &self.pairs[..self.count] {
            firsts.push(firsts[firsts.len() - 1] + covariance.width(pair.row.0, self.lifted));
        }
        let n = firsts[self.count];
        let mut joint = vec![0.0; n * n];
        let mut blocks = self.blocks.iter();
        for j in 0..self.count {
            for (i, block) in (j..self.count).zip(&mut blocks) {
                let width = firsts[j + 1] - firsts[j];
                for (place, &value) in block.iter().enumerate() {
                    let (row, column) = (firsts[i] + place / width, firsts[j] + place % width);
                    joint[row * n + column] = value;
                    joint[column * n + row] = value;
                }
            }
        }
        joint
    }
}

/// The roots of a square matrix's diagonal.
fn errors(block: &[f64]) -> Vec<f64> {
    let n = (block.len() as f64).sqrt() as usize;
    block.iter().step_by(n + 1).map(|value| value.max(0.0).sqrt()).collect()
}

/// Divides a matrix by the roots of its diagonal. What does not move goes along with nothing but itself.
fn correlate(block: &mut [f64]) {
    let errors = errors(block);
    let n = errors.len();
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

    /// Scalars of an instance without those that rows hold.
    fn columns(&self, (table, instance): Variable) -> u32 {
        let scalars = self.pattern.tables[table].scalars_of(instance);
        match &self.inverse {
            Inverse::Dense(_) => scalars.len() as u32,
            Inverse::Sparse(sparse) => scalars.filter(|&scalar| !sparse.is_at_rest(scalar)).count() as u32,
        }
    }

    /// An instance's number among all variables.
    fn number(&self, (table, instance): Variable) -> usize {
        (self.pattern.tables[table].first + instance) as usize
    }

    /// Has all blocks made together, where that is less work than to solve for so many columns.
    async fn prepare(&self, columns: u32, pace: &Pace) -> Result<(), Stopped> {
        let Inverse::Sparse(sparse) = &self.inverse else { return Ok(()) };
        let (solve, subset) = sparse.work();
        if f64::from(columns) * solve > subset { sparse.make_subset(pace).await } else { Ok(()) }
    }

    /// A block of σ²(JᵀWJ)⁺.
    async fn block(&self, pair: Pair, lifted: bool, solved: &mut Solved, pace: &Pace) -> Result<Vec<f64>, Stopped> {
        let scalars = |(table, instance): Variable| self.pattern.tables[table].scalars_of(instance);
        let (rows, columns) = (scalars(pair.row), scalars(pair.column));
        let mut block = Vec::with_capacity(rows.len() * columns.len());
        for row in rows {
            for column in columns.clone() {
                let entry = match &self.inverse {
                    Inverse::Dense(dense) => dense.at(row, column),
                    Inverse::Sparse(sparse) if sparse.is_at_rest(row) || sparse.is_at_rest(column) => 0.0,
                    Inverse::Sparse(sparse) => {
                        if solved.of != Some(pair.column) {
                            *solved = Solved { of: Some(pair.column), ..Solved::default() };
                            for column in columns.clone() {
                                let is_taken = !sparse.is_at_rest(column)
                                    && sparse.is_taken(solved.entry(sparse, (column, column), &columns, pace).await?, column);
                                solved.projected.push(if is_taken { Some(sparse.projected(column, pace).await?) } else { None });
                            }
                        }
                        match &solved.projected[column - columns.start] {
                            Some(projected) => projected[row],
                            None => sparse.corrected(solved.entry(sparse, (row, column), &columns, pace).await?, row, column),
                        }
                    }
                };
                // Not −0, which an empty sum is.
                block.push(self.summary.variance * entry + 0.0);
                pace.spend(256).await?;
            }
        }
        if lifted {
            let [p, q] = [pair.row, pair.column].map(|variable| self.slopes(variable));
            block = turned(&q, &turned(&p, &block));
        }
        Ok(block)
    }

    /// P of an instance, row by row; and its degrees of freedom.
    fn slopes(&self, (table, instance): Variable) -> (Vec<f64>, usize) {
        let tangent = self.pattern.tables[table].width as usize;
        match &self.tangents[table] {
            None => ((0..tangent * tangent).map(|k| f64::from(u8::from(k % (tangent + 1) == 0))).collect(), tangent),
            Some((manifold, values)) => (manifold.slopes(&values[instance as usize * self.widths[table]..][..self.widths[table]]), tangent),
        }
    }
}

impl Solved {
    /// An entry of G in the columns of the variable, which are solved for unless it is known.
    async fn entry(&mut self, sparse: &Sparse, (row, column): (usize, usize), columns: &Range<usize>, pace: &Pace) -> Result<f64, Stopped> {
        if let Some(entry) = sparse.known(row, column) {
            return Ok(entry);
        }
        if self.plain.is_empty() {
            for column in columns.clone() {
                self.plain.push(sparse.column(column, pace).await?);
            }
        }
        Ok(self.plain[column - columns.start][row])
    }
}

/// (P C)ᵀ, row by row. Twice, it is P C Qᵀ: C with respect to the scalars that are stored.
fn turned((p, tangent): &(Vec<f64>, usize), block: &[f64]) -> Vec<f64> {
    let width = block.len() / tangent;
    let mut product = Vec::with_capacity(width * p.len() / tangent);
    for column in 0..width {
        for row in p.chunks_exact(*tangent) {
            product.push(row.iter().enumerate().map(|(k, p)| p * block[k * width + column]).sum::<f64>() + 0.0);
        }
    }
    product
}
