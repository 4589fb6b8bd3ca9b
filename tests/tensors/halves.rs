//! Tensors that are kept as halves: the bits that rounding gives, and halves wherever numbers are read.

use super::bench::DIVIDED;
use super::support::{Random, fresh_seed};
use super::{Bench, benches, beside_the_cpu, compare};
use half::f16;
use leastwise::device::Precision;
use leastwise::device::cpu::half as halves;
use leastwise::program::fused::Fold;
use leastwise::tensor::graph::{Data, Node};
use leastwise::tensor::routing::{Mode, Place};
use std::sync::Arc;

/// Halves are f32's.
fn benches_of_halves() -> impl Iterator<Item = Bench> {
    benches().into_iter().filter(|bench| bench.device.precision() == Precision::F32)
}

fn every_half() -> impl Iterator<Item = u16> {
    0..=u16::MAX
}

/// Numbers next to and in the middle between halves that follow one another, of all sizes.
fn hard_numbers(random: &mut Random) -> Vec<f32> {
    let mut all = vec![65504.0, 65519.996, 65520.0, 65536.0, f32::MAX, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-45, 2.98e-8, 0.0];
    for half in 0..0x7c00u16 {
        let [low, high] = [half, half + 1].map(|bits| f16::from_bits(bits).to_f64());
        let middle = (if high.is_finite() { (low + high) / 2.0 } else { 65520.0 }) as f32;
        all.extend([middle.next_down(), middle, middle.next_up()]);
    }
    all.extend((0..20_000).map(|_| f32::from_bits(random.below(1 << 32) as u32)));
    // Sizes that halves have, of which random bits are few.
    all.extend((0..20_000).map(|_| f32::from_bits((random.below(0x2000_0000) + 0x3000_0000) as u32)));
    let negative: Vec<f32> = all.iter().map(|x| -x).collect();
    all.extend(negative);
    all
}

/// The nearest half, by the definition: the number over the step between halves of its size, rounded, times the step.
fn nearest(x: f64) -> f64 {
    if !x.is_finite() || x == 0.0 {
        return x;
    }
    let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-14);
    let step = 2f64.powi(exponent - 10);
    let rounded = (x / step).round_ties_even() * step;
    if rounded.abs() > 65504.0 { f64::INFINITY.copysign(x) } else { rounded.abs().copysign(x) }
}

/// Equal, or both NaN; −0 is not 0.
fn same(found: f64, right: f64) -> bool {
    found.is_nan() && right.is_nan() || found.to_bits() == right.to_bits()
}

#[test]
fn rounding_is_to_the_nearest_even() {
    let seed = fresh_seed();
    for bits in every_half() {
        let (found, right) = (halves::value(bits), f16::from_bits(bits));
        assert!(same(found.into(), right.to_f64()), "{bits:#x}: {found}");
        assert!(right.is_nan() || halves::rounded(found) == bits, "{bits:#x}: there and back");
    }
    for x in hard_numbers(&mut Random::new(seed)) {
        let (found, right) = (f16::from_bits(halves::rounded(x)), f16::from_f32(x));
        assert!(found.to_bits() == right.to_bits() || found.is_nan() && x.is_nan(), "seed {seed}: {x:e} ({:#x}): {found:?}", x.to_bits());
        assert!(same(found.to_f64(), nearest(x.into())), "seed {seed}: {x:e} by the definition");
    }
    // Of f64, once: not of the f32 in between, which may be a tie where the number is none.
    for (k, x) in hard_numbers(&mut Random::new(seed)).into_iter().enumerate() {
        let near = f64::from(x) * (1.0 + [0.0, 1e-12, -1e-12, 3e-9][k % 4]);
        let found = f16::from_bits(halves::rounded_double(near)).to_f64();
        assert!(same(found, nearest(near)), "seed {seed}: {near:e}: {found:e}");
    }
    // By hand: a tie to the even one, the largest, the least, and what is half of it.
    for (x, bits) in [(1.000_488_3, 0x3c00), (1.001_464_8, 0x3c02), (65519.99, 0x7bff), (6e-8, 1), (2.980_232_2e-8, 0), (-0.0, 0x8000)] {
        assert_eq!(halves::rounded(x), bits, "{x:e}");
    }
}

