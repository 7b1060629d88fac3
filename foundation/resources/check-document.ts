import type { Validator } from '../base/json-schema.ts';
import { deepFreeze } from './freeze.ts';
import { KIND_NAME, RESOURCE_NAME, resourceId } from './header.ts';
import type { Kind, Resource, ResourceProblem, ResourceReference } from './kind.ts';
import { type LocatedProblem, reasonOf } from './problem.ts';
import type { SourceDocument } from './source-file.ts';

/** A reference with the id of what it leads to. */
export interface CheckedReference extends ResourceReference {
  readonly id: string;
}

/** A document after its kind looked at it: what to build, or why not. */
export type CheckedDocument =
  | { readonly resource: Resource; readonly references: readonly CheckedReference[] }
  | { readonly problems: readonly LocatedProblem[] };

/** Checks `spec` by the schema, and only a good one by the kind's own rules. The header must be good. Does not throw. */
export function checkDocument(
  document: SourceDocument,
  definition: Kind,
  check: Validator,
  limit: number,
): CheckedDocument {
  const header = document.header!;
  const spec: unknown = structuredClone(header.spec);
  try {
    const misfits = check(spec);
    if (misfits.length > 0) return { problems: document.locate(misfits.slice(0, limit)) };
    const resource: Resource = deepFreeze({ ...header, spec });
    const problems = definition.check?.(resource) ?? [];
    if (problems.length > 0) return { problems: document.locate(problems.slice(0, limit)) };
    const references = (definition.references?.(resource) ?? []).map(withId);
    const odd = references.find(({ kind, name }) => !isName(kind, KIND_NAME) || !isName(name, RESOURCE_NAME));
    if (odd === undefined) return { resource, references };
    return {
      problems: document.locate([{ pointer: odd.pointer, message: 'is not the name of a resource' }]),
    };
  } catch (failure) {
    return { problems: document.locate([thrown(failure)]) };
  }
}

function withId(reference: ResourceReference): CheckedReference {
  return { ...reference, id: resourceId(reference.kind, reference.name) };
}

function isName(text: string, pattern: string): boolean {
  return new RegExp(pattern).test(text);
}

function thrown(failure: unknown): ResourceProblem {
  return { pointer: '', message: `could not be checked: ${reasonOf(failure)}` };
}
