//! Proximity graphs: what they find, that they do not depend on threads or slices, and what becomes of them as vectors come and go.

use super::data::Random;
use super::{kmeans, mixture, of_bits, options};
use leastwise::anneal::code::Code;
use leastwise::anneal::file::{INDEX, INDEX_OF_LISTS};
use leastwise::anneal::graph::{Edges, Graph, NONE};
use leastwise::anneal::index::graphed::{self, Building};
use leastwise::anneal::index::{Hits, Index, Through, exact};
use leastwise::base::container::{self, Section};

const DIM: usize = 40;
const COUNT: usize = 3000;

/// Kind of the graph's section.
pub const GRAPH: u32 = 12;

fn points() -> Vec<f32> {
    mixture(COUNT, DIM, 12, 31)
}

fn index_of(points: &[f32]) -> Index {
    Index::build(points, DIM, kmeans(points, DIM, 24, 4), &of_bits(6.0)).expect("an index")
}

fn build(index: &mut Index, degree: u32) {
    let mut building = Building::new(index, Some(degree), Some(64)).expect("a graph");
    assert!(building.advance(index, f64::INFINITY).expect("a graph"));
}

fn with_graph(points: &[f32]) -> Index {
    let mut index = index_of(points);
    build(&mut index, 16);
    index
}

/// An index of vectors of any size, with a graph.
pub fn with_graph_of(points: &[f32], dim: usize) -> Index {
    let mut index = Index::build(points, dim, kmeans(points, dim, 24, 4), &of_bits(6.0)).expect("an index");
    build(&mut index, 16);
    index
}

/// Hits of a search through the graph.
fn walked(index: &mut Index, queries: &[f32], k: usize, effort: Option<u32>, filter: Option<&[u8]>) -> Hits {
    while !graphed::draw(index, 0.0) {}
    let effort = graphed::route(index, k, effort, filter).expect("a way through the graph");
    let hits = graphed::search(index, queries, k, effort, filter).expect("hits");
    assert_eq!(hits.by.through, Through::Graph);
    hits
}

fn recall(hits: &Hits, truth: &Hits) -> f64 {
    let rows = hits.ids.chunks_exact(hits.k).zip(truth.ids.chunks_exact(truth.k));
    rows.map(|(found, truth)| found.iter().filter(|id| truth.contains(id)).count()).sum::<usize>() as f64 / truth.ids.len() as f64
}

#[test]
fn walks_find_what_lists_do_at_the_same_distances() {
    let (points, queries) = (points(), mixture(60, DIM, 12, 32));
    for code in [Code::Bits, Code::Int8, Code::Int4] {
        let mut index = Index::build(&points, DIM, kmeans(&points, DIM, 24, 4), &options(code)).expect("an index");
        build(&mut index, 16);
        let lists = index.search(&queries, 10, None, None).expect("hits");
        let hits = walked(&mut index, &queries, 10, None, None);
        assert!(recall(&hits, &lists) > 0.97, "{}: {}", code.name(), recall(&hits, &lists));
        for (query, (ids, distances)) in hits.ids.chunks_exact(10).zip(hits.distances.chunks_exact(10)).enumerate() {
            assert!(distances.is_sorted(), "the nearest first");
            for (id, distance) in ids.iter().zip(distances) {
                if let Some(place) = lists.ids[query * 10..][..10].iter().position(|other| other == id) {
                    assert_eq!(distance.to_bits(), lists.distances[query * 10 + place].to_bits(), "the bits of a search through the lists");
                }
            }
        }
    }
}

#[test]
fn a_wider_beam_finds_more() {
    let (points, queries) = (points(), mixture(80, DIM, 12, 33));
    let mut index = index_of(&points);
    build(&mut index, 8);
    let truth = exact(&points, &queries, DIM, 10, None).expect("hits");
    let of = |index: &mut Index, effort| recall(&walked(index, &queries, 10, Some(effort), None), &truth);
    let [narrow, wide] = [10, 400].map(|effort| of(&mut index, effort));
    assert!(wide > 0.97 && wide > narrow + 0.02, "{narrow} {wide}");
}

#[test]
fn graphs_depend_neither_on_threads_nor_on_slices() {
    let points = points();
    let file = with_graph(&points).save();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let again = pool.install(|| {
            let mut index = index_of(&points);
            let mut building = Building::new(&index, Some(16), Some(64)).expect("a graph");
            let mut slices = 0;
            while !building.advance(&mut index, 0.0).expect("a graph") {
                slices += 1;
                let (done, all) = building.progress();
                assert!(done <= all);
            }
            assert!(slices > 20, "{slices} slices");
            index.save()
        });
        assert!(file == again, "{threads} threads");
    }
}

