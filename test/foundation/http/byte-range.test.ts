import test from 'ava';
import fc from 'fast-check';
import { byteRange } from '../../../foundation/http/byte-range.ts';

test('what is asked for is within the file, or nothing', (t) => {
  const size = fc.nat({ max: 1000 });
  const end = fc.oneof(fc.constant(''), fc.nat({ max: 1200 }).map(String));
  fc.assert(
    fc.property(size, end, end, (bytes, first, last) => {
      const range = byteRange(`bytes=${first}-${last}`, bytes);
      if (range === undefined || range === 'unsatisfiable') return;
      t.true(range.start >= 0 && range.start <= range.end && range.end < bytes);
      if (first !== '') t.is(range.start, Number(first));
      if (first !== '' && last !== '') t.is(range.end, Math.min(Number(last), bytes - 1));
      if (first === '') t.deepEqual(range, { start: Math.max(0, bytes - Number(last)), end: bytes - 1 });
    }),
  );
});

test('what is no single range of bytes is not there', (t) => {
  for (const header of [
    undefined,
    '',
    'bytes',
    'bytes=-',
    'bytes=5-2',
    'bytes=a-b',
    'bytes=0-1,3-4',
    'rows=1-2',
    'bytes=1-2x',
  ])
    t.is(byteRange(header, 10), undefined, header);
  for (const header of ['bytes=10-', 'bytes=10-20', 'bytes=-0']) t.is(byteRange(header, 10), 'unsatisfiable');
  t.is(byteRange('bytes=0-', 0), 'unsatisfiable');
  t.deepEqual(byteRange('Bytes=0-999999999999999', 10), { start: 0, end: 9 });
});
