import test from 'ava';
import fc from 'fast-check';
import Type from 'typebox';
import { BodyBudget } from '../../../foundation/http/body-budget.ts';
import { access } from '../../../kernel/api/access.ts';
import { route } from '../../../kernel/api/route.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { gate, testPlugin } from '../../support/plugins.ts';
import { connect, statusOf } from '../../support/raw-http.ts';
import { SEED } from '../../support/sample.ts';
import { until } from '../../support/until.ts';

const KIB = 1024;

test('never more than the limit is held, nor more than half of it by a tenant, and all is given back', (t) => {
  const step = fc.record({ call: fc.nat(9), bytes: fc.integer({ min: 1, max: 400 }), ends: fc.boolean() });
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const budget = new BodyBudget(1000);
    const calls = Array.from({ length: 10 }, (_, index) => ({ tenant: `t${index % 3}`, bytes: 0 }));
    const sum = (tenant?: string) =>
      calls.reduce((all, call) => all + (tenant === undefined || call.tenant === tenant ? call.bytes : 0), 0);
    for (const { call: index, bytes, ends } of steps) {
      const call = calls[index]!;
      if (ends) {
        budget.release(call);
        call.bytes = 0;
      } else {
        const fits = sum() + bytes <= 1000 && sum(call.tenant) + bytes <= 500;
        let wasTaken = true;
        try {
          budget.take(call, call.tenant, bytes);
          call.bytes += bytes;
        } catch {
          wasTaken = false;
        }
        if (wasTaken !== fits) return false;
      }
      if (budget.held !== sum()) return false;
    }
    for (const call of calls) budget.release(call);
    return budget.held === 0;
  });
  t.notThrows(() => fc.assert(property, { seed: SEED }));
});

test('garbage is collected once large bodies have come to an end, and not while there is one', async (t) => {
  let collected = 0;
  const budget = new BodyBudget(64 * KIB * KIB, () => {
    collected += 1;
  });
  const [first, second] = [{}, {}];
  budget.take(first, 'a', 20 * KIB * KIB);
  budget.take(second, 'b', 20 * KIB * KIB);
  budget.release(first);
  budget.release(second);
  await until(() => collected === 1);
  budget.take(first, 'a', KIB);
  budget.release(first);
  t.is(collected, 1);
});

/** A gateway with room for 1 MiB, whose route answers when the test says so. */
async function startSmall() {
  const rest = gate();
  const take = { method: 'POST', bodyLimit: 10_000 * KIB, summary: 'takes a body' } as const;
  const schema = { body: Type.Object({ text: Type.Optional(Type.String()) }) };
  const plugin = testPlugin('things', {
    setup: (scope) =>
      scope.route(
        route({
          ...take,
          path: '/things',
          access: access.role('user'),
          schema,
          errors: 'openai',
          handle: async () => {
            await rest.opened;
            return {};
          },
        }),
        route({
          ...take,
          path: '/quick',
          access: access.role('user'),
          schema,
          handle: ({ body }) => ({ length: body.text?.length }),
        }),
      ),
  });
  const gateway = await startTestGateway({
    plugins: [plugin],
    env: { SVC_MAX_BODY_BYTES_IN_FLIGHT: '1MiB' },
  });
  const held = async () => {
    const { body } = await gateway.request('/metrics');
    return Number(/svc_http_body_bytes_in_flight (\d+)/.exec(body)![1]);
  };
  const post = (path: string, token: string, bytes: number) =>
    gateway.request(path, { method: 'POST', token, body: { text: 'x'.repeat(bytes) } });
  return { gateway, rest, held, post };
}

test('large bodies are held until their calls are over; what does not fit is 503, in the words of its route', async (t) => {
  const { gateway, rest, held, post } = await startSmall();
  t.teardown(gateway.stop);
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => gateway.makeTenant(name)));
  const first = post('/things', a!.token, 400 * KIB);
  await until(async () => (await held()) > 300 * KIB);
  const refused = await post('/things', a!.token, 400 * KIB);
  t.is(refused.status, 503);
  t.is(refused.body.error.code, 'gateway.overloaded');
  t.is(refused.headers.get('retry-after'), '1');
  const second = post('/things', b!.token, 400 * KIB);
  await until(async () => (await held()) > 600 * KIB);
  t.is((await post('/quick', c!.token, 400 * KIB)).body.code, 'gateway.overloaded');
  t.is((await post('/quick', a!.token, 60 * KIB)).status, 200);
  t.is((await post('/quick', c!.token, 600 * KIB)).status, 413);
  rest.open();
  t.deepEqual(
    (await Promise.all([first, second])).map(({ status }) => status),
    [200, 200],
  );
  t.is(await held(), 0);
  t.is((await post('/quick', a!.token, 400 * KIB)).status, 200);
  t.deepEqual(
    gateway.logs().filter((line) => /"level":"error"/.test(line)),
    [],
  );
});

test('a slow sender holds what it has sent, and a chunked body that outgrows the room is refused', async (t) => {
  const { gateway, held, post } = await startSmall();
  t.teardown(gateway.stop);
  const { token } = await gateway.makeTenant();
  const head = (framing: string) =>
    `POST /quick HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`;
  const slow = await connect(gateway.url);
  slow.write(`${head(`Content-Length: ${500 * KIB}`)}{"text": "${'x'.repeat(150 * KIB)}`);
  await until(async () => (await held()) > 64 * KIB);
  t.true((await held()) <= 150 * KIB + 100);
  t.is((await post('/quick', token, 300 * KIB)).status, 200);
  const chunked = await connect(gateway.url);
  chunked.write(`${head('Transfer-Encoding: chunked')}80000\r\n{"text": "${'x'.repeat(0x80000 - 10)}`);
  await until(() => statusOf(chunked.received()) === 503);
  await until(async () => (await held()) <= 150 * KIB + 100);
  slow.destroy();
  chunked.destroy();
  await until(async () => (await held()) === 0);
  const endless = await connect(gateway.url);
  endless.write(`${head('Transfer-Encoding: chunked')}${`10000\r\n${'x'.repeat(0x10000)}\r\n`.repeat(12)}`);
  await until(() => statusOf(endless.received()) === 413);
  endless.destroy();
});
