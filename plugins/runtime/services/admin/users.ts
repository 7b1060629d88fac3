import {
  type ApiKeyStore,
  type Clock,
  type Database,
  defineErrors,
  defineJob,
  type Grant,
  GrantErrors,
  grantProblems,
  type Identity,
  type Ids,
  isUniqueViolation,
  isUuid,
  type JobHandler,
  type Leases,
  type Page,
  Type,
} from 'agent-gateway';
import {
  findUser,
  idOfEmail,
  insertUser,
  pageOfUsers,
  type StoredUser,
  type UserRole,
  UserTable,
  updateUser,
} from '../../store/users.ts';

/** The errors of the administration of users. */
export const UserErrors = defineErrors({
  notFound: { code: 'user.not-found', kind: 'not-found', title: 'There is no such user' },
  exists: { code: 'user.exists', kind: 'conflict', title: 'A user has this address' },
  tooMany: { code: 'user.too-many', kind: 'conflict', title: 'The tenant has too many users' },
  changed: { code: 'user.changed', kind: 'conflict', title: 'The user was changed at the same time' },
});

/** Users of one tenant. */
export const MAX_USERS = 1_000;

/** What the key of a user may do, by role. */
const GRANTS: Readonly<Record<UserRole, Grant>> = {
  admin: { roles: ['admin'], scopes: ['read', 'write', 'execute'] },
  editor: { roles: ['user'], scopes: ['read', 'write', 'execute'] },
  viewer: { roles: ['user'], scopes: ['read'] },
};

/** Revokes keys of users whose rows are gone. Jobs of earlier versions name keys alone. */
export const RevokeUserKeys = defineJob(
  'runtime.revoke-user-keys',
  Type.Object({
    key_ids: Type.Array(Type.String()),
    user_ids: Type.Optional(Type.Array(Type.String())),
  }),
);

/** Does `RevokeUserKeys`. */
export function revokeUserKeys(
  apiKeys: KeysOfUsers,
): JobHandler<{ readonly key_ids: readonly string[]; readonly user_ids?: readonly string[] }> {
  return async ({ key_ids: keyIds, user_ids: userIds = [] }, { tenantId, signal }) => {
    for (const id of keyIds) {
      signal.throwIfAborted();
      await apiKeys.revoke(id, tenantId);
    }
    for (const id of userIds) {
      signal.throwIfAborted();
      await revokeSuccessors(apiKeys, tenantId!, id);
    }
  };
}

type KeysOfUsers = Pick<ApiKeyStore, 'list' | 'revoke'>;

/** Keys that are read at one time. */
const KEYS = 200;

/** The name of a user's key. It holds no person's name, since keys are listed elsewhere, and outlive their users. */
const keyName = (userId: string) => `user ${userId}`;

/**
 * Revokes what rotations have made of a user's key: keys of its name and rights of which the user's row does not know.
 */
async function revokeSuccessors(apiKeys: KeysOfUsers, tenantId: string, userId: string): Promise<void> {
  const name = keyName(userId);
  for (let offset = 0; ; offset += KEYS) {
    const { records } = await apiKeys.list({ tenantId, q: name, limit: KEYS, offset });
    for (const key of records) {
      if (key.name === name && key.revokedAt === null) await apiKeys.revoke(key.id, tenantId);
    }
    if (records.length < KEYS) return;
  }
}

/** The members of a user that administrators set. */
export interface UserContent {
  readonly name: string;
  readonly email: string;
  readonly role: UserRole;
  readonly disabled: boolean;
}

/** A user, with the raw key where one was made: it is returned only this once. */
export interface UserWithKey {
  readonly user: StoredUser;
  readonly key?: string;
}

interface UsersParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly leases: Pick<Leases, 'withLease'>;
  readonly apiKeys: Pick<ApiKeyStore, 'create' | 'list' | 'revoke'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

export type Users = ReturnType<typeof createUsers>;

/**
 * The users of a tenant, each with one API key, for administrators. A key is revoked before a change that reduces its
 * user's rights, so that a failure in between removes too many rights and never too few; a row that refers to a revoked
 * key gets a new key when the user is disabled and enabled.
 */
