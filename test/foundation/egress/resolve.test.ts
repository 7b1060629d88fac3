import type { Resolver } from 'node:dns/promises';
import test from 'ava';
import { boundResolve, createResolve } from '../../../foundation/egress/resolve.ts';

test('a resolver that does not answer costs its deadline, and keeps its place until it ends', async (t) => {
  const { promise, resolve: answer } = Promise.withResolvers<readonly string[]>();
  const bounded = boundResolve((name) => (name === 'slow.example' ? promise : Promise.resolve(['8.8.8.8'])), {
    dnsTimeout: 20,
    maxLookups: 1,
  });
  await t.throwsAsync(bounded('slow.example', 'dns'), { code: 'egress.timeout', message: /slow\.example/ });
  await t.throwsAsync(bounded('quick.example', 'dns'), { code: 'egress.busy' });
  answer(['8.8.8.8']);
  await promise;
  t.deepEqual(await bounded('quick.example', 'dns'), ['8.8.8.8']);
});

test('an unknown name and an empty answer are told as such', async (t) => {
  const bounds = { dnsTimeout: 1000, maxLookups: 1 };
  const unknown = boundResolve(() => Promise.reject(new Error('ENOTFOUND 10.0.0.53')), bounds);
  await t.throwsAsync(unknown('a.example', 'dns'), {
    code: 'egress.unreachable',
    message: /^The name a\.example cannot be resolved\.$/,
  });
  await t.throwsAsync(boundResolve(async () => [], bounds)('a.example', 'dns'), {
    code: 'egress.unreachable',
    message: /no address/,
  });
});

test('local names are looked up as the machine does, others by its DNS servers alone', async (t) => {
  const resolve = createResolve();
  const local = await resolve('localhost', 'local');
  t.true(local.includes('127.0.0.1') || local.includes('::1'));
  await t.throwsAsync(resolve('nowhere.invalid', 'dns'));
});

test('DNS servers are read anew after those that are known did not answer', async (t) => {
  const asked: string[] = [];
  const resolvers = ['first', 'second'].map((name) => ({
    resolve4: async (host: string) => {
      asked.push(`${name} ${host}`);
      if (host === 'nowhere.example') throw Object.assign(new Error('none'), { code: 'ENOTFOUND' });
      if (name === 'first') throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
      return ['8.8.8.8'];
    },
    resolve6: async () => [],
  }));
  const resolve = createResolve(() => resolvers.shift() as unknown as Resolver);
  await t.throwsAsync(resolve('nowhere.example', 'dns'), { message: 'none' });
  await t.throwsAsync(resolve('a.example', 'dns'), { message: 'away' });
  t.deepEqual(await resolve('a.example', 'dns'), ['8.8.8.8']);
  t.deepEqual(asked, ['first nowhere.example', 'first a.example', 'second a.example']);
});
