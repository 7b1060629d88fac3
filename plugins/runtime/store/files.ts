import { column, defineEntity, type Page, type TenantEntityManager } from 'agent-gateway';
import { OWNER_LENGTH, type Owner, ofOwner } from '../../records/contract.ts';

/** An uploaded file. Its content is an object, which never changes. */
export const FileEntity = defineEntity({
  name: 'File',
  tableName: 'files',
  indexes: [
    { name: 'files_created', properties: ['tenantId', 'createdAt', 'id'] },
    { name: 'files_owner', properties: ['tenantId', 'identityId', 'userId', 'createdAt'] },
    { name: 'files_identity', properties: ['tenantId', 'identityId', 'createdAt', 'id'] },
  ],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    identityId: column.string(OWNER_LENGTH),
    userId: column.string(OWNER_LENGTH),
    filename: column.string(255),
    mimeType: column.string(150),
    size: column.bigint(),
    createdAt: column.time(),
  },
});

/** A file, without its content (specification 3, File). */
export interface FileRecord extends Owner {
  readonly id: string;
  /** As it is shown: 1 to 255 characters, no path, no control characters. */
  readonly filename: string;
  /** The type that was recognized from the content, not the one that the client sent. */
  readonly mimeType: string;
  /** Bytes. */
  readonly size: number;
  readonly createdAt: Date;
}

const NEWEST = { createdAt: 'desc', id: 'desc' } as const;

/** A page of the files of these owners, newest first, and the number of all. */
export async function findFiles(
  entities: TenantEntityManager,
  owner: Partial<Owner>,
  { limit, offset }: Page,
): Promise<readonly [readonly FileRecord[], number]> {
  const [files, total] = await Promise.all([
    limit === 0 ? [] : entities.rows(FileEntity, owner, { orderBy: NEWEST, limit, offset }),
    entities.count(FileEntity, owner),
  ]);
  return [files, total];
}

export async function findFile(entities: TenantEntityManager, id: string): Promise<FileRecord | undefined> {
  const [row] = await entities.rows(FileEntity, { id }, { limit: 1 });
  return row;
}

/**
 * Some files of an identity, or of a user that an identity named; without a name of all of the tenant. None where there
 * are none left.
 */
export async function findFilesOf(
  entities: TenantEntityManager,
  name: string | undefined,
  limit: number,
): Promise<readonly FileRecord[]> {
  for (const where of ofOwner(name)) {
    const found = await entities.rows(FileEntity, where, { limit });
    if (found.length > 0) return found;
  }
  return [];
}

/** Which of these ids are files. */
export async function existingFiles(
  entities: TenantEntityManager,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const where = { id: { $in: [...ids] } };
  const found = await entities.rows(FileEntity, where, { fields: ['id'], limit: ids.length });
  return new Set(found.map(({ id }) => id));
}
