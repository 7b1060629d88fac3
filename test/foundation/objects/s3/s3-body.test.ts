import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { s3Body } from '../../../../foundation/objects/s3/s3-client.ts';
import { until } from '../../../support/until.ts';

test('a store that falls silent while somebody waits is unavailable', async (t) => {
  const raw = new PassThrough();
  raw.write('begun');
  await t.throwsAsync(text(s3Body(raw, undefined, 20)), { code: 'objects.unavailable' });
  t.true(raw.destroyed);
});

test('a body that nobody reads ends its connection when it is destroyed', async (t) => {
  const raw = new PassThrough();
  s3Body(raw, undefined).destroy();
  await until(() => raw.destroyed);
  t.pass();
});

test('a connection that breaks before anybody reads is told to the reader', async (t) => {
  const raw = new PassThrough();
  const body = s3Body(raw, undefined);
  raw.destroy(new Error('reset'));
  await until(() => raw.closed);
  await t.throwsAsync(text(body), { code: 'objects.unavailable' });
});
