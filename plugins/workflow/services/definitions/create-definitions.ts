import type { Clock, ResourceView } from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';
import { checkGraph } from '../graph/check-graph.ts';
import type { DefinitionStore, StoredDefinition, Versions } from '../ports/definition-store.ts';
import type { NodeTypes } from '../ports/execution.ts';
import { mapBreathing } from '../views/breathing.ts';
import type { Redactor } from '../views/redaction.ts';
import type { DefinitionCaller } from './definition-caller.ts';
import { isDefinitionId } from './definition-id.ts';
import {
  type DefinitionRecord,
  definitionRecord,
  fileRecord,
  type ShowGraph,
  versionRecord,
} from './definition-record.ts';
import type { Definitions, WrittenDefinition } from './definitions.ts';
import { type ExpectedRevision, requireRevision } from './expected-revision.ts';
import { redactGraph } from './redact-graph.ts';
import { requireValid, toFieldErrors } from './require-valid.ts';
import { createResolve } from './resolve.ts';
import type { WorkflowFile } from './workflow-file.ts';

/** What definitions are made with. */
export interface DefinitionsParts {
  readonly store: DefinitionStore;
  readonly versions: Versions;
  readonly files: Pick<ResourceView<WorkflowFile>, 'get' | 'list'>;
  readonly types: NodeTypes;
  readonly redactor: Redactor;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Tries of a change that others get in between of. */
const MAX_TRIES = 5;

/** Makes the service. */
export function createDefinitions(parts: DefinitionsParts): Definitions {
  const { store, versions, files, types, redactor, clock } = parts;
  const redacted: ShowGraph = (graph) => redactGraph(redactor, graph);
  const showTo = ({ isAuthor }: DefinitionCaller): ShowGraph => (isAuthor ? asWritten : redacted);

  /** Files are of the deployment: their authors are not among the callers. */
  function findFile(id: string): DefinitionRecord | undefined {
    const found = isDefinitionId(id) ? undefined : files.list().find(({ name }) => name === id);
    return found && fileRecord(found.value, found.generation, redacted);
  }

  async function stored({ tenantId }: DefinitionCaller, id: string): Promise<StoredDefinition> {
    if (files.get(id) !== undefined) {
      throw WorkflowErrors.readOnly(`The workflow ${id} is a file of agents.d: change it there.`);
    }
    const found = isDefinitionId(id) ? await store.get(tenantId, id) : undefined;
    if (found === undefined) throw WorkflowErrors.definitionNotFound();
    return found;
  }

  /** Reads, changes, and begins again when somebody else was quicker; who expects a revision learns of it then. */
  async function change<T>(
    caller: DefinitionCaller,
    id: string,
    expected: ExpectedRevision,
    apply: (before: StoredDefinition) => Promise<T | undefined>,
  ): Promise<T> {
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
      const before = await stored(caller, id);
      requireRevision(before, expected);
      const after = await apply(before);
      if (after !== undefined) return after;
    }
    throw WorkflowErrors.busy();
  }

  /**
   * How a caller is shown the versions of a definition. Throws where there is none that he may see. A file that was removed leaves the versions that
   * runs were started from: they are what is there of it.
   */
  async function showVersions(caller: DefinitionCaller, id: string): Promise<ShowGraph> {
    if (isDefinitionId(id)) {
      await stored(caller, id);
      return showTo(caller);
    }
    if (files.get(id) === undefined && !(await hasVersions(caller, id))) {
      throw WorkflowErrors.definitionNotFound();
    }
    return redacted;
  }

  async function hasVersions({ tenantId }: DefinitionCaller, id: string): Promise<boolean> {
    return (await versions.list(tenantId, id, { limit: 0, offset: 0 })).total > 0;
  }

  return {
    resolve: createResolve({ store, versions, files }),

    graphErrors: (graph) => toFieldErrors(checkGraph(graph, types), '/body/graph'),

    async create(caller, content) {
      const { name, description } = content;
      const graph = requireValid(content.graph, types, '/body/graph');
      const createdBy = caller.identityId;
      const created = await store.create(caller.tenantId, { name, description, graph, createdBy });
      return definitionRecord(created, showTo(caller));
    },

    async get(caller, id) {
      return findFile(id) ?? definitionRecord(await stored(caller, id), showTo(caller));
    },

    async list(caller, page) {
      const { definitions, total } = await store.list(caller.tenantId, page);
      const all = files.list();
      const start = Math.max(0, page.offset - total);
      const room = page.limit - definitions.length;
      const show = showTo(caller);
      const records = [
        ...definitions.map((definition) => () => definitionRecord(definition, show)),
        ...all.slice(start, start + room).map(
          ({ value, generation }) =>
            () =>
              fileRecord(value, generation, redacted),
        ),
      ];
      const shown = await mapBreathing(records, (record) => record(), clock);
      return { definitions: shown, total: total + all.length };
    },

    update(caller, id, changes, expected) {
      return change(caller, id, expected, async (before) => {
        requireLive(before);
        const { name = before.name, description = before.description } = changes;
        const graph =
          changes.graph === undefined ? before.graph : requireValid(changes.graph, types, '/body/graph');
        const after = hasChanges(changes) ? await store.update(before, { name, description, graph }) : before;
        return after && definitionRecord(after, showTo(caller));
      });
    },

    async remove(caller, id, expected) {
      await change(caller, id, expected, async (before) => {
        if (before.latestVersion !== null) {
          throw WorkflowErrors.published('Runs refer to it. Archive it, so that no more runs start.');
        }
        return (await store.delete(before)) || undefined;
      });
    },

    publish(caller, id, expected) {
      return change(caller, id, expected, async (before) => {
        requireLive(before);
        requireValid(before.graph, types, '/graph');
        const published = await store.publish(before, caller.identityId);
        return published && versionRecord(published.version, showTo(caller));
      });
    },

    archive(caller, id, expected) {
      return change(caller, id, expected, async (before) => {
        if (before.status === 'draft') {
          throw WorkflowErrors.notPublished('A draft that was never published is not archived: delete it.');
        }
        const after = before.status === 'archived' ? before : await store.archive(before);
        return after && definitionRecord(after, showTo(caller));
      });
    },

    async versions(caller, id, page) {
      const show = await showVersions(caller, id);
      const found = await versions.list(caller.tenantId, id, page);
      const shown = await mapBreathing(found.versions, (version) => versionRecord(version, show), clock);
      return { versions: shown, total: found.total };
    },

    async version(caller, id, number) {
      const show = await showVersions(caller, id);
      const found = await versions.ofNumber(caller.tenantId, id, number);
      if (found === undefined) throw WorkflowErrors.versionNotFound();
      return versionRecord(found, show);
    },
  };
}

const asWritten: ShowGraph = (graph) => graph;

function requireLive({ status }: StoredDefinition): void {
  if (status === 'archived')
    throw WorkflowErrors.archived('An archived definition does not change any more.');
}

function hasChanges(changes: Partial<WrittenDefinition>): boolean {
  return Object.values(changes).some((value) => value !== undefined);
}
