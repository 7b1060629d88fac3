import { connect, constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { gate } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { type GrpcTest, notesService, startGrpc, TOKEN } from './kit.ts';

const waits = (reasons: unknown[]) => (call: { signal: AbortSignal }) =>
  new Promise((_, reject) =>
    call.signal.addEventListener('abort', () => {
      reasons.push(call.signal.reason);
      reject(call.signal.reason);
    }),
  );

/** One call with bytes of the test's own: `frames` are whole gRPC messages. */
async function raw(grpc: GrpcTest, frames: readonly Buffer[], headers: Record<string, string> = {}) {
  const session = connect(`http://${grpc.server.address}`);
  session.on('error', () => undefined);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/svc.notes.v1.NotesService/GetNote',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${TOKEN}`,
    ...headers,
  });
  const answer: Record<string, string> = {};
  const take = (found: object) => Object.assign(answer, found);
  stream.on('response', take);
  stream.on('trailers', take);
  stream.on('error', () => undefined);
  for (const frame of frames) stream.write(frame);
  stream.end();
  stream.resume();
  await new Promise((resolve) => stream.once('close', resolve));
  session.close();
  return answer;
}

function frame(bytes: Buffer, compressed = false): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed ? 1 : 0, 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** A GetNoteRequest with an id of so many characters. */
function request(length: number): Buffer {
  const varint: number[] = [];
  for (let rest = length; ; rest >>>= 7) {
    varint.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([0x0a, ...varint]), Buffer.alloc(length, 'a')]);
}

// Alone: the client's end comes before ours, and a busy process would take the difference for its own wish.
test.serial('a deadline ends the call on both sides, and its handler knows', async (t) => {
  const reasons: { code: string }[] = [];
  let deadline: Date | undefined;
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: {
          handle: (call) => {
            deadline = call.deadline;
            return waits(reasons)(call);
          },
        },
      }),
    ],
  });
  const client = grpc.client();
  t.is((await client.call('KeepNotes', [])).code, 'OK');
  const before = Date.now();
  const { code } = await client.call('GetNote', {}, { timeout: 1000 });
  t.is(code, 'DEADLINE_EXCEEDED');
  await until(() => reasons.length === 1, 10_000);
  t.is(reasons[0]!.code, 'request.deadline');
  t.true(Math.abs(deadline!.getTime() - before - 1000) < 500);
  await until(async () => (await grpc.audited()).length === 2, 10_000);
  t.like(grpc.entries[1], { statusCode: 504, errorCode: 'request.deadline' });
  t.regex(await grpc.metrics.text(), /code="DEADLINE_EXCEEDED"/);
});

test('without a deadline there is none', async (t) => {
  let seen: unknown = 'nothing';
  const handle = (call: { deadline: unknown }) => {
    seen = call.deadline;
  };
  await using grpc = await startGrpc({ services: [notesService({ GetNote: { handle } })] });
  await grpc.client().call('GetNote');
  t.is(seen, undefined);
});

test('a deadline that the client does not keep itself is kept by the server', async (t) => {
  const reasons: { code: string }[] = [];
  await using grpc = await startGrpc({ services: [notesService({ GetNote: { handle: waits(reasons) } })] });
  const answer = await raw(grpc, [frame(request(1))], { 'grpc-timeout': '200m' });
  t.is(answer['grpc-status'], '4');
  t.is(answer['svc-error-code'], 'request.deadline');
  t.is(reasons[0]!.code, 'request.deadline');
});

test('a deadline of more than 24 days is none: no timer is as long', async (t) => {
  const seen: unknown[] = [];
  const handle = (call: { deadline: unknown }) => void seen.push(call.deadline);
  await using grpc = await startGrpc({ services: [notesService({ GetNote: { handle } })] });
  for (const timeout of ['720H', '8760H', '99999999H', '2147484S', '99999999M'])
    t.is((await raw(grpc, [frame(request(1))], { 'grpc-timeout': timeout }))['grpc-status'], '0', timeout);
  t.deepEqual(seen, Array(5).fill(undefined));
  await raw(grpc, [frame(request(1))], { 'grpc-timeout': '590H' });
  t.true(seen[5] instanceof Date);
});

test('a method may set a limit of its own', async (t) => {
  await using grpc = await startGrpc({
    services: [notesService({ GetNote: { timeout: 100, handle: waits([]) } })],
  });
  const answer = await grpc.client().call('GetNote');
  t.deepEqual([answer.code, answer.details], ['DEADLINE_EXCEEDED', 'The call took longer than 0.1 s']);
});

test('a method that wants no limit, or one of a month, is waited for', async (t) => {
  const handle = async () => {
    await sleep(50);
    return {};
  };
  for (const timeout of [Number.POSITIVE_INFINITY, 30 * 24 * 3_600_000]) {
    await using grpc = await startGrpc({ services: [notesService({ GetNote: { timeout, handle } })] });
    t.is((await grpc.client().call('GetNote')).code, 'OK', `${timeout}`);
  }
});

