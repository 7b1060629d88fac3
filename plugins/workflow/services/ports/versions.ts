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
