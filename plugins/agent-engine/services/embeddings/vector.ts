/** True on every machine that Node runs on today but a few mainframes. */
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/**
 * How alike two vectors are: 1 for the same direction, 0 for nothing in common, -1 for opposites. 0 where one has no length.
 * Throws a RangeError for vectors of different sizes: they are of different models, and their likeness means nothing.
 */
export function cosine(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) {
    throw new RangeError(`vectors of ${one.length} and ${other.length} dimensions cannot be compared`);
  }
  let product = 0;
  let lengthOfOne = 0;
  let lengthOfOther = 0;
  for (let index = 0; index < one.length; index += 1) {
    const a = one[index]!;
    const b = other[index]!;
    product += a * b;
    lengthOfOne += a * a;
    lengthOfOther += b * b;
  }
  const lengths = Math.sqrt(lengthOfOne * lengthOfOther);
  // Rounding leaves the range by a hair.
  return lengths === 0 ? 0 : Math.max(-1, Math.min(1, product / lengths));
}

/** The vector in its direction with length 1; a vector without a length stays as it is. A new one: nothing is changed. */
export function toUnit(vector: ArrayLike<number>): Float32Array {
  let squares = 0;
  for (let index = 0; index < vector.length; index += 1) squares += vector[index]! ** 2;
  const length = Math.sqrt(squares);
  return Float32Array.from(vector, (value) => (length === 0 ? value : value / length));
}

/** The vector as bytes for a database: 32-bit floats, little-endian, whatever machine writes them. */
export function toBytes(vector: Float32Array): Buffer {
  if (IS_LITTLE_ENDIAN)
    return Buffer.from(vector.buffer.slice(vector.byteOffset, vector.byteOffset + vector.byteLength));
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes;
}

/** The vector in bytes that `toBytes` made. Throws a RangeError for bytes that are no whole number of floats. */
export function fromBytes(bytes: Uint8Array): Float32Array {
  if (bytes.byteLength % 4 !== 0) throw new RangeError(`${bytes.byteLength} bytes are no vector`);
  if (IS_LITTLE_ENDIAN) {
    // Copied: a piece of a larger buffer may begin anywhere, and floats only begin at multiples of 4.
    return new Float32Array(Uint8Array.from(bytes).buffer);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, index) => view.getFloat32(index * 4, true));
}
