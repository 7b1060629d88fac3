import test from 'ava';
import fc from 'fast-check';
import { jsonExtent } from '../../../foundation/base/json-extent.ts';
import { SEED } from '../../support/sample.ts';

function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levelsOf));
}

function partsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  const colons = Array.isArray(value) ? 0 : members.length;
  return members.reduce<number>(
    (all, member) => all + partsOf(member),
    1 + colons + Math.max(0, members.length - 1),
  );
}

test('the levels and parts of any JSON are those of its value, whatever its texts hold', (t) => {
  const tricky = fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', ']', ',', ':', 'a', 'é') });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.oneof(tricky, fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(tricky, tie('value'), { maxKeys: 4 }),
    ),
  }));
  const property = fc.property(value, fc.constantFrom(0, 2), (given, indent) => {
    const { levels, parts } = jsonExtent(JSON.stringify(given, null, indent));
    return levels === levelsOf(given) && parts === partsOf(given);
  });
  t.notThrows(() => fc.assert(property, { seed: SEED }));
});

test('a text that does not end is looked through to its end', (t) => {
  t.deepEqual(jsonExtent('["\\"[[['), { levels: 1, parts: 1 });
  t.deepEqual(jsonExtent(''), { levels: 0, parts: 0 });
});
