import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import { beginningOf, objectsInOrder } from '../../../../foundation/objects/files/folder-tree.ts';
import { objectPath } from '../../../../foundation/objects/files/key-path.ts';
import { freshFolder } from '../open-for-test.ts';

/**
 * Few characters around the slash in byte order, and lengths around the cut, so that keys are each other's beginnings.
 */
const segment = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'B', '-', '0', 'é', '\uff5e', '🙂'), minLength: 1, maxLength: 3 }),
  fc
    .tuple(fc.constantFrom(79, 80, 160), fc.constantFrom('', '-', '0', 'z', '\u{10ffff}', '-/y', '/y'))
    .map(([length, end]) => 'x'.repeat(length) + end),
);
const key = fc.array(segment, { minLength: 1, maxLength: 3 }).map((all) => all.join('/'));

const inBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

test('keys are listed in the order of their bytes, from any place on, for any prefix, in batches of any size', async (t) => {
  const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 25 });
  const question = fc.record({
    prefix: fc.nat(300),
    after: fc.option(key),
    of: fc.nat(),
    batch: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(keys, fc.array(question, { minLength: 3, maxLength: 6 }), async (all, questions) => {
      const root = await freshFolder(t);
      for (const each of all) {
        const file = path.join(root, objectPath(each));
        await mkdir(path.dirname(file), { recursive: true });
        await writeFile(file, '');
      }
      for (const { prefix: length, after, of, batch } of questions) {
        const whole = all[of % all.length] as string;
        // Cut where a character ends, else it would be no text.
        const prefix = whole
          .slice(0, length % (whole.length + 1))
          .toWellFormed()
          .replaceAll('\ufffd', '');
        const from = after ?? undefined;
        const found: string[] = [];
        const query = { prefix, after: from };
        for await (const { key: bytes } of objectsInOrder(beginningOf(root, prefix), query, batch)) {
          found.push(bytes.toString());
        }
        const expected = all
          .filter((each) => each.startsWith(prefix) && (from === undefined || inBytes(each, from) > 0))
          .sort(inBytes);
        t.deepEqual(found, expected);
      }
    }),
    { numRuns: 100 },
  );
});
