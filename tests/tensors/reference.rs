//! Another evaluator of the same graphs: node by node, element by element, in f64, without views, fusion or kernels.

use half::f16;
use leastwise::program::fused::Fold;
use leastwise::tensor::graph::{Data, Graph, Groups, Node, Op, Special};
use leastwise::tensor::view::Movement;
use std::collections::HashMap;

fn strides(shape: &[u32]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as usize;
    }
    strides
}

fn size(shape: &[u32]) -> usize {
    shape.iter().map(|&size| size as usize).product()
}

fn coordinates(shape: &[u32], mut element: usize) -> Vec<u32> {
    let mut coordinates = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        coordinates[axis] = (element % shape[axis] as usize) as u32;
        element /= shape[axis] as usize;
    }
    coordinates
}

fn place(shape: &[u32], at: &[u32]) -> usize {
    strides(shape).iter().zip(at).map(|(stride, &c)| stride * c as usize).sum()
}

/// The elements of tensors, of what is stored as `stored` gives them.
pub fn values(graph: &Graph, outputs: &[Node], changed: &HashMap<Node, Vec<f64>>) -> Vec<Vec<f64>> {
    let mut known: HashMap<Node, Vec<Vec<f64>>> = HashMap::new();
    for node in graph.order(outputs) {
        let entry = graph.entry(node);
        let input = |k: usize| &known[&entry.inputs[k]][0];
        let shape_of = |k: usize| graph.shape(entry.inputs[k]);
        let n = size(&entry.shape);
        let result: Vec<f64> = match &entry.op {
            Op::Stored => match (changed.get(&node), entry.data.as_ref().expect("the host's elements")) {
                (Some(values), _) => values.clone(),
                (None, Data::Doubles(values)) => values.clone(),
                (None, Data::Singles(values)) => values.iter().map(|&v| v.into()).collect(),
                (None, Data::Indices(values)) => values.iter().map(|&v| v.into()).collect(),
                (None, Data::Halves(words, count)) => {
                    let halves = words.iter().flat_map(|&word| [word as u16, (word >> 16) as u16]);
                    halves.map(|bits| f16::from_bits(bits).to_f64()).take(*count as usize).collect()
                }
            },
            Op::Constant(value) => vec![*value; n],
            Op::Count => (0..n).map(|i| i as f64).collect(),
            Op::Map(formula) => {
                let inputs: Vec<&Vec<f64>> = (0..entry.inputs.len()).map(input).collect();
                (0..n).map(|i| formula.value(&inputs.iter().map(|input| input[i]).collect::<Vec<_>>())).collect()
            }
            Op::Move(movement) => (0..n).map(|i| moved(movement, &entry.shape, i, shape_of(0), input(0))).collect(),
            Op::Gather => {
                let (table, rows) = (input(0), input(1));
                let width = size(&shape_of(0)[1..]);
                let row = |k: usize| rows[k].clamp(0.0, f64::from(shape_of(0)[0] - 1)) as usize;
                (0..n).map(|i| table[row(i / width) * width + i % width]).collect()
            }
            Op::Reduce { fold, axes } => {
                let mut all: Vec<Vec<f64>> = vec![Vec::new(); n];
                for (i, &value) in input(0).iter().enumerate() {
                    let at = coordinates(shape_of(0), i);
                    let kept: Vec<u32> = (0..).zip(&at).filter(|(axis, _)| !axes.contains(axis)).map(|(_, &c)| c).collect();
                    all[place(&entry.shape, &kept)].push(value);
                }
                let folded = |values: Vec<f64>| match fold {
                    Fold::Sum => values.iter().sum(),
                    _ if values.iter().any(|value| value.is_nan()) => f64::NAN,
                    Fold::Max => values.into_iter().reduce(f64::max).expect("an element"),
                    Fold::Min => values.into_iter().reduce(f64::min).expect("an element"),
                };
                all.into_iter().map(folded).collect()
            }
            Op::Product(groups) => product(*groups, shape_of(0), input(0), shape_of(1), input(1)),
            Op::Special(special) => {
                known.insert(node, special_values(*special, entry.inputs.iter().map(|i| (graph.shape(*i), &known[i][0][..])).collect()));
                continue;
            }
            Op::Part(number) => known[&entry.inputs[0]][*number as usize].clone(),
            Op::Detach => input(0).clone(),
            Op::Half => input(0).iter().map(|&v| f16::from_f32(v as f32).to_f64()).collect(),
        };
        known.insert(node, vec![result]);
    }
    outputs.iter().map(|output| known[output][0].clone()).collect()
}

