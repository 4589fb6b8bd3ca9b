//! Commands, turned into what an encoder takes.
//!
//! A command is resolved first (to buffers, places in them and bind groups) and encoded after, so that the body of a `Repeat` is
//! resolved once however often it is encoded. Whatever WebGPU would refuse was refused before (`validation`), with the kernel's and the
//! buffer's names: WebGPU's own errors arrive late and know neither.

use super::pool::{Block, PARAMS_STRIDE, ParamsBuffer};
use super::{ELEMENT, Storage, WgpuDevice};
use leastwise_recording::{Access, BufferId, Command, DeviceError, Dispatch, Grid, Slice, binding};

/// What a bind group depends on. The uniform block's place is not in it: that is a dynamic offset.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct BindKey {
    layout: usize,
    params: u32,
    /// Whether the low parts of double-floats are bound as well.
    doubles: bool,
    /// `None`: unused, or empty.
    slots: [Option<Slice>; binding::COUNT],
}

impl BindKey {
    pub fn params(&self) -> u32 {
        self.params
    }

    pub fn names(&self, buffer: BufferId) -> bool {
        self.slots.iter().flatten().any(|slice| slice.buffer == buffer)
    }
}

/// Bind groups that are kept; when there are more, all go and are made anew as needed.
const MAX_BIND_GROUPS: usize = 8192;

/// Elements that are converted and handed to the queue at a time.
const UPLOAD_PIECE: usize = 1 << 20;

