//! Projection of a batch of energies' Hessians to the nearest semidefinite matrices: kernels, and the buffers that they read.

use leastwise_device::{BufferId, Command, Device, KernelId, Kind, Precision, Slice};
use leastwise_error::Error;
use leastwise_program::ProjectedHessian;

/// Kernels and buffers that project the Hessians of a batch.
pub struct PsdProjection {
    /// Stores the distinct entries of the Hessians.
    pub curvature: KernelId,
    /// Makes semidefinite matrices of them.
    pub project: KernelId,
    /// Where the entries of a packed matrix are among those stored.
    pub map: Slice,
    /// The least eigenvalue that is kept, and what counts as rounding.
    pub limits: Slice,
}

/// What of a Hessian counts as rounding: eight of them.
pub fn rounding(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 9.5e-7,
        Precision::F32x2 => 2.3e-13,
        Precision::F64 => 1.8e-15,
    }
}

impl PsdProjection {
    pub(super) fn new(
        device: &mut Device,
        [curvature, project]: [KernelId; 2],
        of: &ProjectedHessian,
        uploads: &mut Vec<Command>,
    ) -> Result<Self, Error> {
        let codes = of.entries.codes.clone();
        let map =
            Slice { buffer: device.allocate(Kind::Index, codes.len() as u32, "entries of a Hessian")?, offset: 0, len: codes.len() as u32 };
        let limits = device.allocate(Kind::Real, 2, "least eigenvalue and tolerance").inspect_err(|_| device.free(map.buffer))?;
        uploads.push(Command::UploadIndices { buffer: map.buffer, offset: 0, data: codes });
        uploads.push(Command::UploadReals { buffer: limits, offset: 0, data: vec![0.0, rounding(device.precision())] });
        Ok(Self { curvature, project, map, limits: Slice { buffer: limits, offset: 0, len: 2 } })
    }

    /// The buffers that it owns.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        [self.map.buffer, self.limits.buffer].into_iter()
    }
}