export function createUsers({ database, leases, apiKeys, clock, ids }: UsersParts) {
  async function get(tenantId: string, id: string): Promise<StoredUser> {
    const user = isUuid(id) ? await findUser(database.forTenant(tenantId), id) : undefined;
    if (user === undefined) throw UserErrors.notFound();
    return user;
  }

  /**
   * Throws where the address is taken, before anything is revoked or made; for concurrent changes the database has a
   * constraint.
   */
  async function requireFree(tenantId: string, email: string | undefined, id?: string): Promise<void> {
    const holder = email === undefined ? undefined : await idOfEmail(database.forTenant(tenantId), email);
    if (holder !== undefined && holder !== id) throw UserErrors.exists();
  }

  /** Throws where the caller does not have the rights of the role: a caller cannot grant them then (decisions 1.2). */
  function requireGrant(identity: Identity, role: UserRole): void {
    const { refused } = grantProblems(identity, GRANTS[role]);
    if (refused.length === 0) return;
    const errors = refused.map(({ message }) => ({ pointer: '/body/role', message }));
    throw GrantErrors.refused(undefined, { errors });
  }

  const makeKey = (identity: Identity, tenantId: string, { id, role }: Pick<StoredUser, 'id' | 'role'>) =>
    apiKeys.create({
      ...GRANTS[role],
      tenantId,
      name: keyName(id),
      expiresAt: null,
      createdBy: identity.id,
    });

  async function revokeKeys(
    tenantId: string,
    { id, keyId }: Pick<StoredUser, 'id' | 'keyId'>,
  ): Promise<void> {
    await apiKeys.revoke(keyId, tenantId);
    await revokeSuccessors(apiKeys, tenantId, id);
  }

  /** Writes a row that refers to a new key; where the write fails, revokes the key. */
  async function keeping(tenantId: string, keyId: string | undefined, write: () => Promise<unknown>) {
    try {
      if ((await write()) === false) throw UserErrors.changed();
    } catch (error) {
      if (keyId !== undefined) await apiKeys.revoke(keyId, tenantId);
      throw isUniqueViolation(error) ? UserErrors.exists() : error;
    }
  }

  return {
    async list(tenantId: string, page: Page) {
      const entities = database.forTenant(tenantId);
      return { users: await pageOfUsers(entities, page), total: await entities.count(UserTable) };
    },

    /** Throws `user.exists`, `user.too-many`, `auth.grant-refused`. */
    async create(identity: Identity, tenantId: string, content: UserContent): Promise<UserWithKey> {
      requireGrant(identity, content.role);
      const entities = database.forTenant(tenantId);
      // One at a time, or concurrent callers would pass the bound together.
      return leases.withLease(`users:${tenantId}`, { strict: true }, async () => {
        if ((await entities.count(UserTable)) >= MAX_USERS) {
          throw UserErrors.tooMany(`A tenant can have ${MAX_USERS} users.`);
        }
        await requireFree(tenantId, content.email);
        const id = ids.uuid();
        const { record, key } = await makeKey(identity, tenantId, { id, role: content.role });
        const user: StoredUser = { ...content, id, keyId: record.id, createdAt: clock.now() };
        if (content.disabled) await apiKeys.revoke(record.id, tenantId);
        await keeping(tenantId, record.id, () => insertUser(entities, user));
        return content.disabled ? { user } : { user, key };
      });
    },

    /** Throws `user.exists`, `user.changed`, `auth.grant-refused`. */
    async update(
      identity: Identity,
      tenantId: string,
      id: string,
      changes: Partial<UserContent>,
    ): Promise<UserWithKey> {
      const before = await get(tenantId, id);
      const after = { ...before, ...changes };
      await requireFree(tenantId, changes.email, id);
      const isOther = after.role !== before.role;
      const isNewKey = !after.disabled && (isOther || before.disabled);
      if (isNewKey || isOther) requireGrant(identity, after.role);
      if (after.disabled || isOther) await revokeKeys(tenantId, before);
      const made = isNewKey ? await makeKey(identity, tenantId, after) : undefined;
      const keyId = made?.record.id ?? before.keyId;
      if (Object.keys(changes).length > 0) {
        const entities = database.forTenant(tenantId);
        await keeping(tenantId, made?.record.id, () => updateUser(entities, before, { ...changes, keyId }));
      }
      return { user: { ...after, keyId }, ...(made && { key: made.key }) };
    },

    async remove(tenantId: string, id: string): Promise<void> {
      const { keyId } = await get(tenantId, id);
      await revokeKeys(tenantId, { id, keyId });
      const deleted = await database.forTenant(tenantId).delete(UserTable, { id, keyId });
      if (deleted === 0) throw UserErrors.changed();
    },
  };
}
