//! A problem's mirror: its tables and the terms that take part, at given values, to be laid out on another device. What is to
//! be known in f64 whatever the problem is solved in is computed there.

use super::{Problem, Registry, Table};
use crate::device::{Device, Precision};
use crate::error::Error;

impl Problem {
    /// The same tables and enabled terms at a point, given as the arena has it in this precision. Values are brought onto
    /// their manifolds again: in f32 they are next to them.
    pub fn mirrored(&self, point: &[f64], precision: Precision) -> Result<Self, Error> {
        let tables: Result<Vec<Table>, Error> = self.tables.iter().map(|table| table.mirrored(point, precision)).collect();
        let terms = self.terms.iter().map(|term| term.as_ref().filter(|term| term.enabled).map(|term| term.mirrored()));
        Ok(Self {
            tables: tables?,
            terms: terms.collect(),
            stale: true,
            arena_len: self.arena_len,
            vector_len: self.vector_len,
            blocks_len: self.blocks_len,
            ..Self::default()
        })
    }

    /// Lays out all but what makes trial points: enough to differentiate.
    pub fn lay_out_point(&mut self, device: &mut Device, registry: &mut Registry) -> Result<(), Error> {
        self.lay_out_sums(device)?;
        self.lay_out_tables(device)?;
        self.lay_out_constraints(device)?;
        self.lay_out_terms(device, registry)
    }
}

impl Table {
    fn mirrored(&self, point: &[f64], precision: Precision) -> Result<Self, Error> {
        let of_point = &point[self.arena as usize..][..self.elements() as usize];
        let mut values = self.exact.as_deref().unwrap_or(of_point).to_vec();
        if let Some(manifold) = self.moves_on() {
            manifold.settle(&mut values, |place| place).map_err(|error| Error::Manifold { name: self.name.clone(), error })?;
        }
        Ok(Self {
            name: self.name.clone(),
            manifold: self.manifold.clone(),
            trials: None,
            initial: Some(values),
            exact: None,
            constraints: self.constraints_in(precision),
            ..*self
        })
    }
}
