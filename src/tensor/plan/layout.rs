//! From views to what kernels know of them: codes in their text, words in the layout table.

use super::stage::{Origin, Reading};
use crate::graph::Groups;
use crate::view::{Axis, View, joined};
use leastwise_program::fused::{FactorCode, Source, Stride, ViewCode};

/// A stage's views over the axes that are left of its domain.
pub struct StageLayout {
    /// Axes in every group.
    pub groups: Vec<usize>,
    pub views: Vec<ViewCode>,
    /// Sizes of the axes, and then every view's words.
    pub words: Vec<u32>,
}

impl StageLayout {
    pub fn rank(&self) -> u32 {
        self.groups.iter().sum::<usize>() as u32
    }
}

fn stride_of(axis: &Axis, words: &mut Vec<u32>) -> Stride {
    match axis.stride {
        _ if axis.size <= 1 && axis.range.is_none() => Stride::Zero,
        0 => Stride::Zero,
        1 => Stride::One,
        stride => {
            // Addresses wrap, so steps back are large steps on.
            words.push(stride as u32);
            Stride::Word
        }
    }
}

fn offset_of(view: &View, words: &mut Vec<u32>) -> bool {
    if view.offset != 0 {
        words.push(view.offset as u32);
    }
    view.offset != 0
}

/// The layout of readings over a domain of so many axes in every group.
pub fn stage(readings: &[Reading], domain: &[u32], groups: &[usize], slot_of: impl Fn(&Origin) -> Source) -> StageLayout {
    let mut views: Vec<View> = readings.iter().map(|reading| reading.view.clone()).collect();
    // Of the domain itself are the sizes.
    views.push(View::contiguous(domain));
    let mut groups = groups.to_vec();
    joined(&mut views, &mut groups);
    let domain = views.pop().map(|view| view.shape()).unwrap_or_default();
    let mut words = domain;
    let mut codes = Vec::new();
    for (view, reading) in views.iter().zip(readings) {
        let offset = offset_of(view, &mut words);
        let strides = view.axes.iter().map(|axis| stride_of(axis, &mut words)).collect();
        let mut masked = Vec::with_capacity(view.axes.len());
        for axis in &view.axes {
            masked.push(axis.range.is_some());
            if let Some(range) = &axis.range {
                words.extend([range.start as u32, (range.end - range.start).max(0) as u32]);
            }
        }
        if let Some((_, rows, stride)) = reading.row {
            words.extend([rows, stride]);
        }
        codes.push(ViewCode { source: slot_of(&reading.origin), strides, masked, offset, row: reading.row.map(|(number, ..)| number) });
    }
    StageLayout { groups, views: codes, words }
}

/// Both factors of a product, their axes joined group by group: batch, rows or columns, and depth.
pub struct ProductLayout {
    pub left: FactorCode,
    pub right: FactorCode,
    /// Sizes of batch, rows, depth and columns, and then the factors' words.
    pub words: Vec<u32>,
}

fn part(view: &View, first: usize, count: usize) -> View {
    View { axes: view.axes[first..first + count].to_vec(), offset: 0 }
}

/// The factors' views group by group, of which those of batch and depth are both factors': axes joined as far as they go evenly.
pub struct Grouped {
    pub batch: [View; 2],
    pub rows: View,
    pub depth: [View; 2],
    pub columns: View,
}

/// Of views [batch, rows, depth] and [batch, depth, columns].
pub fn grouped(left: &View, right: &View, &Groups { batch, rows, depth, columns }: &Groups) -> Grouped {
    let mut of_batch = [part(left, 0, batch), part(right, 0, batch)];
    let mut of_rows = [part(left, batch, rows)];
    let mut of_depth = [part(left, batch + rows, depth), part(right, batch, depth)];
    let mut of_columns = [part(right, batch + depth, columns)];
    joined(&mut of_batch, &mut [batch]);
    joined(&mut of_rows, &mut [rows]);
    joined(&mut of_depth, &mut [depth]);
    joined(&mut of_columns, &mut [columns]);
    let ([rows], [columns]) = (of_rows, of_columns);
    Grouped { batch: of_batch, rows, depth: of_depth, columns }
}

/// The layout of a product's factors, of slots that may have halves.
pub fn product(left: &View, right: &View, groups: &Groups, slots: [(usize, bool); 2]) -> ProductLayout {
    let Grouped { batch, rows, depth, columns } = grouped(left, right, groups);
    let mut words: Vec<u32> = [&batch[0], &rows, &depth[0], &columns].into_iter().flat_map(View::shape).collect();
    let mut factor = |(slot, half): (usize, bool), whole: &View, parts: [&View; 3]| {
        let offset = offset_of(whole, &mut words);
        let [batch, rows, columns] = parts.map(|view| view.axes.iter().map(|axis| stride_of(axis, &mut words)).collect());
        FactorCode { slot, half, batch, rows, columns, offset }
    };
    let left = factor(slots[0], left, [&batch[0], &rows, &depth[0]]);
    let right = factor(slots[1], right, [&batch[1], &depth[1], &columns]);
    ProductLayout { left, right, words }
}
