import test from 'ava';
import fc from 'fast-check';
import {
  decodeTrailer,
  encodeTrailer,
  TRAILER_BYTES,
} from '../../../../foundation/objects/files/object-file.ts';

const trailer = fc.record({
  size: fc.nat({ max: 2 ** 50 }),
  etag: fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 }),
  at: fc.maxSafeNat(),
  contentType: fc.string({ unit: fc.constantFrom('"', '\\', 'a', ' ', '~'), minLength: 1, maxLength: 150 }),
});

test('a trailer has always the same size and is read back', (t) => {
  fc.assert(
    fc.property(trailer, (value) => {
      const bytes = encodeTrailer(value);
      t.is(bytes.length, TRAILER_BYTES);
      t.deepEqual(decodeTrailer(bytes, value.size + TRAILER_BYTES), value);
    }),
  );
});

test('a trailer of another file, or none, is refused', (t) => {
  const value = { size: 3, etag: 'e', at: 1, contentType: 't' };
  const bytes = encodeTrailer(value);
  t.is(decodeTrailer(bytes, 4 + TRAILER_BYTES), undefined);
  t.is(decodeTrailer(bytes.subarray(2), 3 + TRAILER_BYTES), undefined);
  t.is(decodeTrailer(Buffer.alloc(TRAILER_BYTES), TRAILER_BYTES), undefined);
  t.is(decodeTrailer(Buffer.from('null'.padEnd(TRAILER_BYTES)), TRAILER_BYTES), undefined);
  const later = Buffer.from(bytes.toString().replace('"object":1', '"object":2'));
  t.is(decodeTrailer(later, 3 + TRAILER_BYTES), undefined);
});
