//! Mirrors on their way: laid out to be differentiated on another device, in time slices, with the structure of JᵀWJ where that is wanted.

use super::assembly::{Structure, structure};
use leastwise_base::work::{Stopped, Work};
use leastwise_device::Device;
use leastwise_error::Error;
use leastwise_problem::{Links, Problem, Registry};

pub struct Mirroring {
    /// None after the end.
    mirror: Option<Problem>,
    /// Whether a mirror that is laid out needs the structure.
    needs_structure: fn(&Problem) -> bool,
    finding: Option<Work<'static, Result<Option<Structure>, Stopped>>>,
}

impl Mirroring {
    pub fn new(mirror: Problem, needs_structure: fn(&Problem) -> bool) -> Self {
        Self { mirror: Some(mirror), needs_structure, finding: None }
    }

    /// Goes on until the deadline; gives the mirror and the structure at the end. What is refused leaves nothing on the device.
    pub fn resume(
        &mut self,
        device: &mut Device,
        registry: &mut Registry,
        deadline_ms: f64,
    ) -> Result<Option<(Problem, Option<Structure>)>, Error> {
        let gone = Error::Disposed("task");
        let found = match &mut self.finding {
            Some(finding) => finding.resume(deadline_ms),
            None => {
                let mirror = self.mirror.as_mut().ok_or(gone.clone())?;
                if !mirror.lay_out_point(device, registry, deadline_ms).inspect_err(|_| mirror.dispose(device))? {
                    return Ok(None);
                }
                if (self.needs_structure)(mirror) {
                    let links = Links::new(mirror);
                    self.finding = Some(Work::new(move |pace| async move { structure(&links, &pace).await }));
                    return Ok(None);
                }
                Some(Ok(None))
            }
        };
        let Some(found) = found else { return Ok(None) };
        Ok(Some((self.mirror.take().ok_or(gone)?, found?)))
    }

    pub fn dispose(&mut self, device: &mut Device) {
        if let Some(mirror) = &mut self.mirror {
            mirror.dispose(device);
        }
    }
}
