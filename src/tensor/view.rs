//! Views: how the coordinates of a tensor's elements become addresses in another tensor's storage.
//!
//! Reshaping, transposing, broadcasting, slicing, padding and windows move no data where the result is still an offset, a
//! stride an axis, and a range an axis outside of which there is 0. Where it is not, whoever asks makes a copy first.

use std::ops::Range;

/// A movement: from the elements of one tensor to those of another, without arithmetic.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Movement {
    /// The same elements in the same order.
    Reshape(Vec<u32>),
    /// Axes of size 1 repeated.
    Expand(Vec<u32>),
    /// Axis k of the result is axis `order[k]`.
    Permute(Vec<u32>),
    /// Every `step`-th of `count` elements from `start` on.
    Slice {
        /// Axis that is sliced.
        axis: u32,
        /// First element along it.
        start: u32,
        /// Number of elements along it.
        count: u32,
        /// Distance of two elements along it.
        step: u32,
    },
    /// An axis in reverse order.
    Flip {
        /// Axis that is reversed.
        axis: u32,
    },
    /// Zeros before and after.
    Pad {
        /// Axis that is padded.
        axis: u32,
        /// Zeros before.
        low: u32,
        /// Zeros after.
        high: u32,
    },
    /// An axis becomes two: windows, and the places within one.
    Window {
        /// Axis that windows are taken of.
        axis: u32,
        /// Elements of a window.
        size: u32,
        /// Distance of two windows' first elements.
        step: u32,
        /// Distance of two neighbouring elements of a window.
        dilation: u32,
    },
}

impl Movement {
    /// The shape of the result; the movement fits the shape.
    pub fn shape(&self, of: &[u32]) -> Vec<u32> {
        let mut shape = of.to_vec();
        match self {
            Self::Reshape(shape) | Self::Expand(shape) => return shape.clone(),
            Self::Permute(order) => return order.iter().map(|&axis| of[axis as usize]).collect(),
            Self::Slice { axis, count, .. } => shape[*axis as usize] = *count,
            Self::Flip { .. } => {}
            Self::Pad { axis, low, high } => shape[*axis as usize] += low + high,
            Self::Window { axis, size, step, dilation } => {
                let count = windows(of[*axis as usize], *size, *step, *dilation);
                shape.splice(*axis as usize..*axis as usize + 1, [count, *size]);
            }
        }
        shape
    }
}

/// How many windows fit along an axis.
pub fn windows(axis: u32, size: u32, step: u32, dilation: u32) -> u32 {
    let reach = u64::from(size.saturating_sub(1)) * u64::from(dilation) + 1;
    if u64::from(axis) < reach { 0 } else { ((u64::from(axis) - reach) / u64::from(step)) as u32 + 1 }
}

/// An axis of a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Number of coordinates.
    pub size: u32,
    /// Distance of neighbouring coordinates' elements.
    pub stride: i64,
    /// Coordinates at which there is something; all, without.
    pub range: Option<Range<i64>>,
}

impl Axis {
    fn new(size: u32, stride: i64) -> Self {
        Self { size, stride, range: None }
    }

    fn within(mut self) -> Self {
        let all = 0..i64::from(self.size);
        self.range = self.range.map(|range| range.start.max(0)..range.end.clamp(0, all.end)).filter(|range| *range != all);
        self
    }
}

/// Elements of a buffer as a tensor: element x is at `offset` + Σ xₖ·strideₖ, and 0 where a coordinate is out of its range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Axes, from the first to the last.
    pub axes: Vec<Axis>,
    /// Address of the element at the origin.
    pub offset: i64,
}

impl View {
    /// All elements in row-major order.
    pub fn contiguous(shape: &[u32]) -> Self {
        let mut stride = 1;
        let mut axes: Vec<Axis> = Vec::with_capacity(shape.len());
        for &size in shape.iter().rev() {
            axes.push(Axis::new(size, stride));
            stride *= i64::from(size);
        }
        axes.reverse();
        Self { axes, offset: 0 }
    }

    /// Sizes of the axes.
    pub fn shape(&self) -> Vec<u32> {
        self.axes.iter().map(|axis| axis.size).collect()
    }

    /// True if some elements are zeros that no buffer holds.
    pub fn is_masked(&self) -> bool {
        self.axes.iter().any(|axis| axis.range.is_some())
    }

