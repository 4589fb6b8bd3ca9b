//! Validation of recordings, in one place before every device.
//!
//! `Device::start` and `Device::enqueue` validate all that they are given, so a
//! recording that any device would refuse is refused by each of them with the same words, by the CPU of the tests too. It takes a few
//! comparisons a binding, less than the hash of a command, so it is never left out; and devices rely on it: what they play has buffers
//! and kernels of theirs, slices within their buffers, and every binding that a kernel uses. Only a buffer that was freed since is
//! still refused by them.
//!
//! **Kinds.** A buffer holds reals or indices. Kinds of reals ([`Kind`]) may be mixed freely by copies, clears, uploads and reads, and
//! bound to any kernel that only reads them: a device converts, or is told where the low parts are. One mixture is refused: a kernel in
//! `f32` that writes double-floats, whose old low parts it would leave behind. Which kinds and kernels are double-floats depends on
//! [`Reals`], which is why one rule serves all devices: see [`Kind::is_double`] and [`Grade::is_double`]. (Solvers have other buffers in mixed
//! precision, so what they record there is validated there.)

use super::{
    Access, After, BufferId, Command, DeviceError, Dispatch, Elements, Form, Grade, KernelId, KernelSource, Kind, Limits, Multiply, Reals,
    Recording, Sequence, Slice, binding,
};

/// A buffer as validation sees it.
pub struct Held<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its number of elements.
    pub len: u32,
    /// Bytes of an element.
    pub bytes: u64,
    /// Elements before the low parts of double-floats, or 0.
    pub plane: u32,
    /// Its name in messages.
    pub label: &'a str,
}

/// A kernel's declarations.
pub struct Interface {
    /// Its name in messages.
    pub name: String,
    /// What it does with each binding.
    pub access: [Access; binding::COUNT],
    /// The elements of each slot, where the text declares them.
    elements: [Option<Elements>; binding::COUNT],
    grade: Grade,
    /// True if it is in double-floats on any device that has them.
    doubles: bool,
}

impl Interface {
    /// The declarations of a kernel.
    pub fn of(source: &KernelSource) -> Self {
        Self {
            name: source.name.clone(),
            access: source.access(),
            elements: source.elements(),
            grade: source.grade,
            doubles: source.doubles,
        }
    }

    fn is_double(&self, reals: Reals) -> bool {
        self.doubles || self.grade.is_double(reals)
    }
}

/// The buffers, kernels and limits of a device.
pub trait Inventory {
    /// A buffer; none where there is no such buffer.
    fn held(&self, buffer: BufferId) -> Option<Held<'_>>;
    /// A kernel's declarations; none where there is no such kernel.
    fn interface(&self, kernel: KernelId) -> Option<&Interface>;
    /// The device's limits.
    fn limits(&self) -> Limits;
    /// The meaning of reals.
    fn meaning(&self) -> Reals;
    /// True if it has a library for products of matrices.
    fn multiplies(&self) -> bool;
    /// True if it is one of several ranks.
    #[cfg(not(target_arch = "wasm32"))]
    fn is_ranked(&self) -> bool {
        false
    }
    /// A number that no other device of this process has, of one that plays sequences; 0 of others.
    fn identity(&self) -> u64 {
        0
    }
}

/// Validates a recording.
///
/// # Errors
/// [`DeviceError::UnknownBuffer`], or [`DeviceError::Invalid`] with the names of the kernel and the buffer.
pub fn validate(recording: &Recording, on: &impl Inventory) -> Result<(), DeviceError> {
    let checks = Checks { on, limits: on.limits() };
    let last = recording.commands.len().wrapping_sub(1);
    for (place, command) in recording.commands.iter().enumerate() {
        match command {
            Command::Read { .. } if place != last => return refuse(NOT_LAST),
            Command::Sequence(sequence) => {
                if place != last && matches!(sequence.commands().last(), Some(Command::Read { .. })) {
                    return refuse(NOT_LAST);
                }
                checks.sequence(sequence)?;
            }
            other => checks.outermost(other)?,
        }
    }
    Ok(())
}

const NOT_LAST: &str = "a Read that is not the last command";

struct Checks<'a, I> {
    on: &'a I,
    limits: Limits,
}

