import {
  access,
  Id,
  IdParams,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  reply,
  route,
  Timestamp,
  Type,
} from 'agent-gateway';
import type { Users, UserWithKey } from '../services/admin/users.ts';
import { EMAIL_LENGTH, type StoredUser } from '../store/users.ts';

const Name = Type.String({ minLength: 1, maxLength: 200, examples: ['Anna'] });
const Email = Type.String({
  maxLength: EMAIL_LENGTH,
  pattern: '^[^\\s@\\p{Cc}\\p{Cs}]+@[^\\s@\\p{Cc}\\p{Cs}]+$',
  patternErrorMessage: 'must be an address, write anna@example.com',
  examples: ['anna@example.com'],
});
const Role = Type.Enum(['admin', 'editor', 'viewer'], {
  description: 'admin: everything; editor: reads, writes and runs; viewer: reads',
  examples: ['viewer'],
});
const Disabled = Type.Boolean({ description: 'Whether the user is kept out' });

const CreateUser = Type.Object({
  name: Name,
  email: Email,
  role: Role,
  disabled: Type.Optional(Type.Boolean({ ...Disabled, default: false })),
});

const UpdateUser = Type.Partial(Type.Object({ name: Name, email: Email, role: Role, disabled: Disabled }), {
  examples: [{ role: 'viewer' }],
});

/** A user as administrators see it (decisions 3.2). */
const UserRecord = Type.Object({
  id: Id,
  name: Type.String({ examples: ['Anna'] }),
  email: Type.String({ examples: ['anna@example.com'] }),
  role: Type.String({ examples: ['viewer'] }),
  disabled: Type.Boolean({ examples: [false] }),
  created_at: Timestamp,
});

const WithKey = Type.Object({
  user: UserRecord,
  api_key: Type.Optional(
    Type.String({
      description: 'The raw key, where one was made; shown this once',
      examples: ['hk_ogBj6zW3wZR2MZe9YsMVpm4I618_Sl-kXJgDoQINGOQ'],
    }),
  ),
});

const common = { access: access.role('admin'), tag: 'administration' } as const;
const PATH = '/admin/users';
const ONE = `${PATH}/{id}`;

/** A raw key must not be cached. */
const NO_STORE = { 'cache-control': 'no-store' };

/** @returns the user on the wire; records of exports have the same form */
export function userRecord({ id, name, email, role, disabled, createdAt }: StoredUser) {
  return { id, name, email, role, disabled, created_at: new Date(createdAt).toISOString() };
}

const withKey = ({ user, key }: UserWithKey) => ({
  user: userRecord(user),
  ...(key !== undefined && { api_key: key }),
});

/** The administration of a tenant's users (specification 3, v2 HTTP API; decisions 3.2). */
export function userRoutes(users: Users): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List users, newest first',
      schema: { query: pageQuery({ defaultLimit: 50 }), responses: { 200: listOf('users', UserRecord) } },
      handle: async (call) => {
        const asked = pageOf(call.query);
        const { users: found, total } = await users.list(call.tenant.id, asked);
        return { users: found.map(userRecord), total, ...asked };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: PATH,
      summary: 'Make a user with an API key, which is in this answer alone',
      schema: { body: CreateUser, responses: { 201: WithKey } },
      handle: async (call) => {
        const { name, email, role, disabled = false } = call.body;
        const made = await users.create(call.identity, call.tenant.id, { name, email, role, disabled });
        call.audit({ changes: { user_id: made.user.id, role, disabled, api_key_id: made.user.keyId } });
        return reply.created(withKey(made), NO_STORE);
      },
    }),
    route({
      ...common,
      method: 'PUT',
      path: ONE,
      summary: 'Change a user; another role, and enabling, give another key, which is in this answer alone',
      schema: { params: IdParams, body: UpdateUser, responses: { 200: WithKey } },
      handle: async (call) => {
        // What else the body holds is no change: a client may send back the user that it has read.
        const given = Object.fromEntries(
          Object.entries(call.body).filter(
            ([name, value]) => Object.hasOwn(UpdateUser.properties, name) && value !== undefined,
          ),
        );
        const changed = await users.update(call.identity, call.tenant.id, call.params.id, given);
        const { id, role, disabled, keyId } = changed.user;
        call.audit({
          changes: { user_id: id, role, disabled, api_key_id: keyId, changed: Object.keys(given).join(',') },
        });
        return reply.json(200, withKey(changed), NO_STORE);
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: ONE,
      summary: 'Delete a user and revoke the key',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async (call) => {
        await users.remove(call.tenant.id, call.params.id);
        call.audit({ changes: { user_id: call.params.id, deleted: true } });
        return reply.empty();
      },
    }),
  ];
}
