use half::f16;
use leastwise::anneal::file::published::Files;
use leastwise::anneal::index::Index;

/// The three files of 2 anchors in 3 dimensions and 5 vectors.
fn files() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let mut idx = 0x564C_4341_u32.to_le_bytes().to_vec();
    idx.extend(1_u16.to_le_bytes());
    for number in [2_u32, 3, 5] {
        idx.extend(number.to_le_bytes());
    }
    idx.push(0);
    let anchors = [1.0, 2.0, 3.0, -1.0, 0.5, 65504.0].iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect();
    let assign = [0_u32, 1, 1, 0, 1].iter().flat_map(|label| label.to_le_bytes()).collect();
    (idx, anchors, assign)
}

fn open(idx: &[u8], anchors: &[u8], assign: &[u8]) -> Result<Index, &'static str> {
    Index::from_published(Files { idx, anchors, assign, jacobians: None, residuals: None }).map_err(|error| error.code())
}

#[test]
fn published_files_are_read() {
    let (idx, anchors, assign) = files();
    let index = open(&idx, &anchors, &assign).expect("an index");
    assert_eq!((index.count(), index.dim(), index.clusters(), index.code().name()), (5, 3, 2, "none"));
    assert_eq!(index.reconstruct(&[0, 4]).expect("rows"), [1.0, 2.0, 3.0, -1.0, 0.5, 65504.0]);
    let hits = index.search(&[1.0, 2.0, 4.0], 3, None, None).expect("hits");
    assert_eq!((hits.ids, &hits.distances[..2]), (vec![0, 3, 1], &[1.0, 1.0][..]));
    let back = Index::open(&index.save()).expect("the index");
    assert_eq!(back.reconstruct(&[0, 1, 2, 3, 4]), index.reconstruct(&[0, 1, 2, 3, 4]));
}

#[test]
fn jacobians_are_left_out_and_residuals_refused() {
    let (mut idx, anchors, assign) = files();
    let jacobians = anchors.clone();
    idx[18] = 1;
    let index =
        Index::from_published(Files { idx: &idx, anchors: &anchors, assign: &assign, jacobians: Some(&jacobians), residuals: None });
    assert!(index.expect("an index").about()["note"].as_str().is_some_and(|note| note.contains("Jacobians")));
    open(&idx, &anchors, &assign).expect("an index without its Jacobians");
    let cut = Files { idx: &idx, anchors: &anchors, assign: &assign, jacobians: Some(&jacobians[..4]), residuals: None };
    assert_eq!(Index::from_published(cut).map(|_| ()).expect_err("short").code(), "file-truncated");
    idx[18] = 2;
    assert_eq!(open(&idx, &anchors, &assign).map(|_| ()), Err("file-format"));
}

#[test]
fn wrong_published_files_are_refused() {
    let (idx, anchors, assign) = files();
    let code = |idx: &[u8], anchors: &[u8], assign: &[u8]| open(idx, anchors, assign).map(|_| ()).expect_err("an error");
    for length in 0..idx.len() {
        assert_eq!(code(&idx[..length], &anchors, &assign), if length < 4 { "file-format" } else { "file-truncated" });
    }
    assert_eq!(code(&idx, &anchors[1..], &assign), "file-truncated");
    assert_eq!(code(&idx, &anchors, &assign[4..]), "file-truncated");
    assert_eq!(code(&idx, &[&anchors[..], &[0]].concat(), &assign), "file-format");
    let changed = |bytes: &[u8], at: usize, value: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    assert_eq!(code(&changed(&idx, 0, &[0]), &anchors, &assign), "file-format");
    assert_eq!(code(&changed(&idx, 4, &[2]), &anchors, &assign), "file-version");
    for at in [6, 10] {
        assert_eq!(code(&changed(&idx, at, &[0; 4]), &anchors, &assign), "file-format");
        assert_eq!(code(&changed(&idx, at, &[0, 0, 1, 0]), &anchors, &assign), "file-truncated");
        assert_eq!(code(&changed(&idx, at, &[0xFF; 4]), &anchors, &assign), "file-format", "more than there can be");
    }
    assert_eq!(code(&changed(&idx, 14, &[0xFF; 4]), &anchors, &assign), "file-truncated");
    assert_eq!(code(&changed(&idx, 18, &[8]), &anchors, &assign), "file-format");
    assert_eq!(code(&idx, &changed(&anchors, 0, &0x7C00_u16.to_le_bytes()), &assign), "file-format");
    assert_eq!(code(&idx, &anchors, &changed(&assign, 0, &[2])), "file-format");
}
