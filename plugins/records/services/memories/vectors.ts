/** The bytes of a vector, as they are kept: float32, little-endian (as every machine that Node runs on has them in memory). */
export function toBytes(vector: Float32Array): Buffer {
  return Buffer.from(Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength));
}

/** The vector of such bytes; undefined for bytes that are none. */
export function toVector(bytes: Uint8Array): Float32Array | undefined {
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  // A copy: bytes of a row may begin anywhere, numbers only at multiples of four.
  const vector = new Float32Array(bytes.length / 4);
  new Uint8Array(vector.buffer).set(bytes);
  return vector;
}

/** How alike two vectors of length 1 are: their cosine, 0 where it is negative, unknown, or they have different sizes. */
export function likeness(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) return 0;
  let sum = 0;
  for (let index = 0; index < one.length; index += 1) sum += one[index]! * other[index]!;
  return sum > 0 ? Math.min(1, sum) : 0;
}
