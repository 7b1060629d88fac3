import type { StoredDefinition } from '../services/ports/definition-store.ts';
import { fromText, toText } from './json-text.ts';
import type { DefinitionRow } from './tables/definition-table.ts';

/** The row of a new definition. */
export function definitionRow(definition: StoredDefinition): DefinitionRow {
  const { name, description, graph } = definition;
  return { ...definition, name: toText(name), description: toText(description), graph: toText(graph) };
}

/** The definition that a row holds. */
export function storedDefinition(row: DefinitionRow): StoredDefinition {
  return {
    id: row.id,
    tenantId: row.tenantId,
    name: fromText(row.name),
    description: fromText(row.description),
    status: row.status,
    graph: fromText(row.graph),
    latestVersion: row.latestVersion ?? null,
    revision: row.revision,
    createdBy: row.createdBy,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
