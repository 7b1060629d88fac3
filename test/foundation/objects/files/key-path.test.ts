import test from 'ava';
import fc from 'fast-check';
import { decodeName, folderPath, objectPath } from '../../../../foundation/objects/files/key-path.ts';
import { checkKey } from '../../../../foundation/objects/object-key.ts';
import { anyCodePoint } from '../../../support/code-points.ts';

/** Characters on which encodings fail, and enough equal ones that long names begin alike. */
const segment = fc
  .oneof(
    fc.string({
      unit: fc.constantFrom('a', 'A', '.', '-', '+', '=', '@', '%', '4', '1', ' ', 'é', 'e\u0301'),
    }),
    fc.string({ unit: anyCodePoint, maxLength: 60 }),
    fc.nat(200).map((length) => 'x'.repeat(length)),
    fc
      .tuple(fc.constantFrom(79, 80, 81, 160), fc.string({ maxLength: 4 }))
      .map(([n, end]) => 'x'.repeat(n) + end),
  )
  .filter((text) => !text.includes('/'));

const key = fc
  .array(segment, { minLength: 1, maxLength: 5 })
  .map((all) => all.join('/'))
  .filter(isValid);

function isValid(text: string): boolean {
  try {
    checkKey(text, 'of-tenant');
    return true;
  } catch {
    return false;
  }
}

/** What a list makes of a path. */
function keyOf(file: string): string {
  const parts: Buffer[] = [];
  let isBeginning = true;
  for (const name of file.split('/')) {
    const part = decodeName(name, isBeginning);
    if (part === undefined) throw new Error(`${name} is no name`);
    parts.push(part.bytes);
    isBeginning = part.kind === 'folder';
  }
  return Buffer.concat(parts).toString();
}

test('a path is read back as its key, so no two keys share one', (t) => {
  fc.assert(
    fc.property(key, (text) => {
      t.is(keyOf(objectPath(text)), text);
    }),
    { numRuns: 3000 },
  );
});

test('names are plain on every file system, and differ in more than their case', (t) => {
  fc.assert(
    fc.property(key, (text) => {
      const file = objectPath(text);
      t.regex(file, /^(?:(?!\.|(?:con|prn|aux|nul)\.)[a-z0-9_.%-]{0,240}[=+@](?:\/|$))+$/);
      t.true(Buffer.byteLength(file) < 3200);
      t.is(file, file.toLowerCase());
      t.is(file, file.normalize('NFC'));
    }),
    { numRuns: 3000 },
  );
});

test('of two keys neither path is a folder on the way to the other, whatever the keys', (t) => {
  fc.assert(
    fc.property(key, key, (one, two) => {
      const [first, second] = [objectPath(one), objectPath(two)];
      t.is(first === second, one === two);
      t.false(first.startsWith(`${second}/`));
      t.false(second.startsWith(`${first}/`));
    }),
    { numRuns: 3000 },
  );
});

test('names tell objects, folders and what goes on from one another', (t) => {
  t.is(objectPath('default/skills/weather/SKILL.md'), 'default+/skills+/weather+/%53%4b%49%4c%4c.md=');
  t.is(objectPath('a'), 'a=');
  t.is(objectPath('a/b'), 'a+/b=');
  t.is(objectPath('x'.repeat(80)), `${'x'.repeat(80)}@/=`);
  t.is(objectPath(`${'x'.repeat(81)}/y`), `${'x'.repeat(80)}@/x+/y=`);
  t.is(objectPath('nul.txt'), '%6eul.txt=');
  t.is(objectPath('.x'), '%2ex=');
  t.is(folderPath(''), '.');
  t.is(folderPath('a/b/'), 'a+/b+');
});

test('what the store has not named itself is no object', (t) => {
  for (const name of [
    '',
    'a',
    'A=',
    '.DS_Store',
    '._a=',
    '.a=',
    '%41',
    '%6=',
    '%61=',
    '%4A=',
    'tmp',
    'é=',
    '=',
    '+',
    'nul.x=',
  ]) {
    t.is(decodeName(name, true), undefined, name);
  }
  t.is(decodeName(`${'x'.repeat(79)}@`, true), undefined);
  t.is(decodeName(`${'x'.repeat(80)}=`, true), undefined);
  t.is(decodeName('=', false)?.kind, 'object');
});
