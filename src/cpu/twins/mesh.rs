//! Twins of the shaders of meshes.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;

/// Operations of a vertex, about: it has six faces.
const WORK: usize = 64;
/// The least sum that has a direction: f32 has no normal numbers below it.
const SMALLEST: f64 = 1.2e-38;

/// Unit normals of vertices, weighted by the areas of their faces.
pub fn vertex_normals<R: Real>(work: &Workgroups, args: kernels::mesh::VertexNormals, bindings: kernels::mesh::VertexNormalsSlices<R>) {
    let (positions, table) = (&bindings.arena[args.arena as usize..], bindings.table);
    let corners = &table[args.corners as usize..];
    let at = |vertex: u32| -> [R; 3] { std::array::from_fn(|k| positions[3 * vertex as usize + k]) };
    let mut normals = Pieces::new(bindings.normals);
    let tasks = threads::cut_by(work.items(), WORK).map(|items| (normals.take(3 * items.start..3 * items.end), items));
    threads::each(tasks.collect(), work.items().len() * WORK, |(normals, items)| {
        for (vertex, normal) in items.zip(normals.chunks_exact_mut(3)) {
            let p = at(vertex as u32);
            let faces = 2 * table[vertex] as usize..2 * table[vertex + 1] as usize;
            let mut sum = [R::ZERO; 3];
            for others in corners[faces].chunks_exact(2) {
                let (q, r) = (at(others[0]), at(others[1]));
                let [u, v]: [[R; 3]; 2] = [q, r].map(|other| std::array::from_fn(|k| other[k] - p[k]));
                sum[0] += u[1] * v[2] - u[2] * v[1];
                sum[1] += u[2] * v[0] - u[0] * v[2];
                sum[2] += u[0] * v[1] - u[1] * v[0];
            }
            normal.copy_from_slice(&unit(sum));
        }
    });
}

/// A vector divided by its length; 0 if it has no direction.
fn unit<R: Real>(sum: [R; 3]) -> [R; 3] {
    let largest = sum.iter().fold(R::ZERO, |largest, x| if x.abs() > largest { x.abs() } else { largest });
    if !sum.iter().all(|x| x.is_finite()) || largest < R::from_f64(SMALLEST) {
        return [R::ZERO; 3];
    }
    let [x, y, z] = sum.map(|x| x / largest);
    let length = (x * x + y * y + z * z).sqrt();
    [x / length, y / length, z / length]
}