test('a client that cancels aborts the handler, and is recorded with 499', async (t) => {
  const reasons: { code: string }[] = [];
  let isCleaned = false;
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: { handle: waits(reasons) },
        Tail: {
          async *handle() {
            try {
              for (;;) {
                yield { text: 'x' };
                await new Promise((resolve) => setImmediate(resolve));
              }
            } finally {
              isCleaned = true;
            }
          },
        },
      }),
    ],
  });
  const client = grpc.client();
  const unary = client.open('GetNote');
  unary.send({});
  unary.end();
  const tail = client.open('Tail');
  tail.send({});
  tail.end();
  await tail.messages.next();
  await until(() => grpc.inFlight.size === 2, 10_000);
  unary.cancel();
  tail.cancel();
  t.is((await unary.answer).code, 'CANCELLED');
  t.true(await grpc.inFlight.idle(10_000));
  t.is(reasons[0]!.code, 'request.client-closed');
  t.true(isCleaned);
  const entries = await grpc.audited();
  t.deepEqual(
    entries.map(({ statusCode }) => statusCode),
    [499, 499],
  );
});

test('a message that is too large is refused, and recorded', async (t) => {
  const services = [notesService({ GetNote: { handle: () => undefined } })];
  await using grpc = await startGrpc({ server: { maxMessage: 1000 }, services });
  const client = grpc.client();
  t.is((await client.call('GetNote', { id: 'x'.repeat(900) })).code, 'OK');
  const answer = await client.call('GetNote', { id: 'x'.repeat(1001) });
  t.is(answer.code, 'RESOURCE_EXHAUSTED');
  t.is(answer.metadata['svc-error-code'], 'request.too-large');
  const entries = await grpc.audited();
  t.like(entries.at(-1), { statusCode: 413, errorCode: 'request.too-large' });
});

test('a compressed message counts by what it unfolds to', async (t) => {
  const services = [notesService({ GetNote: { handle: () => undefined } })];
  await using grpc = await startGrpc({ server: { maxMessage: 100_000 }, services });
  const gzip = { 'grpc-encoding': 'gzip' };
  const small = await raw(grpc, [frame(gzipSync(request(90_000)), true)], gzip);
  t.is(small['grpc-status'], '0');
  const bomb = gzipSync(Buffer.alloc(80_000_000));
  t.true(bomb.length < 100_000);
  const answer = await raw(grpc, [frame(bomb, true)], gzip);
  t.is(answer['grpc-status'], '8');
  t.is(answer['svc-error-code'], 'request.too-large');
});

test('compression that is unknown or broken, and what is no message, is refused in our words', async (t) => {
  await using grpc = await startGrpc();
  const unknown = await raw(grpc, [frame(request(3), true)], { 'grpc-encoding': 'lzma' });
  t.deepEqual([unknown['grpc-status'], unknown['svc-error-code']], ['12', 'request.unsupported-encoding']);
  const broken = await raw(grpc, [frame(Buffer.from('nonsense'), true)], { 'grpc-encoding': 'gzip' });
  t.deepEqual([broken['grpc-status'], broken['svc-error-code']], ['3', 'request.malformed']);
  const noMessage = await raw(grpc, [frame(Buffer.from([0x0a]))]);
  t.deepEqual([noMessage['grpc-status'], noMessage['svc-error-code']], ['3', 'request.malformed']);
  const timeout = await raw(grpc, [frame(request(1))], { 'grpc-timeout': 'soon' });
  t.deepEqual([timeout['grpc-status'], timeout['svc-error-code']], ['3', 'request.malformed']);
  t.is((await raw(grpc, [frame(request(1))]))['grpc-status'], '0');
});

test('what a Struct cannot hold is told with its field', async (t) => {
  await using grpc = await startGrpc();
  // extra: {fields: {a: {number_value: NaN}}}
  const nan = Buffer.from('1210' + '0a0e' + '0a0161' + '1209' + '11' + '000000000000f87f', 'hex');
  const answer = await raw(grpc, [frame(nan)]);
  t.is(answer['grpc-status'], '3');
  t.is(
    decodeURIComponent(answer['grpc-message']!),
    'The request is not valid: extra holds a number that JSON has not',
  );
});

test('a response that is too large is our failure to tell, not to send', async (t) => {
  await using grpc = await startGrpc({
    server: { maxMessage: 1000 },
    services: [
      notesService({
        GetNote: { handle: () => ({ note: { text: 'x'.repeat(2000) } }) },
        Tail: { handle: (call) => call.send({ text: 'x'.repeat(2000) }) },
      }),
    ],
  });
  for (const method of ['GetNote', 'Tail']) {
    const { code, details, metadata } = await grpc.client().call(method);
    t.deepEqual([code, metadata['svc-error-code']], ['RESOURCE_EXHAUSTED', 'response.too-large']);
    t.regex(details, /1000 bytes \(SVC_GRPC_MAX_MESSAGE\): ask for less/);
  }
});

