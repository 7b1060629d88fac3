import { setTimeout } from 'node:timers/promises';
import {
  backoffDelay,
  type Clock,
  holdsText,
  isUuid,
  KeyedMutex,
  type LiveResource,
  mapWithPauses,
  type Page,
  type ResourceView,
  type Scope,
} from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';
import type { Graph } from '../../contract/graph.ts';
import type { VersionRecord } from '../../contract/runs.ts';
import {
  createDefinitionStore,
  type DefinitionStore,
  type StoredDefinition,
} from '../../store/definition-store.ts';
import { gatewayDefinitions, gatewayTables } from '../../store/tables.ts';
import type { Versions } from '../../store/versions.ts';
import { checkGraph } from '../graph/check-graph.ts';
import type { NodeTypes } from '../ports/execution.ts';
import type { Redactor } from '../views/redaction.ts';
import {
  type DefinitionRecord,
  definitionRecord,
  fileRecord,
  type ShowGraph,
  showRedacted,
  versionRecord,
} from './definition-record.ts';
import { requireValid, toFieldErrors } from './require-valid.ts';
import { createResolve, runnable } from './resolve.ts';
import { type WorkflowFile, workflowKind } from './workflow-resource.ts';

/** A definition as its author wrote it: `graph` is not checked yet. */
export interface WrittenDefinition {
  readonly name: string;
  readonly description: string;
  readonly graph: unknown;
}

/** What is changed of a definition; what is absent stays as it is. */
export type DefinitionChanges = {
  readonly [Name in keyof WrittenDefinition]?: WrittenDefinition[Name] | undefined;
};

/** The caller of an operation on definitions. */
export interface DefinitionCaller {
  readonly tenantId: string;
  /** The credential's identity, which records name as their author. */
  readonly identityId: string;
  /**
   * Whether the caller may write definitions. Authors see graphs as they were written, so that they can send back what
   * they read; for other callers credentials in them are redacted.
   */
  readonly isAuthor: boolean;
}

/** Whether a caller expects this revision to be current. */
export type ExpectedRevision = (revision: number) => boolean;

/** Throws `workflow.revision-mismatch` for a definition whose revision is not expected. */
function requireRevision({ revision }: StoredDefinition, expected: ExpectedRevision | undefined): void {
  if (expected === undefined || expected(revision)) return;
  throw WorkflowErrors.revisionMismatch(
    `The definition has revision ${revision} by now. Read it again, and repeat the change with If-Match: "${revision}".`,
  );
}

/** What definitions are made with. */
interface DefinitionsParts {
  readonly store: DefinitionStore;
  readonly versions: Versions;
  readonly files: Pick<ResourceView<WorkflowFile>, 'get' | 'list'>;
  readonly types: NodeTypes;
  readonly redactor: Redactor;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Waits for so many milliseconds. */
  readonly pause?: (ms: number) => Promise<unknown>;
}

/** Milliseconds for which a change waits for others of the same definition. */
const MAX_WAIT_MS = 10_000;
/** Pauses between the tries of a change, when other replicas were quicker. */
const PAUSES = { first: 5, most: 50 };

export type Definitions = ReturnType<typeof createDefinitions>;

/**
 * Definitions of workflows: those of the caller's tenant, and the files of agents.d, which all tenants see and the API
 * does not change. Definitions of other tenants are not found. Unknown ids are `workflow.definition-not-found`; every
 * change of a file is `workflow.read-only`.
 */
