import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import fc from 'fast-check';
import { GatewayError } from '../../../../foundation/base/gateway-error.ts';
import { readFormFile } from '../../../../plugins/runtime/routes/form-file.ts';
import type { IncomingFile } from '../../../../plugins/runtime/services/files/files.ts';

const { signal } = new AbortController();
const TYPE = 'multipart/form-data; boundary=xyz';

/** A form of one file between two other parts. */
const formOf = (content: Buffer) =>
  Buffer.concat([
    Buffer.from('--xyz\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nnone\r\n'),
    Buffer.from('--xyz\r\ncontent-disposition: form-data; name="file"; filename="ü.bin"\r\n\r\n'),
    content,
    Buffer.from('\r\n--xyz\r\ncontent-disposition: form-data; name="more"\r\n\r\nnone\r\n--xyz--\r\n'),
  ]);

/** The bytes in pieces of these sizes, over and over. */
function inPieces(bytes: Buffer, sizes: readonly number[]): Readable {
  const pieces: Buffer[] = [];
  for (let start = 0, index = 0; start < bytes.length; index += 1) {
    const size = sizes[index % sizes.length]!;
    pieces.push(bytes.subarray(start, start + size));
    start += size;
  }
  return Readable.from(pieces, { objectMode: false });
}

async function whole({ content }: IncomingFile): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** What became of a form, and whether what was stored stays. */
async function read(body: Readable) {
  let kept = 0;
  const store = async (file: IncomingFile) => {
    const bytes = await whole(file);
    kept += 1;
    return { bytes, filename: file.filename };
  };
  const discard = async () => {
    kept -= 1;
  };
  try {
    return {
      file: await readFormFile({ contentType: TYPE, body, signal, store, discard }),
      kept: () => kept,
    };
  } catch (error) {
    return { error, kept: () => kept };
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 6 });
const content = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom('\r\n', '\r\n--xy', '--xyz', '\r\n--\r\n', '').map((text) => Buffer.from(text)),
);

test('a file is the same however its form is cut into pieces', async (t) => {
  await fc.assert(
    fc.asyncProperty(content, sizes, async (bytes, cuts) => {
      fc.pre(!bytes.includes('\r\n--xyz') && !bytes.toString('latin1').startsWith('--xyz'));
      const { file, kept } = await read(inPieces(formOf(bytes), cuts));
      t.deepEqual(file, { bytes, filename: 'ü.bin' });
      t.is(kept(), 1);
    }),
    { numRuns: 60 },
  );
});

test('a form that is cut off or damaged is a file or a clear refusal, and a refusal keeps nothing', async (t) => {
  const form = formOf(Buffer.from('the content of the file'));
  const place = fc.nat({ max: form.length - 1 });
  await fc.assert(
    fc.asyncProperty(place, fc.nat({ max: 255 }), fc.boolean(), sizes, async (at, byte, isCut, cuts) => {
      const damaged = isCut ? form.subarray(0, at) : Buffer.from(form);
      if (!isCut) damaged[at] = byte;
      const { error, kept } = await read(inPieces(damaged, cuts));
      t.is(kept(), error === undefined ? 1 : 0);
      if (error !== undefined) t.is((error as GatewayError).kind, 'invalid', String(error));
    }),
    { numRuns: 150 },
  );
});

test('a slow store holds the client up: no more is taken than what is on its way', async (t) => {
  let taken = 0;
  async function* client() {
    yield Buffer.from('--xyz\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n');
    for (; taken < 1000; taken += 1) yield Buffer.alloc(64 * 1024);
    yield Buffer.from('\r\n--xyz--\r\n');
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const reading = readFormFile({
    contentType: TYPE,
    body: Readable.from(client(), { objectMode: false }),
    signal,
    store: async (file) => {
      await promise;
      return (await whole(file)).length;
    },
    discard: async () => {},
  });
  for (let count = 0; count < 1000; count += 1) await turn();
  t.true(taken < 20, `${taken} pieces`);
  resolve();
  t.is(await reading, 1000 * 64 * 1024);
});

test('what the store refuses is what the form is refused with, and the rest of the form is read', async (t) => {
  const refusal = new GatewayError({ code: 'x.full', kind: 'unavailable', title: 'full' });
  const body = inPieces(formOf(Buffer.alloc(300_000)), [10_000]);
  const store = async () => {
    throw refusal;
  };
  const form = { contentType: TYPE, body, signal, store, discard: async () => {} };
  t.is(await t.throwsAsync(readFormFile(form)), refusal);
  t.true(body.readableEnded);
});
