import test from 'ava';
import { field } from '../../../foundation/config/field.ts';
import { defineJob } from '../../../foundation/messages/jobs/jobs.ts';
import { access, definePlugin, route, Type } from '../../../kernel/index.ts';
import { startTestGateway } from '../../../testing/start-test-gateway.ts';
import { until } from '../../support/until.ts';

/** Nothing in it looks like a credential. */
const SECRET = 'the "blue" heron\\1987';

const Charge = defineJob('bank.charge', Type.Object({}), { attempts: 1 });

const Settings = Type.Object({
  account: Type.Object({
    phrase: field.string({ secret: true, env: 'BANK_PHRASE', description: 'Phrase of the account' }),
  }),
});

/** Throws and logs its secret wherever it may. */
const bank = definePlugin({
  name: 'bank',
  summary: 'charges',
  kernel: '^1.0.0',
  config: Settings,
  jobs: [Charge],
  setup(scope) {
    const { phrase } = scope.config.account;
    scope.probe('vault', () => Promise.reject(new Error(`no vault for ${phrase}`)));
    scope.worker(Charge, () => Promise.reject(new Error(`the bank refuses ${phrase}`)));
    scope.route(
      route({
        method: 'POST',
        path: '/v1/charges',
        access: access.role('user'),
        summary: 'Charge',
        schema: { responses: { 200: Type.Unknown() } },
        handle: async (call) => {
          call.log.warn({ note: `charging with ${phrase}` }, `as ${phrase}`);
          const { jobs } = scope.services;
          return { id: await call.entities().transaction((entities) => jobs.publish(entities, Charge, {})) };
        },
      }),
    );
  },
});

const broken = definePlugin({
  name: 'broken',
  summary: 'does not start',
  kernel: '^1.0.0',
  config: Settings,
  setup: ({ config }) => Promise.reject(new Error(`cannot log in with ${config.account.phrase}`)),
});

test('a secret setting is in no output, also where its plugin throws or logs it', async (t) => {
  await using gateway = await startTestGateway({ plugins: [bank, broken], env: { BANK_PHRASE: SECRET } });
  const tenant = await gateway.makeTenant();
  const read = async (path: string) => (await gateway.request(path)).body as Record<string, unknown>;
  const { body } = await gateway.request('/v1/charges', { method: 'POST', token: tenant.token });
  const job = `/admin/v1/jobs/${(body as { id: string }).id}`;
  await until(async () => (await read(job)).state === 'dead');
  t.is((await read(job)).error, 'the bank refuses [REDACTED]');
  const plugin = await read('/admin/v1/plugins/broken');
  t.regex(String(plugin.reason), /^cannot log in with \[REDACTED\]/);
  const reload = await gateway.request('/admin/v1/plugins/broken/reload', { method: 'POST' });
  t.is(reload.status, 409);
  t.regex(reload.body.detail, /cannot log in with \[REDACTED\]/);
  const readiness = await read('/admin/v1/readiness');
  t.regex(JSON.stringify(readiness), /no vault for \[REDACTED\]/);
  const written = JSON.stringify(SECRET).slice(1, -1);
  const outputs = [...gateway.logs(), JSON.stringify([plugin, reload.body, readiness])];
  t.deepEqual(
    outputs.filter((line) => line.includes(written) || line.includes(SECRET)),
    [],
  );
  t.true(gateway.logs().some((line) => line.includes('charging with [REDACTED]')));
});
