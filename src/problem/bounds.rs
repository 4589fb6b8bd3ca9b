//! Bounds: fixed components, and boxes for the others.
//!
//! On the device both are vectors over all unknowns: the *pins* hold 1 where a component may move and 0 where it may
//! not; `lower` and `upper` hold the box, ± the device's largest number where there is no limit: kernels may assume that
//! there are no infinities. They are made when something is fixed or bounded for the first time; every later edit is one
//! upload, after which nothing is compiled or analysed anew. Limits of another table are new recordings.

use super::table::Table;
use super::{Problem, Reals};
use leastwise_device::{BufferId, Command, Device, Kind, Precision, Slice};
use leastwise_error::Error;

/// The device's vectors that say what may move.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// 1 for an unknown that may move, 0 for one that is fixed; a vector over all unknowns.
    pub pins: Slice,
    /// Lower and upper limits.
    pub bounds: Option<[Slice; 2]>,
}

impl Bounds {
    pub(super) fn buffers(&self) -> impl Iterator<Item = BufferId> {
        std::iter::once(self.pins).chain(self.bounds.into_iter().flatten()).map(|slice| slice.buffer)
    }
}

/// A table's part of them, where it has any.
#[derive(Default, PartialEq)]
pub(super) struct TableBounds {
    /// For every unknown, whether it may move.
    pub free: Option<Vec<bool>>,
    /// For every unknown, its lower and its upper limit.
    pub bounds: Option<[Vec<f64>; 2]>,
}

impl TableBounds {
    fn pins(&self, range: std::ops::Range<usize>) -> Vec<f64> {
        let free = self.free.as_ref().map_or(&[][..], |free| &free[range]);
        free.iter().map(|&free| f64::from(u8::from(free))).collect()
    }
}

/// A component of an instance, for messages.
fn place(table: &Table, unknown: usize) -> (u32, u32) {
    let tangent = table.tangent as usize;
    ((unknown / tangent) as u32, (unknown % tangent) as u32)
}

impl Problem {
    /// The vectors that say what may move; none while everything may. Only after [`lay_out`](Self::lay_out).
    pub fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// True if [`fix`](Self::fix) or [`bound`](Self::bound) of this table needs buffers or commands that are not there yet.
    pub fn lacks_bounds(&self, table: u32, bounds: bool) -> bool {
        let is_new = || !self.tables.get(table as usize).is_some_and(Table::is_bounded);
        self.current_bounds().is_none_or(|known| bounds && (known.bounds.is_none() || is_new()))
    }

    /// The vectors, if they are long enough for every table that there is.
    fn current_bounds(&self) -> Option<Bounds> {
        self.bounds.filter(|known| known.pins.len == self.vector_len)
    }

    /// Fixes components (all, or those given) of the instances in `at` (or of all): they keep their values to the bit.
    pub fn fix(&mut self, table: u32, at: Option<&[u32]>, components: Option<&[u32]>) -> Result<(), Error> {
        self.set_free(table, at, components, false)
    }

    /// Lets every component of the instances in `at` (or of all) move again.
    pub fn unfix(&mut self, table: u32, at: Option<&[u32]>) -> Result<(), Error> {
        self.set_free(table, at, None, true)
    }

    fn set_free(&mut self, number: u32, at: Option<&[u32]>, components: Option<&[u32]>, free: bool) -> Result<(), Error> {
        let table = self.moving_table(number)?;
        if let Some(&index) = at.unwrap_or_default().iter().find(|index| **index >= table.count) {
            return Err(Error::RowOutOfRange { table: table.name.clone(), index, count: table.count });
        }
        let components = table.tangents(components)?;
        let (count, tangent) = (table.count, table.tangent);
        let known = &mut self.tables[number as usize].bounds.free;
        if free && known.is_none() {
            return Ok(());
        }
        let unknowns = known.get_or_insert_with(|| vec![true; (count * tangent) as usize]);
        let mut mark = |index: u32| components.iter().for_each(|component| unknowns[(index * tangent + component) as usize] = free);
        let (first, last) = match at {
            None => {
                (0..count).for_each(mark);
                (0, count - 1)
            }
            Some(at) => {
                at.iter().copied().for_each(&mut mark);
                let (Some(first), Some(last)) = (at.iter().min(), at.iter().max()) else { return Ok(()) };
                (*first, *last)
            }
        };
        self.revision += 1;
        let Some(known) = self.current_bounds() else {
            self.structure += 1;
            return Ok(());
        };
        // One upload for all of them: what lies between goes along.
        let range = (first * tangent) as usize..((last + 1) * tangent) as usize;
        let table = &self.tables[number as usize];
        let (offset, data) = (table.vector + range.start as u32, table.bounds.pins(range));
        self.uploads.push(Command::UploadReals { buffer: known.pins.buffer, offset, data });
        Ok(())
    }

