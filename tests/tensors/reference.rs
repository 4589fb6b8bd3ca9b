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
            Op::Words(_) => panic!("whole numbers have tests of their own, against i32"),
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
            Op::Implicit(_) => panic!("no graph here goes through a solve"),
            Op::OverRanks { .. } => panic!("no graph here is of several ranks"),
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
        Special::Scan { chunk, reverse } => {
            let [outer, n, inner] = [0, 1, 2].map(|axis| inputs[0].0[axis] as usize);
            let x = inputs[0].1;
            let sum = |place: usize| {
                let (o, k, i) = (place / inner / n, place / inner % n, place % inner);
                let start = k / chunk as usize * chunk as usize;
                let of = if reverse { k..(start + chunk as usize).min(n) } else { start..k + 1 };
                of.map(|j| x[(o * n + j) * inner + i]).sum()
            };
            vec![(0..outer * n * inner).map(sum).collect()]
        }
        Special::Recur { reverse } => {
            let [outer, n, inner] = [0, 1, 2].map(|axis| inputs[0].0[axis] as usize);
            let (x, a) = (inputs[0].1, inputs[1].1);
            let mut y = vec![0.0; x.len()];
            for line in 0..outer * inner {
                let mut last = None;
                for k in 0..n {
                    let k = if reverse { n - 1 - k } else { k };
                    let place = (line / inner * n + k) * inner + line % inner;
                    y[place] = last.map_or(x[place], |last: f64| x[place] + a[place] * last);
                    last = Some(y[place]);
                }
            }
            vec![y]
        }
        Special::Merge { width } => {
            let [rows, n] = [0, 1].map(|axis| inputs[0].0[axis] as usize);
            let (keys, places) = (inputs[0].1, inputs[1].1);
            let mut all: Vec<usize> = (0..rows * n).collect();
            for row in all.chunks_mut(n.max(1)) {
                for pair in row.chunks_mut(2 * width as usize) {
                    // Numbers in order, and then NaN.
                    let order = |a: &usize, b: &usize| {
                        let (a, b) = (keys[*a], keys[*b]);
                        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
                    };
                    pair.sort_by(order);
                }
            }
            let of = |values: &[f64]| all.iter().map(|&place| values[place]).collect::<Vec<f64>>();
            vec![of(keys), of(places)]
        }
        Special::MergeWords { .. } | Special::ScanWords { .. } | Special::ScatterWords { .. } => {
            panic!("whole numbers have tests of their own, against i32")
        }
        Special::Take => {
            let ([outer, n, inner], m) = ([0, 1, 2].map(|axis| inputs[0].0[axis] as usize), inputs[1].0[1] as usize);
            let (x, numbers) = (inputs[0].1, inputs[1].1);
            let of = |place: usize| {
                let number = (numbers[place].max(0.0) as usize).min(n - 1);
                x[(place / inner / m * n + number) * inner + place % inner]
            };
            vec![(0..outer * m * inner).map(of).collect()]
        }
        Special::Scatter { n, latest } => {
            let ([outer, m, inner], n) = ([0, 1, 2].map(|axis| inputs[0].0[axis] as usize), n as usize);
            // By the numbers as they were given, not by the sorted ones.
            let (x, numbers, lists) = (inputs[0].1, inputs[3].1, inputs[3].0[2] as usize);
            let mut y = vec![if latest { -1.0 } else { 0.0 }; outer * n * inner];
            for (place, &value) in x.iter().enumerate() {
                let (o, t, i) = (place / inner / m, place / inner % m, place % inner);
                let number = numbers[(o * m + t) * lists + i.min(lists - 1)];
                if number < 0.0 || number >= n as f64 || number.fract() != 0.0 {
                    continue;
                }
                let y = &mut y[(o * n + number as usize) * inner + i];
                *y = if latest { t as f64 } else { *y + value };
            }
            vec![y]
        }
        Special::Solve => {
            let ([b, n, _], k) = ([0, 1, 2].map(|axis| inputs[0].0[axis] as usize), inputs[1].0[2] as usize);
            let solved = |batch: usize| solved(&inputs[0].1[batch * n * n..][..n * n], &inputs[1].1[batch * n * k..][..n * k], n, k);
            vec![(0..b).flat_map(solved).collect()]
        }
        Special::Cholesky => {
            let [b, n] = [0, 1].map(|axis| inputs[0].0[axis] as usize);
            let mut l = vec![0.0; b * n * n];
            for (a, l) in inputs[0].1.chunks(n * n).zip(l.chunks_mut(n * n)) {
                for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                    let rest = a[i * n + j] - (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum::<f64>();
                    l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
                }
            }
            vec![l]
        }
        Special::Qr => {
            let [b, m, n] = [0, 1, 2].map(|axis| inputs[0].0[axis] as usize);
            let (mut q, mut r) = (Vec::new(), Vec::new());
            for batch in 0..b {
                let (of_q, of_r) = householder(&inputs[0].1[batch * m * n..][..m * n], m, n);
                q.extend(of_q);
                r.extend(of_r);
            }
            vec![q, r]
        }
        Special::Singular => {
            let [b, m, n] = [0, 1, 2].map(|axis| inputs[0].0[axis] as usize);
            let (mut vectors, mut products) = (Vec::new(), Vec::new());
            for batch in 0..b {
                let (v, w) = singular(&inputs[0].1[batch * m * n..][..m * n], m, n);
                vectors.extend(v);
                products.extend(w);
            }
            vec![vectors, products]
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

/// X of A X = B by Gauss and Jordan, with the largest pivot of each column.
fn solved(a: &[f64], b: &[f64], n: usize, k: usize) -> Vec<f64> {
    let mut rows: Vec<Vec<f64>> = (0..n).map(|r| [&a[r * n..][..n], &b[r * k..][..k]].concat()).collect();
    for p in 0..n {
        let pivot = (p..n).max_by(|&x, &y| rows[x][p].abs().total_cmp(&rows[y][p].abs())).expect("a row");
        rows.swap(p, pivot);
        let scale = rows[p][p];
        rows[p].iter_mut().for_each(|x| *x /= scale);
        let row = rows[p].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(r, _)| *r != p) {
            let factor = other[p];
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    rows.into_iter().flat_map(|row| row[n..].to_vec()).collect()
}

/// Q and R by reflections that are multiplied out.
fn householder(a: &[f64], m: usize, n: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut r, mut q) = (a.to_vec(), vec![0.0; m * m]);
    (0..m).for_each(|i| q[i * m + i] = 1.0);
    for j in 0..n {
        let x: Vec<f64> = (j..m).map(|i| r[i * n + j]).collect();
        if x[1..].iter().all(|x| *x == 0.0) {
            continue;
        }
        let mut v = x.clone();
        v[0] += x[0].signum() * x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let length: f64 = v.iter().map(|v| v * v).sum();
        // R becomes H R, and Q becomes Q H.
        for c in 0..n {
            let along = 2.0 * (j..m).map(|i| v[i - j] * r[i * n + c]).sum::<f64>() / length;
            (j..m).for_each(|i| r[i * n + c] -= along * v[i - j]);
        }
        for row in q.chunks_mut(m) {
            let along = 2.0 * (j..m).map(|i| v[i - j] * row[i]).sum::<f64>() / length;
            (j..m).for_each(|i| row[i] -= along * v[i - j]);
        }
    }
    let upper = (0..n * n).map(|e| if e / n > e % n { 0.0 } else { r[e] }).collect();
    (q.chunks(m).flat_map(|row| row[..n].to_vec()).collect(), upper)
}

/// Right singular vectors V and A V by one-sided rotations, in the order of pairs that the kernels have, so that signs and order are theirs.
fn singular(a: &[f64], m: usize, n: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut w, mut v) = (a.to_vec(), vec![0.0; n * n]);
    (0..n).for_each(|i| v[i * n + i] = 1.0);
    let round = (n + n % 2).max(1) - 1;
    for turn in 0..16 * round {
        for pair in 0..n.div_ceil(2) {
            let one = if pair == 0 { round } else { (turn % round + pair) % round };
            let other = (turn % round + round - pair) % round;
            let (p, q) = (one.min(other), one.max(other));
            if q >= n {
                continue;
            }
            let product = |x: usize, y: usize| (0..m).map(|i| w[i * n + x] * w[i * n + y]).sum::<f64>();
            let angle = 0.5 * (2.0 * product(p, q)).atan2(product(q, q) - product(p, p));
            // Of the two that make both orthogonal the one within ±π/4.
            let quarter = std::f64::consts::FRAC_PI_4;
            let angle = if angle > quarter {
                angle - 2.0 * quarter
            } else if angle < -quarter {
                angle + 2.0 * quarter
            } else {
                angle
            };
            let (sine, cosine) = angle.sin_cos();
            for row in w.chunks_mut(n).chain(v.chunks_mut(n)) {
                let (x, y) = (row[p], row[q]);
                (row[p], row[q]) = (cosine * x - sine * y, sine * x + cosine * y);
            }
        }
    }
    (v, w)
}
