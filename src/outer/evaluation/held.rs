//! Constraints that hold with equality at the accepted values, for a covariance: their rows, and unknowns that may move besides, of a snapshot in f64.

use super::constraint_rows::RowEvaluation;
use crate::{Devices, Turn};
use leastwise_device::{Command, Device, Play, Precision, Recording, Slice};
use leastwise_error::Error;
use leastwise_problem::{Pattern, Problem, Table};
use leastwise_solve::covariance::Held;
use leastwise_solve::{Needs, SnapshotLayout, Workspace};
use std::sync::Arc;

/// Constraints of a snapshot on their way.
pub struct HeldRun {
    precision: Precision,
    stage: Option<Stage>,
}

enum Stage {
    LayingOut(Box<SnapshotLayout>),
    /// The gradient of the Lagrangian, and what limits hold by it.
    Differentiating(Box<Laid>, Box<Play>),
    Limiting(Box<Laid>, Box<Play>),
    Evaluating(Box<Laid>, Box<RowEvaluation>),
}

/// A snapshot that is laid out.
struct Laid {
    snapshot: Problem,
    work: Workspace,
    /// Structure of all terms; without one where some sum over entries.
    pattern: Option<Pattern>,
    free: Vec<bool>,
    gradient: Vec<f64>,
}

impl Laid {
    fn dispose(&mut self, device: &mut Device) {
        self.work.buffers().into_iter().for_each(|buffer| device.free(buffer));
        self.snapshot.dispose(device);
    }

    /// The first recording.
    fn differentiate(&mut self) -> Result<Recording, Error> {
        let mut recording = Recording { commands: self.snapshot.take_uploads() };
        self.work.differentiate(&self.snapshot, &mut recording.commands)?;
        recording.push(Command::Read { slice: Slice { len: self.snapshot.vector_len(), ..self.work.gradient } });
        Ok(recording)
    }
}

impl HeldRun {
    /// Of a snapshot of a problem in this precision.
    pub fn new(mut snapshot: Problem, precision: Precision) -> Result<Self, Error> {
        snapshot.as_lagrangian()?;
        Ok(Self { precision, stage: Some(Stage::LayingOut(Box::new(SnapshotLayout::new(snapshot, |_| true)))) })
    }

    /// Goes on until the deadline (ms) is over, or all is there.
    pub fn resume(&mut self, devices: &mut Devices, deadline: f64) -> Result<Turn<Held>, Error> {
        let (device, registry) = devices.double();
        loop {
            match self.stage.take().ok_or(Error::Internal("constraints have no stage"))? {
                Stage::LayingOut(mut layout) => {
                    let Some((mut snapshot, found)) = layout.resume(device, registry, deadline)? else {
                        self.stage = Some(Stage::LayingOut(layout));
                        return Ok(Turn::Yielded);
                    };
                    let work = Workspace::new(device, &snapshot, Needs::default()).inspect_err(|_| snapshot.dispose(device))?;
                    let mut laid =
                        Box::new(Laid { snapshot, work, pattern: found.map(|found| found.0), free: Vec::new(), gradient: Vec::new() });
                    let recording = laid.differentiate().inspect_err(|_| laid.dispose(device))?;
                    self.stage = Some(Stage::Differentiating(laid, Box::new(device.start(recording))));
                }
                Stage::Differentiating(mut laid, mut play) => {
                    let played = device.resume(&mut play, deadline).inspect_err(|_| laid.dispose(device))?;
                    self.stage = Some(match Turn::from(played).outcome() {
                        Ok(values) => {
                            laid.gradient = Pattern::of_tables(laid.snapshot.tables()).compact(&values);
                            laid.free = vec![true; laid.gradient.len()];
                            match laid.work.free() {
                                Some(slice) => {
                                    let recording = Recording { commands: vec![Command::Read { slice }] };
                                    Stage::Limiting(laid, Box::new(device.start(recording)))
                                }
                                None => Stage::Evaluating(laid, Box::new(RowEvaluation::new(self.precision))),
                            }
                        }
                        Err(turn) => {
                            self.stage = Some(Stage::Differentiating(laid, play));
                            return Ok(turn);
                        }
                    });
                }
                Stage::Limiting(mut laid, mut play) => {
                    let played = device.resume(&mut play, deadline).inspect_err(|_| laid.dispose(device))?;
                    match Turn::from(played).outcome() {
                        Ok(values) => {
                            let values = Pattern::of_tables(laid.snapshot.tables()).compact(&values);
                            laid.free = values.iter().map(|free| *free != 0.0).collect();
                            self.stage = Some(Stage::Evaluating(laid, Box::new(RowEvaluation::new(self.precision))));
                        }
                        Err(turn) => {
                            self.stage = Some(Stage::Limiting(laid, play));
                            return Ok(turn);
                        }
                    }
                }
                Stage::Evaluating(mut laid, mut rows) => {
                    let turn = rows.resume(device, registry, &mut laid.snapshot, deadline).inspect_err(|_| {
                        rows.free(device);
                        laid.dispose(device);
                    });
                    match turn?.outcome() {
                        Ok(equalities) => {
                            let of_table =
                                |table: &Table| (0..table.unknowns()).map(|unknown| !table.is_free(unknown)).collect::<Vec<bool>>();
                            let fixed = laid.snapshot.moving().flat_map(of_table).collect();
                            laid.dispose(device);
                            let Laid { free, gradient, pattern, .. } = *laid;
                            return Ok(Turn::Over(Held { equalities, gradient, free, fixed, pattern: pattern.map(Arc::new) }));
                        }
                        Err(turn) => {
                            self.stage = Some(Stage::Evaluating(laid, rows));
                            return Ok(turn);
                        }
                    }
                }
            }
        }
    }

    /// Frees what it has on the device.
    pub fn free(self, device: &mut Device) {
        match self.stage {
            Some(Stage::LayingOut(mut layout)) => layout.dispose(device),
            Some(Stage::Differentiating(mut laid, _) | Stage::Limiting(mut laid, _)) => laid.dispose(device),
            Some(Stage::Evaluating(mut laid, mut rows)) => {
                rows.free(device);
                laid.dispose(device);
            }
            None => {}
        }
    }
}
