import { type Database, eachRow, type TenantEntityManager } from '../data/database.ts';
import { AuditLog, type AuditLogRow, actionKey } from '../tables/audit-log.ts';

/** Whom a pseudonym replaces. */
export interface Pseudonymized {
  /** An identity, or a value of `X-Svc-User-Id`; absent: all of the tenant. */
  readonly userId?: string | undefined;
  /** What takes the place of the name. */
  readonly pseudonym: string;
  /** Only in records up to this moment; default: in all. */
  readonly before?: Date | undefined;
}

/** Records that one statement looks at. */
const BATCH = 5_000;

/**
 * Puts a pseudonym in the place of identities in the records of a tenant, inside the caller's transaction, in
 * statements of bounded work; returns how many records have it now. What else names them is left to `renameInDetails`,
 * and so is `before`.
 */
export async function renameIdentities(
  entities: TenantEntityManager,
  { userId, pseudonym }: Pseudonymized,
): Promise<number> {
  const named = userId === undefined ? { $ne: '' } : userId;
  const change = { userId: pseudonym };
  for (let count = 0, after: Date | undefined; ; ) {
    const since = after === undefined ? {} : { $gt: after };
    const query = { fields: ['createdAt'], orderBy: { createdAt: 'asc' }, limit: 1, offset: BATCH } as const;
    const later = after === undefined ? {} : { createdAt: since };
    const [end] = await entities.rows(AuditLog, later, query);
    const until = end === undefined ? {} : { $lte: end.createdAt };
    const window = { ...since, ...until };
    const ofTime = Object.keys(window).length === 0 ? {} : { createdAt: window };
    count += await entities.update(AuditLog, { userId: named, ...ofTime }, change);
    if (end === undefined) return count;
    after = end.createdAt;
  }
}

/**
 * The same in everything that records say, also where they came after `renameIdentities`: the identity,
 * `X-Svc-User-Id`, parameters of queries, segments of paths. Reads all records of the tenant in pages, and changes one
 * at a time; returns how many.
 *
 * @throws the signal's reason when it aborts
 */
export async function renameInDetails(
  database: Pick<Database, 'forTenant'>,
  tenantId: string,
  whom: Pseudonymized,
  signal: AbortSignal,
): Promise<number> {
  const entities = database.forTenant(tenantId);
  const fields = ['id', 'createdAt', 'userId', 'action', 'detail'] as const;
  let count = 0;
  for await (const row of eachRow(entities, AuditLog, {}, { by: ['createdAt', 'id'], fields })) {
    signal.throwIfAborted();
    if (whom.before !== undefined && row.createdAt > whom.before) break;
    const changes = renamedRecord(row, whom);
    if (changes !== undefined) count += await entities.update(AuditLog, { id: row.id }, changes);
  }
  return count;
}

type Traces = Pick<AuditLogRow, 'userId' | 'action' | 'detail'>;

/** What of a record is to be changed so that it does not name them any more; undefined for nothing. Pure. */
export function renamedRecord(
  { userId: identity, action, detail }: Traces,
  { userId, pseudonym }: Pseudonymized,
): Partial<Traces & Pick<AuditLogRow, 'actionKey'>> | undefined {
  const rename = (text: string) => (text !== '' && (userId ?? text) === text ? pseudonym : text);
  const after = {
    userId: rename(identity),
    action: userId === undefined ? action : renamedPath(action, userId, pseudonym),
    detail: userId === undefined ? withoutUsers(detail, pseudonym) : renamedValues(detail, rename),
  };
  const isSame =
    after.userId === identity &&
    after.action === action &&
    JSON.stringify(after.detail) === JSON.stringify(detail);
  return isSame ? undefined : { ...after, actionKey: actionKey(after.action) };
}

/** `METHOD /path` with the segments that are the name replaced. */
function renamedPath(action: string, userId: string, pseudonym: string): string {
  return action
    .split('/')
    .map((segment) => (decoded(segment) === userId ? pseudonym : segment))
    .join('/');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The same JSON with all of its texts renamed, at any depth: those that are not the name stay. */
function renamedValues<T>(value: T, rename: (text: string) => string): T {
  if (typeof value === 'string') return rename(value) as T;
  if (Array.isArray(value)) return value.map((item) => renamedValues(item, rename)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, item]) => [name, renamedValues(item, rename)]);
  return Object.fromEntries(members) as T;
}

/**
 * Parameters of queries that name users, or parts of their names: whose records are asked for, and the text of a
 * search.
 */
const NAMING = ['user_id', 'q'];

/** A detail without any user: whom `X-Svc-User-Id` and parameters of the query named. */
function withoutUsers(detail: AuditLogRow['detail'], pseudonym: string): AuditLogRow['detail'] {
  const { svc_user_id: named, query } = detail;
  const parameters = Object.entries(query ?? {});
  return {
    ...detail,
    ...(named !== undefined && { svc_user_id: pseudonym }),
    ...(parameters.length > 0 && {
      query: Object.fromEntries(
        parameters.map(([name, value]) => [name, NAMING.includes(name) ? pseudonym : value]),
      ),
    }),
  };
}
