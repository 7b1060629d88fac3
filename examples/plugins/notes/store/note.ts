import { column, defineEntity, type Page, type TenantEntityManager } from 'agent-gateway';
import type { NoteRecord } from '../contract.ts';

/** Characters of a note at most; `001-initial` says the same to the database. */
export const MAX_TEXT = 2000;

/** A note. Its `tenantId` makes it tenant-owned: no query of the plugin has to say so. */
export const Note = defineEntity({
  name: 'Note',
  tableName: 'notes',
  indexes: [{ name: 'notes_created', properties: ['tenantId', 'createdAt', 'id'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    text: column.string(MAX_TEXT),
    createdAt: column.time(),
  },
});

/** How many notes the tenant keeps. */
export function countNotes(entities: TenantEntityManager): Promise<number> {
  return entities.count(Note);
}

/** Writes a note of the tenant. */
export function insertNote(entities: TenantEntityManager, note: NoteRecord): Promise<void> {
  return entities.insert(Note, note);
}

/** A page of the tenant's notes, newest first, and the number of all. */
export async function findNotes(entities: TenantEntityManager, { limit, offset }: Page) {
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  const [notes, total] = await entities.findAndCount(Note, {}, { orderBy, limit, offset });
  return { notes, total };
}

/** False when the tenant has no such note. */
export async function deleteNote(entities: TenantEntityManager, id: string): Promise<boolean> {
  return (await entities.delete(Note, { id })) > 0;
}

/** Deletes all notes of the tenant, however many; returns how many. */
export function eraseNotes(entities: TenantEntityManager): Promise<number> {
  return entities.erase(Note, {});
}
