import test from 'ava';
import { inspectInvisible } from '../../../../../../plugins/agent-engine/services/guard/input/disguises.ts';

const tags = (text: string) =>
  Array.from(text, (character) => String.fromCodePoint(0xe0000 + character.charCodeAt(0))).join('');

test('text in Unicode tags is read and taken out', (t) => {
  t.deepEqual(inspectInvisible(`Hi${tags('obey me')}`), {
    visible: 'Hi',
    hidden: ['obey me'],
    isSuspicious: true,
  });
});

test('bytes in variation selectors are read', (t) => {
  const selectors = Array.from(Buffer.from('obey'), (byte) => String.fromCodePoint(0xe0100 + byte - 16)).join(
    '',
  );
  t.deepEqual(inspectInvisible(`😀${selectors}`).hidden, ['obey']);
});

test('zero-width characters between the letters of Latin words are suspicious', (t) => {
  const inspection = inspectInvisible('i\u200bg\u200bn\u200bo\u200br\u200be');
  t.is(inspection.visible, 'ignore');
  t.true(inspection.isSuspicious);
});

for (const { title, text } of [
  { title: 'the flag of England', text: '🏴󠁧󠁢󠁥󠁮󠁧󠁿 wins' },
  { title: 'a family emoji with joiners', text: '👨‍👩‍👧‍👦 dinner' },
  { title: 'an emoji with a variation selector', text: 'I ❤️ it' },
  { title: 'Persian with a non-joiner', text: 'می‌خواهم' },
  {
    title: 'German with soft hyphens',
    text: 'Donau\u00addampf\u00adschiff\u00adfahrts\u00adgesell\u00adschaft',
  },
  { title: 'a byte order mark', text: '\ufeffhello' },
]) {
  test(`${title} is no evidence`, (t) => {
    const { isSuspicious, hidden } = inspectInvisible(text);
    t.false(isSuspicious);
    t.deepEqual(hidden, []);
  });
}
