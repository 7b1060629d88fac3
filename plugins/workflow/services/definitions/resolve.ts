import { isUuid, nearestName, type ResourceView } from 'agent-gateway';
import { type StartableVersion, WorkflowErrors } from '../../contract/engine.ts';
import type { DefinitionStore } from '../../store/definition-store.ts';
import type { StoredVersion, Versions } from '../../store/versions.ts';
import { DEPLOYMENT } from './definition-record.ts';
import { toFieldErrors } from './require-valid.ts';
import type { WorkflowFile } from './workflow-resource.ts';

/** What resolving works with. */
interface ResolveParts {
  readonly store: Pick<DefinitionStore, 'get'>;
  readonly versions: Pick<Versions, 'ensure' | 'ofNumber'>;
  readonly files: Pick<ResourceView<WorkflowFile>, 'get' | 'list'>;
}

/** Names of files that an error lists at most. */
const MAX_LISTED = 20;

/**
 * Finds what a run starts from: the newest version of a published definition, or, by its name, a workflow of agents.d
 * as it is now. Throws `workflow.definition-not-found`, `workflow.not-published` and `workflow.archived`.
 */
export function createResolve({ store, versions, files }: ResolveParts) {
  async function ofDefinition(tenantId: string, id: string): Promise<StoredVersion> {
    const definition = await store.get(tenantId, id);
    if (definition === undefined) throw WorkflowErrors.definitionNotFound();
    if (definition.status === 'archived') {
      throw WorkflowErrors.archived('No runs start from an archived definition.');
    }
    const { latestVersion } = definition;
    const latest = latestVersion === null ? undefined : await versions.ofNumber(tenantId, id, latestVersion);
    if (latest === undefined) {
      throw WorkflowErrors.notPublished(`Publish it first: POST /v1/workflow-definitions/${id}/publish`);
    }
    return latest;
  }

  /** People and models misspell names. The names of files are not secret: every tenant may list and start them. */
  function unknown(name: string) {
    const names = files.list().map((file) => file.name);
    const meant = nearestName(name, names);
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
    const more = names.length > MAX_LISTED ? `, and ${names.length - MAX_LISTED} more` : '';
    const listed = names.length === 0 ? 'none' : names.slice(0, MAX_LISTED).join(', ') + more;
    return WorkflowErrors.definitionNotFound(
      `No workflow of agents.d has this name.${hint} There are: ${listed}. Definitions that were made through the API are named by their id.`,
    );
  }

  /** By content: a file that was changed and changed back is the same version again. */
  function ofFile(tenantId: string, file: WorkflowFile): Promise<StoredVersion> {
    const { name: definitionId, graph } = runnable(file);
    return versions.ensure({ tenantId, definitionId, graph, publishedBy: DEPLOYMENT });
  }

  return async (tenantId: string, idOrName: string): Promise<StartableVersion> => {
    const file = files.get(idOrName);
    if (file === undefined && !isUuid(idOrName)) throw unknown(idOrName);
    const version =
      file === undefined ? await ofDefinition(tenantId, idOrName) : await ofFile(tenantId, file);
    return { id: version.id, definitionId: version.definitionId, version: version.version };
  };
}

/** The workflow of agents.d. Throws `workflow.not-published` where it cannot run now. */
export function runnable(file: WorkflowFile): WorkflowFile {
  const [first, ...others] = file.problems();
  if (first === undefined) return file;
  throw WorkflowErrors.notPublished(
    `The workflow ${file.name} of agents.d cannot run now: ${first.message}`,
    {
      errors: toFieldErrors([first, ...others]),
    },
  );
}
