//! Commands, checked and turned into what an encoder takes.
//!
//! A command is resolved first (do the buffers exist, do the slices fit, may they be bound together) and encoded after,
//! so that the body of a `Repeat` is checked once however often it is encoded. Whatever WebGPU would refuse is refused
//! here, with the kernel's and the buffer's names: WebGPU's own errors arrive late and know neither.

use super::super::recording::singles;
use super::super::{Access, BufferId, Command, DeviceError, Dispatch, Kind, Limits, Params, Slice, binding};
use super::pool::{Block, PARAMS_STRIDE, ParamsBuffer};
use super::{ELEMENT, Storage, WgpuDevice};

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

/// The grid of a dispatch, as workgroups in x and y.
struct Grid {
    x: u32,
    y: u32,
    params: Params,
}

/// A command that was found to be in order.
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
                Command::Dispatch(dispatch) => blocks.push(match self.grid(dispatch)? {
                    Some(grid) => Block { params: grid.params, planes: self.planes(dispatch)? },
                    None => Block::default(),
                }),
                Command::Repeat { body, .. } if body.iter().any(|command| matches!(command, Command::Repeat { .. })) => {
                    return Err(DeviceError::Invalid("a Repeat inside a Repeat".into()));
                }
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

    /// `None` when there is nothing to do.
    fn grid(&self, dispatch: &Dispatch) -> Result<Option<Grid>, DeviceError> {
        let Limits { group_size, groups_per_dimension, .. } = self.limits;
        let groups = if dispatch.single_group { 1 } else { dispatch.count.div_ceil(group_size) };
        if groups == 0 {
            return Ok(None);
        }
        let x = groups.min(groups_per_dimension);
        let y = groups.div_ceil(x);
        // The last row may be longer than what is needed of it: its items must still be numbers that do not wrap.
        let last_item = u64::from(x) * u64::from(y) * u64::from(group_size) - 1;
        if y > groups_per_dimension || last_item > u64::from(u32::MAX) {
            let name = &self.kernels.get(dispatch.kernel)?.name;
            let (count, most) = (dispatch.count, self.limits.max_items());
            return Err(DeviceError::Invalid(format!("kernel `{name}` over {count} items, {most} fit into one dispatch")));
        }
        let params = Params { count: dispatch.count, grid_width: x * group_size, zero: 0, group_count: groups, words: dispatch.words };
        Ok(Some(Grid { x, y, params }))
    }

    /// Checks a command and appends what it comes to. `block` is the place of the next dispatch's uniform block and moves on.
    pub(super) fn resolve<'a>(
        &mut self,
        command: &'a Command,
        params: &ParamsBuffer,
        block: &mut u32,
        steps: &mut Vec<Step<'a>>,
    ) -> Result<(), DeviceError> {
        match command {
            Command::UploadReals { buffer, offset, data } => {
                let place = self.place(*buffer, *offset, data.len() as u64, Kind::Real)?;
                if !data.is_empty() {
                    steps.extend(place.low().map(|byte| Step::UploadReals { buffer: place.buffer.clone(), byte, data, part: low_part }));
                    steps.push(Step::UploadReals { buffer: place.buffer, byte: place.byte, data, part: high_part });
                }
            }
            Command::UploadSingles { buffer, offset, data, first, len } => {
                let data = singles(data, *first, *len)?;
                let place = self.place(*buffer, *offset, data.len() as u64, Kind::Real)?;
                if !data.is_empty() {
                    let bytes = data.len() as u64 * ELEMENT;
                    steps.extend(place.low().map(|byte| Step::Clear { buffer: place.buffer.clone(), byte, bytes }));
                    steps.push(Step::UploadSingles { buffer: place.buffer, byte: place.byte, data });
                }
            }
            Command::UploadIndices { buffer, offset, data } => {
                let Place { buffer, byte, .. } = self.place(*buffer, *offset, data.len() as u64, Kind::Index)?;
                if !data.is_empty() {
                    steps.push(Step::UploadIndices { buffer, byte, data });
                }
            }
            Command::Clear { slice } => {
                let place = self.place(slice.buffer, slice.offset, slice.len.into(), self.storage(slice.buffer)?.kind)?;
                let bytes = u64::from(slice.len) * ELEMENT;
                if bytes > 0 {
                    let cleared = [Some(place.byte), place.low()].into_iter().flatten();
                    steps.extend(cleared.map(|byte| Step::Clear { buffer: place.buffer.clone(), byte, bytes }));
                }
            }
            Command::Copy { from, to } => {
                if from.buffer == to.buffer || from.len != to.len {
                    return Err(DeviceError::Invalid("a copy needs two buffers and equal lengths".into()));
                }
                let kind = self.storage(from.buffer)?.kind;
                let from_place = self.place(from.buffer, from.offset, from.len.into(), kind)?;
                let to_place = self.place(to.buffer, to.offset, to.len.into(), kind)?;
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
            Command::Multiply(_) => return Err(DeviceError::Invalid("WebGPU has no library for products".into())),
            Command::Repeat { .. } => return Err(DeviceError::Invalid("a Repeat inside a Repeat".into())),
            Command::Read { .. } => return Err(DeviceError::Invalid("a Read that is not the last command".into())),
        }
        Ok(())
    }

    /// A buffer and the byte where `len` elements of `kind` begin in it. Reals may be single or double.
    pub(super) fn place(&self, buffer: BufferId, offset: u32, len: u64, kind: Kind) -> Result<Place, DeviceError> {
        let storage = self.storage(buffer)?;
        if (storage.kind == Kind::Index) != (kind == Kind::Index) {
            let label = &storage.label;
            return Err(DeviceError::Invalid(format!("`{label}`: indices where reals are needed, or the other way round")));
        }
        if u64::from(offset) + len > u64::from(storage.len) {
            return Err(past_the_end(&storage.label, offset, len, storage.len));
        }
        Ok(Place { buffer: storage.buffer.clone(), byte: u64::from(offset) * ELEMENT, plane: u64::from(storage.plane) * ELEMENT })
    }

    fn resolve_dispatch<'a>(&mut self, dispatch: &Dispatch, params: &ParamsBuffer, place: u32) -> Result<Option<Step<'a>>, DeviceError> {
        let kernel = self.kernels.get(dispatch.kernel)?;
        let pipeline = self.kernels.ready(kernel)?.clone();
        let Some(Grid { x, y, .. }) = self.grid(dispatch)? else { return Ok(None) };
        let name = &kernel.name;
        let mut slots = [None; binding::COUNT];
        for (slot, access) in kernel.access.iter().enumerate().skip(1) {
            let (Some(slice), true) = (dispatch.bindings[slot], *access != Access::Unused) else { continue };
            let storage = self.storage(slice.buffer)?;
            if u64::from(slice.offset) + u64::from(slice.len) > u64::from(storage.len) {
                return Err(past_the_end(&storage.label, slice.offset, slice.len.into(), storage.len));
            }
            let invalid = |what: &str| DeviceError::Invalid(format!("kernel `{name}`, binding {slot}, `{}`: {what}", storage.label));
            if slice.offset % self.limits.offset_alignment != 0 {
                let offset = slice.offset;
                return Err(invalid(&format!("offset {offset} is no multiple of {}", self.limits.offset_alignment)));
            }
            let plane = if kernel.doubles { storage.plane } else { 0 };
            if storage.plane > 0 && !kernel.doubles && *access == Access::ReadWrite {
                return Err(invalid("it is in f32, and would leave old low parts behind double-floats"));
            }
            let bytes = (u64::from(plane) + u64::from(slice.len)) * ELEMENT;
            if bytes > self.limits.binding_bytes {
                return Err(invalid(&format!("{bytes} bytes, a binding can have {}", self.limits.binding_bytes)));
            }
            let other = (1..slot).find(|other| dispatch.bindings[*other].is_some_and(|seen| seen.buffer == slice.buffer));
            let writes = |slot: usize| kernel.access[slot] == Access::ReadWrite;
            if let Some(other) = other.filter(|other| kernel.access[*other] != Access::Unused && (writes(*other) || writes(slot))) {
                return Err(invalid(&format!("binding {other} uses the same buffer, and one of the two writes it")));
            }
            slots[slot] = (slice.len > 0).then_some(slice);
        }
        let key = BindKey { layout: kernel.layout, params: params.id, doubles: kernel.doubles, slots };
        let group = match self.bind_groups.get(&key) {
            Some(group) => group.clone(),
            None => {
                let group = self.bind_group(&key, kernel.access, params)?;
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

fn past_the_end(label: &str, offset: u32, len: u64, has: u32) -> DeviceError {
    let end = u64::from(offset) + len;
    DeviceError::Invalid(format!("elements {offset} to {end} of `{label}`, which has {has}"))
}
