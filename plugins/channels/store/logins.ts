import { type Database, eraseExpired, type TenantEntityManager, writes } from 'agent-gateway';
import {
  type LinkRow,
  LinkTable,
  type SessionRow,
  SessionTable,
  type StateRow,
  StateTable,
} from './tables.ts';

/** The link of an app by the hash of its challenge, unless it is too old. */
export async function findLink(
  entities: TenantEntityManager,
  where: Pick<LinkRow, 'id' | 'channelAppId'>,
  now: Date,
): Promise<LinkRow | undefined> {
  const [link] = await entities.rows(LinkTable, { ...where, expiresAt: { $gt: now } }, { limit: 1 });
  return link;
}

/** Uses a link up: a login begins with it. False where another login has used it meanwhile; then nothing is written. */
export function beginLogin(
  entities: TenantEntityManager,
  { id }: Pick<LinkRow, 'id'>,
  { tenantId: _, ...state }: StateRow,
): Promise<boolean> {
  return entities.writeTogether([
    writes.delete(LinkTable, { id }, { expect: 1 }),
    writes.insert(StateTable, [state]),
  ]);
}

/** The login by the hash of its state, of any tenant: a browser that comes back from a provider names nothing else. */
export async function findState(
  database: Pick<Database, 'system'>,
  id: string,
): Promise<StateRow | undefined> {
  return (await database.system().findOne(StateTable, { id })) ?? undefined;
}

/** Ends a login that has begun; of several concurrent calls one gets true. */
export async function endLogin(
  entities: TenantEntityManager,
  { id, browserHash }: Pick<StateRow, 'id' | 'browserHash'>,
): Promise<boolean> {
  return (await entities.delete(StateTable, { id, browserHash })) > 0;
}

/** The session by the hash of its token, of any tenant: the token alone identifies it. */
export async function findSession(
  database: Pick<Database, 'system'>,
  id: string,
): Promise<SessionRow | undefined> {
  return (await database.system().findOne(SessionTable, { id })) ?? undefined;
}

/** Deletes expired rows of all tenants. The signal ends it early. */
export async function deleteExpired(
  database: Pick<Database, 'eraseOfAll'>,
  now: Date,
  signal: AbortSignal,
): Promise<void> {
  const where = { expiresAt: { $lte: now } };
  await eraseExpired(database, LinkTable, where, signal);
  await eraseExpired(database, StateTable, where, signal);
  await eraseExpired(database, SessionTable, where, signal);
}
