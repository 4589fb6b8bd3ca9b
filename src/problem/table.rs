//! Tables: many instances of one variable or constant.

use super::Reals;
use super::bounds::TableBounds;
use super::reals;
use super::retraction::Trials;
use leastwise_base::memory;
use leastwise_error::Error;
use leastwise_expr::Manifold;
use std::sync::Arc;

/// Sizes of a table, and its places in buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    pub width: u32,
    pub tangent: u32,
    pub count: u32,
    pub arena: u32,
    pub vector: u32,
    pub block: u32,
}

impl Site {
    /// Elements of the lower triangle of an instance's diagonal block.
    pub fn packed(&self) -> u32 {
        self.tangent * (self.tangent + 1) / 2
    }

    /// Its part of the arena.
    pub fn elements(&self) -> u32 {
        self.width * self.count
    }

    /// Its part of a vector over all unknowns.
    pub fn unknowns(&self) -> u32 {
        self.tangent * self.count
    }
}

/// Instances of one variable or constant.
pub struct Table {
    /// Name of the table.
    pub name: String,
    /// Scalars of an instance: what the arena holds.
    pub width: u32,
    /// Degrees of freedom of an instance: what vectors over all unknowns hold.
    pub tangent: u32,
    /// Number of instances.
    pub count: u32,
    /// Variables move; constants are gathered in the same way but never solved for.
    pub moving: bool,
    /// What instances lie on, unless their scalars are free.
    pub manifold: Option<Arc<Manifold>>,
    /// How its trial points are made, if that takes more than adding the step.
    pub trials: Option<Trials>,
    /// First element in the arena; in vectors over all unknowns; among the packed diagonal blocks.
    pub arena: u32,
    /// First element in vectors over all unknowns.
    pub vector: u32,
    /// First element among the packed diagonal blocks.
    pub block: u32,
    /// The largest number that its device has.
    pub(super) largest: f64,
    /// The values until they are uploaded.
    pub(super) initial: Option<Vec<f64>>,
    /// The values of constants in f64, where the device has them in f32 and a solve may go on in more precision.
    pub(super) exact: Option<Vec<f64>>,
    /// True while the device has made its values: `exact` are older ones then.
    pub(super) is_combined: bool,
    /// The last values that the host knows, where they lie on a device that may be lost.
    pub(super) known: Option<Vec<f64>>,
    pub(super) bounds: TableBounds,
}

impl Table {
    /// A table whose values are given, on a device with numbers up to `largest`.
    pub(super) fn new(
        name: &str,
        width: u32,
        manifold: Option<Arc<Manifold>>,
        values: Reals,
        (moving, largest): (bool, f64),
    ) -> Result<Self, Error> {
        let shape = |message: String| Error::Shape { name: name.into(), message };
        let instances = values.len() / width as usize;
        if instances == 0 || !values.len().is_multiple_of(width as usize) {
            let what = format!("\"{name}\": values");
            let expected = format!("a positive multiple of {width} (its shape)");
            return Err(Error::DataLength { term: None, what, got: values.len(), expected });
        }
        let count = u32::try_from(instances).map_err(|_| shape(format!("{instances} instances are too many")))?;
        let mut table = Self::of_sums(name, width, count, moving);
        table.tangent = manifold.as_ref().map_or(width, |manifold| manifold.tangent);
        table.manifold = manifold;
        table.largest = largest;
        table.initial = Some(table.settled(values, None)?);
        Ok(table)
    }

    /// A table of a term's own: sums over the rows' entries, or their slopes.
    pub(super) fn of_sums(name: &str, width: u32, count: u32, moving: bool) -> Self {
        Self {
            name: name.into(),
            width,
            tangent: width,
            count,
            moving,
            manifold: None,
            trials: None,
            arena: 0,
            vector: 0,
            block: 0,
            largest: f32::MAX.into(),
            initial: None,
            exact: None,
            is_combined: false,
            known: None,
            bounds: TableBounds::default(),
        }
    }

    /// Sizes of the table, and its places in buffers.
    pub fn site(&self) -> Site {
        let &Self { width, tangent, count, arena, vector, block, .. } = self;
        Site { width, tangent, count, arena, vector, block }
    }

    /// What its instances move on, unless they move freely or not at all.
    pub fn moves_on(&self) -> Option<&Arc<Manifold>> {
        self.manifold.as_ref().filter(|_| self.moving)
    }

    /// Elements of the lower triangle of an instance's diagonal block.
    pub fn packed(&self) -> u32 {
        self.site().packed()
    }

    /// Its part of the arena.
    pub fn elements(&self) -> u32 {
        self.site().elements()
    }

