//! Products and distances of one vector with many, which lie by coordinates: `columns[j·width + i]` is coordinate j of
//! vector i. The inner loops go over the vectors, so that they are vector code at every optimisation and width; each sum is
//! taken in one order, and its bits are the same everywhere.
//!
//! All of it is inlined, to be compiled for the instructions of the [`SimdKernel`](leastwise_cpu::block::SimdKernel) around it. But for WebAssembly, which has
//! one set: there loops are functions of their own, since engines run out of registers in large ones and keep sums in memory.

/// Coordinates that are added at once, in pairs.
const TOGETHER: usize = 4;

/// `out`ᵢ = ⟨vector, columnᵢ⟩ for `out.len()` vectors.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub fn products(vector: &[f32], columns: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    sum(vector, columns, out, |value, column| value * column);
}

/// `out`ᵢ = ‖vector − columnᵢ‖²
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub fn squared_distances(vector: &[f32], columns: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    sum(vector, columns, out, |value, column| (value - column) * (value - column));
}

#[inline(always)]
fn sum(vector: &[f32], columns: &[f32], out: &mut [f32], term: impl Fn(f32, f32) -> f32) {
    let width = out.len();
    if width == 0 {
        return;
    }
    let (fours, rest) = vector.as_chunks::<TOGETHER>();
    let (whole, last) = columns[..vector.len() * width].split_at(fours.len() * TOGETHER * width);
    for (v, columns) in fours.iter().zip(whole.chunks_exact(TOGETHER * width)) {
        let (a, b) = columns.split_at(2 * width);
        let ((a, b), (c, d)) = (a.split_at(width), b.split_at(width));
        for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *out += (term(v[0], *a) + term(v[1], *b)) + (term(v[2], *c) + term(v[3], *d));
        }
    }
    for (value, column) in rest.iter().zip(last.chunks_exact(width)) {
        for (out, column) in out.iter_mut().zip(column) {
            *out += term(*value, *column);
        }
    }
}

/// `out`ᵢ = ⟨vectorᵢ, columnᵢ⟩, each the bits of [`products`]; vectors lie by coordinates, too.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub fn paired_products(vectors: &[f32], columns: &[f32], out: &mut [f32]) {
    paired_sum(vectors, columns, out, |value, column| value * column);
}

/// `out`ᵢ = ‖vectorᵢ − columnᵢ‖², each the bits of [`squared_distances`]; vectors lie by coordinates, too.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub fn paired_distances(vectors: &[f32], columns: &[f32], out: &mut [f32]) {
    paired_sum(vectors, columns, out, |value, column| (value - column) * (value - column));
}

#[inline(always)]
fn paired_sum(vectors: &[f32], columns: &[f32], out: &mut [f32], term: impl Fn(f32, f32) -> f32) {
    out.fill(0.0);
    let width = out.len();
    if width == 0 {
        return;
    }
    for (v, c) in vectors.chunks(TOGETHER * width).zip(columns.chunks(TOGETHER * width)) {
        let at = |coordinate: usize, index: usize| term(v[coordinate * width + index], c[coordinate * width + index]);
        if c.len() == TOGETHER * width {
            for (index, out) in out.iter_mut().enumerate() {
                *out += (at(0, index) + at(1, index)) + (at(2, index) + at(3, index));
            }
        } else {
            for (index, out) in out.iter_mut().enumerate() {
                for coordinate in 0..c.len() / width {
                    *out += at(coordinate, index);
                }
            }
        }
    }
}

/// `out`ᵢ = ‖columnᵢ‖²
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub fn squared_lengths(columns: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    for column in columns.chunks_exact(out.len().max(1)) {
        for (out, column) in out.iter_mut().zip(column) {
            *out += column * column;
        }
    }
}

/// Rows of length `dim` by coordinates.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub fn transpose(rows: &[f32], dim: usize, columns: &mut [f32]) {
    let width = rows.len() / dim;
    for (index, row) in rows.chunks_exact(dim).enumerate() {
        for (coordinate, value) in row.iter().enumerate() {
            columns[coordinate * width + index] = *value;
        }
    }
}

/// The least of some distances and its place; of equal ones the first.
#[inline(always)]
pub fn least(distances: &[f32]) -> usize {
    let smallest = distances.iter().fold(f32::INFINITY, |least, &distance| if distance < least { distance } else { least });
    distances.iter().position(|&distance| distance == smallest).unwrap_or(0)
}

/// ⟨a, b⟩ of two vectors alone.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b[..a.len()].as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.into_iter().sum::<f32>() + a_rest.iter().zip(b_rest).fold(0.0, |sum, (a, b)| sum + a * b)
}
