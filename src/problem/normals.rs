//! Normals of a triangle mesh's vertices, made on the device: a table of constants that follows a table of points.

use super::Problem;
use leastwise_device::{BufferId, Command, Device, Dispatch, KernelSource, Kind, Slice};
use leastwise_error::Error;
use leastwise_kernels::{Arguments, mesh};

/// A table of normals, and what they are made of.
pub(super) struct Normals {
    table: u32,
    /// The table of the vertices.
    of: u32,
    /// For every vertex and one more where its pairs begin, then the pairs. Kept: memory on a device may be refused later.
    around: Vec<u32>,
    /// The same on the device, once normals were made.
    buffer: Option<BufferId>,
}

impl Normals {
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        self.buffer.into_iter()
    }
}

/// Refuses what is no list of pairs of corners for so many vertices.
fn check(around: &[u32], count: u32) -> Result<(), String> {
    let first = count as usize + 1;
    let Some(starts) = around.get(..first) else {
        return Err(format!("pairs begin at {} places, but {first} are needed", around.len()));
    };
    let ends = starts.first() == Some(&(first as u32)) && starts.last() == Some(&(around.len() as u32));
    if !ends || starts.windows(2).any(|pair| pair[1] < pair[0] || !(pair[1] - pair[0]).is_multiple_of(2)) {
        return Err("pairs do not begin and end where the list does".into());
    }
    match around[first..].iter().find(|corner| **corner >= count) {
        Some(corner) => Err(format!("a face has the vertex {corner}, but there are {count}")),
        None => Ok(()),
    }
}

impl Problem {
    /// Has a table of constants be normals of the vertices in another.
    pub fn add_normals(&mut self, table: u32, of: u32, around: Vec<u32>) -> Result<(), Error> {
        let (to, from) = (self.table(table)?, self.table(of)?);
        let refuse = |message: String| Err(Error::Shape { name: to.name.clone(), message });
        if to.moving || (to.width, to.count) != (3, from.count) || from.width != 3 || to.manifold.is_some() || from.manifold.is_some() {
            return refuse(format!("normals are constants of 3 scalars, as many as \"{}\" has vertices of 3 scalars", from.name));
        }
        if let Err(message) = check(&around, from.count) {
            return refuse(message);
        }
        if self.normals.iter().any(|known| known.table == table) {
            return refuse("it has normals already".into());
        }
        self.normals.push(Normals { table, of, around, buffer: None });
        Ok(())
    }

    /// The command that makes a table's normals anew, for values that are laid out; what it reads is uploaded first.
    pub fn normals_command(&mut self, device: &mut Device, table: u32) -> Result<Command, Error> {
        self.lay_out_values(device)?;
        let (point, _) = self.arenas()?;
        let known = self.normals.iter_mut().find(|known| known.table == table).ok_or(Error::Internal("a table has no normals"))?;
        let len = known.around.len() as u32;
        let buffer = match known.buffer {
            Some(buffer) => buffer,
            None => {
                let buffer = device.allocate(Kind::Index, len, "faces around vertices")?;
                self.uploads.push(Command::UploadIndices { buffer, offset: 0, data: known.around.clone() });
                *known.buffer.insert(buffer)
            }
        };
        let kernel = device.kernels(&[KernelSource::of_static(mesh::VertexNormals::KERNEL)])?[0];
        let [to, from] = [table, known.of].map(|table| &self.tables[table as usize]);
        let args = mesh::VertexNormals { normals: to.arena, vertices: from.arena };
        let bindings = mesh::VertexNormalsBindings { around: Slice { buffer, offset: 0, len }, values: point };
        Ok(Command::Dispatch(Dispatch::of(kernel, args, to.count, bindings)))
    }

    /// Puts that command behind all uploads; a solver hears of it if a term gathers the normals.
    pub fn make_normals(&mut self, table: u32, command: Command) -> Result<(), Error> {
        let (point, trial) = self.arenas()?;
        let to = &self.tables[table as usize];
        let part = |arena: Slice| Slice { buffer: arena.buffer, offset: to.arena, len: to.elements() };
        // Constants are read at the trial point too.
        self.uploads.extend([command, Command::Copy { from: part(point), to: part(trial) }]);
        self.tables[table as usize].is_combined = true;
        if self.terms().any(|term| term.gathers(table)) {
            self.revision += 1;
        }
        Ok(())
    }

    pub(super) fn free_normals(&mut self, device: &mut Device) {
        let buffers: Vec<BufferId> = self.normals.iter_mut().filter_map(|known| known.buffer.take()).collect();
        super::chunk::free(buffers.into_iter(), device, &mut self.uploads);
    }
}
