import { column, defineEntity, type Page, type TenantEntityManager } from 'agent-gateway';
import type { Memory } from '../contract.ts';

/** A memory with the vector that was made of it, if one was. */
export interface StoredMemory {
  readonly memory: Memory;
  /** Names the embeddings that made the vector; undefined while there is none. */
  readonly embeddingId: string | undefined;
  /** float32, little-endian. */
  readonly embedding: Buffer | undefined;
}

/**
 * A memory of a user. Value and metadata are JSON text: that keeps U+0000 and halves of surrogate pairs, which a
 * database may refuse as text.
 */
export const MemoryEntity = defineEntity({
  name: 'Memory',
  tableName: 'memories',
  uniques: [{ name: 'memories_key', properties: ['tenantId', 'userId', 'key'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    userId: column.string(255),
    key: column.string(128),
    value: column.text(),
    metadata: column.text(),
    embedding: column.blob().nullable(),
    embeddingId: column.string(255).nullable(),
    createdAt: column.time(),
    updatedAt: column.time(),
  },
});

/** The last written first. */
const LATEST = { updatedAt: 'desc', id: 'desc' } as const;

/** A page of a user's memories, the last written first, and the number of all. */
export async function findMemories(entities: TenantEntityManager, userId: string, { limit, offset }: Page) {
  const [rows, total] = await entities.findAndCount(
    MemoryEntity,
    { userId },
    { orderBy: LATEST, limit, offset, exclude: ['embedding'] },
  );
  return { memories: rows.map(toMemory), total };
}

/** The memory of an id. */
export async function findMemory(entities: TenantEntityManager, id: string): Promise<Memory | undefined> {
  const row = await entities.findOne(MemoryEntity, { id }, { exclude: ['embedding'] });
  return row === null ? undefined : toMemory(row);
}

/** Writes the content of the memory of an id, whose vector goes; false where there is none. */
export async function rewriteMemory(entities: TenantEntityManager, memory: Memory): Promise<boolean> {
  return (await entities.update(MemoryEntity, { id: memory.id }, contentOf(memory))) > 0;
}

/** A user's memories with their vectors, the last written first. */
export async function findVectors(
  entities: TenantEntityManager,
  userId: string,
  limit: number,
): Promise<readonly StoredMemory[]> {
  // Plain rows: to make an entity of each would take longer than to read and compare them.
  const rows = await entities.rows(MemoryEntity, { userId }, { orderBy: LATEST, limit });
  return rows.map((row) => ({
    memory: toMemory(row),
    embedding: row.embedding ?? undefined,
    embeddingId: row.embeddingId ?? undefined,
  }));
}

/**
 * Writes a memory over the one of the same key, whose id and time of creation stay and whose vector goes. Undefined
 * where the user has `most` memories and none of this key. Simultaneous writers may get a little above `most`: it
 * bounds the table, it is no exact quota.
 */
export async function writeMemory(
  entities: TenantEntityManager,
  memory: Memory,
  most: number,
): Promise<Memory | undefined> {
  const { id, userId, key, createdAt } = memory;
  const content = contentOf(memory);
  if ((await entities.update(MemoryEntity, { userId, key }, content)) === 0) {
    if ((await entities.count(MemoryEntity, { userId })) >= most) return undefined;
    await entities.upsert(
      MemoryEntity,
      { id, userId, key, createdAt, ...content },
      { conflict: ['userId', 'key'], update: ['value', 'metadata', 'embedding', 'embeddingId', 'updatedAt'] },
    );
  }
  const first = await entities.findOne(MemoryEntity, { userId, key }, { fields: ['id', 'createdAt'] });
  // Another call may have deleted it again.
  return first === null ? memory : { ...memory, id: first.id, createdAt: first.createdAt };
}

function contentOf({ value, metadata, updatedAt }: Memory) {
  return {
    value: JSON.stringify(value),
    metadata: JSON.stringify(metadata),
    embedding: null,
    embeddingId: null,
    updatedAt,
  };
}

type MemoryText = Omit<Memory, 'metadata'> & { readonly metadata: string };

function toMemory({ id, userId, key, value, metadata, createdAt, updatedAt }: MemoryText): Memory {
  return { id, userId, key, value: JSON.parse(value), metadata: JSON.parse(metadata), createdAt, updatedAt };
}

/** A user's profile, written by the user. The text is JSON text, as in memories. */
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