    /// Has the components of a table move, or not, as a table of which it has some rows says: a flag for each unknown. Only before
    /// [`lay_out`](Self::lay_out), which makes the vectors.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn begin_with_free(&mut self, number: u32, free: Vec<bool>) -> Result<(), Error> {
        if free.len() != self.moving_table(number)?.unknowns() as usize {
            return Err(Error::Internal("flags of fixed components are not those of the table's unknowns"));
        }
        self.tables[number as usize].bounds.free = Some(free);
        Ok(())
    }

    /// Bounds the components of a table: limits are one for all, one for each component, or one for each component of
    /// each instance. Infinite ones bound nothing; what is not given stays as it was.
    pub fn bound(&mut self, number: u32, precision: Precision, lower: Option<Reals>, upper: Option<Reals>) -> Result<(), Error> {
        let table = self.moving_table(number)?;
        if table.manifold.is_some() {
            let message = "bounds hold components between two numbers, and on a manifold there are no such components: bound a plain variable, or add a residual that grows at the limit";
            return Err(Error::Shape { name: table.name.clone(), message: message.into() });
        }
        let [given_lower, given_upper] = [("lower", lower), ("upper", upper)].map(|(what, given)| table.limits(what, given));
        let (given_lower, given_upper) = (given_lower?, given_upper?);
        let unknowns = table.unknowns() as usize;
        let old = table.bounds.bounds.as_ref();
        let or_old = |given: Option<Vec<f64>>, side: usize, none: f64| {
            given.unwrap_or_else(|| old.map_or_else(|| vec![none; unknowns], |old| old[side].clone()))
        };
        let lower = or_old(given_lower, 0, f64::NEG_INFINITY);
        let upper = or_old(given_upper, 1, f64::INFINITY);
        let empty = |(lower, upper): (&f64, &f64)| lower > upper || *lower == f64::INFINITY || *upper == f64::NEG_INFINITY;
        if let Some(unknown) = lower.iter().zip(&upper).position(empty) {
            let ((instance, component), (lower, upper)) = (place(table, unknown), (lower[unknown], upper[unknown]));
            let message = format!("its lower limit {lower} and its upper limit {upper} leave nothing between them");
            return Err(Error::Bounds { name: table.name.clone(), instance, component, message });
        }
        let table = &mut self.tables[number as usize];
        // Recordings name the tables that have limits.
        self.structure += u64::from(!table.is_bounded());
        table.bounds.bounds = Some([lower, upper]);
        self.revision += 1;
        match self.current_bounds().and_then(|known| known.bounds) {
            Some(bounds) => {
                let table = &self.tables[number as usize];
                let limits = table.device_limits(precision);
                for (slice, data) in bounds.into_iter().zip(limits) {
                    self.uploads.push(Command::UploadReals { buffer: slice.buffer, offset: table.vector, data });
                }
            }
            None => self.structure += 1,
        }
        Ok(())
    }

    fn moving_table(&self, number: u32) -> Result<&Table, Error> {
        let table = self.table(number)?;
        if table.moving {
            return Ok(table);
        }
        let message = "a constant never moves, so there is nothing to fix or to bound".into();
        Err(Error::Shape { name: table.name.clone(), message })
    }

    /// Makes the vectors, or longer ones, and uploads what was asked for so far.
    pub(super) fn lay_out_bounds(&mut self, device: &mut Device) -> Result<(), Error> {
        let fixed = self.moving().any(|table| table.bounds.free.is_some());
        let bounded = self.moving().any(|table| table.bounds.bounds.is_some());
        if !fixed && !bounded {
            return Ok(());
        }
        let len = self.vector_len;
        if self.current_bounds().is_some_and(|known| known.bounds.is_some() >= bounded) {
            return Ok(());
        }
        let mut slices = Vec::new();
        for label in ["pins", "lower bounds", "upper bounds"].into_iter().take(if bounded { 3 } else { 1 }) {
            match device.allocate(Kind::Real, len, label) {
                Ok(buffer) => slices.push(Slice { buffer, offset: 0, len }),
                Err(error) => {
                    slices.iter().for_each(|slice: &Slice| device.free(slice.buffer));
                    return Err(error.into());
                }
            }
        }
        self.free_bounds(device);
        let known = Bounds { pins: slices[0], bounds: bounded.then(|| [slices[1], slices[2]]) };
        self.bounds = Some(known);
        let whole = |slice: Slice, value: f64| Command::UploadReals { buffer: slice.buffer, offset: 0, data: vec![value; len as usize] };
        let mut uploads = vec![whole(known.pins, 1.0)];
        let largest = device.precision().largest();
        for (slice, value) in known.bounds.into_iter().flatten().zip([-largest, largest]) {
            uploads.push(whole(slice, value));
        }
        for table in self.moving() {
            let offset = table.vector;
            if table.bounds.free.is_some() {
                let data = table.bounds.pins(0..table.unknowns() as usize);
                uploads.push(Command::UploadReals { buffer: known.pins.buffer, offset, data });
            }
            if table.bounds.bounds.is_some() {
                for (slice, data) in known.bounds.into_iter().flatten().zip(table.device_limits(device.precision())) {
                    uploads.push(Command::UploadReals { buffer: slice.buffer, offset, data });
                }
            }
        }
        self.uploads.append(&mut uploads);
        Ok(())
    }

    /// Destroys the vectors, and forgets what was to be uploaded into them.
    pub(super) fn free_bounds(&mut self, device: &mut Device) {
        if let Some(known) = self.bounds.take() {
            super::chunk::free(known.buffers(), device, &mut self.uploads);
        }
    }
}