/// A command, resolved.
pub(super) enum Step<'a> {
    Dispatch { pipeline: wgpu::ComputePipeline, group: wgpu::BindGroup, offset: u32, x: u32, y: u32 },
    Copy { from: wgpu::Buffer, from_byte: u64, to: wgpu::Buffer, to_byte: u64, bytes: u64 },
    Clear { buffer: wgpu::Buffer, byte: u64, bytes: u64 },
    UploadReals { buffer: wgpu::Buffer, byte: u64, data: &'a [f64], part: fn(f64) -> f32 },
    UploadSingles { buffer: wgpu::Buffer, byte: u64, data: &'a [f32] },
    UploadIndices { buffer: wgpu::Buffer, byte: u64, data: &'a [u32] },
}

/// Where elements of a buffer begin, and how far behind that their low parts, unless that is 0.
pub(super) struct Place {
    pub buffer: wgpu::Buffer,
    pub byte: u64,
    plane: u64,
}

impl Place {
    /// The high parts alone.
    pub fn without_low(self) -> Self {
        Self { plane: 0, ..self }
    }

    /// Where the low parts begin.
    pub fn low(&self) -> Option<u64> {
        (self.plane > 0).then_some(self.byte + self.plane)
    }
}

/// A number in f32, and what that leaves of it.
fn high_part(value: f64) -> f32 {
    value as f32
}

fn low_part(value: f64) -> f32 {
    let high = value as f32;
    if high.is_finite() { (value - f64::from(high)) as f32 } else { 0.0 }
}

/// Commands on their way to one submission.
#[derive(Default)]
pub(super) struct Batch {
    // Before the encoder, and so dropped before it: a pass must end first.
    pass: Option<wgpu::ComputePass<'static>>,
    encoder: Option<wgpu::CommandEncoder>,
    /// Uploads that the queue holds back until something is submitted.
    uploads: bool,
}

impl WgpuDevice {
    /// The uniform blocks of all dispatches of a recording, in the order of the commands.
    pub(super) fn params_of(&self, commands: &[Command]) -> Result<Vec<Block>, DeviceError> {
        let mut blocks = Vec::new();
        for command in commands {
            match command {
                // One that has nothing to do keeps its place, so that counting stays simple.
                Command::Dispatch(dispatch) => blocks.push(match dispatch.grid(&self.limits)? {
                    Some(grid) => Block { params: grid.params, planes: self.planes(dispatch)? },
                    None => Block::default(),
                }),
                Command::Repeat { body, .. } => blocks.extend(self.params_of(body)?),
                _ => {}
            }
        }
        Ok(blocks)
    }

    /// Where the low parts of what a dispatch binds are.
    fn planes(&self, dispatch: &Dispatch) -> Result<[u32; 12], DeviceError> {
        let mut planes = [0; 12];
        if self.kernels.get(dispatch.kernel)?.doubles {
            for (plane, slice) in planes.iter_mut().zip(&dispatch.bindings) {
                *plane = slice.and_then(|slice| self.storage(slice.buffer).ok()).map_or(0, |storage| storage.plane);
            }
        }
        Ok(planes)
    }

    /// Resolves a command and appends what it comes to. `block` is the place of the next dispatch's uniform block and moves on.
    pub(super) fn resolve<'a>(
        &mut self,
        command: &'a Command,
        params: &ParamsBuffer,
        block: &mut u32,
        steps: &mut Vec<Step<'a>>,
    ) -> Result<(), DeviceError> {
        match command {
            Command::UploadReals { buffer, offset, data } => {
                let place = self.place(*buffer, *offset)?;
                if !data.is_empty() {
                    steps.extend(place.low().map(|byte| Step::UploadReals { buffer: place.buffer.clone(), byte, data, part: low_part }));
                    steps.push(Step::UploadReals { buffer: place.buffer, byte: place.byte, data, part: high_part });
                }
            }
            Command::UploadSingles { buffer, offset, data, first, len } => {
                let data = &data[*first..*first + *len as usize];
                let place = self.place(*buffer, *offset)?;
                if !data.is_empty() {
                    let bytes = data.len() as u64 * ELEMENT;
                    steps.extend(place.low().map(|byte| Step::Clear { buffer: place.buffer.clone(), byte, bytes }));
                    steps.push(Step::UploadSingles { buffer: place.buffer, byte: place.byte, data });
                }
            }
            Command::UploadIndices { buffer, offset, data } => {
                let Place { buffer, byte, .. } = self.place(*buffer, *offset)?;
                if !data.is_empty() {
                    steps.push(Step::UploadIndices { buffer, byte, data });
                }
            }
            Command::Clear { slice } => {
                let place = self.place(slice.buffer, slice.offset)?;
                let bytes = u64::from(slice.len) * ELEMENT;
                if bytes > 0 {
                    let cleared = [Some(place.byte), place.low()].into_iter().flatten();
                    steps.extend(cleared.map(|byte| Step::Clear { buffer: place.buffer.clone(), byte, bytes }));
                }
            }
            Command::Copy { from, to } => {
                let from_place = self.place(from.buffer, from.offset)?;
                let to_place = self.place(to.buffer, to.offset)?;
                let bytes = u64::from(from.len) * ELEMENT;
                let copied = |from_byte, to_byte| {
                    let (from, to) = (from_place.buffer.clone(), to_place.buffer.clone());
                    Step::Copy { from, from_byte, to, to_byte, bytes }
                };
                if bytes > 0 {
                    steps.push(copied(from_place.byte, to_place.byte));
                    // What has no low part has 0 for one, and what has no place for it drops it.
                    steps.extend(to_place.low().map(|byte| match from_place.low() {
                        Some(from) => copied(from, byte),
                        None => Step::Clear { buffer: to_place.buffer.clone(), byte, bytes },
                    }));
                }
            }
            Command::Dispatch(dispatch) => {
                let place = *block;
                *block += 1;
                steps.extend(self.resolve_dispatch(dispatch, params, place)?);
            }
            // Validation lets none of them come here: there is no library, sequences are the CPU's, and the other two are played by `play`.
            #[cfg(not(target_arch = "wasm32"))]
            Command::Collective(_) | Command::Await(_) => {
                return Err(DeviceError::Invalid("an exchange with other ranks inside a pass".into()));
            }
            Command::Multiply(_) | Command::Sequence(_) | Command::Repeat { .. } | Command::Read { .. } => {
                return Err(DeviceError::Invalid("a command that can't be encoded".into()));
            }
        }
        Ok(())
    }

    /// A buffer and the byte where elements from `offset` on begin in it.
    pub(super) fn place(&self, buffer: BufferId, offset: u32) -> Result<Place, DeviceError> {
        let storage = self.storage(buffer)?;
        Ok(Place { buffer: storage.buffer.clone(), byte: u64::from(offset) * ELEMENT, plane: u64::from(storage.plane) * ELEMENT })
    }

    fn resolve_dispatch<'a>(&mut self, dispatch: &Dispatch, params: &ParamsBuffer, place: u32) -> Result<Option<Step<'a>>, DeviceError> {
        let kernel = self.kernels.get(dispatch.kernel)?;
        let pipeline = self.kernels.ready(kernel)?.clone();
        let Some(Grid { x, y, .. }) = dispatch.grid(&self.limits)? else { return Ok(None) };
        let access = kernel.interface.access;
        let used = |slot: usize| access[slot] != Access::Unused;
        let slots = std::array::from_fn(|slot| dispatch.bindings[slot].filter(|slice| used(slot) && slice.len > 0));
        let key = BindKey { layout: kernel.layout, params: params.id, doubles: kernel.doubles, slots };
        let group = match self.bind_groups.get(&key) {
            Some(group) => group.clone(),
            None => {
                let group = self.bind_group(&key, access, params)?;
                if self.bind_groups.len() >= MAX_BIND_GROUPS {
                    self.bind_groups.clear();
                }
                self.bind_groups.insert(key, group.clone());
                self.internals.bind_groups_created += 1;
                group
            }
        };
        Ok(Some(Step::Dispatch { pipeline, group, offset: place * PARAMS_STRIDE as u32, x, y }))
    }

    fn bind_group(&self, key: &BindKey, access: [Access; binding::COUNT], params: &ParamsBuffer) -> Result<wgpu::BindGroup, DeviceError> {
        let bound = |buffer, offset: u64, bytes: u64| {
            wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size: wgpu::BufferSize::new(bytes) })
        };
        let uniform = bound(&params.buffer, 0, size_of::<Block>() as u64);
        let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: uniform }];
        for (slot, access) in access.iter().enumerate().skip(1) {
            let resource = match (access, key.slots[slot]) {
                (Access::Unused, _) => continue,
                (_, Some(slice)) => {
                    let Storage { buffer, plane, .. } = self.storage(slice.buffer)?;
                    let plane = if key.doubles { *plane } else { 0 };
                    bound(buffer, u64::from(slice.offset) * ELEMENT, (u64::from(plane) + u64::from(slice.len)) * ELEMENT)
                }
                (Access::Read, None) => self.empty[0].as_entire_binding(),
                (Access::ReadWrite, None) => self.empty[1].as_entire_binding(),
            };
            entries.push(wgpu::BindGroupEntry { binding: slot as u32, resource });
        }
        let layout = self.kernels.group_layout(key.layout);
        Ok(self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries }))
    }

    pub(super) fn encode(&mut self, batch: &mut Batch, step: &Step) {
        match step {
            Step::Dispatch { pipeline, group, offset, x, y } => {
                let pass = batch.pass(&self.device);
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[*offset]);
                pass.dispatch_workgroups(*x, *y, 1);
                self.counters.dispatches += 1;
            }
            Step::Copy { from, from_byte, to, to_byte, bytes } => {
                batch.encoder(&self.device).copy_buffer_to_buffer(from, *from_byte, to, *to_byte, *bytes);
            }
            Step::Clear { buffer, byte, bytes } => batch.encoder(&self.device).clear_buffer(buffer, *byte, Some(*bytes)),
            Step::UploadReals { buffer, byte, data, part } => {
                self.before_upload(batch);
                for (piece, values) in data.chunks(UPLOAD_PIECE).enumerate() {
                    let values: Vec<f32> = values.iter().map(|value| part(*value)).collect();
                    let byte = byte + (piece * UPLOAD_PIECE) as u64 * ELEMENT;
                    self.queue.write_buffer(buffer, byte, bytemuck::cast_slice(&values));
                }
                self.counters.bytes_uploaded += data.len() as u64 * ELEMENT;
            }
            Step::UploadSingles { buffer, byte, data } => {
                self.before_upload(batch);
                for (piece, values) in data.chunks(UPLOAD_PIECE).enumerate() {
                    let byte = byte + (piece * UPLOAD_PIECE) as u64 * ELEMENT;
                    self.queue.write_buffer(buffer, byte, bytemuck::cast_slice(values));
                }
                self.counters.bytes_uploaded += data.len() as u64 * ELEMENT;
            }
            Step::UploadIndices { buffer, byte, data } => {
                self.before_upload(batch);
                for (piece, words) in data.chunks(UPLOAD_PIECE).enumerate() {
                    let byte = byte + (piece * UPLOAD_PIECE) as u64 * ELEMENT;
                    self.queue.write_buffer(buffer, byte, bytemuck::cast_slice(words));
                }
                self.counters.bytes_uploaded += data.len() as u64 * ELEMENT;
            }
        }
    }

    /// The queue puts what it uploads before the *next* submission, so what was encoded before must go first.
    fn before_upload(&mut self, batch: &mut Batch) {
        if batch.encoder.is_some() {
            self.submit(batch);
        }
        batch.uploads = true;
    }

    /// Submits what there is. `None` when there is nothing.
    pub(super) fn submit(&mut self, batch: &mut Batch) -> Option<wgpu::SubmissionIndex> {
        let Batch { pass, encoder, uploads } = std::mem::take(batch);
        drop(pass);
        if encoder.is_none() && !uploads {
            return None;
        }
        self.counters.submissions += 1;
        Some(self.queue.submit(encoder.map(wgpu::CommandEncoder::finish)))
    }
}

impl Batch {
    /// For copies and the like: ends the pass, if there is one.
    pub fn encoder(&mut self, device: &wgpu::Device) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        self.encoder.get_or_insert_with(|| device.create_command_encoder(&Default::default()))
    }

    fn pass(&mut self, device: &wgpu::Device) -> &mut wgpu::ComputePass<'static> {
        let encoder = self.encoder.get_or_insert_with(|| device.create_command_encoder(&Default::default()));
        self.pass.get_or_insert_with(|| encoder.begin_compute_pass(&Default::default()).forget_lifetime())
    }
}
