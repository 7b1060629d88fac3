import {
  defineErrors,
  defineEvent,
  type FieldError,
  isJsonObject,
  type Page,
  serviceRef,
  type TenantEntityManager,
  Type,
} from 'agent-gateway';

/** A long-term memory of one user of a tenant (specification 1, Memory entry). */
export interface Memory {
  readonly id: string;
  readonly userId: string;
  /** Unique for the user. */
  readonly key: string;
  readonly value: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A memory and how well it fits, 0 to 1. */
export interface ScoredMemory extends Memory {
  readonly score: number;
}

/** What is remembered. */
export interface NewMemory {
  /** 1 to 128 characters without control characters, and neither `.` nor `..`; absent: the new memory's id. */
  readonly key?: string | undefined;
  /** 1 to 8,192 characters. */
  readonly value: string;
  /** At most 8,192 characters as JSON; absent: none. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** Characters of metadata as JSON. */
const MAX_METADATA = 8192;

/** What no schema says of the metadata of a memory, which may be anything, as problems at a pointer. Pure. */
export function metadataProblems(metadata: unknown, pointer: string): readonly FieldError[] {
  const text = isJsonObject(metadata) ? JSON.stringify(metadata) : '';
  // Characters are code points, as databases count them.
  const mayFit = text.length <= 2 * MAX_METADATA;
  if (text.length <= MAX_METADATA || (mayFit && [...text].length <= MAX_METADATA)) return [];
  return [{ pointer, message: `metadata must be at most ${MAX_METADATA} characters as JSON` }];
}

/**
 * Long-term memories, by tenant and user. A user id has 1 to 255 characters without control characters; another one has
 * no memories. Not for use inside a transaction: `search` asks the embeddings.
 */
export interface Memories {
  /** The last written first. */
  list(
    entities: TenantEntityManager,
    userId: string,
    page: Page,
  ): Promise<{ readonly memories: readonly Memory[]; readonly total: number }>;
  /**
   * Writes a memory over the one of the same key. It does not wait for the embeddings: `search` makes the vector.
   * Throws `memory.invalid` and `memory.full`.
   */
  save(entities: TenantEntityManager, userId: string, memory: NewMemory): Promise<Memory>;
  /** The memory of an id, of any user of the tenant. */
  find(entities: TenantEntityManager, id: string): Promise<Memory | undefined>;
  /**
   * Replaces value and, where they are given, metadata of a memory; undefined where there is none of this id. Throws
   * `memory.invalid`.
   */
  update(
    entities: TenantEntityManager,
    id: string,
    change: Pick<NewMemory, 'value' | 'metadata'>,
  ): Promise<Memory | undefined>;
  /** False when the user has no such memory. */
  forget(entities: TenantEntityManager, userId: string, key: string): Promise<boolean>;
  /**
   * The memories that fit a text best, `limit` (default 10, at most 100) of them; none below `threshold` (default 0.2).
   * By words alone while the embeddings do not answer.
   */
  search(
    entities: TenantEntityManager,
    userId: string,
    query: string,
    options?: { readonly limit?: number; readonly threshold?: number },
  ): Promise<readonly ScoredMemory[]>;
}

/** What can go wrong with memories. */
export const MemoryErrors = defineErrors({
  notFound: { code: 'memory.not-found', kind: 'not-found', title: 'There is no such memory' },
  forbidden: { code: 'memory.forbidden', kind: 'forbidden', title: 'The memories belong to another user' },
  invalid: { code: 'memory.invalid', kind: 'invalid', title: 'The memory is malformed' },
  full: { code: 'memory.full', kind: 'conflict', title: 'The user has as many memories as may be kept' },
});

/** Long-term memories. */
export const MemoriesRef = serviceRef<Memories>('records.memories');

/** What users wrote about themselves, for every agent that talks to them: Markdown. */
export interface Profiles {
  read(entities: TenantEntityManager, userId: string): Promise<string | undefined>;
  /** Throws `profile.too-large` above 16 KiB of UTF-8, and `profile.invalid-user`. The empty text removes it. */
  write(entities: TenantEntityManager, userId: string, text: string): Promise<void>;
}

/** What can go wrong with profiles. */
export const ProfileErrors = defineErrors({
  notFound: { code: 'profile.not-found', kind: 'not-found', title: 'The user has no profile' },
  tooLarge: { code: 'profile.too-large', kind: 'too-large', title: 'The profile is too large' },
  invalidUser: { code: 'profile.invalid-user', kind: 'invalid', title: 'The user id is malformed' },
});

/** The users' profiles. */
export const ProfilesRef = serviceRef<Profiles>('records.profiles');

/** The memories or the profile of a user have changed: what is cached of them is old. */
export const MemoriesChanged = defineEvent(
  'agent-engine.memories-changed',
  Type.Object({ tenant_id: Type.String(), user_id: Type.String() }),
);
