import { column, defineEntity, type TenantEntityManager } from 'agent-gateway';

/** What a user wrote about himself. The text is JSON text, as in `memory.ts`. */
export const ProfileEntity = defineEntity({
  name: 'Profile',
  tableName: 'profiles',
  uniques: [{ name: 'profiles_user', properties: ['tenantId', 'userId'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    userId: column.string(255),
    text: column.text(),
    updatedAt: column.time(),
  },
});

/** The text of a user's profile, when there is one. */
export async function findProfile(
  entities: TenantEntityManager,
  userId: string,
): Promise<string | undefined> {
  const row = await entities.findOne(ProfileEntity, { userId });
  return row === null ? undefined : JSON.parse(row.text);
}

/** Writes a profile over the user's last one. */
export async function writeProfile(
  entities: TenantEntityManager,
  { id, userId, text, updatedAt }: { id: string; userId: string; text: string; updatedAt: Date },
): Promise<void> {
  await entities.upsert(
    ProfileEntity,
    { id, userId, text: JSON.stringify(text), updatedAt },
    { conflict: ['userId'], update: ['text', 'updatedAt'] },
  );
}

/** Removes a user's profile, if there is one. */
export async function deleteProfile(entities: TenantEntityManager, userId: string): Promise<void> {
  await entities.delete(ProfileEntity, { userId });
}
