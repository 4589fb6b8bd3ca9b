//! Normals of a mesh's vertices, in a buffer of their own on the device, which a renderer draws from.

use super::Session;
use super::job::{Ended, Job, Progress, Step};
use leastwise_device::{BufferId, Command, Dispatch, KernelId, KernelSource, Kind, Play, Playing, Recording, Slice};
use leastwise_error::Error;
use leastwise_kernels::{Arguments, mesh};
use leastwise_outer::Turn;
use leastwise_problem::{Problem, Table};

/// Normals of the instances of a table, which are the vertices of a mesh.
pub(super) struct Normals {
    pub problem: u32,
    table: u32,
    count: u32,
    kernel: KernelId,
    normals: BufferId,
    corners: BufferId,
    words: u32,
}

impl Normals {
    pub fn buffers(&self) -> [BufferId; 2] {
        [self.normals, self.corners]
    }

    fn all(&self) -> Slice {
        Slice { buffer: self.normals, offset: 0, len: 3 * self.count }
    }

    fn dispatch(&self, problem: &Problem) -> Result<Command, Error> {
        let args = mesh::VertexNormals { arena: problem.table(self.table)?.arena, corners: self.count + 1 };
        let bindings = mesh::VertexNormalsBindings {
            arena: problem.arenas()?.0,
            table: Slice { buffer: self.corners, offset: 0, len: self.words },
            normals: self.all(),
        };
        Ok(Command::Dispatch(Dispatch::of(self.kernel, args, self.count, bindings)))
    }
}

/// For every vertex where its faces begin, and the end of the last one's; then for every face of a vertex its other two corners,
/// counter-clockwise. Faces that name a vertex twice have no area, and are left out.
fn corners_of(table: &Table, triangles: &[u32]) -> Result<Vec<u32>, Error> {
    if !triangles.len().is_multiple_of(3) {
        let (what, expected) = (format!("normals of \"{}\": triangles", table.name), "a multiple of 3".to_string());
        return Err(Error::DataLength { term: None, what, got: triangles.len(), expected });
    }
    if let Some(&index) = triangles.iter().find(|index| **index >= table.count) {
        return Err(Error::RowOutOfRange { table: table.name.clone(), index, count: table.count });
    }
    let (faces, _) = triangles.as_chunks::<3>();
    let faces = || faces.iter().filter(|[a, b, c]| a != b && b != c && c != a);
    let vertices = table.count as usize;
    let mut words = vec![0; vertices + 1];
    faces().flatten().for_each(|vertex| words[*vertex as usize + 1] += 1);
    (0..vertices).for_each(|vertex| words[vertex + 1] += words[vertex]);
    let mut next = words[..vertices].to_vec();
    words.resize(words.len() + 2 * words[vertices] as usize, 0);
    for &[a, b, c] in faces() {
        for [vertex, others @ ..] in [[a, b, c], [b, c, a], [c, a, b]] {
            let place = vertices + 1 + 2 * next[vertex as usize] as usize;
            words[place..place + 2].copy_from_slice(&others);
            next[vertex as usize] += 1;
        }
    }
    Ok(words)
}

/// A computation of normals, which may end in reading them.
struct NormalsJob {
    problem: u32,
    normals: u32,
    play: Play,
}

impl Job for NormalsJob {
    fn resume(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Step, Error> {
        // Reads that were asked for before this one bring their uploads along.
        while let Some(first) = session.read_before(self.problem, task)? {
            if let Some(progress) = session.resume_before(first, deadline) {
                return Ok(progress.into());
            }
        }
        if let Err(disposed) = session.view_normals(self.normals) {
            // Uploads that it has are not lost.
            self.cancel(session);
            return Err(disposed);
        }
        let turn = Turn::from(session.devices.main.resume(&mut self.play, deadline)?);
        Ok(Progress::of(turn, Progress::Values).into())
    }

    fn free(self: Box<Self>, _: &mut Session, _: u32) {}

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn playing(&mut self) -> Option<&mut Play> {
        Some(&mut self.play)
    }
}

impl Session {
    /// Normals of a table's instances, which are the vertices of a mesh: all 0 until they are computed.
    pub fn normals(&mut self, problem: u32, number: u32, triangles: &[u32]) -> Result<u32, Error> {
        self.refuse_ranks("normals")?;
        let (entry, devices) = self.entry(problem)?;
        let device = &mut devices.main;
        let table = entry.problem.table(number)?;
        if table.width != 3 {
            let message = format!("its instances have {} scalars, but a vertex has 3", table.width);
            return Err(Error::Shape { name: table.name.clone(), message });
        }
        let words = corners_of(table, triangles)?;
        let limits = device.limits();
        let len = u32::try_from(words.len()).ok().filter(|len| u64::from(*len) * 4 <= limits.binding_bytes.min(limits.buffer_bytes));
        let Some(len) = len else {
            let bytes = limits.binding_bytes.min(limits.buffer_bytes);
            return Err(Error::Limits(format!("the corners of {} faces exceed one buffer binding ({bytes} bytes)", triangles.len() / 3)));
        };
        let count = table.count;
        let kernel = device.kernels(&[KernelSource::of_static(mesh::VertexNormals::KERNEL)])?[0];
        let corners = device.allocate(Kind::Index, len, "corners of faces")?;
        let normals = device.allocate(Kind::Real, 3 * count, "normals").inspect_err(|_| device.free(corners))?;
        let mut play = device.start(Recording { commands: vec![Command::UploadIndices { buffer: corners, offset: 0, data: words }] });
        if let Err(error) = device.resume(&mut play, f64::INFINITY) {
            [normals, corners].into_iter().for_each(|buffer| device.free(buffer));
            return Err(error.into());
        }
        Ok(self.normals.insert(Box::new(Normals { problem, table: number, count, kernel, normals, corners, words: len })))
    }