test('a slow reader makes the sender wait, and memory does not grow', async (t) => {
  let sent = 0;
  const { open, opened } = gate();
  await using grpc = await startGrpc({
    services: [
      notesService({
        Tail: {
          async *handle() {
            await opened;
            for (; sent < 10_000; sent += 1) yield { text: 'x'.repeat(10_000) };
          },
        },
      }),
    ],
  });
  const session = connect(`http://${grpc.server.address}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/svc.notes.v1.NotesService/Tail',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${TOKEN}`,
  });
  stream.on('error', () => undefined);
  stream.end(frame(Buffer.alloc(0)));
  open();
  let last = -1;
  await until(async () => {
    const isSettled = sent === last && sent > 0;
    last = sent;
    if (!isSettled) await new Promise((resolve) => setTimeout(resolve, 100));
    return isSettled;
  }, 20_000);
  // The window of the client, and what may wait here.
  t.true(sent < 100, `${sent} messages of 10 kB were taken`);
  stream.resume();
  await until(() => sent > 1000, 20_000);
  stream.close(constants.NGHTTP2_CANCEL);
  session.close();
  t.true(await grpc.inFlight.idle(10_000));
});

test('a client that takes nothing for too long is given up, in a stream and at its end', async (t) => {
  let aborted: { detail: string } | undefined;
  await using grpc = await startGrpc({
    server: { slowClient: 300 },
    services: [
      notesService({
        Tail: {
          async handle(call) {
            call.signal.addEventListener('abort', () => {
              aborted = call.signal.reason;
            });
            for (;;) await call.send({ text: 'x'.repeat(50_000) });
          },
        },
        GetNote: { handle: () => ({ note: { text: 'x'.repeat(1_000_000) } }) },
      }),
    ],
  });
  const session = connect(`http://${grpc.server.address}`);
  for (const method of ['Tail', 'GetNote']) {
    const stream = session.request({
      ':method': 'POST',
      ':path': `/svc.notes.v1.NotesService/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${TOKEN}`,
    });
    stream.on('error', () => undefined);
    stream.end(frame(Buffer.alloc(0)));
    await until(() => stream.closed || stream.destroyed || stream.rstCode !== 0, 20_000).catch(
      () => undefined,
    );
    t.true(await grpc.inFlight.idle(10_000), method);
  }
  session.close();
  t.is(aborted?.detail, 'The client reads too slowly');
  const codes = (await grpc.metrics.text()).match(/svc_grpc_requests_total\{[^}]*code="CANCELLED"[^}]*\} 1/g);
  t.is(codes?.length, 2);
});

test('a client that sends faster than it is read is slowed down', async (t) => {
  const { open, opened } = gate();
  let read = 0;
  await using grpc = await startGrpc({
    services: [
      notesService({
        KeepNotes: {
          async handle(call) {
            await opened;
            for await (const _ of call.requests) read += 1;
            return { count: read };
          },
        },
      }),
    ],
  });
  const session = connect(`http://${grpc.server.address}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/svc.notes.v1.NotesService/KeepNotes',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${TOKEN}`,
  });
  stream.on('error', () => undefined);
  stream.resume();
  const note = frame(request(10_000));
  let written = 0;
  for (let index = 0; index < 200; index += 1) stream.write(note, () => (written += 1));
  stream.end();
  await until(() => grpc.inFlight.size === 1, 10_000);
  await new Promise((resolve) => setTimeout(resolve, 300));
  t.true(read === 0 && written < 20, `${written} messages of 10 kB were taken before anybody read`);
  open();
  await new Promise((resolve) => stream.once('close', resolve));
  session.close();
  t.is(read, 200);
});

test('too many metadata are refused before anybody looks at them', async (t) => {
  await using grpc = await startGrpc();
  const client = grpc.client();
  t.is((await client.call('GetNote', {}, { metadata: { 'x-big': 'x'.repeat(10_000) } })).code, 'OK');
  const refused = await client.call('GetNote', {}, { metadata: { 'x-big': 'x'.repeat(70_000) } });
  t.deepEqual(
    [refused.code, refused.metadata['svc-error-code']],
    ['RESOURCE_EXHAUSTED', 'request.metadata-too-large'],
  );
  t.is((await client.call('GetNote')).code, 'OK');
});

test('one connection has so many calls open at a time', async (t) => {
  const { open, opened } = gate();
  await using grpc = await startGrpc({
    server: { maxStreams: 3 },
    services: [notesService({ GetNote: { handle: () => opened } })],
  });
  const client = grpc.client();
  await client.call('KeepNotes', []);
  const calls = Array.from({ length: 6 }, () => client.call('GetNote'));
  await until(() => grpc.inFlight.size === 3, 10_000);
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.is(grpc.inFlight.size, 3);
  open();
  for (const { code } of await Promise.all(calls)) t.is(code, 'OK');
});
