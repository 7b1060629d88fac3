import {
  createSweptUntil,
  type Database,
  eachRow,
  type Leases,
  type RetainedRecords,
  retainedRows,
} from 'agent-gateway';
import { ExecutionReceipt } from '../../store/receipts.ts';
import { Session, SessionMessageEntity } from '../../store/sessions.ts';
import { UsageRecordRow } from '../../store/usage.ts';
import { UsageDayRow, UsageDaySessionsRow } from '../../store/usage-days.ts';
import { dayOf } from '../metering/usage-period.ts';
import { type DeletionParts, deleteWholeSession } from '../sessions/delete-session.ts';
import { takeIdleSession } from '../sessions/session-lease.ts';

/** Sessions that are looked at together, and messages that one statement deletes. */
const SESSIONS = 200;
const MESSAGES = 1_000;

/** The kinds of records that grow without end. Memories do not: a user has a thousand at most. */
export function recordKinds(
  parts: DeletionParts & {
    readonly database: Pick<Database, 'forTenant' | 'system'>;
    readonly leases: Leases;
  },
): readonly RetainedRecords[] {
  const { database, leases } = parts;
  const sweepOfMessages = createSweptUntil();

  const sessions: RetainedRecords = {
    ...retainedRows(database, {
      name: 'sessions',
      summary: 'Sessions by their last turn, with their messages; receipts and usage stay',
      entity: Session,
      older: (before) => ({ updatedAt: { $lt: before } }),
    }),
    async *deleteBefore(tenantId, before, signal) {
      const entities = database.forTenant(tenantId);
      const query = { by: ['updatedAt', 'id'], fields: ['id', 'updatedAt'], page: SESSIONS } as const;
      for await (const { id, updatedAt } of eachRow(entities, Session, {}, query)) {
        signal.throwIfAborted();
        if (updatedAt >= before) return;
        await using lease = await takeIdleSession(leases, tenantId, id);
        // A turn of the session is in flight, so the session is no longer old.
        if (lease === undefined) continue;
        const deletion = { id, reason: 'retention', unusedSince: before } as const;
        yield (await deleteWholeSession(parts, entities, deletion)) ? 1 : 0;
      }
    },
  };

  const messages: RetainedRecords = {
    ...retainedRows(database, {
      name: 'session_messages',
      summary: 'Messages of sessions that go on: whole turns, by their end',
      entity: SessionMessageEntity,
      older: (before) => ({ createdAt: { $lt: before } }),
    }),
    async *deleteBefore(tenantId, before, signal) {
      const entities = database.forTenant(tenantId);
      const query = {
        by: ['updatedAt', 'id'],
        fields: ['id', 'createdAt', 'updatedAt'],
        page: SESSIONS,
      } as const;
      const { from, ended } = sweepOfMessages(tenantId, before);
      // A session that was not used since has lost all of its messages before.
      const used = from === undefined ? {} : { updatedAt: { $gte: from } };
      let old: string[] = [];
      const deleteOld = async () => {
        const theirs = { sessionId: { $in: old }, createdAt: { $lt: before } };
        const deleted = await entities.erase(SessionMessageEntity, theirs, MESSAGES);
        // A statement that is full may have left some.
        if (deleted < MESSAGES) old = [];
        return deleted;
      };
      for await (const { id, createdAt } of eachRow(entities, Session, used, query)) {
        signal.throwIfAborted();
        if (createdAt < before) old.push(id);
        while (old.length >= SESSIONS) yield await deleteOld();
      }
      while (old.length > 0) {
        signal.throwIfAborted();
        yield await deleteOld();
      }
      ended();
    },
  };

  const byDay = (before: Date) => ({ day: { $lt: dayOf(before) } });
  const records = retainedRows(database, {
    name: 'usage_records',
    summary:
      'Records of model calls and their cost, by whole days (UTC), with what reports say of these days',
    entity: UsageRecordRow,
    older: byDay,
  });
  const usage: RetainedRecords = {
    ...records,
    async *deleteBefore(tenantId, before, signal) {
      yield* records.deleteBefore(tenantId, before, signal);
      // The sums are deleted last: if the process dies before that, the next sweep repeats this step.
      const entities = database.forTenant(tenantId);
      await entities.erase(UsageDayRow, byDay(before));
      await entities.erase(UsageDaySessionsRow, byDay(before));
    },
  };

  return [
    sessions,
    messages,
    usage,
    retainedRows(database, {
      name: 'execution_receipts',
      summary: 'Receipts of what agents did with tools, by their end',
      entity: ExecutionReceipt,
      older: (before) => ({ createdAt: { $lt: before } }),
    }),
  ];
}
