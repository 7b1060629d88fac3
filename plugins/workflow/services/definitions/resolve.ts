import type { ResourceView } from 'agent-gateway';
import { type StartableVersion, WorkflowErrors } from '../../contract/engine.ts';
import type { DefinitionStore } from '../ports/definition-store.ts';
import type { StoredVersion, Versions } from '../ports/versions.ts';
import { isDefinitionId } from './definition-id.ts';
import { DEPLOYMENT } from './definition-record.ts';
import { toFieldErrors } from './require-valid.ts';
import type { WorkflowFile } from './workflow-file.ts';

/** What resolving works with. */
export interface ResolveParts {
  readonly store: Pick<DefinitionStore, 'get' | 'latest'>;
  readonly versions: Pick<Versions, 'ensure'>;
  readonly files: Pick<ResourceView<WorkflowFile>, 'get'>;
}

/** Finds what a run starts from; see `Definitions.resolve`. */
export function createResolve({ store, versions, files }: ResolveParts) {
  async function ofDefinition(tenantId: string, id: string): Promise<StoredVersion> {
    const [definition, latest] = await Promise.all([store.get(tenantId, id), store.latest(tenantId, id)]);
    if (definition === undefined) throw WorkflowErrors.definitionNotFound();
    if (definition.status === 'archived') {
      throw WorkflowErrors.archived('No runs start from an archived definition.');
    }
    if (definition.status === 'draft' || latest === undefined) {
      throw WorkflowErrors.notPublished(
        `Publish it first: POST /v1/workflow-definitions/${definition.id}/publish`,
      );
    }
    return latest;
  }

  /** By content: a file that changed, and changed back, is the version that it was. */
  function ofFile(tenantId: string, file: WorkflowFile): Promise<StoredVersion> {
    const problems = file.problems();
    if (problems.length > 0) {
      const [{ message }] = problems as [(typeof problems)[number]];
      throw WorkflowErrors.notPublished(`The workflow ${file.name} of agents.d cannot run now: ${message}`, {
        errors: toFieldErrors(problems),
      });
    }
    const { name: definitionId, graph } = file;
    return versions.ensure({ tenantId, definitionId, graph, publishedBy: DEPLOYMENT });
  }

  return async (tenantId: string, idOrName: string): Promise<StartableVersion> => {
    const file = files.get(idOrName);
    if (file === undefined && !isDefinitionId(idOrName)) throw WorkflowErrors.definitionNotFound();
    const version =
      file === undefined ? await ofDefinition(tenantId, idOrName) : await ofFile(tenantId, file);
    return { id: version.id, definitionId: version.definitionId, version: version.version };
  };
}
