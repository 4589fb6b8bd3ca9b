// The key of a place in two runs that are merged: the one at which as many keys of both are before it as there are places (Odeh, Green,
// Mwassi, Shmueli & Birk 2012: "Merge Path"). Equal keys stay in their order. A kernel says what `is_before(a, b)` is: whether the key
// at a is to be before the one at b.

// Index of the key of a place, in rows of `length` keys whose runs have `width`.
fn merged_from(place: u32, length: u32, width: u32) -> u32 {
    let column = place % length;
    let row = place - column;
    // Runs have at most as many keys as a row: no sum of these is more than 2³² − 1.
    let left = column / width / 2u * 2u * width;
    let right = left + min(width, length - left);
    let end = right + min(width, length - right);
    let k = column - left;
    // Keys of the left run among the first k.
    var low = k - min(k, end - right);
    var high = min(k, right - left);
    while (low < high) {
        let middle = (low + high) / 2u;
        if (is_before(row + right + k - 1u - middle, row + left + middle)) {
            high = middle;
        } else {
            low = middle + 1u;
        }
    }
    let i = left + low;
    let j = right + k - low;
    // Where a run is at its end, the other one's first key.
    if (i >= right) {
        return row + j;
    }
    if (j < end && is_before(row + j, row + i)) {
        return row + j;
    }
    return row + i;
}
