import type { FieldError, Page } from 'agent-gateway';
import { type StartableVersion, WorkflowErrors } from '../../contract/engine.ts';
import type { VersionRecord } from '../../contract/runs.ts';
import type { StoredDefinition } from '../ports/definition-store.ts';
import type { DefinitionRecord } from './definition-record.ts';

/** A definition as its author wrote it: `graph` is not checked yet. */
export interface WrittenDefinition {
  readonly name: string;
  readonly description: string;
  readonly graph: unknown;
}

/**
 * Definitions of workflows: those of the caller's tenant, and the files of agents.d, which all tenants see and the API does not change. A definition of
 * another tenant is not there. Unknown ids are `workflow.definition-not-found`; whatever would change a file is `workflow.read-only`.
 */
export interface Definitions {
  /** All that is wrong with a graph that somebody sent, pointers beginning with `/body/graph`. */
  graphErrors(graph: unknown): readonly FieldError[];
  /** Stores a draft. Throws `workflow.graph-invalid`. */
  create(caller: DefinitionCaller, content: WrittenDefinition): Promise<DefinitionRecord>;
  get(caller: DefinitionCaller, id: string): Promise<DefinitionRecord>;
  /** The tenant's own, newest first; after them the files, by name. */
  list(
    caller: DefinitionCaller,
    page: Page,
  ): Promise<{ readonly definitions: readonly DefinitionRecord[]; readonly total: number }>;
  /**
   * Changes what is named, of a published definition too: its versions, and so its runs, stay as they are until the next publishing. Throws
   * `workflow.revision-mismatch`, `workflow.archived`, `workflow.graph-invalid`.
   */
  update(
    caller: DefinitionCaller,
    id: string,
    changes: Partial<WrittenDefinition>,
    expected?: ExpectedRevision,
  ): Promise<DefinitionRecord>;
  /** Deletes a draft. Throws `workflow.published` for a definition that was ever published: its runs refer to it. */
  remove(caller: DefinitionCaller, id: string, expected?: ExpectedRevision): Promise<void>;
  /**
   * Makes a new version of the draft, also of one that did not change; runs start from it from now on. Throws what `update` throws.
   */
  publish(caller: DefinitionCaller, id: string, expected?: ExpectedRevision): Promise<VersionRecord>;
  /** Nothing starts any more; runs go on. A second time changes nothing. Throws `workflow.not-published` for a draft. */
  archive(caller: DefinitionCaller, id: string, expected?: ExpectedRevision): Promise<DefinitionRecord>;
  /** Newest first. Of a file: those that runs of the tenant were started from, also when the file was removed meanwhile. */
  versions(
    caller: DefinitionCaller,
    id: string,
    page: Page,
  ): Promise<{ readonly versions: readonly VersionRecord[]; readonly total: number }>;
  /** Throws `workflow.version-not-found`. */
  version(caller: DefinitionCaller, id: string, number: number): Promise<VersionRecord>;
  /**
   * What a run starts from: the newest version of a published definition, or, by its name, a workflow of agents.d as it is now. Throws
   * `workflow.not-published` and `workflow.archived`.
   */
  resolve(tenantId: string, idOrName: string): Promise<StartableVersion>;
}

/** Who works with definitions. */
export interface DefinitionCaller {
  readonly tenantId: string;
  /** The credential's identity, which records name as their author. */
  readonly identityId: string;
  /**
   * Whether he may write definitions. Who may sees graphs as they were written, so that what he reads he can send back; for others
   * credentials in them are redacted.
   */
  readonly isAuthor: boolean;
}

/** The revisions that a caller takes for the current one; undefined where he does not care. */
export type ExpectedRevision = readonly number[] | undefined;

/** Throws `workflow.revision-mismatch` for a definition that is none of the expected ones. */
export function requireRevision({ revision }: StoredDefinition, expected: ExpectedRevision): void {
  if (expected === undefined || expected.includes(revision)) return;
  throw WorkflowErrors.revisionMismatch(
    `The definition has revision ${revision} by now. Read it again, and repeat the change with If-Match: "${revision}".`,
  );
}
