import test from 'ava';
import fc from 'fast-check';
import { isSecretReference, parseSecretReference } from '../../../foundation/secrets/secret-reference.ts';
import { anyCodePoint } from '../../support/code-points.ts';

const GOOD = [
  'env:A',
  'env:_x',
  'env:OPENAI_API_KEY',
  'env:a1',
  'file:key',
  'file:acme/key',
  'file:/run/secrets/key',
  'file:///run/secrets/key',
  'file:./key',
  'file:..data/key',
  'file:with space',
  'file:schlüssel',
  `file:${'x'.repeat(1_019)}`,
];

const BAD = [
  '',
  'env:',
  'env:1A',
  'env:A-B',
  'env:A B',
  'env: A',
  ' env:A',
  'env:A ',
  'env:A\n',
  'ENV:A',
  'env:$A',
  'file:',
  'file: key',
  'file:key ',
  'file:a\nb',
  'file:a\0b',
  'file:a\x7fb',
  'file://host/key',
  `file:${'x'.repeat(1_020)}`,
  'key',
  'sk-1234567890',
  'vault:key',
  'https://example.com',
];

test('a reference names a variable or a file', (t) => {
  for (const text of GOOD) t.true(isSecretReference(text), text);
  for (const text of BAD) t.false(isSecretReference(text), JSON.stringify(text));
});

test('what is no reference is not in the error: it may be the secret itself', (t) => {
  for (const text of BAD.filter((each) => each.length > 5)) {
    const error = t.throws(() => parseSecretReference(text));
    t.is((error as { code?: string }).code, 'secret.malformed');
    t.false(error.message.includes(text.trim()), error.message);
  }
});

test('any text is either a reference or not, in time', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint, maxLength: 3_000 }), (text) => {
      for (const each of [text, `env:${text}`, `file:${text}`]) {
        if (isSecretReference(each)) t.is(parseSecretReference(each).text, each);
        else t.throws(() => parseSecretReference(each));
      }
    }),
    { numRuns: 300 },
  );
});
