import Router from '@koa/router';
import test from 'ava';
import { access } from '../../../kernel/api/access.ts';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import type { MountOptions } from '../../../kernel/api/route.ts';
import { type ConformanceOptions, pluginConformance } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

/** What the check of that title says of the plugin, a line of each finding. */
async function findings(plugin: Plugin, title: RegExp, options: ConformanceOptions = {}) {
  const check = pluginConformance(plugin, options).find((one) => title.test(one.title))!;
  return await check.run().then(
    () => [],
    (failure: Error) => failure.message.split('\n'),
  );
}

function mounting(router: Router, openapi: MountOptions['openapi']): Plugin {
  return testPlugin('legacy', {
    setup: (scope) =>
      scope.mount('/legacy', router, { access: access.role('user'), summary: 'legacy', openapi }),
  });
}

const json = (schema: object) => ({ description: 'd', content: { 'application/json': { schema } } });
const NAMED = json({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] });
const NAME = { name: 'name', in: 'path', required: true, schema: { type: 'string' } };

test.serial('the operations of a mounted router are sampled, and findings name them', async (t) => {
  const asked: string[] = [];
  const router = new Router();
  router.get('/hello/:name', (context) => {
    asked.push(`GET ${context.params.name} ${context.query.loud}`);
    context.body = { name: context.params.name };
  });
  router.get('/wrong', (context) => {
    context.body = { name: 7 };
  });
  router.post('/things', async (context) => {
    asked.push(`POST ${JSON.parse(Buffer.concat(await context.req.toArray()).toString()).name}`);
    context.status = 202;
    context.body = { id: 't1' };
  });
  router.delete('/broken', () => {
    throw new Error('out of order');
  });
  const LOUD = { name: 'loud', in: 'query', required: true, schema: { type: 'boolean' } };
  const plugin = mounting(router, {
    '/hello/{name}': { parameters: [NAME], get: { parameters: [LOUD], responses: { 200: NAMED } } },
    '/wrong': { get: { responses: { 200: NAMED } } },
    '/things': {
      post: {
        requestBody: NAMED,
        responses: { 201: json({ type: 'object' }) },
      },
    },
    '/broken': {
      delete: { responses: { default: { description: 'whatever' }, 204: { description: 'gone' } } },
    },
  });
  const said = await findings(plugin, /answered as declared/, {
    samples: { 'GET /legacy/hello/{name}': { params: { name: 'Ada' } } },
  });
  t.deepEqual(said, [
    'POST /legacy/things answers 202, which it does not declare: name it in openapi.responses',
    'GET /legacy/wrong answers 200 with a body that its schema does not allow: /name must be string',
    'DELETE /legacy/broken answers 500: out of order',
  ]);
  t.true(asked.includes('GET Ada true') || asked.includes('GET Ada false'), asked.join());
  t.is(asked.filter((one) => one.startsWith('GET Ada')).length, 2);
  t.is(asked.filter((one) => one.startsWith('POST')).length, 2);
});

test.serial('an operation says what its path has and what it answers', async (t) => {
  const router = new Router();
  router.get('/hello/:name', (context) => {
    context.body = {};
  });
  const said = await findings(
    mounting(router, { '/hello/{name}': { get: {} } }),
    /access, a summary and schemas/,
  );
  t.deepEqual(said, [
    'GET /legacy/hello/{name}: openapi.params says nothing of {name}',
    'GET /legacy/hello/{name}: openapi.responses is empty, so clients do not know what it answers',
  ]);
});

test.serial('what a mounted router shows to another tenant is found', async (t) => {
  const kept: { id: string; name: string }[] = [];
  const router = new Router();
  router.post('/things', async (context) => {
    const { name } = JSON.parse(Buffer.concat(await context.req.toArray()).toString());
    kept.push({ id: `thing-${kept.length}`, name });
    context.status = 201;
    context.body = kept.at(-1);
  });
  router.get('/things', (context) => {
    context.body = { things: kept };
  });
  const plugin = mounting(router, {
    '/things': {
      post: { requestBody: NAMED, responses: { 201: NAMED } },
      get: { responses: { 200: json({ type: 'object' }) } },
    },
  });
  t.deepEqual(await findings(plugin, /crosses tenants/), [
    'GET /legacy/things shows a tenant what belongs to another one',
  ]);
});
