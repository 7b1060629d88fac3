import { defineErrors, type Page, serviceRef, type TenantEntityManager } from 'agent-gateway';

/** A note of a tenant. */
export interface NoteRecord {
  readonly id: string;
  readonly text: string;
  readonly createdAt: Date;
}

/** The notes of one tenant: the one that the given entity manager is bound to. */
export interface Notes {
  /** Keeps a note. Throws `notes.full`. */
  keep(entities: TenantEntityManager, text: string): Promise<NoteRecord>;
  /** A page of the notes, newest first, and the number of all. */
  list(
    entities: TenantEntityManager,
    page: Page,
  ): Promise<{ readonly notes: readonly NoteRecord[]; readonly total: number }>;
  /** Throws `notes.not-found`. */
  remove(entities: TenantEntityManager, id: string): Promise<void>;
}

/** What can go wrong with notes. */
export const NoteErrors = defineErrors({
  notFound: { code: 'notes.not-found', kind: 'not-found', title: 'There is no such note' },
  full: { code: 'notes.full', kind: 'conflict', title: 'The tenant keeps as many notes as it may' },
});

/** The notes, for plugins that need them. */
export const NotesRef = serviceRef<Notes>('notes.notes');
