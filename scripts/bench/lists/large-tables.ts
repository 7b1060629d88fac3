import type { EntityName } from '@mikro-orm/core';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import type { Database } from '../../../foundation/data/database.ts';
import { ApiKey } from '../../../foundation/tables/api-key.ts';
import { AuditLog, actionKey } from '../../../foundation/tables/audit-log.ts';
import { Tenant } from '../../../foundation/tables/tenant.ts';
import { hashApiKey } from '../../../kernel/auth/api-key-store.ts';
import { ExecutionReceipt } from '../../../plugins/records/store/receipts.ts';
import { Session } from '../../../plugins/records/store/sessions.ts';
import { UsageRecordRow } from '../../../plugins/records/store/usage.ts';
import { ConversationEntity } from '../../../plugins/runtime/store/conversations.ts';
import { FileEntity } from '../../../plugins/runtime/store/files.ts';
import { gatewayDefinitions, gatewayTables } from '../../../plugins/workflow/store/tables.ts';

/** Rows of each kind. */
export interface Sizes {
  readonly usage: number;
  readonly sessions: number;
  readonly receipts: number;
  readonly audit: number;
  readonly runs: number;
  readonly conversations: number;
  readonly definitions: number;
  readonly files: number;
  /** What part of all this the largest tenant has; default 0.6. */
  readonly largest?: number;
  /** Days over which the rows are spread; default 24 months. */
  readonly days?: number;
}

/** The sizes with what they leave out. */
export function completed(sizes: Sizes): Required<Sizes> {
  return { largest: 0.6, days: DAYS, ...sizes };
}

/** The facts about the rows that questions need. */
export interface Filled {
  /** A session of the large tenant that has calls and receipts, and the request of the last of them. */
  readonly sessionId: string;
  readonly requestId: string;
}

/** What parts the other nineteen tenants have of the rest. */
const SHARES = [38, 15, 10, 5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 1, 1, 1, 1] as const;
const TENANTS = Array.from({ length: SHARES.length + 1 }, (_, index) => idOf('a', index));

/** The tenant that has more than half of everything, and one that has little. */
export const LARGE_TENANT = TENANTS[0]!;
export const SMALL_TENANT = TENANTS.at(-1)!;

const OPERATOR = '00000000-0000-0000-0000-000000000001';

/**
 * Raw keys of the filled database: of an administrator of the large tenant, of a user to whom a tenth of its rows
 * belongs, and of the operator.
 */
export const KEYS = {
  admin: 'hk_administrator_of_the_large_tenant_of_a_benchmark',
  user: 'hk_user_of_the_large_tenant_of_a_benchmark',
  operator: 'hk_operator_of_a_benchmark',
} as const;

const USER = idOf('b', 1);
const GRANTS = [
  [
    KEYS.admin,
    { id: idOf('b', 0), tenantId: LARGE_TENANT, roles: ['admin', 'auditor', 'owner'], scopes: [] },
  ],
  [KEYS.user, { id: USER, tenantId: LARGE_TENANT, roles: ['user'], scopes: [] }],
  [
    KEYS.operator,
    { id: idOf('b', 2), tenantId: OPERATOR, roles: ['admin'], scopes: ['read', 'write', 'execute', 'admin'] },
  ],
] as const;

const DAY = 24 * 60 * 60 * 1000;
/** 24 months. */
const DAYS = 730;
/** Audit records are kept for 90 days. */
const AUDIT_DAYS = 85;
/** Rows of one statement. */
const BATCH = 1000;

const MODELS = ['fast', 'smart', 'cheap', 'reasoning', 'vision', 'code', 'long', 'local'] as const;
const TOOLS = ['calculator', 'http_fetch', 'memory_search', 'current_time'] as const;
/** One receipt in a thousand. */
export const RARE_TOOL = 'run_code';
const PATHS = ['chat/completions', 'me', 'sessions', 'memories', 'usage'] as const;

/**
 * Fills the tables of lists and reports, which have to be registered: 24 months of usage, twenty tenants of very uneven
 * size. Equal sizes give equal rows, but for their ids and, by `now`, their times.
 */
