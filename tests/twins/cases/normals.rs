use crate::twins::harness::Case;
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, mesh};

/// Random points in random triangles: some in many, the last in none. Large and tiny ones, whose areas have squares that f32 has not.
pub fn vertex_normals(size: usize, random: &mut Random) -> Vec<Case> {
    [("", 1.0), ("tiny", f64::from(1e-10f32)), ("large", f64::from(1e10f32))].map(|(name, unit)| normals(size, random, name, unit)).into()
}

fn normals(size: usize, random: &mut Random, name: &str, unit: f64) -> Case {
    let (normals, vertices) = (5, 3 * size + 11);
    let len = vertices + 3 * size + 4;
    let mut values: Vec<f64> = random.vector(len).into_iter().map(|value| f64::from((value * unit) as f32)).collect();
    let mut faces: Vec<Vec<[u32; 2]>> = vec![Vec::new(); size];
    let used = size.saturating_sub(1).max(1) as u32;
    for _ in 0..2 * size {
        let mut corners = [(); 3].map(|()| random.below(used));
        corners.sort_unstable();
        let [a, b, c] = corners;
        // What has no area, or is there turned as well, would be a sum of 0 but for its rounding.
        if a == b || b == c {
            continue;
        }
        [[a, b, c], [b, c, a], [c, a, b]].iter().for_each(|[v, q, r]| faces[*v as usize].push([*q, *r]));
    }
    let mut around: Vec<u32> = Vec::new();
    let mut first = size as u32 + 1;
    for pairs in &faces {
        around.push(first);
        first += 2 * pairs.len() as u32;
    }
    around.push(first);
    around.extend(faces.iter().flatten().flatten());
    let mut case = Case::new(StaticKernel::MeshVertexNormals, name);
    let point = |vertex: u32| -> [Value; 3] { std::array::from_fn(|axis| (values[vertices + 3 * vertex as usize + axis] / unit).into()) };
    let mut expected = Vec::new();
    for (vertex, pairs) in (0..).zip(&faces) {
        let mut sum = [Value::default(); 3];
        for [q, r] in pairs {
            let [u, v] = [*q, *r].map(|corner| {
                let (q, p) = (point(corner), point(vertex));
                [q[0] - p[0], q[1] - p[1], q[2] - p[2]]
            });
            let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            sum.iter_mut().zip(cross).for_each(|(sum, one)| *sum = *sum + one);
        }
        // The error of a direction is that of the sum over its length.
        let length = sum.iter().map(|one| one.value * one.value).sum::<f64>().sqrt();
        let error = sum.iter().map(|one| one.size).sum::<f64>() / length;
        expected.extend(sum.map(|one| match length {
            0.0 => Value::default(),
            _ => Value { value: one.value / length, size: 1.0 + error },
        }));
    }
    values[normals..normals + 3 * size].fill(f64::NAN);
    case.reals(mesh::VertexNormals::VALUES, values);
    case.indices(around);
    case.dispatch(size as u32, mesh::VertexNormals { normals: normals as u32, vertices: vertices as u32 });
    expected.into_iter().enumerate().for_each(|(i, value)| case.expect(mesh::VertexNormals::VALUES, normals + i, value));
    case
}
