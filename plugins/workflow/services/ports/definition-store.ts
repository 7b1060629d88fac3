import type { TenantEntityManager } from 'agent-gateway';
import type { Graph } from '../../contract/graph.ts';

/** A version of a graph. It never changes. Times are milliseconds since the epoch. */
export interface StoredVersion {
  readonly id: string;
  readonly definitionId: string;
  /** 1 for the first of its definition and tenant, without gaps. */
  readonly version: number;
  readonly graph: Graph;
  readonly publishedBy: string;
  readonly publishedAt: number;
}

/** Versions of one tenant's definitions. */
export interface Versions {
  /**
   * The version of this content, made where there is none yet: by however many at once, the same content (compared as JSON values; the order of
   * members does not count) gives the same version.
   */
  ensure(request: {
    readonly tenantId: string;
    /** 1 to 128 characters. */
    readonly definitionId: string;
    readonly graph: Graph;
    readonly publishedBy: string;
  }): Promise<StoredVersion>;
  get(tenantId: string, id: string): Promise<StoredVersion | undefined>;
  /** The version of a number. */
  ofNumber(tenantId: string, definitionId: string, version: number): Promise<StoredVersion | undefined>;
  /** Newest first, and how many there are in all. */
  list(
    tenantId: string,
    definitionId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ readonly versions: readonly StoredVersion[]; readonly total: number }>;
}

/** `draft`: never published. `published`: its newest version can start runs. `archived`: nothing starts any more. */
export type DefinitionStatus = 'draft' | 'published' | 'archived';

/** A definition as it is stored. Times are milliseconds since the epoch. */
export interface StoredDefinition {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly description: string;
  readonly status: DefinitionStatus;
  /** The draft; versions keep what was published of it. */
  readonly graph: Graph;
  /** Number of the newest published version; null before the first. */
  readonly latestVersion: number | null;
  /** 1 for a new one; grows by one with each change, publishing and archiving included. */
  readonly revision: number;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What its author says of a definition. */
interface DefinitionContent {
  readonly name: string;
  readonly description: string;
  readonly graph: Graph;
}

/**
 * Definitions of workflows. What changes one takes the definition as it was read and stores nothing when its revision is another by now, or it is
 * gone: the answer is then undefined (or false), and the caller reads again to say which. States are the caller's rules.
 */
export interface DefinitionStore {
  /** Stores a new draft under a new id. */
  create(
    tenantId: string,
    content: DefinitionContent & { readonly createdBy: string },
  ): Promise<StoredDefinition>;
  get(tenantId: string, id: string): Promise<StoredDefinition | undefined>;
  /** Newest first (of one moment the higher id), and how many there are in all. */
  list(
    tenantId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ readonly definitions: readonly StoredDefinition[]; readonly total: number }>;
  update(
    before: StoredDefinition,
    changes: Partial<DefinitionContent>,
  ): Promise<StoredDefinition | undefined>;
  /** Makes a new version of the graph and the definition `published`, together. */
  publish(
    before: StoredDefinition,
    publishedBy: string,
  ): Promise<{ readonly definition: StoredDefinition; readonly version: StoredVersion } | undefined>;
  /** The version that runs start from now: that of the number `latestVersion`. */
  latest(tenantId: string, id: string): Promise<StoredVersion | undefined>;
  archive(before: StoredDefinition): Promise<StoredDefinition | undefined>;
  /** Deletes a definition that was never published. */
  delete(before: StoredDefinition): Promise<boolean>;
  /** All definitions of the tenant, oldest first, read in pages. For data protection. */
  all(tenantId: string): AsyncIterable<StoredDefinition>;
  /** Deletes all definitions of the tenant inside the caller's transaction; returns how many. For data protection. */
  erase(entities: TenantEntityManager): Promise<number>;
}
