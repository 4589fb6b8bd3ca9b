//! The code `bits`: rotated residuals, bits where the variance is, a trellis, and one scale a vector.
//!
//! A residual r is turned into its principal axes, y = R·r, and divided by its length s₀ = ‖y‖/√d, or by a larger unit where some of its
//! coordinates lie beyond all levels ([`Overload`]). Coordinates of much
//! variance λ get more bits than others ([`allocate`]; an error in coordinate i counts √λᵢ, since what is searched for differs
//! from a vector mostly along the axes in which vectors differ); up to 6 bits a coordinate is coded by a [`Trellis`],
//! beyond by scalar levels. What is stored of a vector is its bits, which decode to z, and the scale s = ‖y‖²/⟨y, z⟩: products with
//! s·z are then unbiased (RaBitQ: Gao and Long, 2024). cos²∠(y, z) is nearly the same number κ for all vectors, so that
//! ‖y‖² ≈ κ·‖s·z‖², and ‖q − r‖² is estimated by ‖q‖² − 2⟨R·q, s·z⟩ + κ·‖s·z‖². The nearest vector along z is κ·s·z.
//!
//! A row: s as f16, then bits from the lowest of the first byte on: scalar coordinates, then those of the trellis, the last
//! one lowest, above the first maybe the rest of the state it started from, and zeros: one word read at a value's place holds the older bits above the newest.

use super::Form;
use super::allocation::{MOST_BITS, allocate, distortion};
use super::columns::dot;
use super::normal;
use super::overload::Overload;
use super::rotation::{self, Rotation, WIDEST};
use super::trellis::{self, Step, Trellis, Workspace};
use super::words;
use super::{Fields, PADDING};
use half::f16;
use leastwise_base::task::Pace;
use leastwise_cpu::block::{Instructions, SimdKernel};

/// Words of the trellis: the wide one where there is time for it.
pub const WINDOWS: [u32; 2] = [8, 10];

/// Numbers (vectors × dimensions) up to which the wide trellis is used: it takes four times as long.
const WIDE_NUMBERS: usize = 1 << 24;

/// Vectors of which κ is the mean.
const SHRINK_SAMPLE: usize = 512;

/// The scale may be this many times the unit by which a residual was divided: more means that the code says nothing.
const MOST_STRETCH: f32 = 8.0;

/// Bytes of the scale.
const SCALE: usize = 2;

/// Where the value of a coordinate is read, and in which table.
#[derive(Clone, Copy, Default)]
struct Field {
    bit: u32,
    mask: u32,
    table: u32,
}

/// Model of the code `bits`.
pub struct Transform {
    /// Rotation R into principal axes.
    pub rotation: Rotation,
    /// Bits of the trellis' states.
    pub window: u32,
    /// Of every coordinate.
    pub bits: Vec<u8>,
    /// √λ of every coordinate, in lengths s₀.
    pub spread: Vec<f32>,
    /// κ
    pub shrink: f32,
    /// Bits of the state that sequences start from; none where it is 0.
    start_bits: u32,
    trellis: Trellis,
    fields: Vec<Field>,
    /// Levels of everything that occurs: 0 first, then trellis and scalars by bits.
    tables: Vec<f32>,
    /// Coordinates of the trellis, in its order, and those of scalar levels.
    steps: Vec<(usize, Step)>,
    scalars: Vec<usize>,
    overload: Overload,
    code_bytes: usize,
}

/// What encoding and decoding work in.
#[derive(Default)]
pub struct Scratch {
    trellis: Workspace,
    values: Vec<f32>,
    states: Vec<u32>,
    padded: Vec<u8>,
    decoded: Vec<f32>,
    /// A code beside which another is tried.
    kept: Vec<u8>,
}

/// What a model is chosen for.
pub struct Budget {
    /// Vectors that will be coded.
    pub count: usize,
    /// Bytes for all of them, the rotation and tables of coordinates included, or only those of a row's bits.
    pub bytes: Bytes,
}

/// A budget's bytes.
pub enum Bytes {
    /// Bytes of all rows, of the rotation and of the tables of coordinates together.
    Total(usize),
    /// Bytes of a row's bits, its scale excluded.
    Row(usize),
}

impl Transform {
    /// Bytes of memory: the rotation's, the trellis', and those of what is known by coordinate.
    pub fn memory(&self) -> usize {
        let by_coordinate =
            self.bits.capacity() + size_of::<Field>() * self.fields.capacity() + size_of::<usize>() * self.scalars.capacity();
        let steps = size_of::<(usize, Step)>() * self.steps.capacity();
        self.rotation.memory() + self.trellis.memory() + by_coordinate + steps + 4 * (self.spread.capacity() + self.tables.capacity())
    }

