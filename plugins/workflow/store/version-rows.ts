import type { TenantEntityManager } from 'agent-gateway';
import type { StoredVersion } from '../services/ports/versions.ts';
import { graphDigest } from './graph-digest.ts';
import { fromText, toText } from './json-text.ts';
import type { VersionRow } from './tables/version-table.ts';
import type { WorkflowTables } from './workflow-tables.ts';

/** The row of a new version. */
export function versionRow(version: StoredVersion): Omit<VersionRow, 'tenantId'> {
  const { id, definitionId, version: number, graph, publishedBy, publishedAt } = version;
  return {
    id,
    definitionId,
    version: number,
    digest: graphDigest(graph),
    graph: toText(graph),
    publishedBy,
    publishedAt,
  };
}

/** The version that a row holds. */
export function storedVersion(row: VersionRow): StoredVersion {
  const { id, definitionId, version, graph, publishedBy, publishedAt } = row;
  return { id, definitionId, version, graph: fromText(graph), publishedBy, publishedAt };
}

/** The number of a definition's newest version; 0 where there is none. */
export async function newestNumber(
  entities: TenantEntityManager,
  tables: WorkflowTables,
  definitionId: string,
): Promise<number> {
  const query = { orderBy: { version: 'desc' }, limit: 1, fields: ['version'] } as const;
  const [row] = await entities.rows(tables.versions, { definitionId }, query);
  return row?.version ?? 0;
}
