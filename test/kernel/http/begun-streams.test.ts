import { createReadStream } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import test from 'ava';
import { KernelErrors } from '../../../foundation/base/error-catalogue.ts';
import { access } from '../../../kernel/api/access.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

/** A stream that gives these pieces, and then fails with what is no text. */
async function* pieces(...given: readonly unknown[]): AsyncGenerator<string> {
  for (const piece of given) {
    await new Promise(setImmediate);
    if (typeof piece !== 'string') throw piece;
    yield piece;
  }
}

const silent = new PassThrough();
const STREAMS: Readonly<Record<string, () => Readable>> = {
  whole: () => Readable.from(pieces('a', 'b')),
  empty: () => Readable.from(pieces()),
  refused: () => Readable.from(pieces(KernelErrors.pathNotFound('It is not there'))),
  broken: () => Readable.from(pieces(new Error('a secret of the disk'))),
  missing: () => createReadStream('/nowhere/at/all'),
  late: () => Readable.from(pieces('a', new Error('late'))),
  silent: () => silent,
};

const streams = testPlugin('streams', {
  setup(scope) {
    for (const [name, make] of Object.entries(STREAMS))
      scope.route({
        method: 'GET',
        path: `/v1/streams/${name}`,
        access: access.open(['read']),
        summary: 'Streams',
        handle: () => reply.stream(make(), 'text/plain', { 'content-disposition': 'attachment' }),
      });
  },
});

test('a stream that fails before its first byte is answered with why it did', async (t) => {
  await using gateway = await startTestGateway({ plugins: [streams] });
  const get = (name: string) =>
    fetch(`${gateway.url}/v1/streams/${name}`, { headers: { authorization: `Bearer ${gateway.token}` } });
  const whole = await get('whole');
  t.deepEqual([whole.status, await whole.text()], [200, 'ab']);
  t.is(whole.headers.get('content-disposition'), 'attachment');
  const empty = await get('empty');
  t.deepEqual([empty.status, await empty.text()], [200, '']);
  for (const [name, status, code] of [
    ['refused', 404, 'path.not-found'],
    ['broken', 500, 'internal'],
    ['missing', 500, 'internal'],
  ] as const) {
    const answer = await get(name);
    t.is(answer.status, status, name);
    t.is(answer.headers.get('content-disposition'), null);
    const text = await answer.text();
    t.is(JSON.parse(text).code, code);
    t.false(text.includes('secret'));
  }
  await t.throwsAsync(async () => (await get('late')).text(), undefined, 'it has begun: the connection ends');
});

test('who leaves before the first byte ends the stream', async (t) => {
  await using gateway = await startTestGateway({ plugins: [streams] });
  const left = new AbortController();
  const headers = { authorization: `Bearer ${gateway.token}` };
  const answer = fetch(`${gateway.url}/v1/streams/silent`, { headers, signal: left.signal });
  await until(() => silent.listenerCount('readable') > 0);
  left.abort();
  await t.throwsAsync(answer);
  await until(() => silent.destroyed);
  t.pass();
});
