//! Products of matrices that a device's library does, and what of a kernel is left to do after them.

use super::fuse::Draft;
use super::layout::{Grouped, grouped};
use super::stage::{Origin, Reading};
use crate::graph::{Groups, Node};
use crate::operations::gelu;
use crate::view::{Axis, View};
use leastwise_device::{After, Form, Strided};
use leastwise_expr::{Expr, Leaf};

/// What a device's library can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Library {
    /// Whether it adds a bias and takes gelu of what it made.
    pub finishes: bool,
    /// Whether it may round factors ([`Form::coarse`]).
    pub coarse: bool,
}

/// A product by the library: the slots of its factors, of what it writes, and of the bias.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multiplied {
    /// Sizes, strides and epilogue of the product.
    pub form: Form,
    /// Slots of the factors.
    pub factors: [usize; 2],
    /// Slot of the result.
    pub out: usize,
    /// Slot of the bias.
    pub bias: Option<usize>,
}

/// The one axis of a group; none where there are several.
fn single(view: &View) -> Option<Axis> {
    match &view.axes[..] {
        [] => Some(Axis { size: 1, stride: 0, range: None }),
        [axis] => Some(axis.clone()),
        _ => None,
    }
}

/// A factor's strides, where one of them is 1 and the entries of a batch don't overlap.
fn strided(view: &View, batch: &Axis, rows: &Axis, columns: &Axis) -> Option<Strided> {
    let far = |near: &Axis, far: &Axis| match far.size {
        1 => Some(i64::from(near.size)),
        _ => (far.stride >= i64::from(near.size)).then_some(far.stride),
    };
    let is_near = |axis: &Axis| axis.size == 1 || axis.stride == 1;
    let rows_first = || is_near(columns).then(|| far(columns, rows)).flatten().map(|rows| (rows, 1));
    let columns_first = || is_near(rows).then(|| far(rows, columns)).flatten().map(|columns| (1, columns));
    let (rows, columns) = rows_first().or_else(columns_first)?;
    let batch = if batch.size == 1 { 0 } else { batch.stride };
    let word = |number: i64| u32::try_from(number).ok();
    Some(Strided { offset: word(view.offset)?, batch: word(batch)?, rows: word(rows)?, columns: word(columns)? })
}

/// The product of views [batch, rows, depth] and [batch, depth, columns], if the library knows such.
pub fn form(left: &View, right: &View, groups: &Groups, coarse: bool) -> Option<Form> {
    let Grouped { batch, rows, depth, columns } = grouped(left, right, groups);
    let (mut left_batch, mut right_batch) = (single(&batch[0])?, single(&batch[1])?);
    let (mut rows, columns) = (single(&rows)?, single(&columns)?);
    let (left_depth, right_depth) = (single(&depth[0])?, single(&depth[1])?);
    if [&left_batch, &rows, &left_depth, &columns].iter().any(|axis| axis.size == 0) {
        return None;
    }
    // The same right factor for all batches: their rows are rows of one product.
    let reach = i64::from(rows.size) * rows.stride;
    if left_batch.size > 1 && right_batch.stride == 0 && (rows.size == 1 || left_batch.stride == reach) {
        let stride = if rows.size == 1 { left_batch.stride } else { rows.stride };
        rows = Axis { size: rows.size * left_batch.size, stride, range: None };
        (left_batch.size, right_batch.size) = (1, 1);
    }
    Some(Form {
        batch: left_batch.size,
        rows: rows.size,
        depth: left_depth.size,
        columns: columns.size,
        left: strided(left, &left_batch, &rows, &left_depth)?,
        right: strided(right, &right_batch, &right_depth, &columns)?,
        after: After::Nothing,
        coarse,
    })
}

