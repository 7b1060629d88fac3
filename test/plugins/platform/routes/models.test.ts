import test from 'ava';
import { startPlatform } from '../platform-gateway.ts';

test('the models are listed and read in OpenAI’s form', async (t) => {
  const { request } = await startPlatform(t);
  const { body } = await request('/v1/models');
  t.is(body.object, 'list');
  t.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    ['default', 'demo'],
  );
  for (const model of body.data) {
    t.deepEqual(Object.keys(model).sort(), ['created', 'id', 'object', 'owned_by']);
    t.is(model.object, 'model');
    t.true(Number.isInteger(model.created));
    t.deepEqual((await request(`/v1/models/${model.id}`)).body, model);
  }
});

test('an alias with a slash is found, encoded or not', async (t) => {
  const env = { LLM_API_URL: 'http://127.0.0.1:1/v1', LLM_MODEL: 'acme/large:1' };
  const { request } = await startPlatform(t, { env });
  for (const path of ['/v1/models/acme/large:1', '/v1/models/acme%2Flarge%3A1']) {
    t.is((await request(path)).body.id, 'acme/large:1', path);
  }
});

test('an unknown model is told in OpenAI’s form', async (t) => {
  const { request } = await startPlatform(t);
  for (const path of ['/v1/models/none', '/v1/models/', '/v1/models/a/b']) {
    const { status, body } = await request(path);
    t.is(status, 404);
    t.like(body.error, { type: 'not_found_error', code: 'model_not_found', param: 'model' });
  }
});

test('who may chat may see the models, and nobody else', async (t) => {
  const gateway = await startPlatform(t);
  for (const [settings, status] of [
    [{ roles: ['user'], scopes: ['execute'] }, 200],
    [{ roles: ['user'], scopes: ['read'] }, 200],
    [{ roles: ['user'], scopes: ['write'] }, 403],
    [{ roles: ['auditor'] }, 403],
  ] as const) {
    const { key: token } = await gateway.key(settings);
    t.is((await gateway.request('/v1/models', { token })).status, status, JSON.stringify(settings));
  }
  t.is((await gateway.request('/v1/models', { token: null })).status, 401);
});