#[test]
fn casts_have_the_same_bits_on_every_device() {
    let seed = fresh_seed();
    let values = hard_numbers(&mut Random::new(seed));
    for mut bench in benches_of_halves() {
        // In odd numbers, which small bindings have room for.
        for values in values.chunks(99_999) {
            let x = bench.graph().stored(Data::Singles(Arc::new(values.to_vec())), vec![values.len() as u32]);
            let cast = bench.graph().half(x).unwrap();
            let cast = bench.graph().hold(cast);
            for (found, x) in bench.read(&[cast])[0].iter().zip(values) {
                assert!(same(*found, f16::from_f32(*x).to_f64()), "{}, seed {seed}: {x:e} became {found:e}", bench.name);
            }
            bench.graph().release(cast);
        }
    }
}

#[test]
fn every_half_is_read_exactly() {
    for mut bench in benches_of_halves() {
        let words: Vec<u32> = (0..1 << 15).map(|k| (2 * k) | ((2 * k + 1) << 16)).collect();
        let all = bench.graph().stored(Data::Halves(words, 1 << 16), vec![256, 256]);
        bench.graph().hold(all);
        let wide = bench.graph().widened(all);
        let turned = bench.graph().transpose(all, &[]).unwrap();
        let [wide, turned] = [wide, turned].map(|node| bench.graph().hold(node));
        let found = bench.read(&[all, wide, turned]);
        for bits in every_half() {
            let right = f16::from_bits(bits).to_f64();
            let (row, column) = (usize::from(bits) / 256, usize::from(bits) % 256);
            for (found, name) in
                [(found[0][bits as usize], "read"), (found[1][bits as usize], "wide"), (found[2][column * 256 + row], "turned")]
            {
                assert!(same(found, right), "{}, {name}: {bits:#x} is {found:e}, not {right:e}", bench.name);
            }
        }
        // And back, of those that are numbers.
        let again = bench.graph().half(wide).unwrap();
        let again = bench.graph().hold(again);
        assert!(bench.read(&[again])[0].iter().zip(&found[0]).all(|(a, b)| same(*a, *b)), "{}", bench.name);
        assert_eq!((bench.graph().entry(again).half, bench.graph().entry(wide).half), (true, false));
    }
}

/// Halves from the host.
fn random(bench: &mut Bench, random: &mut Random, shape: &[u32]) -> Node {
    let count: u32 = shape.iter().product();
    let all: Vec<u16> = (0..count).map(|_| halves::rounded(random.between(-1.0, 1.0) as f32)).collect();
    let words = halves::packed(all.into_iter());
    let node = bench.graph().stored(Data::Halves(words, count), shape.to_vec());
    bench.graph().hold(node)
}