/// What the library itself can do of what comes after a product of so many columns, and the bias that it adds; none where more is
/// to be done.
pub fn finish(draft: &Draft, members: &[Node], columns: u32) -> Option<(After, Option<Node>)> {
    let [member] = members else { return None };
    let value: Expr = *draft.values.get(member)?;
    let mut scalars = draft.stage.scalars.clone();
    let made = scalars.leaf(Leaf::Weight);
    let (plain, bias) = match &draft.stage.readings[..] {
        [] => (made, None),
        [Reading { origin: Origin::Tensor(node), view, row: None }] if is_row(view, columns) => {
            let bias = scalars.leaf(Leaf::Stored(0));
            (scalars.add(made, bias), Some(*node))
        }
        _ => return None,
    };
    let gelu = gelu().write(&mut scalars, &[plain]);
    match bias {
        None if value == plain => Some((After::Nothing, None)),
        None if value == gelu => Some((After::Gelu, None)),
        Some(_) if value == plain => Some((After::Bias, bias)),
        Some(_) if value == gelu => Some((After::BiasGelu, bias)),
        _ => None,
    }
}

/// Whether a view is a number a column, for all rows.
fn is_row(view: &View, columns: u32) -> bool {
    let Some((last, others)) = view.axes.split_last() else { return false };
    !view.is_masked()
        && view.offset == 0
        && last.size == columns
        && (last.stride == 1 || last.size == 1)
        && others.iter().all(|axis| axis.stride == 0 || axis.size == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Data, Graph};
    use crate::plan::{Launch, Request, Target, plan};
    use leastwise_device::Limits;
    use leastwise_error::Error;
    use leastwise_program::fused::Fold;

    fn tensor(graph: &mut Graph, shape: &[u32]) -> Node {
        let count = shape.iter().product::<u32>() as usize;
        let node = graph.stored(Data::Doubles(vec![0.0; count]), shape.to_vec());
        graph.hold(node)
    }

    /// The launches of what is made, on a device with a library.
    fn launches(finishes: bool, make: impl FnOnce(&mut Graph) -> Result<Node, Error>) -> Vec<Launch> {
        let mut graph = Graph::default();
        let made = graph.made(|graph| make(graph).map(|node| vec![node])).expect("a graph");
        let request = Request::new(&graph, &made);
        let library = Some(Library { finishes, coarse: false });
        let targets = [Target { cpu: false, limits: Limits::WEBGPU, library, rows: false }];
        let plan = plan(&graph, &request, &made, &targets, false).expect("a plan");
        plan.steps.into_iter().map(|step| step.launches[0].clone()).collect()
    }

    fn form_of(make: impl FnOnce(&mut Graph) -> Result<Node, Error>) -> Option<Form> {
        launches(true, make).last().and_then(|launch| launch.multiplied).map(|multiplied| multiplied.form)
    }

    fn strided([offset, batch, rows, columns]: [u32; 4]) -> Strided {
        Strided { offset, batch, rows, columns }
    }

    #[test]
    fn factors_of_all_views_that_the_library_knows() {
        let plain = form_of(|graph| {
            let (a, b) = (tensor(graph, &[3, 5]), tensor(graph, &[5, 7]));
            graph.matmul(a, b)
        });
        let (left, right) = (strided([0, 0, 5, 1]), strided([0, 0, 7, 1]));
        let of_plain = Form { batch: 1, rows: 3, depth: 5, columns: 7, left, right, after: After::Nothing, coarse: false };
        assert_eq!(plain, Some(of_plain));
        let turned = form_of(|graph| {
            let (a, b) = (tensor(graph, &[5, 3]), tensor(graph, &[7, 5]));
            let (a, b) = (graph.transpose(a, &[])?, graph.transpose(b, &[])?);
            graph.matmul(a, b)
        });
        assert_eq!(turned, Some(Form { left: strided([0, 0, 1, 3]), right: strided([0, 0, 1, 5]), ..of_plain }));
        let batches = form_of(|graph| {
            let (a, b) = (tensor(graph, &[4, 3, 5]), tensor(graph, &[4, 5, 7]));
            graph.matmul(a, b)
        });
        assert_eq!(batches, Some(Form { batch: 4, left: strided([0, 15, 5, 1]), right: strided([0, 35, 7, 1]), ..of_plain }));
        // The same factor for all batches: one product of all their rows.
        let layer = form_of(|graph| {
            let (a, b) = (tensor(graph, &[4, 3, 5]), tensor(graph, &[5, 7]));
            graph.matmul(a, b)
        });
        assert_eq!(layer, Some(Form { rows: 12, ..of_plain }));
        let part = form_of(|graph| {
            let (a, b) = (tensor(graph, &[3, 5]), tensor(graph, &[5, 9]));
            let b = graph.slice(b, 1.0, 2.0, 9.0, 1.0)?;
            graph.matmul(a, b)
        });
        assert_eq!(part, Some(Form { right: strided([2, 0, 9, 1]), ..of_plain }));
    }

    #[test]
    fn parts_of_a_deep_product_are_a_batch() {
        let all = launches(true, |graph| {
            let (examples, weights) = (tensor(graph, &[32, 256, 48]), tensor(graph, &[48, 40]));
            let product = graph.matmul(examples, weights)?;
            let bent = graph.apply("square", &[product])?;
            let loss = graph.reduce("sum", Fold::Sum, bent, &[], false)?;
            Ok(graph.gradient(loss, &[weights])?[0])
        });
        let forms: Vec<Form> = all.iter().filter_map(|launch| Some(launch.multiplied?.form)).collect();
        let [.., Form { batch, rows, depth, columns, .. }] = forms[..] else { panic!("{forms:?}") };
        assert_eq!([batch, rows, depth, columns], [16, 48, 512, 40]);
    }

    #[test]
    fn other_views_are_left_to_our_kernels() {
        let flipped = form_of(|graph| {
            let (a, b) = (tensor(graph, &[3, 5]), tensor(graph, &[5, 7]));
            let a = graph.flip(a, 1.0)?;
            graph.matmul(a, b)
        });
        let windows = form_of(|graph| {
            let (a, b) = (tensor(graph, &[9]), tensor(graph, &[5, 7]));
            let a = graph.window(a, 0.0, 5.0, 1.0, 1.0)?;
            graph.matmul(a, b)
        });
        let repeated = form_of(|graph| {
            let (a, b) = (tensor(graph, &[3, 1]), tensor(graph, &[5, 7]));
            let a = graph.broadcast_to("a", a, &[3, 5])?;
            graph.matmul(a, b)
        });
        let nothing = form_of(|graph| {
            let (a, b) = (tensor(graph, &[3, 0]), tensor(graph, &[0, 7]));
            graph.matmul(a, b)
        });
        assert_eq!([flipped, windows, repeated, nothing], [None; 4]);
    }

    #[test]
    fn the_library_finishes_what_it_can_and_a_kernel_the_rest() {
        let layer = |finishes: bool, row: &'static [u32], activation: Option<&'static str>| {
            let mut all = launches(finishes, |graph| {
                let (a, b, row) = (tensor(graph, &[3, 5]), tensor(graph, &[5, 7]), tensor(graph, row));
                let product = graph.matmul(a, b)?;
                let sum = graph.apply("add", &[row, product])?;
                activation.map_or(Ok(sum), |activation| graph.apply(activation, &[sum]))
            });
            assert_eq!(all.len(), 1);
            let Launch { multiplied, kernel } = all.remove(0);
            let multiplied = multiplied.expect("a product by the library");
            assert_eq!(multiplied.bias.is_some(), matches!(multiplied.form.after, After::Bias | After::BiasGelu));
            (multiplied.form.after, kernel.map(|kernel| kernel.count))
        };
        assert_eq!(layer(true, &[7], None), (After::Bias, None));
        assert_eq!(layer(true, &[7], Some("gelu")), (After::BiasGelu, None));
        assert_eq!(layer(true, &[7], Some("relu")), (After::Nothing, Some(21)));
        assert_eq!(layer(true, &[3, 1], Some("gelu")), (After::Nothing, Some(21)));
        assert_eq!(layer(true, &[3, 7], None), (After::Nothing, Some(21)));
        assert_eq!(layer(false, &[7], Some("gelu")), (After::Nothing, Some(21)));
    }
}