#[test]
fn nodes_have_few_neighbours_and_are_all_reached() {
    for degree in [4, 16] {
        let mut index = index_of(&points());
        build(&mut index, degree);
        let graph = index.graph().expect("a graph");
        assert_eq!((graph.nodes(), graph.degree(), graph.removed()), (COUNT as u32, degree, 0));
        let mut reached = vec![false; COUNT];
        let mut open: Vec<u32> = (0..index.clusters()).filter_map(|list| graph.start(list)).collect();
        open.iter().for_each(|&start| reached[start as usize] = true);
        while let Some(node) = open.pop() {
            let mut neighbours = Vec::new();
            graph.extend(node, &mut neighbours);
            assert!(neighbours.len() <= degree as usize && !neighbours.contains(&node));
            let count = neighbours.len();
            neighbours.sort_unstable();
            neighbours.dedup();
            assert_eq!(neighbours.len(), count, "each neighbour once");
            open.extend(neighbours.into_iter().filter(|&next| !std::mem::replace(&mut reached[next as usize], true)));
        }
        let lost = reached.iter().filter(|reached| !**reached).count();
        assert_eq!(lost, 0, "nodes are not reached from any start, degree {degree}");
    }
}

#[test]
fn files_keep_the_graph() {
    let (points, queries) = (points(), mixture(30, DIM, 12, 34));
    let mut index = with_graph(&points);
    let file = index.save();
    assert_eq!(file.len(), index.bytes());
    assert_eq!((container::version(&file), container::version(&index_of(&points).save())), (INDEX.version, INDEX_OF_LISTS.version));
    let mut opened = Index::open(&file).expect("an index");
    assert_eq!(opened.graph(), index.graph());
    assert!(opened.save() == file);
    assert_eq!(walked(&mut opened, &queries, 10, None, None), walked(&mut index, &queries, 10, None, None));
}

#[test]
fn removed_vectors_are_routed_around() {
    let (points, queries) = (points(), mixture(60, DIM, 12, 35));
    let mut index = with_graph(&points);
    let mut random = Random(36);
    walked(&mut index, &queries, 10, None, None);
    // Whole lists' starts among them.
    let starts: Vec<u32> = index.graph().expect("a graph").starts().iter().copied().filter(|&start| start != NONE).take(8).collect();
    let mut gone: Vec<u32> = (0..600).map(|_| random.below(COUNT) as u32).chain(starts).collect();
    gone.sort_unstable();
    gone.dedup();
    for some in gone.chunks(gone.len().div_ceil(4)) {
        assert_eq!(index.remove(some), some.len());
    }
    let graph = index.graph().expect("a graph");
    assert_eq!((graph.nodes() as usize, graph.removed() as usize), (COUNT - gone.len(), gone.len()));
    let lists = index.search(&queries, 10, None, None).expect("hits");
    let hits = walked(&mut index, &queries, 10, None, None);
    assert!(hits.ids.iter().all(|id| gone.binary_search(id).is_err()), "what was removed is not found");
    assert!(recall(&hits, &lists) > 0.95, "{}", recall(&hits, &lists));
    let mut opened = Index::open(&index.save()).expect("an index");
    assert_eq!(walked(&mut opened, &queries, 10, None, None), hits);
    // Sketches of what stays are those that would be drawn anew.
    index.remove(&[index.ids()[0]]);
    opened.remove(&[opened.ids()[0]]);
    assert_eq!(walked(&mut opened, &queries, 5, None, None), walked(&mut index, &queries, 5, None, None));
}

#[test]
fn vectors_that_come_later_are_found_and_can_be_inserted() {
    let (points, queries) = (points(), mixture(60, DIM, 12, 37));
    let mut index = index_of(&points[..2000 * DIM]);
    build(&mut index, 16);
    walked(&mut index, &queries, 10, None, None);
    index.add(&points[2000 * DIM..]).expect("ids");
    for round in 0..2 {
        let lists = index.search(&queries, 10, None, None).expect("hits");
        let hits = walked(&mut index, &queries, 10, None, None);
        assert!(recall(&hits, &lists) > 0.97, "round {round}: {}", recall(&hits, &lists));
        assert!(hits.ids.iter().any(|id| *id >= 2000), "new ones are among them");
        assert_eq!(index.graph().expect("a graph").nodes() as usize, [2000, COUNT][round]);
        build(&mut index, 16);
    }
}

#[test]
fn vectors_that_change_during_a_build_begin_it_anew() {
    let points = points();
    let mut index = index_of(&points);
    let mut building = Building::new(&index, Some(16), Some(64)).expect("a graph");
    for _ in 0..30 {
        assert!(!building.advance(&mut index, 0.0).expect("a graph"));
    }
    index.remove(&[3, 5, 1200]);
    assert!(building.advance(&mut index, f64::INFINITY).expect("a graph"));
    let mut other = index_of(&points);
    other.remove(&[3, 5, 1200]);
    build(&mut other, 16);
    assert_eq!(index.graph(), other.graph());
}

