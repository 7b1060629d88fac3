import test from 'ava';
import fc from 'fast-check';
import { MAX_DISCARDED_BYTES } from '../../../../../plugins/agent-engine/services/sandbox/engine.ts';
import { createOutputCapture } from '../../../../../plugins/agent-engine/services/sandbox/sandbox-runner.ts';

test('any split of the bytes is kept alike, up to the cap', (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), fc.nat(60), (parts, maxBytes) => {
      const capture = createOutputCapture(maxBytes, () => t.fail());
      for (const part of parts) capture.write(part);
      const all = Buffer.concat(parts);
      t.is(capture.isTruncated, all.length > maxBytes);
      const whole = createOutputCapture(maxBytes, () => t.fail());
      whole.write(all);
      t.is(capture.text(), whole.text());
      if (all.length <= maxBytes)
        t.is(capture.text(), new TextDecoder('utf-8', { ignoreBOM: true }).decode(all));
    }),
  );
});

test('a character that the cap cuts is left out, and bytes that are no UTF-8 are replaced', (t) => {
  const cut = createOutputCapture(4, () => t.fail());
  cut.write(Buffer.from('aé€'));
  t.is(cut.text(), 'aé');
  const binary = createOutputCapture(10, () => t.fail());
  binary.write(Buffer.from([0x61, 0xff, 0x00, 0x62]));
  t.is(binary.text(), 'a\ufffd\0b');
});

test('what is kept does not change with the buffer that it came in', (t) => {
  const capture = createOutputCapture(10, () => t.fail());
  const bytes = Buffer.from('abc');
  capture.write(bytes);
  bytes.fill(0);
  t.is(capture.text(), 'abc');
});

test('a flood is told of once', (t) => {
  let floods = 0;
  const capture = createOutputCapture(1, () => {
    floods += 1;
  });
  const block = Buffer.alloc(1024 * 1024, 'x');
  for (let bytes = 0; bytes < MAX_DISCARDED_BYTES; bytes += block.length) capture.write(block);
  t.is(floods, 0);
  for (let more = 0; more < 5; more += 1) capture.write(block);
  t.is(floods, 1);
  t.is(capture.text(), 'x');
});
