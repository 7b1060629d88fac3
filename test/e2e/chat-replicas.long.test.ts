import test, { type ExecutionContext } from 'ava';
import { startOwnRedis } from '../kernel/limits/own-redis.ts';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import { gatewayDatabase } from '../support/databases.ts';
import { plain, silence, startFakeProvider } from '../support/fake-provider.ts';
import { chosen } from '../support/sample.ts';
import { available } from '../support/services.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { type Replica, startReplicas } from './replicas.ts';

const FORMS = [
  { family: 'postgres', redis: true },
  { family: 'postgres', redis: false },
  { family: 'mysql', redis: true },
  { family: 'mysql', redis: false },
] as const;

const REDIS_URL = 'redis://127.0.0.1:6379';

/** Two replicas on one database, and the provider behind both. */
async function startBoth(
  t: ExecutionContext,
  form: (typeof FORMS)[number],
  ...scripts: Parameters<typeof startFakeProvider>
) {
  const fresh = await gatewayDatabase(t, form.family);
  if (fresh === undefined || (form.redis && !(await available(t, 'redis')))) return undefined;
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const replicas = await startReplicas(t, fresh, {
    LLM_API_URL: provider.url,
    LLM_MODEL: 'fake-model',
    LLM_MAX_RETRIES: '0',
    OBJECT_STORE_URL: 'none',
    ...(form.redis && { REDIS_URL }),
  });
  return { replicas, provider };
}

function chat(replica: Replica, session: string, content = 'Hi') {
  return replica.request('/v1/chat/completions', {
    method: 'POST',
    body: { model: 'default', messages: [{ role: 'user', content }] },
    headers: { 'x-svc-session-id': session },
  });
}

for (const form of chosen('chat replicas', FORMS, 1)) {
  const name = `${form.family}${form.redis ? ' and redis' : ''}`;

  test(`${name}: ten turns of one session at once, on two replicas, are ten ordered turns with exact counts`, async (t) => {
    const started = await startBoth(t, form, plain('Yes.'));
    if (started === undefined) return;
    const { replicas } = started;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => chat(replicas[index % 2]!, 'shared', `turn ${index}`)),
    );
    t.deepEqual(
      answers.map(({ status }) => status),
      answers.map(() => 200),
    );
    const { body } = await replicas[0].request('/v1/sessions/shared');
    t.like(body, { turns: 10, input_tokens: 70, output_tokens: 50 });
    const roles = body.messages.map(({ role }: { role: string }) => role);
    t.deepEqual(roles, Array.from({ length: 10 }, () => ['user', 'assistant']).flat());
    const usage = await replicas[1].request('/v1/usage');
    t.like(usage.body.data[0], { requests: 10, input_tokens: 70, output_tokens: 50 });
  });

  test(`${name}: a chat is aborted through another replica`, async (t) => {
    const started = await startBoth(t, form, silence());
    if (started === undefined) return;
    const { replicas, provider } = started;
    const answer = chat(replicas[0], 'long');
    await until(() => provider.requests.length === 1);
    const abort = await replicas[1].request('/v1/chat/abort', {
      method: 'POST',
      body: { session_id: 'long' },
    });
    t.is(abort.status, 200);
    const aborted = await answer;
    t.is(aborted.status, 409);
    t.is(aborted.body.error.code, 'chat.aborted');
    t.is((await replicas[1].request('/v1/sessions/long')).status, 404);
  });
}

test('of two replicas one reaches Redis: of two turns of a session the second to commit is refused', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  const redis = fresh && (await startOwnRedis(t));
  if (redis === undefined) return;
  const gate = Promise.withResolvers<void>();
  t.teardown(() => gate.resolve());
  const slow: ReturnType<typeof plain> = async (reply) => {
    await gate.promise;
    await plain('Slow.')(reply);
  };
  const provider = await startFakeProvider(plain('First.'), slow, plain('Quick.'));
  t.teardown(() => provider[Symbol.asyncDispose]());
  const proxy = await startTcpProxy(t, redis.port);
  const start = (redisPort: number) =>
    startPlatform(t, {
      env: {
        ...fresh!.environment,
        LLM_API_URL: provider.url,
        LLM_MODEL: 'fake-model',
        OBJECT_STORE_URL: 'none',
        REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      },
    });
  const [one, two] = await Promise.all([start(redis.port), start(proxy.port)]);
  t.is((await chat(one, 'split')).status, 200);
  await proxy.cut();
  await until(() => two.logs().some((line) => line.includes('Redis is away: this replica')), 10_000);

  const slowTurn = chat(one, 'split', 'slow');
  await until(() => provider.requests.length === 2, 10_000);
  t.is((await chat(two, 'split', 'quick')).status, 200, 'it does not wait for a lease that it cannot see');
  gate.resolve();
  const refused = await slowTurn;
  t.is(refused.status, 409);
  t.is(refused.body.error.code, 'session.conflict');
  const { body } = await one.request('/v1/sessions/split');
  t.is(body.turns, 2);
  t.false(JSON.stringify(body.messages).includes('Slow.'));
});