    /// A model for residuals like these. `None` when the budget doesn't leave a byte a vector.
    pub async fn train(sample: &[f32], dim: usize, budget: &Budget, pace: &Pace) -> Option<Self> {
        let count = budget.count.max(1);
        let (row, blocks, bits) = Self::row_of(dim, count, &budget.bytes)?;
        let rotation = Rotation::principal(sample, dim, blocks, bits, &pace.part(0.0..0.6)).await;
        let variances = variances(&rotation, sample, dim, &pace.part(0.6..0.9)).await;
        let weights: Vec<f64> = variances.iter().map(|variance| variance * variance.sqrt()).collect();
        let spread = variances.iter().map(|variance| variance.sqrt() as f32).collect();
        let window = WINDOWS[usize::from(count.saturating_mul(dim) <= WIDE_NUMBERS)];
        let mut bits = allocate(&weights, row * 8);
        let start = start_bits(&bits, window) as usize;
        if start > 0 {
            bits = allocate(&weights, row * 8 - start);
        }
        let mut model = Self::new(rotation, window, bits, spread, 1.0);
        model.shrink = model.mean_shrink(sample, &pace.part(0.9..1.0)).await;
        Some(model)
    }

    /// Bytes of a row beside its scale, one at least, and blocks and bits of the rotation, for so many vectors.
    pub fn row_of(dim: usize, count: usize, bytes: &Bytes) -> Option<(usize, usize, u32)> {
        // Of every coordinate its bits and its spread.
        let tables = 5 * dim;
        let for_rows = match bytes {
            Bytes::Total(total) => total.checked_sub(tables + SCALE * count)?,
            Bytes::Row(row) => row * count,
        };
        let (blocks, bits) = rotation_of(dim, for_rows);
        let row = match bytes {
            Bytes::Total(_) => (for_rows - rotation::bytes(dim, blocks, bits)) / count.max(1),
            Bytes::Row(row) => *row,
        };
        (row > 0).then_some((row, blocks, bits))
    }

    /// A model from its parts.
    ///
    /// # Panics
    /// When they are not of one dimension, or a coordinate has more than [`MOST_BITS`].
    pub fn new(rotation: Rotation, window: u32, bits: Vec<u8>, spread: Vec<f32>, shrink: f32) -> Self {
        let trellis = Trellis::new(window);
        let mut tables = vec![0.0];
        // By width: where levels begin, and how far they reach.
        let (starts, reaches): (Vec<u32>, Vec<f32>) = (0..=MOST_BITS)
            .map(|width| {
                let start = tables.len();
                if width > 0 && bits.contains(&(width as u8)) {
                    if width <= trellis::MOST_BITS {
                        tables.extend_from_slice(trellis.levels(width));
                    } else {
                        tables.extend(normal::levels(width));
                    }
                }
                (start as u32, Overload::reach_of(&tables[start..], width))
            })
            .unzip();
        let mut fields = vec![Field::default(); bits.len()];
        let mut bit = 0;
        let width = |coordinate: usize| u32::from(bits[coordinate]);
        let scalars: Vec<usize> = (0..bits.len()).filter(|&coordinate| width(coordinate) > trellis::MOST_BITS).collect();
        for &coordinate in &scalars {
            let width = width(coordinate);
            fields[coordinate] = Field { bit, mask: (1 << width) - 1, table: starts[width as usize] };
            bit += width;
        }
        // Those of many bits first: then states are full soon.
        let mut coded: Vec<usize> = (0..bits.len()).filter(|&coordinate| (1..=trellis::MOST_BITS).contains(&width(coordinate))).collect();
        coded.sort_by_key(|&coordinate| std::cmp::Reverse(bits[coordinate]));
        for &coordinate in coded.iter().rev() {
            fields[coordinate] = Field { bit, mask: (1 << window) - 1, table: starts[width(coordinate) as usize] };
            bit += width(coordinate);
        }
        let start_bits = start_bits(&bits, window);
        bit += start_bits;
        let steps = coded
            .iter()
            .map(|&coordinate| (coordinate, Step { bits: width(coordinate), weight: spread[coordinate] * importance(spread[coordinate]) }))
            .collect();
        let reach =
            |coordinate: usize| if bits[coordinate] > 0 { spread[coordinate] * reaches[width(coordinate) as usize] } else { f32::INFINITY };
        // An error counts √λ, and those of coordinates without bits are the same in any unit.
        let granular = |coordinate: usize| f64::from(spread[coordinate]).powi(3) * distortion(width(coordinate));
        let granular: f64 = (0..bits.len()).filter(|&coordinate| bits[coordinate] > 0).map(granular).sum();
        let overload = Overload::new((0..bits.len()).map(reach).collect(), spread.clone(), granular as f32);
        Self {
            rotation,
            window,
            bits,
            spread,
            shrink,
            start_bits,
            trellis,
            fields,
            tables,
            steps,
            scalars,
            overload,
            code_bytes: bit.div_ceil(8) as usize,
        }
    }