export function createDefinitions(parts: DefinitionsParts) {
  const { store, versions, files, types, redactor, clock, pause = setTimeout } = parts;
  const changes = new KeyedMutex();
  const redacted = showRedacted(redactor);
  const showTo = ({ isAuthor }: DefinitionCaller): ShowGraph => (isAuthor ? asWritten : redacted);

  /** Files belong to the deployment: no caller is their author, so their graphs are always redacted. */
  const ofFile = ({ value, generation }: LiveResource<WorkflowFile>) =>
    fileRecord(value, generation, redacted);

  async function stored({ tenantId }: DefinitionCaller, id: string): Promise<StoredDefinition> {
    if (files.get(id) !== undefined) {
      throw WorkflowErrors.readOnly(`The workflow ${id} is a file of agents.d: change it there.`);
    }
    const found = isUuid(id) ? await store.get(tenantId, id) : undefined;
    if (found === undefined) throw WorkflowErrors.definitionNotFound();
    return found;
  }

  async function get(caller: DefinitionCaller, id: string): Promise<DefinitionRecord> {
    const file = isUuid(id) ? undefined : files.list().find(({ name }) => name === id);
    return file ? ofFile(file) : definitionRecord(await stored(caller, id), showTo(caller));
  }

  /**
   * Reads and changes a definition. Changes of one definition wait for each other; when another replica was faster, the
   * change begins again, and its check of the expected revision then fails. Throws `workflow.busy` when its turn does
   * not come in time.
   */
  function change<T>(
    caller: DefinitionCaller,
    id: string,
    expected: ExpectedRevision | undefined,
    apply: (before: StoredDefinition) => Promise<T | undefined>,
  ): Promise<T> {
    const deadline = clock.monotonic() + MAX_WAIT_MS;
    return changes.run(`${caller.tenantId}/${id}`, async () => {
      for (let tries = 1; clock.monotonic() < deadline; tries += 1) {
        const before = await stored(caller, id);
        requireRevision(before, expected);
        const after = await apply(before);
        if (after !== undefined) return after;
        await pause(backoffDelay(tries, PAUSES));
      }
      throw WorkflowErrors.busy();
    });
  }

  /**
   * How the versions of a definition are shown to a caller. Throws if there is no definition that the caller may see.
   * Of a removed file the versions from which runs were started remain, and are shown.
   */
  async function showVersions(caller: DefinitionCaller, id: string): Promise<ShowGraph> {
    if (isUuid(id)) {
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

    describe: (tenantId: string, id: string): Promise<DefinitionRecord> =>
      get({ tenantId, identityId: '', isAuthor: false }, id),

    file: (name: string): Graph | undefined => {
      const file = files.get(name);
      return file && runnable(file).graph;
    },

    fileNames: () => files.list().map(({ name }) => name),

    check: (graph: Graph) => checkGraph(graph, types),

    /** All problems of a graph in a request body, with pointers that begin with `/body/graph`. */
    graphErrors: (graph: unknown) => toFieldErrors(checkGraph(graph, types), '/body/graph'),

    /** Stores a draft. Throws `workflow.graph-invalid`. */
    async create(caller: DefinitionCaller, content: WrittenDefinition): Promise<DefinitionRecord> {
      const { name, description } = content;
      const graph = requireValid(content.graph, types, '/body/graph');
      const createdBy = caller.identityId;
      const created = await store.create(caller.tenantId, { name, description, graph, createdBy });
      return definitionRecord(created, showTo(caller));
    },

    get,

    /** The tenant's own, newest first; after them the files, by name. `q` is a part of the name, or the id. */
    async list(
      caller: DefinitionCaller,
      page: Page,
      q?: string,
    ): Promise<{ readonly definitions: readonly DefinitionRecord[]; readonly total: number }> {
      const { definitions, total } = await store.list(caller.tenantId, page, q);
      const all = files.list().filter(({ name }) => q === undefined || holdsText([name], q));
      const start = Math.max(0, page.offset - total);
      const room = page.limit - definitions.length;
      const show = showTo(caller);
      const shown = [
        ...(await mapWithPauses(definitions, (definition) => definitionRecord(definition, show))),
        ...(await mapWithPauses(all.slice(start, start + room), ofFile)),
      ];
      return { definitions: shown, total: total + all.length };
    },

    /**
     * Changes what is named, of a published definition too: its versions, and so its runs, stay as they are until the
     * next publishing. Throws `workflow.revision-mismatch`, `workflow.archived`, `workflow.graph-invalid`.
     */
    update(
      caller: DefinitionCaller,
      id: string,
      written: DefinitionChanges,
      expected?: ExpectedRevision,
    ): Promise<DefinitionRecord> {
      return change(caller, id, expected, async (before) => {
        requireLive(before);
        const { name = before.name, description = before.description } = written;
        const graph =
          written.graph === undefined ? before.graph : requireValid(written.graph, types, '/body/graph');
        const after = hasChanges(written) ? await store.update(before, { name, description, graph }) : before;
        return after && definitionRecord(after, showTo(caller));
      });
    },

    /** Deletes a draft. Throws `workflow.published` for a definition that was ever published: its runs refer to it. */
    async remove(caller: DefinitionCaller, id: string, expected?: ExpectedRevision): Promise<void> {
      await change(caller, id, expected, async (before) => {
        if (before.latestVersion !== null) {
          throw WorkflowErrors.published('Runs refer to it. Archive it, so that no more runs start.');
        }
        return (await store.delete(before)) || undefined;
      });
    },

    /**
     * Makes a new version of the draft, also of one that did not change; runs start from it from now on. Throws what
     * `update` throws.
     */
    publish(caller: DefinitionCaller, id: string, expected?: ExpectedRevision): Promise<VersionRecord> {
      return change(caller, id, expected, async (before) => {
        requireLive(before);
        requireValid(before.graph, types, '/graph');
        const published = await store.publish(before, caller.identityId);
        return published && versionRecord(published.version, showTo(caller));
      });
    },

    /**
     * No runs start from it any more; existing runs continue. A second call changes nothing. Throws
     * `workflow.not-published` for a draft.
     */
    archive(caller: DefinitionCaller, id: string, expected?: ExpectedRevision): Promise<DefinitionRecord> {
      return change(caller, id, expected, async (before) => {
        if (before.status === 'draft') {
          throw WorkflowErrors.notPublished('A draft that was never published is not archived: delete it.');
        }
        const after = before.status === 'archived' ? before : await store.archive(before);
        return after && definitionRecord(after, showTo(caller));
      });
    },

    /**
     * Newest first. Of a file: the versions from which runs of the tenant were started, also if the file was removed
     * meanwhile.
     */
    async versions(
      caller: DefinitionCaller,
      id: string,
      page: Page,
    ): Promise<{ readonly versions: readonly VersionRecord[]; readonly total: number }> {
      const show = await showVersions(caller, id);
      const found = await versions.list(caller.tenantId, id, page);
      const shown = await mapWithPauses(found.versions, (version) => versionRecord(version, show));
      return { versions: shown, total: found.total };
    },

    /** Throws `workflow.version-not-found`. */
    async version(caller: DefinitionCaller, id: string, number: number): Promise<VersionRecord> {
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

function hasChanges(changes: DefinitionChanges): boolean {
  return Object.values(changes).some((value) => value !== undefined);
}

/** Registers the kind Workflow, and opens the definitions of the gateway's own engine. */
export function openDefinitions(
  scope: Scope,
  { types, versions, redactor }: Pick<DefinitionsParts, 'types' | 'versions' | 'redactor'>,
): Definitions {
  const { clock, ids, database } = scope.services;
  const files = scope.kind(workflowKind({ types, clock }));
  const tables = { tables: gatewayTables, definitions: gatewayDefinitions };
  const store = createDefinitionStore({ database, clock, ids, ...tables });
  return createDefinitions({ store, versions, files, types, redactor, clock });
}
