import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defineEntity } from '@mikro-orm/core';
import test from 'ava';
import { sql } from 'kysely';
import Type from 'typebox';
import { resolveKernelForPlugins } from '../../../foundation/code/resolve-hook.ts';
import {
  column,
  type Database,
  eachRow,
  type Migration,
  type TenantEntityManager,
} from '../../../foundation/data/database.ts';
import type {
  Erasure,
  PersonalData,
  PersonalDataRequest,
  PersonalRecord,
} from '../../../foundation/protection/personal-data.ts';
import { TenantDeleted } from '../../../foundation/tables/lifecycle-events.ts';
import { access } from '../../../kernel/api/access.ts';
import { grpcMethod, grpcService } from '../../../kernel/api/grpc.ts';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import { PersonalDataPoint } from '../../../kernel/api/points.ts';
import { route } from '../../../kernel/api/route.ts';
import { type ConformanceOptions, pluginConformance } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

// The example is a package of its own.
resolveKernelForPlugins();
const example = new URL('../../../examples/plugins/notes/plugin.ts', import.meta.url).href;
const { default: notes } = (await import(example)) as { default: Plugin };

for (const { title, run } of pluginConformance(notes)) {
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

test.serial('a subscription is no job that has to be listed', async (t) => {
  const attentive = testPlugin('attentive', {
    setup: (scope) => scope.subscribe(TenantDeleted, async () => {}),
  });
  t.is(await refusal(attentive, /leaves nothing/), '');
});

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
  t.regex(await refusal(leaky, /leaves nothing/), /a server that listens (is|was) left/);
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
      route({
        ...rule,
        method: 'POST',
        path: '/texts/{id}/archive',
        schema: { params: Type.Object({ id: Type.String() }), responses },
        handle: () => ({ archived: true }),
      }),
    );
  },
});

test.serial('a list, a delete and an action that cross tenants are found', async (t) => {
  const said = await refusal(careless, /crosses tenants/);
  t.regex(said, /GET \/texts shows a tenant what belongs to another one/);
  t.regex(said, /DELETE \/texts\/\{id\} of another tenant's record answers 200, not 404/);
  t.regex(said, /POST \/texts\/\{id\}\/archive of another tenant's record answers 200, not 404/);
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
    'syntax = "proto3"; package svc.texts.v1; service TextsService { rpc Get(GetRequest) returns (GetResponse); ' +
      'rpc Drop(GetRequest) returns (GetResponse); } ' +
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
            Drop: grpcMethod({
              access: access.role('user'),
              summary: 's',
              request: Type.Object({ id: Type.String() }),
              handle: ({ request }) => {
                texts.delete(request.id);
                return {};
              },
            }),
          },
        }),
      );
    },
  });
  const said = await refusal(plugin, /crosses tenants/);
  t.regex(said, /svc\.texts\.v1\.TextsService\/Get shows a tenant what belongs to another one/);
  t.regex(said, /TextsService\/Drop of one tenant changes what \S+\/Get shows to another one/);
});

const Diary = defineEntity({
  name: 'Diary',
  tableName: 'diaries',
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    userId: column.string(255),
    text: column.text(),
  },
});
const diaries: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('diaries')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('text', types.text, (is) => is.notNull()),
  ],
};

/** Keeps a diary of users, and says of it what the test wants. */
function diary(
  {
    read,
    erase,
  }: Partial<{
    read(database: Database, request: PersonalDataRequest): AsyncIterable<PersonalRecord>;
    erase: PersonalData['erase'];
  }> = {},
  entities: Plugin['entities'] = [Diary],
): Plugin {
  return testPlugin('diary', {
    entities: entities!,
    migrations: [diaries],
    setup(scope) {
      const { database } = scope.services;
      scope.route(
        route({
          method: 'POST',
          path: '/diary',
          access: access.role('user'),
          summary: 's',
          schema: { body: Type.Object({ text: Type.String() }), responses },
          handle: async (call) => {
            await call.entities().insert(Diary, { id: call.tenant.id, userId: 'ada', text: call.body.text });
            return {};
          },
        }),
      );
      if (read === undefined || erase === undefined) return;
      scope.contribute(PersonalDataPoint, {
        name: 'diary',
        sections: [{ name: 'diaries', entities: [Diary], read: (request) => read(database, request) }],
        erase,
      });
    },
  });
}

const wanted = ({ userId }: { readonly userId?: string | undefined }) =>
  userId === undefined ? {} : { userId };
const right = {
  read: (database: Database, request: PersonalDataRequest) =>
    eachRow(database.forTenant(request.tenantId), Diary, wanted(request), { by: ['id'] }),
  erase: async (entities: TenantEntityManager, erasure: Erasure) => ({
    diaries: await entities.erase(Diary, wanted(erasure)),
  }),
};
const PEOPLE = /about people/;

test.serial('a table of tenants that nobody exports is found, unless it says why', async (t) => {
  t.is(
    await refusal(diary(), PEOPLE),
    "rows of diaries belong to tenants, and are not exported or erased: contribute to PersonalDataPoint with a section that has Diary, or register it as { entity: Diary, impersonal: 'why it holds nothing of persons' }",
  );
  t.is(await refusal(diary({}, [{ entity: Diary, impersonal: 'a test' }]), PEOPLE), '');
  t.is(await refusal(diary(right), PEOPLE), '');
});

test.serial('an export that shows too much, or nothing, is found', async (t) => {
  const all = (database: Database) =>
    (async function* () {
      yield* await database.system().find(Diary, {});
    })();
  const crossing = await refusal(diary({ ...right, read: all }), PEOPLE);
  t.regex(crossing, /the section diaries shows a tenant what belongs to another one/);
  const careless = diary({
    ...right,
    read: (database, { tenantId }) => right.read(database, { tenantId } as never),
  });
  t.regex(await refusal(careless, PEOPLE), /the section diaries shows a user what is not his/);
  const silent = diary({ ...right, read: async function* () {} });
  t.regex(await refusal(silent, PEOPLE), /the section diaries shows nothing, and its tables have 1 rows/);
});

test.serial('an erasure that takes too much, or too little, is found', async (t) => {
  const idle = diary({ ...right, erase: async () => ({ diaries: -1 }) });
  const said = await refusal(idle, PEOPLE);
  t.regex(said, /an erasure leaves 2 rows in diaries/);
  t.regex(said, /the number of erased diaries is no whole number/);
  const greedy = diary({
    ...right,
    erase: async (entities) => ({ diaries: await entities.erase(Diary, {}) }),
  });
  t.regex(await refusal(greedy, PEOPLE), /an erasure of one user takes rows of diaries that are not his/);
});

test.serial('a table into which no row can be put proves nothing', async (t) => {
  const strict: Migration = {
    name: '001-initial',
    up: (schema, types, queries) => [
      ...diaries.up(schema, types, queries),
      schema.alterTable('diaries').addColumn('never', types.text, (is) => is.check(sql`never is not null`)),
    ],
  };
  const plugin = { ...diary(right), migrations: [strict] };
  t.regex(
    await refusal(plugin, PEOPLE),
    /no row can be made for diaries, so whether it is erased cannot be checked; let "seed" make one: /,
  );
});