#[test]
fn filters_pass_through_the_graph_unless_they_are_narrow() {
    let (points, queries) = (points(), mixture(40, DIM, 12, 38));
    let mut index = with_graph(&points);
    let half: Vec<u8> = (0..COUNT).map(|id| u8::from(id % 2 == 0)).collect();
    let lists = index.search(&queries, 10, None, Some(&half)).expect("hits");
    let hits = walked(&mut index, &queries, 10, None, Some(&half));
    assert!(hits.ids.iter().all(|id| id % 2 == 0));
    assert!(recall(&hits, &lists) > 0.97, "{}", recall(&hits, &lists));
    let few: Vec<u8> = (0..COUNT).map(|id| u8::from(id % 100 == 0)).collect();
    let why = graphed::route(&index, 10, None, Some(&few)).expect_err("a reason");
    assert!(why.contains("lets only 30 of 3000 vectors pass"), "{why}");
    let why = graphed::route(&index, 900, None, None).expect_err("a reason");
    assert!(why.contains("900 neighbours of 3000 are too many"), "{why}");
    // What passes lies where walks do not come: lists find it.
    let label = index.search(&queries[..DIM], 400, None, None).expect("hits").ids;
    let far: Vec<u8> = (0..COUNT as u32).map(|id| u8::from(!label.contains(&id))).collect();
    let hits = walked(&mut index, &queries[..DIM], 50, Some(50), Some(&far));
    assert!(hits.ids.iter().all(|id| *id != u32::MAX && far[*id as usize] == 1));
}

#[test]
fn indices_without_codes_or_vectors_have_none() {
    let (points, empty) = (points(), Index::build(&[], DIM, Default::default(), &of_bits(4.0)).expect("an index"));
    let bare = Index::build(&points, DIM, kmeans(&points, DIM, 8, 2), &options(Code::None)).expect("an index");
    for (index, why) in [(&empty, "has none yet"), (&bare, "look alike")] {
        let error = Building::new(index, None, None).map(|_| ()).expect_err("refused");
        assert!(error.code() == "invalid-option" && error.to_string().contains(why), "{error}");
    }
    for (degree, effort) in [(3, 64), (129, 64), (16, 0), (16, 9000)] {
        assert!(Building::new(&index_of(&points), Some(degree), Some(effort)).is_err());
    }
}

#[test]
fn few_vectors_and_one_cluster_have_graphs() {
    let points = points();
    for (count, clusters) in [(1, 1), (2, 1), (2, 2), (3, 1), (40, 1), (70, 3)] {
        let points = &points[..count * DIM];
        let mut index = Index::build(points, DIM, kmeans(points, DIM, clusters, 2), &options(Code::Int8)).expect("an index");
        build(&mut index, 4);
        assert_eq!(index.graph().expect("a graph").nodes() as usize, count);
        while !graphed::draw(&mut index, 0.0) {}
        let hits = graphed::search(&index, points, 1, 80, None).expect("hits");
        assert_eq!(hits.ids, (0..count as u32).collect::<Vec<_>>(), "{count} vectors in {clusters} clusters find themselves");
        assert_eq!(Index::open(&index.save()).expect("an index").graph(), index.graph());
        let gone: Vec<u32> = (0..count as u32).collect();
        assert_eq!(index.remove(&gone), count);
        assert_eq!(index.graph().expect("a graph").nodes(), 0);
        assert!(Index::open(&index.save()).is_ok());
    }
}

#[test]
fn hostile_graphs_are_refused() {
    let file = with_graph(&points()).save();
    let read = || container::read(&INDEX, &file).expect("sections");
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut sections = read();
        let section = sections.iter_mut().find(|section| section.kind == GRAPH).expect("the graph");
        change(section.bytes.to_mut());
        Index::open(&container::write(&INDEX, &sections)).map(|_| ()).map_err(|error| error.code())
    };
    let word = |at: usize, value: u32| changed(&|bytes| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()));
    assert_eq!(changed(&|_| {}), Ok(()));
    // Degree, nodes, a start, and a neighbour: 12 bits for 3000 nodes.
    for (at, value) in
        [(0, 0), (0, 15), (0, 17), (0, u32::MAX), (8, 2999), (8, 3001), (8, 0), (8, u32::MAX), (16, 3000), (16 + 4 * 24, u32::MAX)]
    {
        assert_eq!(word(at, value), Err("file-format"), "{at} {value}");
    }
    assert_eq!(word(16, NONE), Ok(()), "a list without a start");
    for length in [0, 3, 16, 100, 5000] {
        assert_eq!(changed(&|bytes| bytes.truncate(length)), Err("file-format"));
    }
    assert_eq!(changed(&|bytes| bytes.push(0)), Err("file-format"));
    // Version 2 has none.
    let old = container::write(&INDEX_OF_LISTS, &read());
    assert_eq!(Index::open(&old).map(|_| ()).map_err(|error| error.code()), Err("file-format"));
    // Noise either is refused or can be walked in.
    let mut random = Random(39);
    for _ in 0..60 {
        let mut sections: Vec<Section> = read();
        let bytes = sections.iter_mut().find(|section| section.kind == GRAPH).expect("the graph").bytes.to_mut();
        for _ in 0..4 {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        if let Ok(mut index) = Index::open(&container::write(&INDEX, &sections)) {
            let hits = walked(&mut index, &[0.1; DIM], 10, None, None);
            assert!(hits.distances.iter().all(|distance| distance.is_finite()));
        }
    }
    assert!(Graph::from_stored(16, 64, 0, 0, Vec::new(), vec![NONE]).is_ok());
}