    /// A task: the normals at the accepted values, computed; and read, if they are wanted.
    pub fn compute_normals(&mut self, normals: u32, read: bool) -> Result<u32, Error> {
        let (problem, all, mut recording) = self.computation(normals, true)?;
        if read {
            recording.push(Command::Read { slice: all });
        }
        let device = &mut self.devices.main;
        let mut play = device.start(recording);
        if self.entry(problem)?.0.running.is_none() {
            let task = self.add_task(NormalsJob { problem, normals, play });
            self.entry(problem)?.0.reads.push(task);
            return Ok(task);
        }
        // Before the solve goes on: here it is played, or enqueued ahead of the next step.
        match self.devices.main.resume(&mut play, f64::INFINITY)? {
            Playing::Finished(values) => Ok(self.add_task(Ended::with(values))),
            Playing::Yielded | Playing::Waiting(_) => Ok(self.add_task(NormalsJob { problem, normals, play })),
        }
    }

    /// Computes the normals at the accepted values: on a GPU behind all that was begun, and nothing is waited for.
    pub fn update_normals(&mut self, normals: u32) -> Result<(), Error> {
        let (.., recording) = self.computation(normals, false)?;
        let device = &mut self.devices.main;
        if device.is_queue() {
            return Ok(device.enqueue(&recording)?);
        }
        let mut play = device.start(recording);
        device.resume(&mut play, f64::INFINITY)?;
        Ok(())
    }

    /// The normals' place on the device.
    pub fn view_normals(&self, normals: u32) -> Result<Slice, Error> {
        Ok(self.normals.get(normals).ok_or(Error::Disposed("normals"))?.all())
    }

    /// The commands that compute normals, behind uploads that wait where no task will bring them. `compiles`: what is not compiled
    /// yet may be waited for.
    ///
    /// On a GPU every submission leaves accepted values, whatever is running; on a CPU a step may be half done.
    fn computation(&mut self, normals: u32, compiles: bool) -> Result<(u32, Slice, Recording), Error> {
        let problem = self.normals.get(normals).ok_or(Error::Disposed("normals"))?.problem;
        let running = self.entry(problem)?.0.running;
        let between = running.and_then(|task| self.tasks.get(&task)).is_none_or(|job| job.is_between_steps());
        if !self.devices.main.is_queue() {
            if !between {
                return Err(Error::Busy);
            }
            if running.is_none() {
                self.finish_live(problem)?;
            }
        }
        let Self { normals: tables, problems, devices, .. } = self;
        let entry = problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        let of = tables.get(normals).ok_or(Error::Disposed("normals"))?;
        let device = &mut devices.main;
        if running.is_none() {
            // Values are there before terms are.
            entry.problem.lay_out_values(device)?;
        }
        let dispatch = of.dispatch(&entry.problem)?;
        let kernels = entry.problem.combination_kernel().into_iter().chain([dispatch.clone()]).collect();
        let at_once = device.compile(&Recording { commands: kernels })?.is_none();
        // Reads that wait have older ones.
        let brings = (running.is_none() && compiles) || (between && at_once && entry.reads.is_empty());
        let mut recording = Recording { commands: if brings { entry.problem.take_uploads() } else { Vec::new() } };
        recording.push(dispatch);
        Ok((problem, of.all(), recording))
    }
}