    /// Bits are those of the row, the scale before them.
    pub(super) fn fields(&self) -> Fields {
        let place = |field: &Field| if field.mask == 0 { [0; 3] } else { [8 * SCALE as u32 + field.bit, field.mask, field.table] };
        Fields {
            places: self.fields.iter().map(place).collect(),
            spreads: self.spread.clone(),
            lows: vec![0.0; self.bits.len()],
            levels: self.tables.clone(),
            form: Form::Scaled,
        }
    }

    /// Bytes of a row: the scale and the bits.
    pub(crate) fn row_bytes(&self) -> usize {
        SCALE + self.code_bytes
    }

    /// Codes a residual that has been turned. False when its scale is beyond what f16 holds.
    #[inline(always)]
    pub fn encode(&self, turned: &[f32], row: &mut [u8], scratch: &mut Scratch) -> bool {
        row.fill(0);
        let squares = dot(turned, turned);
        let length = (squares / turned.len() as f32).sqrt();
        if length == 0.0 {
            return true;
        }
        if !length.is_finite() {
            return false;
        }
        let code = &mut row[SCALE..];
        let mut unit = length;
        self.code(turned, unit, code, scratch);
        if let Some(wider) = self.overload.wider(turned, length) {
            let error = self.overload.error(turned, unit, &scratch.decoded);
            scratch.kept.clear();
            scratch.kept.extend_from_slice(code);
            self.code(turned, wider, code, scratch);
            if self.overload.error(turned, wider, &scratch.decoded) < error {
                unit = wider;
            } else {
                code.copy_from_slice(&scratch.kept);
                self.look_up_code(code, scratch);
            }
        }
        let along = dot(turned, &scratch.decoded);
        let scale = if along > 0.0 { (squares / along).min(MOST_STRETCH * unit) } else { 0.0 };
        let scale = f16::from_f32(scale);
        row[..SCALE].copy_from_slice(&scale.to_le_bytes());
        scale.is_finite()
    }

    /// The bits of a residual that is divided by a unit, and what they decode to, in `scratch`.
    #[inline(always)]
    fn code(&self, turned: &[f32], unit: f32, code: &mut [u8], scratch: &mut Scratch) {
        let Scratch { trellis, values, states, .. } = scratch;
        code.fill(0);
        values.clear();
        values.extend(self.steps.iter().map(|&(coordinate, _)| turned[coordinate] / unit * importance(self.spread[coordinate])));
        states.resize(self.steps.len(), 0);
        self.trellis.encode(self.steps.iter().map(|step| step.1), values, self.start_bits > 0, trellis, states);
        for (number, (&(coordinate, step), &state)) in self.steps.iter().zip(&*states).enumerate() {
            words::put(
                code,
                self.fields[coordinate].bit as usize,
                state,
                if number == 0 { step.bits + self.start_bits } else { step.bits },
            );
        }
        for &coordinate in &self.scalars {
            let Field { bit, table, mask } = self.fields[coordinate];
            let value = turned[coordinate] / unit / self.spread[coordinate];
            let level = nearest_level(&self.tables[table as usize..][..=mask as usize], value);
            words::put(code, bit as usize, level, u32::from(self.bits[coordinate]));
        }
        self.look_up_code(code, scratch);
    }

    /// z of the bits of one row, in `scratch`.
    #[inline(always)]
    fn look_up_code(&self, code: &[u8], scratch: &mut Scratch) {
        let Scratch { padded, decoded, .. } = scratch;
        decoded.resize(self.bits.len(), 0.0);
        padded.clear();
        padded.extend_from_slice(code);
        padded.extend_from_slice(&[0; PADDING]);
        self.look_up(padded, 0, decoded);
    }

    /// s·z of padded rows, by coordinates.
    #[inline(always)]
    pub fn decode(&self, rows: &[u8], columns: &mut [f32]) {
        self.look_up(rows, SCALE, columns);
        let scales: Vec<f32> =
            rows.chunks_exact(self.row_bytes() + PADDING).map(|row| f16::from_le_bytes([row[0], row[1]]).to_f32()).collect();
        for column in columns.chunks_exact_mut(scales.len().max(1)) {
            for (value, scale) in column.iter_mut().zip(&scales) {
                *value *= scale;
            }
        }
    }