    /// Whether element i lies at address i.
    pub fn is_contiguous(&self) -> bool {
        let plain = Self::contiguous(&self.shape());
        let same = |(a, b): (&Axis, &Axis)| a.range.is_none() && (a.size == 1 || a.stride == b.stride);
        self.offset == 0 && self.axes.iter().zip(&plain.axes).all(same)
    }

    /// The view of what a movement makes of this one's elements; `None` where that is no view.
    pub fn moved(&self, movement: &Movement) -> Option<Self> {
        let mut view = self.clone();
        match movement {
            Movement::Reshape(shape) => return self.reshaped(shape),
            Movement::Expand(shape) => {
                for (axis, &size) in view.axes.iter_mut().zip(shape) {
                    if axis.size != size {
                        // Whether there is something at the one place there was.
                        let range = axis.range.clone().map(|_| 0..0);
                        *axis = Axis { size, stride: 0, range };
                    }
                }
            }
            Movement::Permute(order) => view.axes = order.iter().map(|&axis| self.axes[axis as usize].clone()).collect(),
            Movement::Slice { axis, start, count, step } => {
                let (start, step) = (i64::from(*start), i64::from(*step));
                let axis = &mut view.axes[*axis as usize];
                view.offset += start * axis.stride;
                let below = |bound: i64| (bound - start + step - 1).div_euclid(step);
                let range = axis.range.clone().map(|range| below(range.start)..below(range.end));
                *axis = Axis { size: *count, stride: axis.stride * step, range }.within();
            }
            Movement::Flip { axis } => {
                let axis = &mut view.axes[*axis as usize];
                let size = i64::from(axis.size);
                view.offset += (size - 1).max(0) * axis.stride;
                axis.stride = -axis.stride;
                axis.range = axis.range.clone().map(|range| size - range.end..size - range.start);
            }
            Movement::Pad { axis, low, high } => {
                let axis = &mut view.axes[*axis as usize];
                let before = i64::from(*low);
                view.offset -= before * axis.stride;
                let range = axis.range.clone().unwrap_or(0..i64::from(axis.size));
                let range = Some(range.start + before..range.end + before);
                *axis = Axis { size: axis.size + low + high, stride: axis.stride, range }.within();
            }
            Movement::Window { axis, size, step, dilation } => {
                let place = *axis as usize;
                let axis = &self.axes[place];
                if axis.range.is_some() {
                    return None;
                }
                let count = windows(axis.size, *size, *step, *dilation);
                let parts = [Axis::new(count, axis.stride * i64::from(*step)), Axis::new(*size, axis.stride * i64::from(*dilation))];
                view.axes.splice(place..place + 1, parts);
            }
        }
        Some(view)
    }

    /// The same elements in the same order under another shape, where axes that become one, or of which there is a part each
    /// in several, lie evenly.
    fn reshaped(&self, shape: &[u32]) -> Option<Self> {
        if self.axes.iter().any(|axis| axis.size == 0) {
            return Some(Self::contiguous(shape));
        }
        let mut old =
            self.axes.iter().filter(|axis| axis.size != 1 || axis.range.is_some()).cloned().collect::<Vec<_>>().into_iter().peekable();
        let mut axes = Vec::with_capacity(shape.len());
        let mut new = shape.iter().copied().peekable();
        // Runs of old axes and of new ones with as many elements.
        while let Some(first) = old.next() {
            if first.range.is_some() {
                while new.peek() == Some(&1) && first.size != 1 {
                    axes.push(Axis::new(1, 0));
                    new.next();
                }
                if new.next()? != first.size {
                    return None;
                }
                axes.push(first);
                continue;
            }
            let mut merged = first;
            let mut sizes = vec![];
            let mut elements = 1u64;
            loop {
                if elements == u64::from(merged.size) && !sizes.is_empty() {
                    break;
                }
                if elements < u64::from(merged.size) {
                    let size = new.next()?;
                    elements *= u64::from(size);
                    sizes.push(size);
                } else {
                    let next = old.next()?;
                    if next.range.is_some() || merged.stride != next.stride * i64::from(next.size) {
                        return None;
                    }
                    merged = Axis::new(merged.size * next.size, next.stride);
                }
            }
            let mut stride = merged.stride;
            let mut parts: Vec<Axis> = Vec::with_capacity(sizes.len());
            for &size in sizes.iter().rev() {
                parts.push(Axis::new(size, if size == 1 { 0 } else { stride }));
                stride *= i64::from(size);
            }
            axes.extend(parts.into_iter().rev());
        }
        for size in new {
            if size != 1 {
                return None;
            }
            axes.push(Axis::new(1, 0));
        }
        Some(Self { axes, offset: self.offset })
    }
}

