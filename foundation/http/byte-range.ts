import type { ByteRange } from '../objects/objects.ts';

const ONE_RANGE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i;

/**
 * The bytes that a `Range` header asks for (RFC 9110, 14.1.2), with both ends within the file; `unsatisfiable` where it
 * has none of them. Undefined: all of it, also for several ranges and for what is no range of bytes, which a server may
 * ignore. Pure.
 */
export function byteRange(
  header: string | undefined,
  size: number,
): Required<ByteRange> | 'unsatisfiable' | undefined {
  const [, first, last] = ONE_RANGE.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  return start > end ? 'unsatisfiable' : { start, end };
}
