//! Twins of the shaders in `shaders/mesh/`.

use crate::Workgroups;
use crate::real::Real;
use leastwise_kernels as kernels;

/// Unit normals of vertices, weighted by the areas of their faces; 0 for a vertex without any.
pub fn vertex_normals<R: Real>(work: &Workgroups, args: kernels::mesh::VertexNormals, bindings: kernels::mesh::VertexNormalsSlices<R>) {
    let (normals, vertices) = (args.normals as usize, args.vertices as usize);
    let (around, values) = (bindings.around, bindings.values);
    for vertex in work.items() {
        let at = |vertex: usize| -> [R; 3] { std::array::from_fn(|axis| values[vertices + 3 * vertex + axis]) };
        let p = at(vertex);
        let mut sum = [R::ZERO; 3];
        for pair in around[around[vertex] as usize..around[vertex + 1] as usize].chunks_exact(2) {
            let [u, v] = [pair[0], pair[1]].map(|corner| {
                let q = at(corner as usize);
                [q[0] - p[0], q[1] - p[1], q[2] - p[2]]
            });
            let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            sum.iter_mut().zip(cross).for_each(|(sum, one)| *sum += one);
        }
        let size = sum.iter().fold(R::ZERO, |most, one| if one.abs() > most { one.abs() } else { most });
        if size != R::ZERO {
            let scaled = sum.map(|one| one / size);
            let norm = (scaled[0] * scaled[0] + scaled[1] * scaled[1] + scaled[2] * scaled[2]).sqrt();
            sum = scaled.map(|one| one / norm);
        }
        values[normals + 3 * vertex..][..3].copy_from_slice(&sum);
    }
}
