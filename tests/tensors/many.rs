//! Many elements on a GPU that has many lanes: several of a lane.

use super::Bench;
use super::support::{Random, fresh_seed as fresh};
use leastwise::device::Limits;
use leastwise::tensor::graph::Node;
use leastwise::tensor::plan::{Request, Target, plan};

/// The lanes of every kernel that makes these.
fn lanes(bench: &Bench, made: &[Node]) -> Vec<u32> {
    let graph = &bench.tensors.graph;
    let mut outputs = made.to_vec();
    outputs.sort_unstable();
    let targets = [Target { cpu: false, limits: bench.device.limits(), library: None, rows: false }];
    let plan = plan(graph, &Request::new(graph, &outputs), &outputs, &targets, false).expect("a plan");
    plan.steps.iter().filter_map(|step| Some(step.launches[0].kernel.as_ref()?.count)).collect()
}

#[test]
fn several_elements_of_a_lane_are_those_of_one() {
    let seed = fresh();
    let own = Limits { elements_per_lane: 1, ..Limits::WEBGPU };
    // More than enough for all lanes, in whole workgroups of several elements and not; and too few.
    for (rows, columns) in [(1 << 10, 1 << 8), (599, 443), (1, 300_007), (263, 997), (20, 30)] {
        let mut found = [own, Limits::WEBGPU].map(|limits| {
            let mut random = Random::new(seed + u64::from(rows));
            let mut bench = Bench::gpu(limits);
            let (x, y, row) = (
                bench.random(&mut random, &[rows, columns]),
                bench.random(&mut random, &[columns, rows]),
                bench.random(&mut random, &[columns]),
            );
            let made = bench.graph().made(|graph| {
                let turned = graph.transpose(y, &[])?;
                let sum = graph.apply("add", &[x, turned])?;
                let scaled = graph.apply("mul", &[sum, row])?;
                let shifted = graph.flip(x, 0.0)?;
                let other = graph.apply("sub", &[shifted, scaled])?;
                Ok::<_, leastwise::Error>(vec![sum, scaled, other])
            });
            let made = made.expect("a graph");
            let lanes = lanes(&bench, &made);
            let size = rows * columns;
            let several = limits.elements_per_lane == 1 && size >= 1 << 18;
            let group = bench.device.limits().group_size;
            let fewer = size.div_ceil(4 * group) * group;
            assert!(lanes.contains(&if several { fewer } else { size }), "{rows} × {columns}: {lanes:?}");
            let values = bench.read(&made);
            assert!(bench.tensors.statistics.kernels <= 2, "{} kernels", bench.tensors.statistics.kernels);
            values
        });
        let one = found[1].split_off(0);
        for (k, (several, one)) in found[0].iter().zip(&one).enumerate() {
            assert_eq!(several, one, "seed {seed}: {rows} × {columns}, result {k}");
        }
        assert!(one.iter().all(|values| values.iter().any(|value| *value != 0.0)));
    }
}