#[test]
fn halves_are_read_wherever_numbers_are() {
    let seed = fresh_seed();
    for mut bench in benches_of_halves() {
        let mut numbers = Random::new(seed);
        for &(m, k, n) in bench.repeated(&[(65, 130, 67), (3, 5, 7), (1, 1, 1), (63, 65, 1), (1, 97, 64)], 1) {
            let (a, b) = (random(&mut bench, &mut numbers, &[m, k]), random(&mut bench, &mut numbers, &[k, n]));
            let x = bench.random(&mut numbers, &[k, n]);
            let row = random(&mut bench, &mut numbers, &[n]);
            let mut made = Vec::new();
            let graph = bench.graph();
            // Products: halves on the left, on the right, on both sides, turned, and added to the result.
            for (left, right) in [(a, x), (a, b)] {
                let product = graph.matmul(left, right).unwrap();
                let sum = graph.apply("add", &[product, row]).unwrap();
                made.extend([product, graph.apply("tanh", &[sum]).unwrap()]);
            }
            let turned = graph.transpose(x, &[]).unwrap();
            let of_b = graph.transpose(b, &[]).unwrap();
            made.push(graph.matmul(turned, b).unwrap());
            made.push(graph.matmul(of_b, x).unwrap());
            // Elementwise with what broadcasts, movements, rows, reductions.
            made.push(graph.apply("mul", &[b, row]).unwrap());
            let back = graph.slice(a, 1.0, f64::NAN, f64::NAN, -2.0).unwrap();
            let padded = graph.pad(back, 0.0, 1.0, 2.0, 0.5).unwrap();
            made.extend([back, padded, graph.concat(&[a, a, back], 1.0).unwrap()]);
            let rows = graph.numbers(vec![m - 1, 0, m / 2], vec![3]);
            let gathered = graph.gather(a, rows).unwrap();
            made.extend([gathered, graph.apply("sin", &[gathered]).unwrap()]);
            for (fold, axes) in [(Fold::Sum, &[][..]), (Fold::Max, &[0.0]), (Fold::Min, &[1.0])] {
                made.push(graph.reduce("reduce", fold, a, axes, false).unwrap());
            }
            made.extend([graph.softmax(a, 1.0).unwrap(), graph.layer_norm(b, Some(row), None, 1e-3).unwrap()]);
            bench.check(&format!("seed {seed}, {m} × {k} × {n}"), &made, 60.0);
        }
        // What is written by hand.
        let [q, k, v] = [[2, 5, 3], [2, 6, 3], [2, 6, 4]].map(|shape| random(&mut bench, &mut numbers, &shape));
        let image = random(&mut bench, &mut numbers, &[1, 2, 7, 5]);
        let filters = random(&mut bench, &mut numbers, &[3, 2, 3, 2]);
        let graph = bench.graph();
        let attended = graph.attention(q, k, v, 0.7, true).unwrap();
        let convolved = graph.conv2d(image, filters, [2.0, 1.0], [1.0, 1.0], [1.0, 2.0]).unwrap();
        let pooled = graph.max_pool2d(image, [3.0, 2.0], [2.0, 1.0], [1.0, 0.0]).unwrap();
        let mut made = vec![attended, convolved, pooled];
        for node in [attended, convolved, pooled] {
            let total = graph.reduce("sum", Fold::Sum, node, &[], false).unwrap();
            let of = if node == attended { vec![q, k, v] } else { vec![image] };
            made.extend(graph.gradient(total, &of).unwrap());
        }
        let rows = graph.numbers(vec![1, 0, 1], vec![3]);
        let gathered = graph.gather(q, rows).unwrap();
        let squares = graph.apply("square", &[gathered]).unwrap();
        let total = graph.reduce("sum", Fold::Sum, squares, &[], false).unwrap();
        made.extend(graph.gradient(total, &[q]).unwrap());
        bench.check(&format!("seed {seed}, kernels written by hand"), &made, 200.0);
    }
}

#[test]
fn empty_tensors_and_odd_ones() {
    for mut bench in benches_of_halves() {
        let words = halves::packed([].into_iter());
        let empty = bench.graph().stored(Data::Halves(words, 0), vec![0, 3]);
        let zeros = bench.graph().constant(0.0, &[0, 3]);
        let cast = bench.graph().half(zeros).unwrap();
        let sum = bench.graph().reduce("sum", Fold::Sum, empty, &[0.0], false).unwrap();
        let both = bench.graph().concat(&[empty, cast], 0.0).unwrap();
        for node in [empty, cast, sum, both] {
            bench.graph().hold(node);
        }
        assert_eq!(bench.read(&[empty, cast, sum, both]), [vec![], vec![], vec![0.0; 3], vec![]], "{}", bench.name);
        for count in [1, 2, 3, 63, 65, 129] {
            let ramp = bench.graph().count(&[count]).unwrap();
            let scaled = bench.graph().apply_number("mul", ramp, 0.1).unwrap();
            let cast = bench.graph().half(scaled).unwrap();
            bench.graph().hold(cast);
            let right: Vec<f64> = (0..count).map(|k| f16::from_f32(k as f32 * 0.1).to_f64()).collect();
            assert_eq!(bench.read(&[cast])[0], right, "{}, {count}", bench.name);
        }
    }
}

