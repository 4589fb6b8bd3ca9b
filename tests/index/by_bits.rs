//! Searches through lists by one-bit sketches.

use super::{indexes_of, mixture};
use leastwise::anneal::code::Code;
use leastwise::anneal::index::{Index, Sketching, by_bits, graphed};

const DIM: usize = 96;

fn ready(index: &mut Index) {
    index.set_sketching(Sketching::Bits);
    while !graphed::draw(index, 0.0) {}
}

#[test]
fn hits_are_nearly_those_of_decoding_everything_in_an_eighth_of_the_memory() {
    let (points, queries) = (mixture(3000, DIM, 12, 5), mixture(40, DIM, 12, 6));
    for mut index in indexes_of(&[Code::Bits, Code::Int8], &points, DIM, 16) {
        let truth = index.search(&queries, 10, None, None).expect("hits");
        assert!(index.sketch(10, f64::INFINITY));
        let of_bytes = index.sketch_bytes();
        ready(&mut index);
        // 96 components are 128 bits; and four bytes.
        assert_eq!(index.sketch_bytes(), 3000 * (128 / 8 + 4));
        assert!(index.sketch_bytes() * 4 < of_bytes);
        index.rest();
        assert_eq!(index.memory().lists, 0);
        let beam = index.beam_of_bits(10, None).expect("by bits");
        let hits = by_bits::search(&index, &queries, 10, beam, 16, None).expect("hits");
        assert_eq!(index.memory().lists, 0, "no lists are made");
        let equal = hits.ids.iter().enumerate().filter(|(place, id)| truth.ids[place / 10 * 10..][..10].contains(id)).count();
        assert!(equal >= 392, "{}: {equal} of 400", index.code().name());
        // Distances of what both found are equal to the bit.
        for (place, id) in hits.ids.iter().enumerate() {
            let row = place / 10 * 10;
            if let Some(at) = truth.ids[row..row + 10].iter().position(|other| other == id) {
                assert_eq!(hits.distances[place], truth.distances[row + at]);
            }
        }
        // Of all vectors nothing is left out.
        let all = by_bits::search(&index, &queries, 10, 3000, 16, None).expect("hits");
        assert_eq!(all, truth);
        // So too in some lists, and with a filter.
        let filter: Vec<u8> = (0..3000).map(|id| u8::from(id % 7 == 3)).collect();
        for (probes, filter) in [(3, None), (1, None), (16, Some(&filter[..])), (2, Some(&filter[..]))] {
            let lists = index.search(&queries, 10, Some(probes as u32), filter).expect("hits");
            assert_eq!(by_bits::search(&index, &queries, 10, 3000, probes, filter).expect("hits"), lists);
        }
        // After changes as well: what is new is sketched, what is gone is not.
        index.remove(&[4, 5, 6]);
        index.add(&points[..20 * DIM]).expect("ids");
        while !graphed::draw(&mut index, 0.0) {}
        let changed = by_bits::search(&index, &queries, 10, 3000, 16, None).expect("hits");
        assert_eq!(changed, index.search(&queries, 10, None, None).expect("hits"));
        index.set_sketching(false);
        assert_eq!(index.sketch_bytes(), 0);
        assert_eq!(index.beam_of_bits(10, None), None);
    }
}
