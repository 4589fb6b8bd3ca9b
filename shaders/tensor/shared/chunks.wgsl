// Chunks of so many elements along the middle axis of an array [outer, length, inner].

struct Chunk {
    // First element in the array; others follow every `inner`.
    first: u32,
    // Number of elements.
    count: u32,
}

fn chunk_of(place: u32, length: u32, inner: u32, size: u32) -> Chunk {
    let chunks = (length + size - 1u) / size;
    let first = place / inner % chunks * size;
    let outer = place / inner / chunks;
    return Chunk((outer * length + first) * inner + place % inner, min(size, length - first));
}
