import test from 'ava';
import { acceptedCodings } from '../../../../plugins/pages/services/content-coding.ts';

const CASES: readonly (readonly [string | undefined, readonly string[]])[] = [
  [undefined, []],
  ['', []],
  ['gzip, deflate, br, zstd', ['br', 'gzip']],
  ['br', ['br']],
  ['GZIP', ['gzip']],
  ['x-gzip', ['gzip']],
  ['deflate', []],
  ['*', ['br', 'gzip']],
  ['br;q=0, *', ['gzip']],
  ['gzip;q=1.0, br;q=0.5', ['gzip', 'br']],
  ['gzip ; q=0.001', ['gzip']],
  ['gzip;q=0', []],
  ['gzip;q=high', []],
  ['gzip;q=7', []],
  ['identity, gzip;q=0.5', []],
  ['identity;q=0.5, gzip, br;q=0.2', ['gzip']],
  ['identity;q=0, gzip', ['gzip']],
];

for (const [header, codings] of CASES) {
  test(`Accept-Encoding ${JSON.stringify(header)} takes ${codings.join(' and ') || 'nothing'}`, (t) => {
    t.deepEqual(acceptedCodings(header), codings);
  });
}