impl<I: Inventory> Checks<'_, I> {
    /// Commands that are validated once by a device.
    fn sequence(&self, sequence: &Sequence) -> Result<(), DeviceError> {
        let (identity, commands) = (self.on.identity(), sequence.commands());
        if identity == 0 {
            return refuse("a sequence, which this device does not play");
        }
        if sequence.is_validated_by(identity) {
            return Ok(());
        }
        for (place, command) in commands.iter().enumerate() {
            match command {
                Command::Read { .. } if place + 1 != commands.len() => return refuse(NOT_LAST),
                Command::Sequence(_) => return refuse("a sequence inside a sequence"),
                other => self.outermost(other)?,
            }
        }
        sequence.validated(identity);
        Ok(())
    }

    /// A command that is not in a body.
    fn outermost(&self, command: &Command) -> Result<(), DeviceError> {
        let Command::Repeat { body, until, .. } = command else { return self.command(command) };
        self.slice(&Slice { buffer: until.0, offset: until.1, len: 1 }, Elements::Reals, "the flag of a Repeat")?;
        for command in body {
            match command {
                Command::Repeat { .. } => return refuse("a Repeat inside a Repeat"),
                Command::Sequence(_) => return refuse("a sequence inside a Repeat"),
                Command::Read { .. } => return refuse(NOT_LAST),
                Command::UploadReals { .. } | Command::UploadSingles { .. } | Command::UploadIndices { .. } => {
                    return refuse("an upload inside a Repeat");
                }
                #[cfg(not(target_arch = "wasm32"))]
                Command::Await(_) => return refuse("an exchange that is awaited inside a Repeat"),
                other => self.command(other)?,
            }
        }
        Ok(())
    }

    fn command(&self, command: &Command) -> Result<(), DeviceError> {
        match command {
            Command::UploadReals { buffer, offset, data } => self.upload(*buffer, *offset, data.len(), Elements::Reals),
            Command::UploadSingles { buffer, offset, data, first, len } => {
                if first.checked_add(*len as usize).is_none_or(|end| end > data.len()) {
                    return refuse(format!("an upload of {len} elements from {first} on, of {} that there are", data.len()));
                }
                self.upload(*buffer, *offset, *len as usize, Elements::Reals)
            }
            Command::UploadIndices { buffer, offset, data } => self.upload(*buffer, *offset, data.len(), Elements::Indices),
            Command::Clear { slice } | Command::Read { slice } => self.range(slice.buffer, slice.offset, slice.len.into()).map(|_| ()),
            Command::Copy { from, to } => self.copy(from, to),
            Command::Dispatch(dispatch) => self.dispatch(dispatch),
            Command::Multiply(multiply) => self.multiply(multiply),
            #[cfg(not(target_arch = "wasm32"))]
            Command::Collective(collective) | Command::Await(collective) => self.collective(collective),
            // Those of a body were refused before.
            Command::Repeat { .. } | Command::Sequence(_) => Ok(()),
        }
    }

    /// The buffer of elements that lie in it.
    fn range(&self, buffer: BufferId, offset: u32, len: u64) -> Result<Held<'_>, DeviceError> {
        let held = self.on.held(buffer).ok_or(DeviceError::UnknownBuffer(buffer.0))?;
        let end = u64::from(offset) + len;
        if end > u64::from(held.len) {
            return refuse(format!("elements {offset} to {end} of `{}`, which has {}", held.label, held.len));
        }
        Ok(held)
    }

    fn slice(&self, slice: &Slice, elements: Elements, what: &str) -> Result<(), DeviceError> {
        let held = self.range(slice.buffer, slice.offset, slice.len.into())?;
        if held.kind.elements() != elements {
            return refuse(format!("{what}: `{}` holds {}, where {elements} are needed", held.label, held.kind.elements()));
        }
        Ok(())
    }

    fn upload(&self, buffer: BufferId, offset: u32, len: usize, elements: Elements) -> Result<(), DeviceError> {
        let held = self.range(buffer, offset, len as u64)?;
        if held.kind.elements() != elements {
            return refuse(format!("an upload: `{}` holds {}, {elements} were given", held.label, held.kind.elements()));
        }
        Ok(())
    }

    fn copy(&self, from: &Slice, to: &Slice) -> Result<(), DeviceError> {
        if from.buffer == to.buffer || from.len != to.len {
            return refuse("a copy needs two buffers and equal lengths");
        }
        let source = self.range(from.buffer, from.offset, from.len.into())?;
        let target = self.range(to.buffer, to.offset, to.len.into())?;
        let [a, b] = [&source, &target].map(|held| held.kind.elements());
        if a != b {
            return refuse(format!("a copy: `{}` holds {a}, `{}` {b}", source.label, target.label));
        }
        Ok(())
    }

    fn dispatch(&self, dispatch: &Dispatch) -> Result<(), DeviceError> {
        let Some(kernel) = self.on.interface(dispatch.kernel) else { return refuse("a kernel of another device") };
        let name = &kernel.name;
        match dispatch.grid(&self.limits) {
            Ok(Some(_)) => {}
            // Over no items nothing is bound.
            Ok(None) => return Ok(()),
            Err(_) => {
                let (count, most) = (dispatch.count, self.limits.max_items());
                return refuse(format!("kernel `{name}` over {count} items, {most} fit into one dispatch"));
            }
        }
        for (slot, access) in kernel.access.iter().enumerate().skip(1).filter(|(_, access)| **access != Access::Unused) {
            let Some(slice) = &dispatch.bindings[slot] else {
                return refuse(format!("kernel `{name}`, binding {slot}: nothing is bound to it"));
            };
            let held = self.range(slice.buffer, slice.offset, slice.len.into())?;
            let invalid = |what: String| refuse(format!("kernel `{name}`, binding {slot}, `{}`: {what}", held.label));
            let elements = held.kind.elements();
            if let Some(declared) = kernel.elements[slot].filter(|declared| *declared != elements) {
                return invalid(format!("it holds {elements}, where {declared} are needed"));
            }
            if slice.offset % self.limits.offset_alignment != 0 {
                return invalid(format!("offset {} is no multiple of {}", slice.offset, self.limits.offset_alignment));
            }
            let writes = *access == Access::ReadWrite;
            let is_double = kernel.is_double(self.on.meaning());
            if writes && !is_double && held.kind.is_double(self.on.meaning()) {
                return invalid("the kernel is in f32, and would leave old low parts behind double-floats".into());
            }
            let plane = if is_double { held.plane } else { 0 };
            let bytes = (u64::from(plane) + u64::from(slice.len)) * held.bytes;
            if bytes > self.limits.binding_bytes {
                return invalid(format!("{bytes} bytes, a binding can have {}", self.limits.binding_bytes));
            }
            let other = (1..slot).find(|other| {
                slice.len > 0
                    && kernel.access[*other] != Access::Unused
                    && (writes || kernel.access[*other] == Access::ReadWrite)
                    && dispatch.bindings[*other].is_some_and(|seen| seen.len > 0 && seen.buffer == slice.buffer)
            });
            if let Some(other) = other {
                return invalid(format!("binding {other} uses the same buffer, and one of the two writes it"));
            }
        }
        Ok(())
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn collective(&self, collective: &super::Collective) -> Result<(), DeviceError> {
        if !self.on.is_ranked() {
            return refuse(format!("\"{}\", an exchange with other ranks, of which this device is none", collective.label));
        }
        for part in &collective.parts {
            let held = self.on.held(part.buffer()).ok_or(DeviceError::UnknownBuffer(part.buffer().0))?;
            if held.kind.elements() != Elements::Reals {
                return refuse(format!(
                    "\"{}\": `{}` holds {}, and ranks exchange reals",
                    collective.label,
                    held.label,
                    held.kind.elements()
                ));
            }
            if part.end() > u64::from(held.len) {
                let end = part.end();
                return refuse(format!("\"{}\": elements up to {end} of `{}`, which has {}", collective.label, held.label, held.len));
            }
        }
        Ok(())
    }

    fn multiply(&self, Multiply { form, left, right, out, bias }: &Multiply) -> Result<(), DeviceError> {
        if !self.on.multiplies() {
            return refuse("a product, of which this device has no library");
        }
        let Form { batch, rows, depth, columns, .. } = *form;
        let reaches = [
            (left, form.left.reach(batch, rows, depth)),
            (right, form.right.reach(batch, depth, columns)),
            (out, u64::from(batch) * u64::from(rows) * u64::from(columns)),
        ];
        if reaches.iter().any(|(slice, reach)| *reach > slice.len.into()) || bias.is_some_and(|bias| bias.len < columns) {
            return refuse(format!("a product of {batch} × {rows} × {depth} × {columns} goes beyond its slices"));
        }
        if matches!(form.after, After::Bias | After::BiasGelu) != bias.is_some() {
            return refuse("a product with a bias needs one, and no other has one");
        }
        [left, right, out].into_iter().chain(bias).try_for_each(|slice| self.slice(slice, Elements::Reals, "a product"))
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, DeviceError> {
    Err(DeviceError::Invalid(why.into()))
}