#[test]
fn chains_run_in_the_kernel_that_rounds_them() {
    for mut bench in benches_of_halves() {
        let x = bench.random(&mut Random::new(3), &[33, 7]);
        let graph = bench.graph();
        let wave = graph.apply("sin", &[x]).unwrap();
        let turned = graph.transpose(wave, &[]).unwrap();
        let shifted = graph.apply_number("add", turned, 0.25).unwrap();
        let cast = graph.half(shifted).unwrap();
        let doubled = graph.apply("add", &[cast, cast]).unwrap();
        let same_cast = graph.half(cast).unwrap();
        assert_eq!(same_cast, cast, "halves are halves already");
        [cast, doubled].into_iter().for_each(|node| {
            graph.hold(node);
        });
        let found = bench.read(&[cast, doubled]);
        assert!(found[0].iter().zip(&found[1]).all(|(a, b)| 2.0 * a == *b), "{}: what is rounded is what is added", bench.name);
        let steps: Vec<(&str, f64)> = bench.tensors.trace.iter().map(|step| (&step.what[..], step.bytes)).collect();
        let size = 33.0 * 7.0;
        assert_eq!(steps, [("f16 + 2 elementwise", 6.0 * size), ("1 elementwise", 6.0 * size)], "{}", bench.name);
        // Halves take half of the memory, in words.
        let live = bench.tensors.pool(Place::Device).live;
        let wide = bench.graph().widened(cast);
        let wide = bench.graph().hold(wide);
        bench.compute(&[wide], &[]);
        bench.graph().release(cast);
        bench.compute(&[], &[]);
        assert!(bench.tensors.pool(Place::Device).live > live, "{}", bench.name);
    }
}

#[test]
fn memory_of_halves_is_half() {
    for mut bench in benches_of_halves() {
        let live = |bench: &Bench| bench.tensors.pool(Place::Device).live;
        let x = bench.random(&mut Random::new(1), &[4096]);
        let cast = bench.graph().half(x).unwrap();
        let cast = bench.graph().hold(cast);
        bench.compute(&[cast], &[]);
        let both = live(&bench);
        bench.graph().release(x);
        bench.compute(&[], &[]);
        assert_eq!(both - live(&bench), 4 * 4096, "{}", bench.name);
        let before = live(&bench);
        bench.graph().release(cast);
        bench.compute(&[], &[]);
        assert_eq!(before - live(&bench), 2 * 4096, "{}", bench.name);
    }
}

#[test]
fn gradients_go_through_casts_as_if_they_were_not_there() {
    for mut bench in benches_of_halves() {
        let mut numbers = Random::new(9);
        let (x, w) = (bench.random(&mut numbers, &[5, 7]), bench.random(&mut numbers, &[7, 3]));
        let graph = bench.graph();
        let kept = graph.half(w).unwrap();
        // The same numbers, with nothing to go through.
        let wide = graph.widened(kept);
        let given = graph.detach(wide).unwrap();
        let loss = |graph: &mut leastwise::tensor::graph::Graph, w: Node| {
            let product = graph.matmul(x, w).unwrap();
            let active = graph.apply("tanh", &[product]).unwrap();
            let squares = graph.apply("square", &[active]).unwrap();
            graph.reduce("sum", Fold::Sum, squares, &[], false).unwrap()
        };
        let (through, plain) = (loss(graph, kept), loss(graph, given));
        let mut made = graph.gradient(through, &[w, kept, x]).unwrap();
        made.extend(graph.gradient(plain, &[given, x]).unwrap());
        assert!(made.iter().all(|&node| !graph.entry(node).half), "gradients are f32");
        made.iter().for_each(|&node| {
            graph.hold(node);
        });
        bench.check("gradients of halves", &made, 100.0);
        let found = bench.read(&made);
        compare(bench.name, &found[0], &found[3], 1e-6);
        compare(bench.name, &found[1], &found[3], 1e-6);
        compare(bench.name, &found[2], &found[4], 1e-6);
    }
}

