import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import Type from 'typebox';
import notes from '../../../examples/plugins/notes/plugin.ts';
import { access } from '../../../kernel/api/access.ts';
import { grpcMethod, grpcService } from '../../../kernel/api/grpc.ts';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import { route } from '../../../kernel/api/route.ts';
import { type ConformanceOptions, pluginConformance } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

const options: ConformanceOptions = {};

for (const { title, run } of pluginConformance(notes, options)) {
  test.serial(`the example passes: ${title}`, async (t) => {
    await t.notThrowsAsync(run);
  });
}

/** The message with which the check of that title refuses the plugin. */
async function refusal(plugin: Plugin, title: RegExp, more: ConformanceOptions = {}): Promise<string> {
  const check = pluginConformance(plugin, more).find((one) => title.test(one.title))!;
  try {
    await check.run();
    return '';
  } catch (failure) {
    return (failure as Error).message;
  }
}

const responses = { 200: Type.Object({}) };

test.serial('a server that stays open is found', async (t) => {
  const servers: { close(): void }[] = [];
  t.teardown(() => {
    for (const server of servers) server.close();
  });
  const leaky = testPlugin('leaky', {
    setup: () => {
      servers.push(createServer().listen(0, '127.0.0.1'));
    },
  });
  t.regex(await refusal(leaky, /leaves nothing/), /more of: TCPServerWrap/);
});

test.serial('an undo that fails, and a set-up that differs, are found', async (t) => {
  let round = 0;
  const leaky = testPlugin('leaky', {
    setup: (scope) => {
      round += 1;
      if (round === 2) scope.probe('second', async () => {});
      scope.defer(() => {
        throw new Error('still in use');
      });
    },
  });
  const said = await refusal(leaky, /leaves nothing/);
  t.regex(said, /still in use/);
  t.regex(said, /it registers something else at the second set-up/);
});

test.serial('a schema that cannot be compiled is found', async (t) => {
  const plugin = testPlugin('bad', {
    setup: (scope) =>
      scope.route(
        route({
          method: 'POST',
          path: '/bad',
          access: access.role('user'),
          summary: 'bad',
          schema: { body: { type: 'nonsense' } as never, responses: { 200: Type.Object({}) } },
          handle: () => ({}),
        }),
      ),
  });
  t.regex(await refusal(plugin, /summary and schemas/), /POST \/bad: schema\.body is no JSON Schema: .*type/);
});

test.serial('a route without schemas is found', async (t) => {
  const plugin = testPlugin('bare', {
    setup: (scope) =>
      scope.route(
        route({
          method: 'GET',
          path: '/bare/{id}',
          access: access.authenticated(),
          summary: 's',
          schema: { query: Type.Unsafe({ type: 'strin' }) },
          handle: () => 1,
        }),
      ),
  });
  const said = await refusal(plugin, /summary and schemas/);
  t.regex(said, /schema\.query is no JSON Schema: type must be JSONType/);
  t.regex(said, /GET \/bare\/\{id\}: schema\.params says nothing of \{id\}/);
  t.regex(said, /schema\.responses is empty/);
});

/** Keeps texts for all tenants in one list, as no plugin should. */
const careless = testPlugin('careless', {
  setup: (scope) => {
    const texts: { id: string; text: string }[] = [];
    const rule = { access: access.role('user'), summary: 's' };
    scope.route(
      route({
        ...rule,
        method: 'POST',
        path: '/texts',
        schema: { body: Type.Object({ text: Type.String() }), responses },
        handle: ({ body }) => {
          const made = { id: `t${texts.length}`, text: body.text };
          texts.push(made);
          return made;
        },
      }),
      route({ ...rule, method: 'GET', path: '/texts', schema: { responses }, handle: () => ({ texts }) }),
      route({
        ...rule,
        method: 'DELETE',
        path: '/texts/{id}',
        schema: { params: Type.Object({ id: Type.String() }), responses },
        handle: () => ({ deleted: true }),
      }),
    );
  },
});

test.serial('a list and a delete that cross tenants are found', async (t) => {
  const said = await refusal(careless, /crosses tenants/);
  t.regex(said, /GET \/texts shows a tenant what belongs to another one/);
  t.regex(said, /DELETE \/texts\/\{id\} of another tenant's record answers 200, not 404/);
});

test.serial('a reading route that proves nothing is told, unless it is shared', async (t) => {
  const plugin = testPlugin('clock', {
    setup: (scope) =>
      scope.route(
        route({
          method: 'GET',
          path: '/time',
          access: access.role('user'),
          summary: 's',
          schema: { responses },
          handle: () => ({ now: 1 }),
        }),
      ),
  });
  t.regex(await refusal(plugin, /crosses tenants/), /GET \/time shows its own tenant nothing/);
  t.is(await refusal(plugin, /crosses tenants/, { shared: ['GET /time'] }), '');
});

test.serial('a plugin that does not start is told with its reason', async (t) => {
  const broken = testPlugin('broken', {
    setup: () => {
      throw new Error('no luck');
    },
  });
  t.is(await refusal(broken, /tables/), 'broken does not start, it is failed: no luck');
});

test.serial('a gRPC method that shows a tenant what belongs to another one is found', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'conformance-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const proto = path.join(folder, 'texts.proto');
  await writeFile(
    proto,
    'syntax = "proto3"; package svc.texts.v1; service TextsService { rpc Get(GetRequest) returns (GetResponse); } ' +
      'message GetRequest { string id = 1; } message GetResponse { string text = 1; }',
  );
  const texts = new Map<string, string>();
  const plugin = testPlugin('texts', {
    setup: (scope) => {
      scope.route(
        route({
          method: 'POST',
          path: '/texts',
          access: access.role('user'),
          summary: 's',
          schema: { body: Type.Object({ text: Type.String() }), responses },
          handle: ({ body }) => {
            texts.set('t1', body.text);
            return { id: 't1' };
          },
        }),
      );
      scope.grpc(
        grpcService({
          proto,
          service: 'svc.texts.v1.TextsService',
          methods: {
            Get: grpcMethod({
              access: access.role('user'),
              effect: 'read',
              summary: 's',
              request: Type.Object({ id: Type.String() }),
              handle: ({ request }) => ({ text: texts.get(request.id) }),
            }),
          },
        }),
      );
    },
  });
  t.regex(
    await refusal(plugin, /crosses tenants/),
    /svc\.texts\.v1\.TextsService\/Get shows a tenant what belongs to another one/,
  );
});
