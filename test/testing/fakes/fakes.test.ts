import { text } from 'node:stream/consumers';
import test from 'ava';
import Type from 'typebox';
import { defineDurableEvent } from '../../../foundation/messages/durable-events/durable-events.ts';
import { defineEvent } from '../../../foundation/messages/events/events.ts';
import { defineHint } from '../../../foundation/messages/hints/hints.ts';
import { defineJob } from '../../../foundation/messages/jobs/jobs.ts';
import {
  fakeEgress,
  fakeIds,
  fakeSecrets,
  fakeServices,
  manualClock,
  memoryObjects,
  startTestGateway,
} from '../../../testing/index.ts';
import { publicRoute, testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

test('every service works in memory', async (t) => {
  await using services = fakeServices();
  const { leases, hints, events, objects, ids } = services;
  t.is(ids.uuid(), '00000000-0000-7000-8000-000000000001');
  t.is(await leases.withLease('a', {}, async ({ key }) => key), 'a');
  await objects.forTenant('t1').put('a', 'b');
  t.is(await objects.forTenant('t1').text('a', 10), 'b');

  const Thing = Type.Object({ id: Type.String() });
  const heard: string[] = [];
  events.on(defineEvent('fake.event', Thing), ({ id }) => void heard.push(id));
  events.emit(defineEvent('fake.event', Thing), { id: 'event' });
  const consumer = hints.listen(defineHint('fake.queue', Thing), async ({ id }) => void heard.push(id));
  t.true(await hints.send(defineHint('fake.queue', Thing), { id: 'message' }));
  await until(() => heard.length === 2);
  await consumer.stop(1000);
  t.deepEqual(heard.toSorted(), ['event', 'message']);
});

test('the fake egress answers, remembers, and denies what nobody plays', async (t) => {
  const egress = fakeEgress(({ url }) =>
    url.includes('good') ? { status: 201, body: { a: 1 } } : undefined,
  );
  const answer = await egress.request('t1', { url: 'https://good.example/x', method: 'POST' });
  t.deepEqual([answer.status, await text(answer.body)], [201, '{"a":1}']);
  t.deepEqual(
    egress.sent.map(({ tenantId, method, url }) => [tenantId, method, url]),
    [['t1', 'POST', 'https://good.example/x']],
  );
  await t.throwsAsync(egress.request('t1', { url: 'https://bad.example/' }), { message: /does not send/ });
  await t.throwsAsync(egress.check('t1', 'https://bad.example/'));
  t.deepEqual(await (await egress.fetchFor('t1')('https://good.example/')).json(), { a: 1 });
});

test('fake secrets are found by their references, and by nothing else', async (t) => {
  const secrets = fakeSecrets({ 'env:KEY': 'value' });
  t.is(await secrets.resolve('env:KEY', 'tenant'), 'value');
  await t.throwsAsync(secrets.resolve('env:OTHER', 'tenant'), { message: /env:OTHER is not set/ });
  await t.throwsAsync(secrets.resolve('KEY', 'operator'));
});

test('objects in memory keep the promises of the real forms', async (t) => {
  const objects = memoryObjects(manualClock());
  const one = objects.forTenant('one');
  const { etag } = await one.put('folder/b', 'first', { ifAbsent: true });
  await t.throwsAsync(one.put('folder/b', 'x', { ifAbsent: true }));
  await t.throwsAsync(one.put('folder/b', 'x', { ifMatch: 'another' }));
  await one.put('folder/b', 'second', { ifMatch: etag });
  await t.throwsAsync(one.put('large', 'xxxx', { limit: 3 }));
  await one.put('folder/a', 'x');
  await objects.forTenant('other').put('folder/c', 'x');
  const page = await one.list('folder/', { limit: 1 });
  t.deepEqual([page.objects.map(({ key }) => key), page.next], [['folder/a'], 'folder/a']);
  t.deepEqual(
    (await one.list('', { after: 'folder/a' })).objects.map(({ key }) => key),
    ['folder/b'],
  );
  const part = await one.get('folder/b', { range: { start: 1, end: 3 } });
  t.is(await text(part!.body), 'eco');
  t.deepEqual(await one.deleteAll('folder/'), { deleted: 2, bytes: 7 });
  t.is(await objects.forTenant('other').text('folder/c', 10), 'x');
});

test('a plugin under test gets the fakes that the test plays', async (t) => {
  const egress = fakeEgress(() => ({ body: 'from the test' }));
  const plugin = testPlugin('caller', {
    setup: (scope) =>
      scope.route(
        publicRoute('/call', async () => {
          const { body } = await scope.services.egress.request('t1', { url: 'https://example.com/' });
          return { said: await text(body) };
        }),
      ),
  });
  await using gateway = await startTestGateway({ plugins: [plugin], services: { egress } });
  t.deepEqual((await gateway.request('/call')).body, { said: 'from the test' });
  t.is(fakeIds().uuid(), fakeIds().uuid());
});

test('fake jobs note what was published, and do it when they are told to', async (t) => {
  const Charge = defineJob('billing.charge', Type.Object({ id: Type.String() }));
  const { jobs } = fakeServices();
  await jobs.publish({} as never, Charge, { id: 'one' }, { key: 'k' });
  jobs.write(Charge, { id: 'two' });
  await t.throwsAsync(jobs.publish({} as never, Charge, { id: 3 } as never), { code: 'job.payload-invalid' });
  t.like(jobs.published[0], { queue: 'billing.charge', payload: { id: 'one' }, options: { key: 'k' } });
  const done: string[] = [];
  await jobs.run(Charge, async ({ id }, { attempt }) => void done.push(`${id} ${attempt}`));
  t.deepEqual(done, ['one 1', 'two 1']);
  t.deepEqual(jobs.published, []);
});

test('fake durable events note what was published, and hand it to a handler', async (t) => {
  const Paid = defineDurableEvent('shop.order-paid', Type.Object({ n: Type.Integer() }));
  const { durableEvents } = fakeServices();
  t.deepEqual(durableEvents.writes(Paid, { n: 1 }), []);
  await durableEvents.publishOf({} as never, 'acme', Paid, { n: 2 });
  await durableEvents.publishOf({} as never, 'acme', defineDurableEvent('shop.closed', Type.Object({})), {});
  t.deepEqual(
    durableEvents.published.map(({ event, payload }) => [event, payload]),
    [
      ['shop.order-paid', { n: 1 }],
      ['shop.order-paid', { n: 2 }],
      ['shop.closed', {}],
    ],
  );
  await t.throwsAsync(durableEvents.publish({} as never, Paid, { n: 'x' } as never), {
    message: /order-paid/,
  });
  const handled: unknown[] = [];
  await durableEvents.deliver(Paid, async ({ n }, { tenantId, attempt }) => {
    handled.push([n, tenantId, attempt]);
  });
  t.deepEqual(handled, [
    [1, 'tenant', 1],
    [2, 'acme', 1],
  ]);
});
