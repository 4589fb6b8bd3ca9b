use super::data::{Random, fresh};
use super::memory::peak;
use super::{indexes, kmeans, mixture, of_bits, options, small};
use leastwise::anneal::code::Code;
use leastwise::anneal::file::{FileError, INDEX};
use leastwise::anneal::index::{Coarse, Index, Options, Reader};
use leastwise::base::container;
use serde_json::json;

#[test]
fn what_is_saved_is_opened() {
    let (points, dim) = small();
    for index in indexes(&points, dim, 5) {
        let file = index.save();
        assert_eq!(file.len(), index.bytes());
        let back = Index::open(&file).expect("the index");
        assert_eq!(back.save(), file);
        assert_eq!(back.search(&points, 5, None, None), index.search(&points, 5, None, None));
        assert_eq!(back.info(), index.info());
        assert_eq!(back.info()["code"], index.code().name());
    }
}

#[test]
fn what_the_caller_says_is_kept() {
    let (points, dim) = small();
    let mut about = serde_json::Map::new();
    about.insert("method".into(), "anneal".into());
    about.insert("energies".into(), json!([3.5, 2.25]));
    let options = Options { about: about.clone(), ..Options::default() };
    let index = Index::build(&points, dim, kmeans(&points, dim, 3, 1), &options).expect("an index");
    assert_eq!(Index::open(&index.save()).expect("the index").about(), about);
}

#[test]
fn what_is_opened_is_saved_with_the_same_bytes() {
    let (points, dim) = small();
    let coarse = kmeans(&points, dim, 3, 1);
    let mut random = Random(fresh());
    for _ in 0..300 {
        // Numbers of all digits there are, which few parsers give back.
        let mut about = serde_json::Map::new();
        let energies: Vec<f64> = (0..20).map(|_| random.uniform() * 10.0_f64.powi(random.below(30) as i32 - 15)).collect();
        about.insert("clustering".into(), json!({ "energies": energies, "reason": "\u{1F600} \"so\"\n" }));
        let index = Index::build(&points, dim, coarse.clone(), &Options { about, ..options(Code::None) }).expect("an index");
        let file = index.save();
        assert_eq!(Index::open(&file).expect("the index").save(), file);
    }
    // So much may be said, and no more.
    let about = |length: usize| serde_json::Map::from_iter([("a".to_string(), "b".repeat(length).into())]);
    let most = Options { about: about((1 << 20) - 4096 - 8), ..options(Code::None) };
    let index = Index::build(&points, dim, coarse.clone(), &most).expect("an index");
    assert_eq!(Index::open(&index.save()).expect("the index").save(), index.save());
    let more = Options { about: about((1 << 20) - 4096 - 7), ..most };
    assert_eq!(Index::build(&points, dim, coarse, &more).err().expect("too much").code(), "invalid-option");
}

#[test]
fn files_of_version_1_are_read() {
    // Written by the first version's code, whose ids took 4 bytes each.
    let (dim, count) = (6, 40);
    let points: Vec<f32> = (0..count * dim).map(|place| ((place * place * 7 + place * 3) % 23) as f32 - 11.0).collect();
    let files: [(&[u8], _); 2] = [
        (include_bytes!("fixtures/version1-bits.lwi"), [23, 21, 19, 25, 24, 1, 28, 9]),
        (include_bytes!("fixtures/version1-int8.lwi"), [23, 21, 19, 2, 1, 24, 28, 32]),
    ];
    for (file, nearest) in files {
        let index = Index::open(file).expect("the index");
        assert_eq!((index.count(), index.next_id()), (35, 40));
        assert!([0, 3, 4, 5, 39].iter().all(|id| !index.ids().contains(id)));
        assert_eq!(index.search(&points[..2 * dim], 4, None, None).expect("hits").ids, nearest);
        let mut reader = Reader::default();
        file.chunks(100).for_each(|piece| reader.push(piece).expect("a good piece"));
        let again = Index::open(&reader.finish().expect("the index").save()).expect("the index");
        assert_eq!((again.ids(), again.next_id()), (index.ids(), 40));
        assert_eq!(again.search(&points, 4, None, None), index.search(&points, 4, None, None));
    }
}