export async function fillTables(database: Database, sizes: Sizes, now: number): Promise<Filled> {
  const random = randomFrom(4711);
  const below = (count: number) => Math.floor(random() * count);
  let moment = now;
  const ids = createIds({ ...systemClock, now: () => moment });
  const at = (time: number) => {
    moment = Math.floor(time);
    return new Date(moment);
  };
  const { write, flush } = createWriter(database);
  const { largest, days: allDays } = completed(sizes);
  const ownerIn = (tenantId: string) =>
    tenantId === LARGE_TENANT && random() < 0.1
      ? { identityId: USER, userId: USER }
      : { identityId: `key-${below(20)}`, userId: `user-${below(500)}` };
  /** Evenly over the last `days`, oldest first. */
  const spread = async (
    count: number,
    days: number,
    writeRow: (time: number, tenantId: string, index: number) => Promise<void>,
  ) => {
    const first = now - days * DAY;
    for (let index = 0; index < count; index += 1)
      await writeRow(first + (index * days * DAY) / count, chosenTenant(random(), largest), index);
  };
  let known: Filled = { sessionId: '', requestId: '' };

  async function writeSession(start: number, tenantId: string, index: number): Promise<void> {
    const owner = ownerIn(tenantId);
    // Most sessions are over within the hour; one in ten comes back for a month.
    const length = Math.min(random() < 0.1 ? 30 * DAY : DAY / 24, now - start);
    const createdAt = at(start);
    const sessionId = ids.uuid();
    const calls = share(sizes.usage, sizes.sessions, index);
    let requestId = ids.uuid();
    let updatedAt = createdAt;
    for (let call = 0; call < calls; call += 1) {
      updatedAt = at(start + (length * call) / calls);
      requestId = ids.uuid();
      const model = MODELS[below(MODELS.length)]!;
      await write(UsageRecordRow, tenantId, {
        id: ids.uuid(),
        sessionId,
        ...owner,
        source: 'chat',
        model,
        provider: 'openai',
        providerModel: `${model}-2026`,
        inputTokens: 200 + below(4000),
        outputTokens: below(1000),
        cacheReadTokens: below(200),
        cacheWriteTokens: 0,
        estimated: below(50) === 0 ? 1 : 0,
        costMicros: below(5000),
        costPicos: below(1_000_000),
        day: updatedAt.toISOString().slice(0, 10),
        createdAt: updatedAt,
        requestId,
        traceId: null,
        startedAt: updatedAt,
        durationMs: below(20_000),
        status: 'success',
      });
    }
    const receipts = share(sizes.receipts, sizes.sessions, index);
    for (let receipt = 0; receipt < receipts; receipt += 1) {
      await write(ExecutionReceipt, tenantId, {
        id: ids.uuid(),
        sessionId,
        userId: owner.userId,
        requestId,
        traceId: null,
        toolName: below(1000) === 0 ? RARE_TOOL : TOOLS[below(TOOLS.length)]!,
        input: '"{\\"expression\\":\\"1 + 1\\"}"',
        output: JSON.stringify('x'.repeat(300)),
        status: below(20) === 0 ? 'error' : 'success',
        durationMs: below(3000),
        idempotencyId: null,
        idempotencyKey: null,
        createdAt: updatedAt,
        startedAt: updatedAt,
      });
    }
    if (tenantId === LARGE_TENANT && calls > 0 && receipts > 0) known = { sessionId, requestId };
    await write(Session, tenantId, {
      id: sessionId,
      ...owner,
      model: 'fast',
      turns: calls,
      messageCount: 2 * calls,
      messageBytes: 1000 * calls,
      inputTokens: 2000 * calls,
      outputTokens: 500 * calls,
      createdAt,
      updatedAt,
    });
  }

  async function writeAudit(time: number, tenantId: string): Promise<void> {
    const isDenied = below(50) === 0;
    const action = isDenied ? 'egress.denied' : `POST /v1/${PATHS[below(PATHS.length)]}`;
    await write(AuditLog, tenantId, {
      tenantId,
      createdAt: at(time),
      id: ids.uuid(),
      userId: `key-${below(20)}`,
      action,
      detail: isDenied ? { host: 'example.org', port: 443, reason: 'rule' } : { body: ['model', 'messages'] },
      actionKey: actionKey(action),
      requestId: ids.uuid(),
      statusCode: 200,
      latencyMs: below(900),
      sessionId: null,
      sourceIp: '10.0.0.1',
      userAgent: 'benchmark',
      authMethod: 'api_key',
      errorCode: below(100) === 0 ? 'RATE_LIMITED' : null,
    });
  }

  async function writeRun(time: number, tenantId: string): Promise<void> {
    const startedAt = Math.floor(at(time).getTime());
    await write(gatewayTables.runs, tenantId, {
      tenantId,
      id: ids.uuid(),
      definitionId: idOf('c', below(20)),
      versionId: idOf('d', 0),
      version: 1,
      status: below(20) === 0 ? 'cancelled' : 'completed',
      revision: 9,
      seq: 30,
      input: '{"text":"hello"}',
      variables: '{}',
      error: null,
      owner: null,
      wakeAt: null,
      startedBy: 'key-1',
      startedAt,
      completedAt: startedAt + 500,
      updatedAt: startedAt + 500,
    });
  }

  async function writeDefinition(time: number, tenantId: string, index: number): Promise<void> {
    const createdAt = at(time).getTime();
    await write(gatewayDefinitions.definitions, tenantId, {
      tenantId,
      id: ids.uuid(),
      name: JSON.stringify(`Definition ${index}`),
      description: '""',
      graph: '{"nodes":[],"edges":[]}',
      status: 'draft',
      latestVersion: null,
      revision: 1,
      createdBy: 'key-1',
      createdAt,
      updatedAt: createdAt,
    });
  }

  async function writeConversation(time: number, tenantId: string, index: number): Promise<void> {
    const createdAt = at(time);
    await write(ConversationEntity, tenantId, {
      id: ids.uuid(),
      tenantId,
      ...ownerIn(tenantId),
      botId: `bot-${below(10)}`,
      title: JSON.stringify(`Conversation ${index}`),
      metaData: '{}',
      createdAt,
      updatedAt: createdAt,
    });
  }

  async function writeFile(time: number, tenantId: string, index: number): Promise<void> {
    await write(FileEntity, tenantId, {
      createdAt: at(time),
      id: ids.uuid(),
      tenantId,
      ...ownerIn(tenantId),
      filename: `file-${index}.txt`,
      mimeType: 'text/plain',
      size: below(100_000),
    });
  }

  await writePeople(database, new Date(now - allDays * DAY));
  await spread(sizes.sessions, allDays, writeSession);
  await spread(sizes.audit, Math.min(allDays, AUDIT_DAYS), writeAudit);
  await spread(sizes.runs, allDays, writeRun);
  await spread(sizes.definitions, allDays, writeDefinition);
  await spread(sizes.conversations, allDays, writeConversation);
  await spread(sizes.files, allDays, writeFile);
  await flush();
  return known;
}

