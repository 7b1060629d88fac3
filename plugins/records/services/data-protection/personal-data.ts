import {
  type Clock,
  type Database,
  type DurableEvents,
  eachRow,
  type Ids,
  type Jobs,
  type Leases,
  type Objects,
  type PersonalData,
  type PersonalRecord,
  type PersonalSection,
  type TenantEntityManager,
} from 'agent-gateway';
import {
  ofOwner,
  type SessionData,
  SessionsDeleted,
  SkillErrors,
  type Skills,
  type Souls,
  storedName,
} from '../../contract.ts';
import { eraseRecords } from '../../store/erasure.ts';
import { MemoryEntity, ProfileEntity } from '../../store/memories.ts';
import { ExecutionReceipt } from '../../store/receipts.ts';
import { eachMessage, Session, SessionMessageEntity, type SessionRow } from '../../store/sessions.ts';
import { UsageRecordRow } from '../../store/usage.ts';
import { addUpAgain } from '../metering/usage-rollup.ts';
import { toRecord } from '../metering/usage-row.ts';
import { toReceipt } from '../receipts.ts';
import { ForgetSkills } from '../skills/tenant-objects.ts';
import { haltTurns } from './halt-turns.ts';

/** Receipts that are read at one time, since they may be large. */
const LARGE = 50;

/** What the records are exported and erased with. */
interface PersonalDataParts {
  readonly database: Database;
  readonly objects: Pick<Objects, 'available'>;
  readonly leases: Leases;
  readonly jobs: Pick<Jobs, 'publish'>;
  readonly durableEvents: Pick<DurableEvents, 'publish'>;
  /** Data of plugins that is deleted with a session. */
  readonly sessionData: () => readonly SessionData[];
  readonly skills: Pick<Skills, 'list' | 'read'>;
  readonly souls: Pick<Souls, 'read'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
}

/**
 * What the records keep about people (decisions 1.5): sessions with their messages, memories, profiles, receipts,
 * usage; and what belongs to the tenant and to no user: skills and SOUL.md, which are objects and which a job deletes
 * after an erasure. The built-in ones come back afterwards.
 */
export function createPersonalData(parts: PersonalDataParts): PersonalData {
  const { database, objects, leases, jobs, durableEvents, sessionData, skills, souls, clock, ids } = parts;

  /** A section of rows of the tenant, or of the user's rows, which `whose` selects. */
  const section = (
    name: string,
    entities: PersonalSection['entities'],
    read: (entities: TenantEntityManager, userId: string | undefined) => AsyncIterable<PersonalRecord>,
  ): PersonalSection => ({
    name,
    entities,
    read: ({ tenantId, userId }) => read(database.forTenant(tenantId), userId),
  });

  async function* skillRecords(tenantId: string): AsyncGenerator<PersonalRecord> {
    for (const { userModified: user_modified, ...skill } of await skills.list(tenantId)) {
      try {
        yield { ...skill, user_modified, text: await skills.read(tenantId, skill.name) };
      } catch (error) {
        // Deleted meanwhile.
        const isGone = SkillErrors.notFound.is(error);
        if (!isGone) throw error;
      }
    }
  }

  async function* soulRecords(tenantId: string): AsyncGenerator<PersonalRecord> {
    const text = await souls.read(tenantId);
    if (text !== undefined) yield { text };
  }

  /** Nothing of one user, and nothing where there is no object storage. */
  const ofTenant = (
    name: string,
    records: (tenantId: string) => AsyncGenerator<PersonalRecord>,
  ): PersonalSection => ({
    name,
    entities: [],
    async *read({ tenantId, userId }) {
      if (userId === undefined && objects.available) yield* records(tenantId);
    },
  });

  return {
    name: 'records',
    sections: [
      section('sessions', [Session, SessionMessageEntity], sessionRecords),
      section('memories', [MemoryEntity], memoryRecords),
      section('profiles', [ProfileEntity], profileRecords),
      section('execution_receipts', [ExecutionReceipt], receiptRecords),
      section('usage_records', [UsageRecordRow], usageRecords),
      ofTenant('skills', skillRecords),
      ofTenant('souls', soulRecords),
    ],

    halt: (scope, signal) => haltTurns({ leases, database, clock }, scope, signal),

    async erase(entities, { userId }) {
      const user = userId === undefined ? undefined : { userId, storedName: storedName(userId) };
      const erased = await eraseRecords(entities, user, async (ids) => {
        // What others have done in the user's sessions holds the user's words; of a whole tenant, plugins erase all
        // they have.
        if (user !== undefined)
          for (const id of ids) for (const { remove } of sessionData()) await remove(entities, id);
        await durableEvents.publish(entities, SessionsDeleted, { session_ids: [...ids], reason: 'erasure' });
      });
      if (erased.usage_records > 0) await addUpAgain(entities, ids);
      if (user === undefined && objects.available)
        await jobs.publish(entities, ForgetSkills, { before: clock.now() });
      return erased;
    },
  };
}

