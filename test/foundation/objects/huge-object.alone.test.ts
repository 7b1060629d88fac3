import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test, { type ExecutionContext } from 'ava';
import type { Objects } from '../../../foundation/objects/objects.ts';
import { startS3Server, useS3Credentials } from '../../support/s3-server.ts';
import { freshFolder, openForTest } from './open-for-test.ts';

const MIB = 1024 * 1024;
const SIZE = 64 * MIB;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes that are really in use outside of the heap, where buffers are. */
function inUse(): number {
  collect();
  return process.memoryUsage().arrayBuffers;
}

/** A body of different pieces; looks at the memory every 4 MiB. */
function* body(peak: { bytes: number }): Generator<Buffer> {
  for (let i = 0; i < SIZE / 65_536; i += 1) {
    if (i % 64 === 0) peak.bytes = Math.max(peak.bytes, inUse());
    yield Buffer.alloc(65_536, `${i} `);
  }
}

async function roundTrip(t: ExecutionContext, objects: Objects, bound: number): Promise<void> {
  const space = objects.forTenant('acme');
  const before = inUse();
  const peak = { bytes: before };
  await space.put('huge', Readable.from(body(peak), { objectMode: false }));
  const writing = peak.bytes - before;
  peak.bytes = before;
  const expected = createHash('sha256');
  for (const piece of body({ bytes: 0 })) expected.update(piece);
  const found = createHash('sha256');
  let size = 0;
  for await (const piece of (await space.get('huge'))!.body) {
    if (size % (4 * MIB) < 65_536) peak.bytes = Math.max(peak.bytes, inUse());
    size += piece.length;
    found.update(piece);
  }
  const reading = peak.bytes - before;
  t.is(size, SIZE);
  t.is(found.digest('hex'), expected.digest('hex'));
  t.log(
    `in memory: ${(writing / MIB).toFixed(1)} MiB while writing, ${(reading / MIB).toFixed(1)} MiB while reading`,
  );
  t.true(writing < bound && reading < bound, `${writing} ${reading}`);
}

test.serial('64 MiB pass through the form on disk with little memory', async (t) => {
  const { objects } = await openForTest(t, `file:${await freshFolder(t)}`);
  await roundTrip(t, objects, 16 * MIB);
});

test.serial('64 MiB pass through the form in a bucket with the memory of some parts', async (t) => {
  useS3Credentials();
  const server = await startS3Server(t);
  const { objects } = await openForTest(t, server.url);
  await roundTrip(t, objects, 48 * MIB);
  t.is(await server.uploads(), 0);
});