/** Tenants and keys. */
async function writePeople(database: Database, createdAt: Date): Promise<void> {
  const system = database.system();
  await system.insertMany(
    Tenant,
    TENANTS.map((id, index) => ({
      id,
      name: `Tenant ${index}`,
      plan: 'enterprise',
      rateLimitRpm: 1_000_000,
      maxSessions: 1000,
      createdAt,
      updatedAt: createdAt,
      deletedAt: null,
      purgeAfter: null,
      purgeStartedAt: null,
      purgedAt: null,
    })),
  );
  await system.nativeUpdate(Tenant, { id: OPERATOR }, { rateLimitRpm: 1_000_000 });
  await system.insertMany(
    ApiKey,
    GRANTS.map(([raw, grant]) => ({
      ...grant,
      roles: [...grant.roles],
      scopes: [...grant.scopes],
      name: 'bench',
      createdAt,
      prefix: raw.slice(0, 8),
      hash: hashApiKey(raw),
      createdBy: null,
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
    })),
  );
}

/** Writes rows, many in a statement. */
function createWriter(database: Database) {
  const waiting = new Map<EntityName<object>, Map<string, object[]>>();
  const send = (entity: EntityName<object>, tenantId: string, rows: readonly object[]) =>
    database.forTenant(tenantId).insertMany(entity, rows as never);
  return {
    async write<E extends object>(entity: EntityName<E>, tenantId: string, row: object): Promise<void> {
      const ofEntity = waiting.get(entity as EntityName<object>) ?? new Map<string, object[]>();
      waiting.set(entity as EntityName<object>, ofEntity);
      const rows = ofEntity.get(tenantId) ?? [];
      ofEntity.set(tenantId, rows);
      if (rows.push(row) < BATCH) return;
      ofEntity.delete(tenantId);
      await send(entity as EntityName<object>, tenantId, rows);
    },
    async flush(): Promise<void> {
      for (const [entity, ofEntity] of waiting) {
        for (const [tenantId, rows] of ofEntity) await send(entity, tenantId, rows);
      }
    },
  };
}

/** The tenant at a place between 0 and 1, of which the largest tenant has the first part. */
function chosenTenant(place: number, largest: number): string {
  if (place < largest) return LARGE_TENANT;
  let rest = (100 * (place - largest)) / (1 - largest);
  const index = SHARES.findIndex((part) => {
    rest -= part;
    return rest < 0;
  });
  return TENANTS[index + 1] ?? SMALL_TENANT;
}

/** How many of `items` the group `index` of `groups` has: as equal as whole numbers can be. */
function share(items: number, groups: number, index: number): number {
  return Math.floor(((index + 1) * items) / groups) - Math.floor((index * items) / groups);
}

function idOf(kind: string, index: number): string {
  return `${kind.repeat(8)}-0000-7000-8000-${String(index).padStart(12, '0')}`;
}

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
