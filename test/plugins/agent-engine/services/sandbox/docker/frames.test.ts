import test from 'ava';
import fc from 'fast-check';
import { createFrameReader } from '../../../../../../plugins/agent-engine/services/sandbox/docker-engine.ts';

function frame(stream: number, data: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(data.length, 4);
  return Buffer.concat([header, data]);
}

test('any split of the frames gives the same output', (t) => {
  const frames = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 12 })), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (given, steps) => {
      const seen = { 1: [] as Buffer[], 2: [] as Buffer[] };
      const read = createFrameReader(
        (bytes) => void seen[1].push(Buffer.from(bytes)),
        (bytes) => void seen[2].push(Buffer.from(bytes)),
      );
      const bytes = Buffer.concat(given.map(([stream, data]) => frame(stream, data)));
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const step = steps[turn % steps.length]!;
        read(bytes.subarray(at, at + step));
        at += step;
      }
      for (const stream of [1, 2] as const) {
        const expected = Buffer.concat(given.filter(([its]) => its === stream).map(([, data]) => data));
        t.deepEqual(Buffer.concat(seen[stream]), expected);
      }
    }),
  );
});
