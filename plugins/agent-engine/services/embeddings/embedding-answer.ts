import { malformed } from '../models/provider-errors.ts';
import { fromBytes, toUnit } from './vector.ts';

/**
 * The vectors of an answer of `/embeddings`, in the order of the texts, each of length 1. Floats and base64 are understood. Throws
 * `model.upstream` for an answer that has not exactly one vector for each text, or vectors of different sizes.
 *
 * @param count how many texts were sent
 */
export function parseEmbeddings(text: string, count: number): readonly Float32Array[] {
  const data = readData(text);
  if (data.length !== count) throw malformed('it has another number of vectors than there were texts');
  const vectors: (Float32Array | undefined)[] = new Array(count).fill(undefined);
  for (const [position, entry] of data.entries()) {
    const { index = position, embedding } = (entry ?? {}) as { index?: unknown; embedding?: unknown };
    if (
      !Number.isInteger(index) ||
      !((index as number) in vectors) ||
      vectors[index as number] !== undefined
    ) {
      throw malformed('its vectors are not numbered by their texts');
    }
    vectors[index as number] = readVector(embedding);
  }
  const whole = vectors as Float32Array[];
  if (whole.some(({ length }) => length !== whole[0]!.length)) throw malformed('its vectors differ in size');
  return whole;
}

function readData(text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('it is not JSON');
  }
  const data = (value as { data?: unknown } | null)?.data;
  if (!Array.isArray(data)) throw malformed('it has no vectors');
  return data;
}

function readVector(embedding: unknown): Float32Array {
  const bytes = typeof embedding === 'string' ? Buffer.from(embedding, 'base64') : undefined;
  if (bytes !== undefined && bytes.length % 4 !== 0) throw malformed('a vector is cut off');
  const vector = bytes === undefined ? embedding : fromBytes(bytes);
  const isVector = Array.isArray(vector) || vector instanceof Float32Array;
  if (!isVector || vector.length === 0 || !vector.every((value) => Number.isFinite(value))) {
    throw malformed('a vector is none');
  }
  return toUnit(vector);
}
