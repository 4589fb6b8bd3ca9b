//! A problem of a session, and what several ranks have of it besides.

#[cfg(not(target_arch = "wasm32"))]
use super::parts::Parts;
use leastwise_error::Error;
use leastwise_outer::Devices;
use leastwise_problem::{Loss, Problem, Reals, Shape, TermSpec, Weight};

/// A problem, and the tasks that work on it.
pub struct Entry {
    pub problem: Problem,
    /// The task that nothing else may run beside.
    pub running: Option<u32>,
    /// Reads in turn; others may come while they wait.
    pub reads: Vec<u32>,
    /// Counts what moved the variables.
    pub moves: u64,
    /// The same problem as ranks have it, where there are several.
    #[cfg(not(target_arch = "wasm32"))]
    pub ranked: Option<Box<Parts>>,
}

impl Entry {
    pub fn new() -> Self {
        Self {
            problem: Problem::new(),
            running: None,
            reads: Vec::new(),
            moves: 0,
            #[cfg(not(target_arch = "wasm32"))]
            ranked: None,
        }
    }

    pub fn is_busy(&self) -> bool {
        self.running.is_some() || !self.reads.is_empty()
    }

    pub fn add_table(&mut self, devices: &mut Devices, name: &str, shapes: Vec<Shape>, values: Reals, moving: bool) -> Result<u32, Error> {
        let Devices { main: device, registry, .. } = devices;
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(parts) = &mut self.ranked {
            parts.may_declare()?;
            self.problem.add_table(device, registry, name, shapes.clone(), values, moving)?;
            return parts.table((device, registry), name, shapes, values, moving);
        }
        self.problem.add_table(device, registry, name, shapes, values, moving)
    }

    pub fn add_term(&mut self, devices: &mut Devices, spec: TermSpec) -> Result<u32, Error> {
        let Devices { main: device, registry, .. } = devices;
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(parts) = &mut self.ranked {
            parts.may_declare()?;
            self.problem.add_term(device, registry, spec.clone())?;
            return parts.term(&spec);
        }
        self.problem.add_term(device, registry, spec)
    }

    pub fn write_table(&mut self, devices: &mut Devices, table: u32, values: Reals, at: Option<&[u32]>) -> Result<(), Error> {
        self.problem.write_table(table, values, at)?;
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(parts) = &mut self.ranked {
            parts.write((&devices.main, &mut devices.registry), table, values, at)?;
        }
        #[cfg(target_arch = "wasm32")]
        let _ = devices;
        Ok(())
    }

    pub fn set_column(&mut self, devices: &Devices, term: u32, column: u32, values: Reals) -> Result<(), Error> {
        self.problem.set_column(term, column, values)?;
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(parts) = &mut self.ranked {
            parts.set_column(&devices.main, term, column, values)?;
        }
        #[cfg(target_arch = "wasm32")]
        let _ = devices;
        Ok(())
    }

    pub fn set_weight(&mut self, term: u32, weight: Weight) -> Result<(), Error> {
        self.problem.set_weight(term, weight)?;
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(parts) = &mut self.ranked {
            parts.set_weight(term, weight)?;
        }
        Ok(())
    }

    pub fn set_loss(&mut self, term: u32, loss: &Loss) -> Result<(), Error> {
        self.problem.set_loss(term, loss)?;
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(parts) = &mut self.ranked {
            parts.set_loss(term, loss)?;
        }
        Ok(())
    }
}