#[test]
fn taking_vectors_out_keeps_the_ratio() {
    let (count, dim) = (3000, 32);
    let points = mixture(count, dim, 6, 14);
    let options = Options { ratio: Some(0.2), ..Options::default() };
    let built = Index::build(&points, dim, kmeans(&points, dim, 8, 3), &options).expect("an index");
    let mut random = Random(15);
    let some: Vec<u32> = (0..60).map(|_| random.below(count) as u32).collect();
    for ids in [vec![7], some, (100..160).collect(), vec![0], vec![2999], (0..3000).step_by(2).collect(), (0..3000).collect()] {
        let mut index = Index::open(&built.save()).expect("the index");
        index.remove(&ids);
        let back = Index::open(&index.save()).expect("the index");
        assert_eq!((back.ids(), back.next_id()), (index.ids(), 3000));
        assert_eq!(index.bytes(), index.save().len());
        // What does not belong to a vector stays: of half of them it is a larger share.
        let most = if ids.len() < 100 { 0.2 } else { 0.25 };
        assert!(index.count() == 0 || index.ratio() <= most, "{} of {count} removed: {}", ids.len(), index.ratio());
    }
}

#[test]
fn sections_lie_where_they_can_be_mapped() {
    let (points, dim) = small();
    for index in indexes(&points, dim, 5) {
        let file = index.save();
        let start = file.as_ptr() as usize;
        for section in container::read(&INDEX, &file).expect("sections") {
            assert_eq!((section.bytes.as_ptr() as usize - start) % 64, 0);
        }
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let points = mixture(40, 3, 2, 1);
    for index in indexes(&points, 3, 2) {
        let file = index.save();
        for bit in 0..file.len() * 8 {
            let mut damaged = file.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = Index::open(&damaged).map(|_| ()).expect_err("a flipped bit");
            match bit / 8 {
                0..8 => assert!(matches!(error, FileError::Format { .. }), "{error}"),
                // Of versions that there are, one is a bit from another: then the checksum tells.
                8..12 => {
                    assert!(matches!(error, FileError::Version { .. }) || error.to_string().contains("checksum of the header"), "{error}")
                }
                _ => assert_ne!(error.code(), "file-version"),
            }
        }
    }
}

#[test]
fn every_truncation_is_found() {
    let (points, dim) = small();
    let file = indexes(&points[..dim * 30], dim, 2).pop().expect("an index").save();
    for length in 0..file.len() {
        let error = Index::open(&file[..length]).map(|_| ()).expect_err("a piece");
        assert_eq!(error.code(), "file-truncated", "{length}: {error}");
    }
    assert_eq!(Index::open(&[&file[..], &[0]].concat()).map(|_| ()).expect_err("a byte more").code(), "file-format");
}

#[test]
fn streams_are_read_piece_by_piece() {
    let (points, dim) = small();
    let index = Index::build(&points, dim, kmeans(&points, dim, 4, 2), &of_bits(3.0)).expect("an index");
    let file = index.save();
    for piece in [1, 7, 64, 1000, file.len()] {
        let mut reader = Reader::default();
        for bytes in file.chunks(piece) {
            reader.push(bytes).expect("a good piece");
        }
        assert_eq!(reader.progress(), (file.len(), Some(file.len())));
        assert_eq!(reader.finish().expect("the index").save(), file);
    }
    // What can't become a file is refused at once.
    assert_eq!(Reader::default().push(b"LWINDEX\r").expect_err("magic").code(), "file-format");
    let mut reader = Reader::default();
    reader.push(&file[..10]).expect("a beginning");
    assert_eq!(reader.push(&[9; 60]).expect_err("version").code(), "file-version");
    let mut reader = Reader::default();
    reader.push(&file).expect("all");
    assert_eq!(reader.push(&[0]).expect_err("more").code(), "file-format");
    let mut reader = Reader::default();
    reader.push(&file[..file.len() - 1]).expect("most");
    assert_eq!(reader.finish().map(|_| ()).expect_err("too short").code(), "file-truncated");
}

#[test]
fn a_stream_is_in_memory_once() {
    let dim = 64;
    let points = mixture(70_000, dim, 2, 1);
    let coarse = Coarse { centroids: vec![0.0; dim], labels: vec![0; 70_000] };
    let index = Index::build(&points, dim, coarse, &options(Code::Int8)).expect("an index");
    let file = index.save();
    let mut opened = None;
    let most = peak(|| {
        let mut reader = Reader::default();
        file.chunks(50_000).for_each(|piece| reader.push(piece).expect("a good piece"));
        opened = Some(reader.finish().expect("the index"));
    });
    assert!(most < file.len() * 2, "{most} bytes of a file of {}", file.len());
    assert_eq!(opened.expect("the index").save(), file);
}
