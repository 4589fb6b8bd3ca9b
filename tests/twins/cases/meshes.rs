//! Normals of vertices.

use crate::twins::harness::Case;
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, mesh};

/// The cross product of two edges.
fn cross(u: [Value; 3], v: [Value; 3]) -> [Value; 3] {
    [[1, 2], [2, 0], [0, 1]].map(|[j, k]| u[j] * v[k] - u[k] * v[j])
}

pub fn vertex_normals(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |name: &str, scale: f64, most: u32, random: &mut Random| {
        let arena = 7;
        let positions: Vec<f64> = random.vector(arena + 3 * size).iter().map(|x| f64::from((x * scale) as f32)).collect();
        let faces: Vec<Vec<[u32; 2]>> =
            (0..size).map(|_| (0..random.below(most + 1)).map(|_| [0; 2].map(|_| random.below(size as u32))).collect()).collect();
        let mut starts = vec![0];
        faces.iter().for_each(|faces| starts.push(starts[starts.len() - 1] + faces.len() as u32));
        let corners = starts.len() as u32;
        let mut case = Case::new(StaticKernel::MeshVertexNormals, name);
        case.indices(starts.into_iter().chain(faces.iter().flatten().flatten().copied()).collect());
        case.reals(mesh::VertexNormals::ARENA, positions.clone());
        case.poisoned(mesh::VertexNormals::NORMALS, 3 * size);
        case.dispatch(size as u32, mesh::VertexNormals { arena: arena as u32, corners });
        let at = |vertex: usize| [0, 1, 2].map(|k| positions[arena + 3 * vertex + k]);
        for (vertex, faces) in faces.iter().enumerate() {
            let p = at(vertex);
            let mut sum = [Value::default(); 3];
            for others in faces {
                let [u, v] = others.map(|other| at(other as usize)).map(|q| [0, 1, 2].map(|k| Value::from((q[k] - p[k]) / scale)));
                sum.iter_mut().zip(cross(u, v)).for_each(|(sum, one)| *sum = *sum + one);
            }
            let squared: f64 = sum.iter().map(|x| x.value * x.value).sum();
            let flat = squared == 0.0 || scale * scale * squared.sqrt() < 1.2e-38;
            // An error of one component turns the others.
            let size = sum.iter().map(|x| x.size).sum::<f64>() / squared.sqrt();
            for (k, x) in sum.into_iter().enumerate() {
                let normal = if flat { Value::default() } else { Value { value: x.value / squared.sqrt(), size } };
                case.expect(mesh::VertexNormals::NORMALS, 3 * vertex + k, normal);
            }
        }
        case
    };
    vec![
        one("six faces at most", 1.0, 6, random),
        one("no faces", 1.0, 0, random),
        one("squares that overflow", 1e15, 6, random),
        one("squares that vanish", 1e-11, 6, random),
        one("areas that vanish", 1e-25, 6, random),
    ]
}
