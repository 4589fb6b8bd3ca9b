//! Memory of an index, byte by byte, against what is promised and what is taken.

use super::graphs::with_graph_of;
use super::memory::live;
use super::{kmeans, mixture, of_bits};
use leastwise::anneal::index::{Index, Memory, graphed};

/// Bytes of model and anchors, which do not grow with vectors.
fn fixed(memory: &Memory) -> usize {
    memory.model + memory.anchors
}

#[test]
fn searched_through_its_graph_an_index_takes_its_file_and_a_bit_a_component_and_four_bytes() {
    for dim in [64, 40] {
        let points = mixture(3000, dim, 12, 31);
        let mut index = with_graph_of(&points, dim);
        while !graphed::draw(&mut index, 0.0) {}
        graphed::search(&index, &points[..10 * dim], 10, 64, None).expect("hits");
        let memory = index.memory();
        let sketch = 4 + dim.next_multiple_of(64) / 8;
        assert_eq!((memory.sketches, memory.lists, memory.ids), (3000 * sketch, 0, 0));
        // Eight bytes of padding that eight can be read from.
        assert!(memory.total - fixed(&memory) <= index.bytes() + 3000 * sketch + 8, "{memory:?}, {} bytes of file", index.bytes());
        // Lists, while they are searched, take four bytes more; afterwards nothing.
        index.search(&points[..dim], 10, Some(24), None).expect("hits");
        assert!((12_000..12_200).contains(&index.memory().lists));
        index.rest();
        assert_eq!(index.memory(), memory);
        // Ids with gaps take some bits each.
        index.remove(&(0..3000).filter(|id| id % 3 == 0).collect::<Vec<_>>());
        assert!((500..1100).contains(&index.memory().ids), "{}", index.memory().ids);
        assert_eq!(index.memory().total, {
            let Memory { codes, labels, ids, anchors, model, lists, sketches, graph, .. } = index.memory();
            codes + labels + ids + anchors + model + lists + sketches + graph
        });
    }
}

#[test]
fn searched_through_its_lists_without_sketches_it_takes_its_file_and_four_bytes() {
    let (dim, count) = (64, 3000);
    let points = mixture(count, dim, 12, 31);
    let mut index = Index::build(&points, dim, kmeans(&points, dim, 24, 4), &of_bits(4.0)).expect("an index");
    index.set_sketching(false);
    index.search(&points[..dim], 10, None, None).expect("hits");
    let memory = index.memory();
    assert!(memory.total - fixed(&memory) <= index.bytes() + 4 * count + 200, "{memory:?}");
}

#[test]
fn what_it_says_it_takes_is_what_it_takes() {
    let dim = 48;
    let points = mixture(3000, dim, 12, 31);
    let file = with_graph_of(&points, dim).save();
    let before = live();
    let mut index = Index::open(&file).expect("the index");
    while !graphed::draw(&mut index, 0.0) {}
    let (taken, said) = ((live() - before) as usize, index.memory().total);
    // A few numbers by coordinate beside it.
    assert!(taken >= said && taken < said + said / 20 + 20_000, "{taken} bytes, of which it says {said}");
    // Vectors that are added leave an eighth of room at most.
    for piece in points.chunks(100 * dim) {
        index.add(piece).expect("ids");
    }
    let (taken, said) = ((live() - before) as usize, index.memory());
    assert!(taken >= said.total && taken < said.total + said.total / 20 + 20_000, "{taken} bytes, of which it says {said:?}");
    assert!(said.codes as f64 <= 1.13 * 6000.0 * index.info()["rowBytes"].as_f64().expect("bytes"));
}
