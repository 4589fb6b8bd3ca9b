//! Normals of a triangle mesh's vertices, as a table that follows them.

use crate::Session;
use leastwise_device::Recording;
use leastwise_error::Error;

impl Session {
    /// Has a table of constants be normals of the vertices in another.
    pub fn normals(&mut self, problem: u32, table: u32, of: u32, around: &[u32]) -> Result<(), Error> {
        self.idle(problem)?.0.problem.add_normals(table, of, around.to_vec())
    }

    /// Makes a table's normals anew, behind all that was begun, at once on a GPU: whoever draws sees those of the present values.
    ///
    /// False, and nothing is made, while a kernel is being compiled.
    pub fn update_normals(&mut self, problem: u32, table: u32) -> Result<bool, Error> {
        let (entry, devices) = self.entry(problem)?;
        if entry.is_busy() {
            return Err(Error::Busy);
        }
        let (problem, device) = (&mut entry.problem, &mut devices.main);
        let command = problem.normals_command(device, table)?;
        if device.is_queue() {
            // Combinations of tables may be among the uploads.
            let commands = problem.combination_kernel().into_iter().chain([command.clone()]).collect();
            if device.compile(&Recording { commands })?.is_some() {
                return Ok(false);
            }
        }
        problem.make_normals(table, command)?;
        if device.is_queue() {
            device.enqueue(&Recording { commands: problem.take_uploads() })?;
        }
        Ok(true)
    }
}
