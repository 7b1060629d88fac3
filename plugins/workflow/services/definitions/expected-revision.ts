import { WorkflowErrors } from '../../contract/engine.ts';
import type { StoredDefinition } from '../ports/definition-store.ts';

/** The revisions that a caller takes for the current one; undefined where he does not care. */
export type ExpectedRevision = readonly number[] | undefined;

/** Throws `workflow.revision-mismatch` for a definition that is none of the expected ones. */
export function requireRevision({ revision }: StoredDefinition, expected: ExpectedRevision): void {
  if (expected === undefined || expected.includes(revision)) return;
  throw WorkflowErrors.revisionMismatch(
    `The definition has revision ${revision} by now. Read it again, and repeat the change with If-Match: "${revision}".`,
  );
}
