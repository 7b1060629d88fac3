import type { Database, Jobs, PersonalData } from 'agent-gateway';
import { UserTable, usersNamed } from '../../store/users.ts';
import { RevokeUserKeys } from './users.ts';

/** Users that are read at one time. */
const BATCH = 200;

/** The users in exports and erasures; erasing one revokes the key, in a job of the same commit. */
export function createUserData(
  database: Pick<Database, 'forTenant'>,
  jobs: Pick<Jobs, 'publish'>,
): PersonalData {
  return {
    name: 'runtime-users',
    sections: [
      {
        name: 'users',
        entities: [UserTable],
        async *read({ tenantId, userId }) {
          const entities = database.forTenant(tenantId);
          for (let offset = 0; ; offset += BATCH) {
            const users = await usersNamed(entities, userId, { limit: BATCH, offset });
            for (const { keyId, createdAt, ...user } of users)
              yield { ...user, api_key_id: keyId, created_at: new Date(createdAt) };
            if (users.length < BATCH) return;
          }
        },
      },
    ],

    async erase(entities, { userId }) {
      for (let count = 0; ; ) {
        const users = await usersNamed(entities, userId, { limit: BATCH, offset: 0 });
        if (users.length === 0) return { users: count };
        const user_ids = users.map(({ id }) => id);
        await entities.delete(UserTable, { id: { $in: user_ids } });
        await jobs.publish(entities, RevokeUserKeys, { key_ids: users.map(({ keyId }) => keyId), user_ids });
        count += users.length;
      }
    },
  };
}