#[test]
fn halves_are_brought_from_place_to_place() {
    for (mode, model) in [(Mode::Device, None), (Mode::Cpu, None), (Mode::Auto, Some(DIVIDED))] {
        let mut bench = beside_the_cpu();
        bench.tensors.router.set(mode, model);
        let mut numbers = Random::new(5);
        let (x, w) = (bench.random(&mut numbers, &[41, 31]), random(&mut bench, &mut numbers, &[31, 21]));
        let graph = bench.graph();
        let waves = graph.apply("sin", &[x]).unwrap();
        let kept = graph.half(waves).unwrap();
        // The product needs halves of both and a number of each; what follows needs the product's.
        let first = graph.matmul(kept, w).unwrap();
        let cast = graph.half(first).unwrap();
        let soft = graph.softmax(cast, 1.0).unwrap();
        let turned = graph.transpose(w, &[]).unwrap();
        let second = graph.matmul(soft, turned).unwrap();
        let sum = graph.apply("add", &[second, waves]).unwrap();
        let last = graph.half(sum).unwrap();
        for node in [kept, cast, soft, second, last, w] {
            graph.hold(node);
        }
        let right = super::reference::values(&bench.tensors.graph, &[kept, cast, soft, second, last, w], &Default::default());
        let found = bench.read(&[kept, cast, soft, second, last, w]);
        for (found, right) in found.iter().zip(&right) {
            compare(&format!("{mode:?}"), found, right, 2e-3);
        }
        assert_eq!(bench.tensors.statistics.transfers > 0, mode == Mode::Auto, "{:?}", bench.tensors.trace);
        // Where they are now.
        let again = bench.graph().apply("add", &[last, last]).unwrap();
        let again = bench.graph().hold(again);
        assert!(bench.read(&[again])[0].iter().zip(&found[4]).all(|(a, b)| *a == 2.0 * b));
    }
}

#[test]
fn plans_of_halves_and_of_numbers_are_others() {
    for mut bench in benches_of_halves() {
        let mut numbers = Random::new(4);
        for _ in 0..2 {
            let x = bench.random(&mut numbers, &[9]);
            let kept = random(&mut bench, &mut numbers, &[9]);
            for node in [x, kept] {
                let wave = bench.graph().apply("sin", &[node]).unwrap();
                bench.check("a wave", &[wave], 10.0);
            }
        }
        assert_eq!((bench.tensors.statistics.plans_made, bench.tensors.statistics.plans_reused), (2, 2), "{}", bench.name);
    }
}

#[test]
fn rounded_constants_have_no_history() {
    let mut bench = benches_of_halves().next().expect("a device");
    let x = bench.random(&mut Random::new(2), &[3]);
    let graph = bench.graph();
    let ones = graph.constant(1.0, &[3]);
    let given = graph.half(ones).unwrap();
    let computed = graph.half(x).unwrap();
    let [given, computed] = [given, computed].map(|node| graph.hold(node));
    bench.compute(&[given, computed], &[]);
    let graph = bench.graph();
    let mut loss = |node: Node| {
        let product = graph.apply("mul", &[x, node]).unwrap();
        let sum = graph.reduce("sum", Fold::Sum, product, &[], false).unwrap();
        graph.gradient(sum, &[x]).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(loss(given), Ok(()));
    assert!(loss(computed).unwrap_err().contains("was computed before"));
}
