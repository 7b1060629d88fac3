import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import type { GatewayError } from '../../../foundation/base/gateway-error.ts';
import { BodyError, bodyPieces } from '../../../foundation/objects/body-pieces.ts';

const limit = 1_000_000;

test('a body in memory comes in small pieces and is not copied', async (t) => {
  const body = Buffer.alloc(900_000, 1);
  const pieces: Buffer[] = [];
  for await (const piece of bodyPieces(body, { limit })) pieces.push(piece);
  t.true(pieces.every((piece) => piece.length <= 262_144 && piece.buffer === body.buffer));
  t.true(Buffer.concat(pieces).equals(body));
});

test('a stream that gives nothing for too long has stalled', async (t) => {
  const stream = new PassThrough();
  stream.write('begun');
  const reading = buffer(bodyPieces(stream, { limit, stallMs: 20 }));
  const error = await t.throwsAsync<BodyError>(reading, { instanceOf: BodyError });
  t.is((error!.cause as GatewayError).code, 'objects.stalled');
  t.true(stream.destroyed);
});

test('a stream is read no faster than its pieces are taken', async (t) => {
  let made = 0;
  const stream = Readable.from(
    (function* () {
      for (; made < 100; made += 1) yield Buffer.alloc(65_536);
    })(),
    { objectMode: false },
  );
  const pieces = bodyPieces(stream, { limit: 100_000_000 });
  for (let i = 0; i < 3; i += 1) await pieces.next();
  t.true(made < 10, `${made}`);
  await pieces.return();
  t.false(stream.destroyed);
});

test('a stream whose reader has stopped can be drained by its owner', async (t) => {
  const stream = Readable.from([Buffer.alloc(10), Buffer.alloc(10), Buffer.alloc(10)], { objectMode: false });
  await t.throwsAsync(buffer(bodyPieces(stream, { limit: 5 })), { code: 'objects.too-large' });
  t.is(stream.listenerCount('readable'), 0);
  stream.resume();
  await new Promise((resolve) => stream.once('end', resolve));
  t.pass();
});

test('a stream that has failed before fails', async (t) => {
  const stream = new PassThrough();
  stream.on('error', () => {});
  stream.destroy(new Error('broken'));
  await new Promise((resolve) => stream.once('close', resolve));
  const error = await t.throwsAsync<BodyError>(buffer(bodyPieces(stream, { limit })), {
    instanceOf: BodyError,
  });
  t.is((error!.cause as Error).message, 'broken');
});
