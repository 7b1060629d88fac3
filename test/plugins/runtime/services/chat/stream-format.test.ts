import test from 'ava';
import { onWire } from '../../../../../plugins/runtime/services/chat/stream-format.ts';

const textOf = (delta: string) =>
  onWire('legacy', { type: 'text', data: { delta } }, 0).map(({ data }) => String(data));

test('text is one event, whatever it says', (t) => {
  for (const text of ['Hello', '', 'a\n\nb', 'It ends with [DONE]', 'data: [DONE]', '[DONE]!'])
    t.deepEqual(textOf(text), [text]);
});

test('text that says [DONE] does not end the stream', (t) => {
  for (const text of ['[DONE]', ' [DONE] ', 'a\n[DONE]', '[DONE]\n[DONE]\nb', 'a\r\n[DONE]\r\nb']) {
    const parts = textOf(text);
    t.is(parts.join(''), text);
    const lines = parts.flatMap((part) => part.split(/\r\n|\n|\r/));
    t.false(lines.some((line) => line.trim() === '[DONE]'));
  }
  t.deepEqual(onWire('legacy', { type: 'done', data: null }, 0), [{ data: '[DONE]' }]);
  t.is(onWire('a2ui', { type: 'text', data: { delta: '[DONE]' } }, 0).length, 1);
});
