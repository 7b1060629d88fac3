import { isDeepStrictEqual } from 'node:util';
import type { ResourceView } from '../../../../../kernel/index.ts';
import type { Graph } from '../../../../../plugins/workflow/contract/graph.ts';
import type { WorkflowFile } from '../../../../../plugins/workflow/services/definitions/workflow-resource.ts';
import type {
  DefinitionStore,
  StoredDefinition,
} from '../../../../../plugins/workflow/store/definition-store.ts';
import type { StoredVersion, Versions } from '../../../../../plugins/workflow/store/versions.ts';
import { fakeIds, manualClock } from '../../../../../testing/index.ts';

type Stored = StoredVersion & { readonly tenantId: string };

/** Definitions and versions in memory, after the rules of their ports. */
export function memoryDefinitions() {
  const clock = manualClock();
  const ids = fakeIds();
  const definitions = new Map<string, StoredDefinition>();
  const versions: Stored[] = [];

  const of = (tenantId: string, id: string) => {
    const found = definitions.get(id);
    return found?.tenantId === tenantId ? found : undefined;
  };
  const versionsOf = (tenantId: string, definitionId: string) =>
    versions
      .filter((version) => version.tenantId === tenantId && version.definitionId === definitionId)
      .toReversed();

  function change(before: StoredDefinition, changes: Partial<StoredDefinition>) {
    const current = of(before.tenantId, before.id);
    if (current?.revision !== before.revision) return undefined;
    const after = { ...current, ...changes, revision: current.revision + 1, updatedAt: clock.now() };
    definitions.set(after.id, after);
    return after;
  }

  function addVersion(tenantId: string, definitionId: string, graph: Graph, publishedBy: string): Stored {
    const version = versionsOf(tenantId, definitionId).length + 1;
    const added = {
      id: ids.uuid(),
      tenantId,
      definitionId,
      version,
      graph,
      publishedBy,
      publishedAt: clock.now(),
    };
    versions.push(added);
    return added;
  }

  const store: DefinitionStore = {
    async create(tenantId, { name, description, graph, createdBy }) {
      const now = clock.now();
      const created: StoredDefinition = {
        id: ids.uuid(),
        tenantId,
        name,
        description,
        graph,
        createdBy,
        status: 'draft',
        latestVersion: null,
        revision: 1,
        createdAt: now,
        updatedAt: now,
      };
      definitions.set(created.id, created);
      return created;
    },
    get: async (tenantId, id) => of(tenantId, id),
    async list(tenantId, { limit, offset }) {
      const own = [...definitions.values()].filter((one) => one.tenantId === tenantId).toReversed();
      return { definitions: own.slice(offset, offset + limit), total: own.length };
    },
    update: async (before, changes) => change(before, changes),
    async publish(before, publishedBy) {
      const latestVersion = (before.latestVersion ?? 0) + 1;
      const definition = change(before, { status: 'published', latestVersion });
      if (definition === undefined) return undefined;
      return { definition, version: addVersion(before.tenantId, before.id, before.graph, publishedBy) };
    },
    archive: async (before) => change(before, { status: 'archived' }),
    async delete(before) {
      const isThere = of(before.tenantId, before.id)?.revision === before.revision;
      return isThere && definitions.delete(before.id);
    },
    async *all() {},
    erase: async () => 0,
  };

  const kept: Versions = {
    async ensure({ tenantId, definitionId, graph, publishedBy }) {
      const same = versionsOf(tenantId, definitionId).find((one) => isDeepStrictEqual(one.graph, graph));
      return same ?? addVersion(tenantId, definitionId, graph, publishedBy);
    },
    get: async (tenantId, id) => versions.find((one) => one.tenantId === tenantId && one.id === id),
    ofNumber: async (tenantId, definitionId, number) =>
      versionsOf(tenantId, definitionId).find(({ version }) => version === number),
    async list(tenantId, definitionId, { limit, offset }) {
      const all = versionsOf(tenantId, definitionId);
      return { versions: all.slice(offset, offset + limit), total: all.length };
    },
  };

  return { store, versions: kept, clock };
}

/** Files of agents.d that a test puts there. */
export function memoryFiles(
  ...files: readonly WorkflowFile[]
): Pick<ResourceView<WorkflowFile>, 'get' | 'list'> {
  return {
    get: (name) => files.find((file) => file.name === name),
    list: () =>
      files.map((value, index) => ({
        name: value.name,
        value,
        file: 'workflows.yaml',
        generation: index + 7,
        resource: { apiVersion: 'svc/v1', kind: 'Workflow', metadata: { name: value.name }, spec: {} },
      })),
  };
}