/// Joins axes along which all views go evenly, within groups of axes of which `groups` says how many there are, and leaves
/// out those of size 1. Groups that are left without axes have none; `None` where one has no elements.
pub fn joined(views: &mut [View], groups: &mut [usize]) {
    let mut first = 0;
    for group in groups {
        let mut axis = first;
        while axis < first + *group {
            let is_single = |view: &View| view.axes[axis].size == 1 && view.axes[axis].range.is_none();
            if views.iter().all(is_single) {
                for view in views.iter_mut() {
                    view.axes.remove(axis);
                }
                *group -= 1;
                continue;
            }
            let follows = |view: &View| {
                let [before, after] = [&view.axes[axis - 1], &view.axes[axis]];
                before.range.is_none() && after.range.is_none() && before.stride == after.stride * i64::from(after.size)
            };
            let fits = |view: &View| view.axes[axis - 1].size.checked_mul(view.axes[axis].size).is_some();
            if axis > first && views.iter().all(|view| follows(view) && fits(view)) {
                for view in views.iter_mut() {
                    let after = view.axes.remove(axis);
                    view.axes[axis - 1].size *= after.size;
                    view.axes[axis - 1].stride = after.stride;
                }
                *group -= 1;
                continue;
            }
            axis += 1;
        }
        first += *group;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lies at a view's elements of a storage, in order.
    fn elements(view: &View) -> Vec<i64> {
        let mut all = vec![Some(view.offset)];
        for axis in &view.axes {
            let inside = |c: i64| axis.range.as_ref().is_none_or(|range| range.contains(&c));
            all = all
                .into_iter()
                .flat_map(|address: Option<i64>| {
                    (0..i64::from(axis.size)).map(move |c| address.filter(|_| inside(c)).map(|address| address + c * axis.stride))
                })
                .collect();
        }
        all.into_iter().map(|address| address.unwrap_or(-1)).collect()
    }

    #[test]
    fn movements_move() {
        let view = View::contiguous(&[2, 3]);
        assert_eq!(elements(&view), [0, 1, 2, 3, 4, 5]);
        let turned = view.moved(&Movement::Permute(vec![1, 0])).unwrap();
        assert_eq!(elements(&turned), [0, 3, 1, 4, 2, 5]);
        assert_eq!(turned.moved(&Movement::Reshape(vec![6])), None);
        assert_eq!(elements(&turned.moved(&Movement::Reshape(vec![1, 3, 1, 2])).unwrap()), [0, 3, 1, 4, 2, 5]);
        let padded = view.moved(&Movement::Pad { axis: 1, low: 1, high: 1 }).unwrap();
        assert_eq!(elements(&padded), [-1, 0, 1, 2, -1, -1, 3, 4, 5, -1]);
        assert_eq!(elements(&padded.moved(&Movement::Flip { axis: 1 }).unwrap()), [-1, 2, 1, 0, -1, -1, 5, 4, 3, -1]);
        let sliced = padded.moved(&Movement::Slice { axis: 1, start: 0, count: 3, step: 2 }).unwrap();
        assert_eq!(elements(&sliced), [-1, 1, -1, -1, 4, -1]);
        assert_eq!(padded.moved(&Movement::Window { axis: 1, size: 2, step: 1, dilation: 1 }), None);
        let windows = view.moved(&Movement::Window { axis: 1, size: 2, step: 1, dilation: 1 }).unwrap();
        assert_eq!((windows.shape(), elements(&windows)), (vec![2, 2, 2], vec![0, 1, 1, 2, 3, 4, 4, 5]));
        let row = View::contiguous(&[1, 3]).moved(&Movement::Expand(vec![2, 3])).unwrap();
        assert_eq!(elements(&row), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn even_axes_are_joined() {
        let mut views = [View::contiguous(&[2, 3, 4]), View::contiguous(&[2, 3, 4])];
        let mut groups = [3];
        joined(&mut views, &mut groups);
        assert_eq!((groups, views[0].axes.len()), ([1], 1));
        let row = View::contiguous(&[1, 1, 4]).moved(&Movement::Expand(vec![2, 3, 4])).unwrap();
        let mut views = [View::contiguous(&[2, 3, 4]), row];
        let mut groups = [3];
        joined(&mut views, &mut groups);
        assert_eq!((groups, views[1].shape(), views[1].axes[0].stride), ([2], vec![6, 4], 0));
    }
}
