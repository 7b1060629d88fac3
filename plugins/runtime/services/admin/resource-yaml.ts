import { isJsonObject } from 'agent-gateway';
import { parse, parseDocument, stringify, visit } from 'yaml';

/** The content of a document of agents.d. */
export interface ResourceContent {
  readonly description?: string | undefined;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The document of a new resource. Pure. */
export function newYaml(kind: string, name: string, { description, spec }: ResourceContent): string {
  const metadata = { name, ...(description && { description }) };
  return stringify({ apiVersion: 'svc/v1', kind, metadata, spec });
}

/**
 * The document with another description or `spec`. Absent members stay, and so do comments outside of the replaced
 * parts. Pure.
 */
export function changedYaml(yaml: string, { description, spec }: Partial<ResourceContent>): string {
  const document = parseDocument(yaml);
  // A replaced part may contain the anchors of aliases elsewhere: aliases are expanded first, which loses the comments.
  const changed = hasAliases(document) ? parseDocument(stringify(document.toJS(), NO_ALIASES)) : document;
  if (description !== undefined) changed.setIn(['metadata', 'description'], description);
  if (spec !== undefined) changed.set('spec', changed.createNode(spec));
  return changed.toString();
}

const NO_ALIASES = { aliasDuplicateObjects: false };

function hasAliases(document: ReturnType<typeof parseDocument>): boolean {
  let isFound = false;
  visit(document, {
    Alias() {
      isFound = true;
      return visit.BREAK;
    },
  });
  return isFound;
}

/** `spec` of a document as it was written; undefined of one that is no YAML, or whose `spec` is no mapping. Pure. */
export function specOf(yaml: string): Readonly<Record<string, unknown>> | undefined {
  const spec = membersOf(yaml)?.spec;
  return isJsonObject(spec) ? spec : undefined;
}

/** `metadata.name` of a document that may be invalid; undefined where no text can be read there. Pure. */
export function nameOf(yaml: string): string | undefined {
  const metadata = membersOf(yaml)?.metadata;
  const name = isJsonObject(metadata) ? metadata.name : undefined;
  return typeof name === 'string' ? name : undefined;
}

function membersOf(yaml: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const document: unknown = parse(yaml);
    return isJsonObject(document) ? document : undefined;
  } catch {
    // A file may be invalid at any moment; the status reports what is wrong with it.
    return undefined;
  }
}
