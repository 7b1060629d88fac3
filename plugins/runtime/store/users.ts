import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type Page, type TenantEntityManager } from 'agent-gateway';

/** Characters of an address, and of its form that is compared, which may be a little longer. */
export const EMAIL_LENGTH = 254;
const EMAIL_KEY_LENGTH = 512;

/** A person who works with the API of a tenant. Times are milliseconds since the epoch. */
export const UserTable = defineEntity({
  name: 'RuntimeUser',
  tableName: 'runtime_users',
  uniques: [{ name: 'runtime_users_email', properties: ['tenantId', 'emailKey'] }],
  properties: {
    tenantId: column.tenant().primary(),
    id: column.id().primary(),
    /** JSON text. */
    name: column.text(),
    email: column.string(EMAIL_LENGTH),
    /** In lower case. */
    emailKey: column.string(EMAIL_KEY_LENGTH),
    role: column.string(16),
    disabled: column.boolean(),
    /** The API key that the user has, or had last. */
    keyId: column.id(),
    createdAt: column.bigint(),
  },
});

type UserRow = InferEntity<typeof UserTable>;

/** What a user may do. */
export type UserRole = 'admin' | 'editor' | 'viewer';

/** A user as it is stored. */
export interface StoredUser extends Omit<UserRow, 'tenantId' | 'emailKey' | 'role'> {
  readonly role: UserRole;
}

function ofRow({ tenantId: _, emailKey: __, ...row }: UserRow): StoredUser {
  return { ...row, name: JSON.parse(row.name), role: row.role as UserRole };
}

const emailKeyOf = (email: string) => email.normalize('NFC').toLowerCase();

const columnsOf = ({ name, email, ...plain }: Partial<StoredUser>) => ({
  ...plain,
  ...(name !== undefined && { name: JSON.stringify(name) }),
  ...(email !== undefined && { email, emailKey: emailKeyOf(email) }),
});

export async function findUser(entities: TenantEntityManager, id: string): Promise<StoredUser | undefined> {
  const [row] = await entities.rows(UserTable, { id }, { limit: 1 });
  return row && ofRow(row);
}

/** A page, newest first: ids are ordered by the time at which they were made. */
export async function pageOfUsers(entities: TenantEntityManager, page: Page): Promise<StoredUser[]> {
  return (await entities.rows(UserTable, {}, { orderBy: { id: 'desc' }, ...page })).map(ofRow);
}

/** Fails with a unique violation where a user of the tenant has the address. */
export const insertUser = (entities: TenantEntityManager, user: StoredUser): Promise<void> =>
  entities.insert(UserTable, columnsOf(user) as Omit<UserRow, 'tenantId'>);

/** False where the user is gone, or has other rights or another key meanwhile. Fails like `insertUser`. */
export async function updateUser(
  entities: TenantEntityManager,
  { id, keyId, role, disabled }: StoredUser,
  changes: Partial<StoredUser>,
): Promise<boolean> {
  // Disabling leaves the key as it is: by the key alone, a concurrent change of the role would give a disabled user a
  // new one.
  return (await entities.update(UserTable, { id, keyId, role, disabled }, columnsOf(changes))) > 0;
}

/** The id of the user who has the address, in upper or lower case. */
export async function idOfEmail(entities: TenantEntityManager, email: string): Promise<string | undefined> {
  const where = { emailKey: emailKeyOf(email) };
  return (await entities.rows(UserTable, where, { fields: ['id'], limit: 1 }))[0]?.id;
}

/** The users whom an id names: by their own id, that of their key, or their address; without one all of the tenant. */
export async function usersNamed(
  entities: TenantEntityManager,
  userId: string | undefined,
  page: Page,
): Promise<StoredUser[]> {
  if (userId === undefined) return pageOfUsers(entities, page);
  const byPlace = [{ id: userId }, { keyId: userId }, { emailKey: emailKeyOf(userId) }];
  const found = await Promise.all(byPlace.map((where) => entities.rows(UserTable, where, { limit: 1 })));
  const users = new Map(found.flat().map((row) => [row.id, ofRow(row)]));
  return [...users.values()].slice(page.offset, page.offset + page.limit);
}
