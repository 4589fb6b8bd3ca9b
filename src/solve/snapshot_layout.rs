//! Layout of a snapshot on another device, in time slices, with the structure of JᵀWJ where that is wanted.

use super::assembly::{Structure, structure};
use leastwise_base::task::{Stopped, Task};
use leastwise_device::Device;
use leastwise_error::Error;
use leastwise_problem::{Links, Problem, Registry};

/// Layout of a snapshot in time slices, and the structure of its JᵀWJ where that is needed.
pub struct SnapshotLayout {
    /// None after the end.
    snapshot: Option<Problem>,
    /// Whether a snapshot that is laid out needs the structure.
    needs_structure: fn(&Problem) -> bool,
    finding: Option<Task<'static, Result<Option<Structure>, Stopped>>>,
}

impl SnapshotLayout {
    /// A layout that has not begun.
    pub fn new(snapshot: Problem, needs_structure: fn(&Problem) -> bool) -> Self {
        Self { snapshot: Some(snapshot), needs_structure, finding: None }
    }

    /// Goes on until the deadline; gives the snapshot and the structure at the end. What is refused leaves nothing on the device.
    pub fn resume(
        &mut self,
        device: &mut Device,
        registry: &mut Registry,
        deadline_ms: f64,
    ) -> Result<Option<(Problem, Option<Structure>)>, Error> {
        let gone = Error::Internal("a task has nothing to go on with");
        let found = match &mut self.finding {
            Some(finding) => finding.resume(deadline_ms),
            None => {
                let snapshot = self.snapshot.as_mut().ok_or(gone.clone())?;
                if !snapshot.lay_out_point(device, registry, deadline_ms).inspect_err(|_| snapshot.dispose(device))? {
                    return Ok(None);
                }
                if (self.needs_structure)(snapshot) {
                    let links = Links::new(snapshot);
                    self.finding = Some(Task::new(move |pace| async move { structure(&links, &pace).await }));
                    return Ok(None);
                }
                Some(Ok(None))
            }
        };
        let Some(found) = found else { return Ok(None) };
        Ok(Some((self.snapshot.take().ok_or(gone)?, found?)))
    }

    /// Frees the snapshot, unless it was handed on.
    pub fn dispose(&mut self, device: &mut Device) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.dispose(device);
        }
    }
}