async function* sessionRecords(entities: TenantEntityManager, userId: string | undefined) {
  const name = userId === undefined ? undefined : storedName(userId);
  for (const where of ofOwner(name)) {
    for await (const session of eachRow(entities, Session, where, { by: ['id'] })) {
      yield { ...sessionRecord(session), messages: messageRecords(entities, session.id) };
    }
  }
}

function sessionRecord(session: SessionRow): PersonalRecord {
  const { id, identityId, userId, model, turns, inputTokens, outputTokens, createdAt, updatedAt } = session;
  return {
    id,
    identity_id: identityId,
    user_id: userId,
    model,
    turns,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}

async function* messageRecords(entities: TenantEntityManager, sessionId: string) {
  for await (const { id, seq, message, tokenCount, createdAt } of eachMessage(entities, sessionId))
    yield { id, seq, ...JSON.parse(message), token_count: tokenCount, created_at: createdAt };
}

async function* memoryRecords(entities: TenantEntityManager, userId: string | undefined) {
  const fields = ['id', 'userId', 'key', 'value', 'metadata', 'createdAt', 'updatedAt'] as const;
  const where = userId === undefined ? {} : { userId };
  const by = userId === undefined ? (['userId', 'key'] as const) : (['key'] as const);
  for await (const memory of eachRow(entities, MemoryEntity, where, { by, fields })) {
    const { id, userId: user_id, key, value, metadata, createdAt, updatedAt } = memory;
    yield {
      id,
      user_id,
      key,
      value: JSON.parse(value),
      metadata: JSON.parse(metadata),
      created_at: createdAt,
      updated_at: updatedAt,
    };
  }
}

async function* profileRecords(entities: TenantEntityManager, userId: string | undefined) {
  const where = userId === undefined ? {} : { userId };
  const by = userId === undefined ? (['userId'] as const) : (['id'] as const);
  for await (const { text, ...profile } of eachRow(entities, ProfileEntity, where, { by })) {
    yield { user_id: profile.userId, text: JSON.parse(text), updated_at: profile.updatedAt };
  }
}

async function* receiptRecords(entities: TenantEntityManager, userId: string | undefined) {
  const where = userId === undefined ? {} : { userId: storedName(userId) };
  const query = { by: ['createdAt', 'id'], page: LARGE } as const;
  for await (const row of eachRow(entities, ExecutionReceipt, where, query)) {
    const { id, sessionId, toolName, input, output, status, ...receipt } = toReceipt(row);
    yield {
      id,
      session_id: sessionId,
      user_id: receipt.userId,
      tool_name: toolName,
      input,
      output,
      status,
      duration_ms: receipt.durationMs,
      idempotency_id: receipt.idempotencyId,
      request_id: receipt.requestId,
      trace_id: receipt.traceId,
      started_at: receipt.startedAt,
      created_at: receipt.createdAt,
    };
  }
}

async function* usageRecords(entities: TenantEntityManager, userId: string | undefined) {
  const name = userId === undefined ? undefined : storedName(userId);
  for (const where of ofOwner(name)) {
    for await (const row of eachRow(entities, UsageRecordRow, where, { by: ['day', 'id'] })) {
      const { id, sessionId, userId: user_id, source, model, provider, ...use } = toRecord(row);
      yield {
        id,
        session_id: sessionId,
        user_id,
        identity_id: use.identityId,
        source,
        model,
        provider,
        input_tokens: use.inputTokens,
        output_tokens: use.outputTokens,
        cache_read_tokens: use.cacheReadTokens,
        cache_write_tokens: use.cacheWriteTokens,
        cost_usd: use.costUsd,
        estimated: use.isEstimated,
        created_at: use.createdAt,
        request_id: use.requestId,
        trace_id: use.traceId,
        started_at: use.startedAt,
        duration_ms: use.durationMs,
        status: use.status,
      };
    }
  }
}
