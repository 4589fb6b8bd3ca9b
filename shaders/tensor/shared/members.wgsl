// Members of sorted lists: of [outer, length, inner] places each has the elements with its number along the axis. A kernel binds `numbers`,
// the lists one after the other, and has their sizes as arguments: `length`, `taken`, `inner` and `lists`.

struct Members {
    // Outer coordinate.
    outer: u32,
    // First element of the list.
    list: u32,
    // Number along the axis.
    number: real,
    // First element of the list that is not smaller; NaN is none.
    first: u32,
}

fn members_of(place: u32) -> Members {
    let inner = params.args.inner;
    let taken = params.args.taken;
    let number = real(place / inner % params.args.length);
    let outer = place / inner / params.args.length;
    let list = (outer * params.args.lists + min(place % inner, params.args.lists - 1u)) * taken;
    var low = 0u;
    var high = taken;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (numbers[list + middle] < number) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return Members(outer, list, number, low);
}