impl Table {
    /// Whether the component of the instance may move.
    pub fn is_free(&self, unknown: u32) -> bool {
        self.bounds.free.as_ref().is_none_or(|free| free[unknown as usize])
    }

    /// Whether some of its components are bounded.
    pub fn is_bounded(&self) -> bool {
        self.bounds.bounds.is_some()
    }

    /// Lower and upper limits as they were given, one for each unknown.
    pub fn given_limits(&self) -> Option<&[Vec<f64>; 2]> {
        self.bounds.bounds.as_ref()
    }

    /// Its part as a device of this precision has it, for a snapshot of the table: a value at a limit is at that of the snapshot.
    pub(super) fn bounds_in(&self, precision: Precision) -> TableBounds {
        let bounds = self.is_bounded().then(|| self.device_limits(precision));
        TableBounds { free: self.bounds.free.clone(), bounds }
    }

    /// The unknowns of an instance that components stand for.
    fn tangents(&self, components: Option<&[u32]>) -> Result<Vec<u32>, Error> {
        let Some(components) = components else { return Ok((0..self.tangent).collect()) };
        let shape = |message: String| Error::Shape { name: self.name.clone(), message };
        if let Some(component) = components.iter().find(|component| **component >= self.width) {
            let last = self.width - 1;
            return Err(shape(format!("component {component} is out of range: an instance has {} (0 to {last})", self.width)));
        }
        let Some(manifold) = &self.manifold else { return Ok(components.to_vec()) };
        manifold.holding(components).map_err(|component| {
            let what = "moves together with others on its manifold, so it can't be fixed without them";
            shape(format!("component {component} {what}: name all of them, or leave the components out to fix the whole instance"))
        })
    }

    /// Limits as one for each unknown.
    fn limits(&self, what: &str, given: Option<Reals>) -> Result<Option<Vec<f64>>, Error> {
        let Some(given) = given else { return Ok(None) };
        let (width, unknowns) = (self.width as usize, self.unknowns() as usize);
        let given: Vec<f64> = match given {
            Reals::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Reals::F64(values) => values.to_vec(),
        };
        if ![1, width, unknowns].contains(&given.len()) {
            return Err(Error::DataLength {
                term: None,
                what: format!("\"{}\": {what}", self.name),
                got: given.len(),
                expected: format!("1, {width} (one a component) or {unknowns} ({} instances of {width})", self.count),
            });
        }
        if let Some(position) = given.iter().position(|value| value.is_nan()) {
            let (instance, component) = place(self, position);
            return Err(Error::Bounds { name: self.name.clone(), instance, component, message: format!("its {what} limit is NaN") });
        }
        Ok(Some(given.iter().copied().cycle().take(unknowns).collect()))
    }

    /// Its limits as the device has them: those that its precision does not have are rounded into the box.
    fn device_limits(&self, precision: Precision) -> [Vec<f64>; 2] {
        let [lower, upper] = self.bounds.bounds.as_ref().expect("a bounded table");
        let largest = precision.largest();
        let limits = lower.iter().zip(upper).map(|(&lower, &upper)| {
            let (lower, upper) = (lower.max(-largest), upper.min(largest));
            let [low, high] = [at_least(lower, precision), -at_least(-upper, precision)];
            // Between two neighbours there is nothing: the nearest has to do.
            if low > high { (nearest(lower, precision), nearest(lower, precision)) } else { (low, high) }
        });
        limits.unzip::<f64, f64, Vec<f64>, Vec<f64>>().into()
    }
}

/// The number nearest to a limit that a precision has.
fn nearest(limit: f64, precision: Precision) -> f64 {
    let high = limit as f32;
    match precision {
        Precision::F64 => limit,
        Precision::F32 => f64::from(high),
        Precision::F32x2 => f64::from(high) + f64::from((limit - f64::from(high)) as f32),
    }
}

/// The least number of a precision that is no less than a limit.
fn at_least(limit: f64, precision: Precision) -> f64 {
    let near = nearest(limit, precision);
    if near >= limit {
        return near;
    }
    let high = limit as f32;
    match precision {
        Precision::F64 => limit,
        Precision::F32 => f64::from(high.next_up()),
        Precision::F32x2 => f64::from(high) + f64::from(((limit - f64::from(high)) as f32).next_up()),
    }
}