    /// z of padded rows, by coordinates; a row's bits begin at some byte.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn look_up(&self, rows: &[u8], at: usize, columns: &mut [f32]) {
        let stride = at + self.code_bytes + PADDING;
        let count = columns.len() / self.fields.len();
        for ((column, field), spread) in columns.chunks_exact_mut(count.max(1)).zip(&self.fields).zip(&self.spread) {
            if field.mask == 0 {
                column.fill(0.0);
                continue;
            }
            let (start, shift) = (at + (field.bit / 8) as usize, field.bit % 8);
            let levels = &self.tables[field.table as usize..][..=field.mask as usize];
            for (value, row) in column.iter_mut().zip(rows.chunks_exact(stride)) {
                let word = u32::from_le_bytes(row[start..start + 4].try_into().expect("4 bytes"));
                *value = levels[(word >> shift & field.mask) as usize] * spread;
            }
        }
    }

    /// κ of a sample.
    async fn mean_shrink(&self, sample: &[f32], pace: &Pace) -> f32 {
        let dim = self.bits.len();
        let count = sample.len() / dim;
        let stride = count.div_ceil(SHRINK_SAMPLE).max(1);
        let mut scratch = Scratch::default();
        let (mut turned, mut decoded, mut row) = (vec![0.0; dim], vec![0.0; dim], vec![0; self.row_bytes() + PADDING]);
        let (mut sum, mut summed) = (0.0, 0);
        for (number, residual) in sample.chunks_exact(dim).enumerate().step_by(stride) {
            pace.rest(number, count).await;
            self.rotation.turn(residual, &mut turned);
            if !self.encode(&turned, &mut row[..self.row_bytes()], &mut scratch) {
                continue;
            }
            self.decode(&row, &mut decoded);
            let (whole, coded) = (dot(&turned, &turned), dot(&decoded, &decoded));
            if whole > 0.0 && coded > 0.0 {
                sum += f64::from(whole / coded);
                summed += 1;
            }
        }
        if summed > 0 { ((sum / f64::from(summed)) as f32).min(1.0) } else { 1.0 }
    }
}

/// Bits of the first state beside those of the first value. Where values have few bits these would be dear, and sequences start from
/// state 0, which costs the first values a little; where they have many, they'd cost these most of their precision.
fn start_bits(bits: &[u8], window: u32) -> u32 {
    const MANY: u32 = 5;
    let first = bits.iter().map(|&bits| u32::from(bits)).filter(|&bits| bits <= trellis::MOST_BITS).max().unwrap_or(0);
    if first >= MANY { window - first } else { 0 }
}

/// √ of what an error of a coordinate counts, √λ, of its spread √λ.
#[inline(always)]
fn importance(spread: f32) -> f32 {
    spread.sqrt()
}

#[inline(always)]
fn nearest_level(levels: &[f32], value: f32) -> u32 {
    let above = levels.partition_point(|&level| level < value).min(levels.len() - 1);
    let below = above.saturating_sub(1);
    if value - levels[below] <= levels[above] - value { below as u32 } else { above as u32 }
}

/// Blocks and bits of the rotation: 8 bits where they are a twentieth of the rows' bytes or less, 4 bits up to a seventh, and
/// smaller blocks before more than that.
fn rotation_of(dim: usize, for_rows: usize) -> (usize, u32) {
    let mut blocks = dim.div_ceil(WIDEST);
    while blocks < dim {
        if rotation::bytes(dim, blocks, 8) <= for_rows / 20 {
            return (blocks, 8);
        }
        if rotation::bytes(dim, blocks, 4) <= for_rows / 7 {
            return (blocks, 4);
        }
        blocks = (2 * blocks).min(dim);
    }
    (dim, 0)
}

/// Mean squares of turned residuals of length √d; of few rows drawn to their mean, which no row contradicts then.
async fn variances(rotation: &Rotation, sample: &[f32], dim: usize, pace: &Pace) -> Vec<f64> {
    /// Rows that the mean counts as.
    const PRIOR: f64 = 4.0;
    /// Rows between two rests.
    const ROWS: usize = 64;
    let mut sums = vec![0.0; dim];
    let mut count = 0.0;
    for (step, rows) in sample.chunks(ROWS * dim).enumerate() {
        pace.rest(step * ROWS * dim, sample.len()).await;
        Instructions::best().run(SumSquares { rotation, rows, sums: &mut sums, count: &mut count });
    }
    sums.iter().map(|sum| (sum + PRIOR) / (count + PRIOR)).collect()
}

/// Adds squares of turned rows of length √d, and how many rows have a length.
struct SumSquares<'a> {
    rotation: &'a Rotation,
    rows: &'a [f32],
    sums: &'a mut [f64],
    count: &'a mut f64,
}

impl SimdKernel for SumSquares<'_> {
    #[inline(always)]
    fn run(self) {
        let dim = self.sums.len();
        let mut turned = vec![0.0; dim];
        for residual in self.rows.chunks_exact(dim) {
            self.rotation.turn(residual, &mut turned);
            let squares = dot(&turned, &turned);
            if squares > 0.0 {
                for (sum, value) in self.sums.iter_mut().zip(&turned) {
                    *sum += f64::from(value * value) / f64::from(squares) * dim as f64;
                }
                *self.count += 1.0;
            }
        }
    }
}
