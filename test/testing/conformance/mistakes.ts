import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { defineEntity } from '@mikro-orm/core';
import Type from 'typebox';
import { column, type Migration } from '../../../foundation/data/database.ts';
import { defineHint } from '../../../foundation/messages/hints/hints.ts';
import { defineKind } from '../../../foundation/resources/kind.ts';
import { access } from '../../../kernel/api/access.ts';
import type { Plugin, PluginDefinition } from '../../../kernel/api/plugin.ts';
import { extensionPoint, serviceRef } from '../../../kernel/api/refs.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { type Route, type RouteDefinition, route } from '../../../kernel/api/route.ts';
import { testPlugin } from '../../support/plugins.ts';

/** Plugins that each do one thing wrong, as the authors of a trial did. */

const responses = { 200: Type.Object({}) };
const rule = { access: access.role('user'), summary: 's' };

/** A plugin with one route, `POST /v1/<name>`, that nobody reads. */
function posting(name: string, handle: Route['handle'], more: Partial<RouteDefinition> = {}): Plugin {
  return testPlugin(name, {
    setup: (scope) =>
      scope.route(
        route({ ...rule, method: 'POST', path: `/v1/${name}`, schema: { responses }, handle, ...more }),
      ),
  });
}

function settingUp(name: string, setup: PluginDefinition['setup']): Plugin {
  return testPlugin(name, { setup });
}

// In the set-up.

export const throwing = settingUp('throwing', () => {
  throw new Error('no luck'); // at: throwing
});
export const hanging = settingUp('hanging', () => new Promise(() => {}));
export const tooNew = testPlugin('too-new', { kernel: '^9.0.0' });
export const badMigration = testPlugin('bad-migration', {
  migrations: [{ name: '001-initial', up: (schema) => [schema.dropTable('never_made')] }],
});
const OtherRef = serviceRef<object>('round-about.other');
const RoundRef = serviceRef<object>('round.round');
export const round = testPlugin('round', { needs: { other: OtherRef }, offers: [RoundRef] });
export const roundAbout = testPlugin('round-about', { needs: { round: RoundRef }, offers: [OtherRef] });

// What the bundled plugins have already.

const Session = defineEntity({
  name: 'OwnSession',
  tableName: 'sessions',
  properties: { id: column.id().primary(), tenantId: column.tenant() },
});
export const takesRoute = settingUp('takes-route', (scope) =>
  scope.route(
    route({ ...rule, method: 'GET', path: '/v1/models', schema: { responses }, handle: () => ({}) }),
  ),
);
export const takesKind = settingUp('takes-kind', (scope) => {
  scope.kind(defineKind({ kind: 'Model', summary: 's', spec: Type.Object({}), build: () => ({}) }));
});
export const takesTable = testPlugin('takes-table', { entities: [Session] });
const SessionsRef = serviceRef<object>('records.sessions');
export const takesService = testPlugin('takes-service', {
  offers: [SessionsRef],
  setup: (scope) => scope.provide(SessionsRef, {}),
});
export const takesPoint = testPlugin('takes-point', { points: [extensionPoint('agent-engine.tools')] });
export const takesHint = settingUp('takes-hint', (scope) => {
  scope.onHint(defineHint('workflow.look', Type.Any()), async () => {});
});

// Left behind.

/** For the test to clear. */
export const timers: NodeJS.Timeout[] = [];
export const leavesTimer = settingUp('leaves-timer', () => {
  timers.push(setTimeout(() => {}, 600_000)); // at: timer
});
export const leavesInterval = settingUp('leaves-interval', () => {
  setInterval(() => {}, 1000); // at: interval
});
export const leavesServer = settingUp('leaves-server', () => {
  createServer().listen(0, '127.0.0.1'); // at: server
});
export const failingUndo = settingUp('failing-undo', (scope) => {
  scope.defer(() => {
    throw new Error('still in use');
  });
});
let rounds = 0;
export const differing = settingUp('differing', (scope) => {
  rounds += 1;
  if (rounds % 2 === 0) scope.probe('second', async () => {});
});

// In handlers.

export const failing = posting('failing', () => {
  throw new Error('boom'); // at: failing
});
export const failingText = posting('failing-text', () => {
  throw 'a text';
});
export const circular = posting('circular', () => {
  const one: Record<string, unknown> = {};
  one.self = one;
  return one;
});
export const big = posting('big', () => ({ one: 1n }));
export const badHeader = posting('bad-header', () => reply.json(200, {}, { 'x-odd': 'a\r\nb: c' }));
export const forgetful = posting('forgetful', () => undefined);
const seen = new Set<string>();
export const onceOnly = posting('once-only', ({ tenant }) => {
  if (seen.has(tenant!.id)) throw new Error('duplicate key'); // at: once-only
  seen.add(tenant!.id);
  return {};
});
export const undeclared = posting('undeclared', () => reply.json(202, {}));
export const offSchema = posting('off-schema', () => ({ count: 'many' }), {
  schema: { responses: { 200: Type.Object({ count: Type.Integer() }) } },
});
export const endless = posting('endless', () => new Promise(() => {}));
export const deaf = posting('deaf', () =>
  reply.sse(async (stream) => {
    stream.data('{}');
    await new Promise(() => {});
  }),
);
export const breaking = posting('breaking', () =>
  reply.sse(async (stream) => {
    stream.data('{}');
    throw new Error('half way'); // at: breaking
  }),
);
export const busy = posting('busy', () => {
  const begun = process.threadCpuUsage();
  while (process.threadCpuUsage(begun).user < 300_000);
  return {};
});

// Left to themselves.

export const notAwaited = posting('not-awaited', () => {
  const later = async () => {
    throw new Error('too late'); // at: not-awaited
  };
  void later();
  return {};
});
export const throwingTimer = posting('throwing-timer', () => {
  setTimeout(() => {
    throw new Error('in a timer'); // at: throwing-timer
  }, 10);
  return {};
});
export const throwingEmitter = posting('throwing-emitter', () => {
  const emitter = new EventEmitter();
  setImmediate(() => emitter.emit('error', new Error('in an emitter'))); // at: throwing-emitter
  return {};
});
export const throwingSetup = settingUp('throwing-setup', () => {
  void Promise.reject(new Error('in the set-up')); // at: throwing-setup
});

// Tables.

const Thing = defineEntity({
  name: 'Thing',
  tableName: 'things',
  properties: { id: column.id().primary(), tenantId: column.tenant(), late: column.string(10) },
});
const withoutLate: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('things')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull()),
  ],
};
export const drifting = testPlugin('drifting', {
  entities: [{ entity: Thing, impersonal: 'a test' }],
  migrations: [withoutLate],
});

const SOURCE = readFileSync(fileURLToPath(import.meta.url), 'utf8').split('\n');

/** ` (mistakes.ts:12)`: where the mistake of that name is made. */
export function at(name: string): string {
  return ` (mistakes.ts:${SOURCE.findIndex((line) => line.endsWith(`// at: ${name}`)) + 1})`;
}