    /// Its part of a vector over all unknowns.
    pub fn unknowns(&self) -> u32 {
        self.site().unknowns()
    }

    /// The values until they are on a device.
    pub fn initial_values(&self) -> Option<&[f64]> {
        self.initial.as_deref()
    }

    /// Values of all instances, or of those in `at`: finite, and on the manifold.
    fn settled(&self, values: Reals, at: Option<&[u32]>) -> Result<Vec<f64>, Error> {
        memory::probe(values.len() as u128 * 8, &format!("the values of \"{}\"", self.name))?;
        let values = values.finite(self.largest).map_err(|(position, value)| {
            let instance = Some((position / self.width as usize) as u32);
            Error::not_finite(None, instance, format!("\"{}\"", self.name), (position, value))
        })?;
        let mut values = reals::owned(values);
        if let Some(manifold) = &self.manifold {
            let named = |place: usize| at.map_or(place, |at| at[place] as usize);
            manifold.settle(&mut values, named).map_err(|error| Error::Manifold { name: self.name.clone(), error })?;
        }
        Ok(values)
    }

    /// Checks values of all instances, or of those in `at`, without writing them.
    ///
    /// # Errors
    /// [`Error`] for values that are not finite, or not on the manifold.
    pub fn check(&self, values: Reals, at: Option<&[u32]>) -> Result<(), Error> {
        self.settled(values, at).map(drop)
    }

    /// An instance's scalars where it has moved along one of its degrees of freedom.
    pub fn displaced(&self, x: &[f64], along: u32, by: f64) -> Vec<f64> {
        if let Some(manifold) = &self.manifold {
            return manifold.displaced(x, along, by);
        }
        let mut moved = x.to_vec();
        moved[along as usize] += by;
        moved
    }

    /// All instances where they have moved by a step of all degrees of freedom, within their limits.
    pub fn moved(&self, x: &[f64], step: &[f64]) -> Vec<f64> {
        if let Some(manifold) = &self.manifold {
            let instances = x.chunks(self.width as usize).zip(step.chunks(self.tangent as usize));
            return instances.flat_map(|(x, step)| manifold.retracted(x, step)).collect();
        }
        let mut moved: Vec<f64> = x.iter().zip(step).map(|(x, step)| x + step).collect();
        if let Some([lower, upper]) = &self.bounds.bounds {
            moved.iter_mut().zip(lower.iter().zip(upper)).for_each(|(x, (lower, upper))| *x = x.max(*lower).min(*upper));
        }
        moved
    }

    /// What to write where (in elements of the table): runs of consecutive instances are one write.
    pub(super) fn writes(&self, values: Reals, at: Option<&[u32]>) -> Result<Vec<(u32, Vec<f64>)>, Error> {
        let width = self.width as usize;
        let instances = at.map_or(self.count as usize, <[u32]>::len);
        if values.len() != instances * width {
            return Err(Error::DataLength {
                term: None,
                what: format!("\"{}\": values", self.name),
                got: values.len(),
                expected: format!("{} ({instances} instances of {width})", instances * width),
            });
        }
        let values = self.settled(values, at)?;
        let Some(at) = at else { return Ok(vec![(0, values)]) };
        if let Some(&index) = at.iter().find(|index| **index >= self.count) {
            return Err(Error::RowOutOfRange { table: self.name.clone(), index, count: self.count });
        }
        let mut writes: Vec<(u32, Vec<f64>)> = Vec::new();
        for (&index, row) in at.iter().zip(values.chunks(width)) {
            let offset = index * self.width;
            match writes.last_mut() {
                Some((start, data)) if *start + data.len() as u32 == offset => data.extend_from_slice(row),
                _ => writes.push((offset, row.to_vec())),
            }
        }
        Ok(writes)
    }

    /// Notes what is written to the device.
    pub(super) fn write_exact(&mut self, offset: u32, data: &[f64]) {
        if let Some(values) = &mut self.exact {
            values[offset as usize..][..data.len()].copy_from_slice(data);
        }
    }

    /// Takes values as the device had them: where they are those of f64, rounded, more is known of them.
    pub(super) fn restore_exact(&mut self, own: &[f64]) {
        self.is_combined = false;
        let Some(values) = &mut self.exact else { return };
        values.iter_mut().zip(own).filter(|(exact, own)| f64::from(**exact as f32) != **own).for_each(|(exact, own)| *exact = *own);
    }

    pub(super) fn write_initial(&mut self, writes: Vec<(u32, Vec<f64>)>) {
        let Some(values) = &mut self.initial else { return };
        for (offset, data) in writes {
            values[offset as usize..offset as usize + data.len()].copy_from_slice(&data);
        }
    }
}