fn moved(movement: &Movement, shape: &[u32], i: usize, from: &[u32], values: &[f64]) -> f64 {
    let at = coordinates(shape, i);
    let source: Vec<u32> = match movement {
        Movement::Reshape(_) => return values[i],
        Movement::Expand(_) => at.iter().zip(from).map(|(&c, &size)| if size == 1 { 0 } else { c }).collect(),
        Movement::Permute(order) => {
            let mut source = vec![0; at.len()];
            order.iter().zip(&at).for_each(|(&axis, &c)| source[axis as usize] = c);
            source
        }
        Movement::Slice { axis, start, step, .. } => {
            let mut source = at;
            source[*axis as usize] = start + source[*axis as usize] * step;
            source
        }
        Movement::Flip { axis } => {
            let mut source = at;
            source[*axis as usize] = from[*axis as usize] - 1 - source[*axis as usize];
            source
        }
        Movement::Pad { axis, low, .. } => {
            let mut source = at;
            let c = &mut source[*axis as usize];
            if *c < *low || *c >= low + from[*axis as usize] {
                return 0.0;
            }
            *c -= low;
            source
        }
        Movement::Window { axis, step, dilation, .. } => {
            let mut source = at;
            let within = source.remove(*axis as usize + 1);
            source[*axis as usize] = source[*axis as usize] * step + within * dilation;
            source
        }
    };
    values[place(from, &source)]
}

fn product(groups: Groups, left: &[u32], a: &[f64], right: &[u32], b: &[f64]) -> Vec<f64> {
    let batch = size(&left[..groups.batch]);
    let m = size(&left[groups.batch..groups.batch + groups.rows]);
    let k = size(&left[groups.batch + groups.rows..]);
    let n = size(&right[groups.batch + groups.depth..]);
    let mut c = vec![0.0; batch * m * n];
    for p in 0..batch * m {
        for q in 0..n {
            c[p * n + q] = (0..k).map(|l| a[p * k + l] * b[(p / m * k + l) * n + q]).sum();
        }
    }
    c
}

fn special_values(special: Special, inputs: Vec<(&[u32], &[f64])>) -> Vec<Vec<f64>> {
    let attention = |causal: bool| {
        let [(q_shape, q), (k_shape, k), (v_shape, v)] = [inputs[0], inputs[1], inputs[2]];
        let [batch, n, d] = [0, 1, 2].map(|axis| q_shape[axis] as usize);
        let (m, e) = (k_shape[1] as usize, v_shape[2] as usize);
        let mut weights = vec![0.0; batch * n * m];
        let (mut out, mut logs) = (vec![0.0; batch * n * e], vec![0.0; batch * n]);
        for row in 0..batch * n {
            let (b, i) = (row / n, row % n);
            let seen = if causal { m.min(i + 1) } else { m };
            let scores: Vec<f64> = (0..seen).map(|j| (0..d).map(|l| q[row * d + l] * k[(b * m + j) * d + l]).sum()).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            logs[row] = most + scores.iter().map(|s| (s - most).exp()).sum::<f64>().ln();
            for (j, score) in scores.iter().enumerate() {
                let weight = (score - logs[row]).exp();
                weights[row * m + j] = weight;
                (0..e).for_each(|l| out[row * e + l] += weight * v[(b * m + j) * e + l]);
            }
        }
        (weights, out, logs, [batch, n, d, m, e])
    };
    match special {
        Special::Attend { causal } => {
            let (_, out, logs, _) = attention(causal);
            vec![out, logs]
        }
        Special::AttendQueries { causal } | Special::AttendKeys { causal } => {
            let (weights, _, _, [batch, n, d, m, e]) = attention(causal);
            let (q, k, v, g, statistics) = (inputs[0].1, inputs[1].1, inputs[2].1, inputs[3].1, inputs[4].1);
            let (mut dq, mut dk, mut dv) = (vec![0.0; batch * n * d], vec![0.0; batch * m * d], vec![0.0; batch * m * e]);
            for row in 0..batch * n {
                let b = row / n;
                for j in 0..m {
                    let weight = weights[row * m + j];
                    let along: f64 = (0..e).map(|l| g[row * e + l] * v[(b * m + j) * e + l]).sum();
                    let slope = weight * (along - statistics[batch * n + row]);
                    (0..d).for_each(|l| dq[row * d + l] += slope * k[(b * m + j) * d + l]);
                    (0..d).for_each(|l| dk[(b * m + j) * d + l] += slope * q[row * d + l]);
                    (0..e).for_each(|l| dv[(b * m + j) * e + l] += weight * g[row * e + l]);
                }
            }
            if matches!(special, Special::AttendQueries { .. }) { vec![dq] } else { vec![dk, dv] }
        }
        Special::Fold { n, step, dilation } => {
            let [outer, count, width, inner] = [0, 1, 2, 3].map(|axis| inputs[0].0[axis] as usize);
            let mut y = vec![0.0; outer * n as usize * inner];
            for (i, &value) in inputs[0].1.iter().enumerate() {
                let (o, w, k, l) = (i / inner / width / count, i / inner / width % count, i / inner % width, i % inner);
                y[(o * n as usize + w * step as usize + k * dilation as usize) * inner + l] += value;
            }
            vec![y]
        }
        Special::SumRows { rows } => {
            let width = inputs[0].0[1] as usize;
            let lists = inputs[1].1;
            let mut y = vec![0.0; rows as usize * width];
            for row in 0..rows as usize {
                for t in lists[row] as usize..lists[row + 1] as usize {
                    let member = lists[rows as usize + 1 + t] as usize;
                    (0..width).for_each(|l| y[row * width + l] += inputs[0].1[member * width + l]);
                }
            }
            vec![y]
        }
    }
}
