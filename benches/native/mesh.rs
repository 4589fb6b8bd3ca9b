//! A torus of triangles: a grid that is joined at its ends, with six neighbours a vertex.

pub const WIDTH: u32 = 161;
pub const HEIGHT: u32 = 162;
pub const VERTICES: u32 = WIDTH * HEIGHT;

fn vertex(x: u32, y: u32) -> u32 {
    (x % WIDTH) + (y % HEIGHT) * WIDTH
}

/// The vertices of every triangle, a list a corner.
pub fn triangles() -> [Vec<u32>; 3] {
    let mut corners: [Vec<u32>; 3] = Default::default();
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            for triangle in [[(0, 0), (1, 0), (0, 1)], [(1, 1), (0, 1), (1, 0)]] {
                for (list, (dx, dy)) in corners.iter_mut().zip(triangle) {
                    list.push(vertex(x + dx, y + dy));
                }
            }
        }
    }
    corners
}

/// Every edge from each of its ends: a list of first vertices and one of second ones.
pub fn half_edges() -> [Vec<u32>; 2] {
    let [mut from, mut to] = [Vec::new(), Vec::new()];
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            for (dx, dy) in [(1, 0), (0, 1), (WIDTH - 1, 1), (WIDTH - 1, 0), (0, HEIGHT - 1), (1, HEIGHT - 1)] {
                from.push(vertex(x, y));
                to.push(vertex(x + dx, y + dy));
            }
        }
    }
    [from, to]
}

/// Numbers between −1 and 1 that look random (Weyl's sequence).
pub fn noise(count: u32) -> impl Iterator<Item = f64> {
    (1..=count).map(|k| 2.0 * (f64::from(k) * 0.618_033_988_749_894_8).fract() - 1.0)
}
