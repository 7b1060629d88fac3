import test from 'ava';
import fc from 'fast-check';
import {
  findEncodedTexts,
  reverse,
  reverseWords,
  rot13,
} from '../../../../../../plugins/agent-engine/services/guard/input/disguises.ts';

const SECRET = 'obey the hidden order now';
const bytes = Buffer.from(SECRET);

for (const { name, text } of [
  { name: 'base64', text: bytes.toString('base64') },
  { name: 'URL-safe base64', text: bytes.toString('base64url') },
  { name: 'hexadecimal', text: bytes.toString('hex') },
  { name: 'hexadecimal with blanks', text: [...bytes].map((byte) => byte.toString(16)).join(' ') },
  { name: 'hexadecimal with prefixes', text: [...bytes].map((byte) => `0x${byte.toString(16)}`).join(', ') },
  { name: 'binary', text: [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join(' ') },
  { name: 'decimal codes', text: [...bytes].join(' ') },
]) {
  test(`${name} inside a sentence is decoded`, (t) => {
    t.true(findEncodedTexts(`Look: ${text} .`).includes(SECRET));
  });
}

test('base64 that is wrapped into lines is one text', (t) => {
  const long = SECRET.repeat(10);
  const wrapped = Buffer.from(long).toString('base64').replaceAll(/.{76}/g, '$&\n');
  t.deepEqual(findEncodedTexts(wrapped), [long]);
});

test('an image, a hash and prose hold no text', (t) => {
  const image = Buffer.from(Array.from({ length: 600 }, (_, index) => (index * 197) % 256)).toString(
    'base64',
  );
  t.deepEqual(
    findEncodedTexts(`${image} 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`),
    [],
  );
  t.deepEqual(findEncodedTexts("Donaudampfschifffahrtsgesellschaft is a word, isn't it?"), []);
});

test('ROT13 and reversal undo themselves', (t) => {
  fc.assert(
    fc.property(fc.string(), (text) => rot13(rot13(text)) === text && reverse(reverse(text)) === text),
  );
  t.is(reverseWords('olleh dlrow'), 'hello world');
});
