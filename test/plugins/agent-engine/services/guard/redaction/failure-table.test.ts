import test from 'ava';
import fc from 'fast-check';
import { failureTable } from '../../../../../../plugins/agent-engine/services/guard/redaction/pattern.ts';

test('after n characters, the longest beginning that is also their end is what still stands', (t) => {
  t.deepEqual(failureTable('-----END'), [0, 0, 1, 2, 3, 4, 0, 0, 0]);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 12 }), (text) =>
      failureTable(text).every((kept, length) => {
        const read = text.slice(0, length);
        const borders = Array.from({ length: Math.max(0, length - 1) }, (_, index) => index + 1);
        return kept === Math.max(0, ...borders.filter((border) => read.endsWith(text.slice(0, border))));
      }),
    ),
  );
});
