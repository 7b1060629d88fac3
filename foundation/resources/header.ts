import { isJsonObject } from '../base/json-object.ts';
import { pointerSegment } from '../base/json-pointer.ts';
import { didYouMean } from '../base/nearest-name.ts';
import type { ResourceMetadata, ResourceProblem } from './kind.ts';

/** What `apiVersion` has to look like: any service's name, then the version. The gateway writes `svc/v1`. */
export const API_VERSION = '^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?/v1$';
/** What `kind` has to look like. */
export const KIND_NAME = '^[A-Z][A-Za-z0-9]{0,63}$';
/** What `metadata.name` has to look like. */
export const RESOURCE_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';

/** A document as far as it is the same for all kinds. */
export interface Header {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ResourceMetadata;
  /** Not checked yet. */
  readonly spec: unknown;
}

/** What was read of a header. */
interface HeaderReading {
  /** `<kind>/<name>`, where both can be read: it says whose document this is, also when it is wrong otherwise. */
  readonly id: string | undefined;
  /** Absent when there are problems. */
  readonly header: Header | undefined;
  /** What there is where there are problems, if it says of which kind it is. */
  readonly unread: UnreadDocument | undefined;
  readonly problems: readonly ResourceProblem[];
}

/** A document with a bad header. Its kind tells what else is wrong with it. */
export interface UnreadDocument {
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: unknown;
}

/** `<kind>/<name>`: neither can hold a slash. */
export function resourceId(kind: string, name: string): string {
  return `${kind}/${name}`;
}

const MEMBERS = ['apiVersion', 'kind', 'metadata', 'spec'];
const METADATA = ['name', 'description', 'labels', 'annotations'];
/** Characters of a description. */
export const MAX_DESCRIPTION = 1_000;
/** Labels, and annotations, of one resource. */
export const MAX_ENTRIES = 64;
/** Characters of a label or annotation. */
export const MAX_TEXT = 1_000;

/** Checks what all kinds have in common. Reports all problems at once. */
export function readHeader(value: unknown): HeaderReading {
  const problems: ResourceProblem[] = [];
  const report = (pointer: string, message: string) => void problems.push({ pointer, message });
  if (!isJsonObject(value)) {
    report('', 'must be a mapping with apiVersion, kind, metadata and spec');
    return { id: undefined, header: undefined, unread: undefined, problems };
  }
  refuseUnknown(value, MEMBERS, '', report);
  const version = text(value, 'apiVersion', '', API_VERSION, 'must be svc/v1', report);
  const kind = text(value, 'kind', '', KIND_NAME, 'must be the name of a kind, like Model', report);
  const metadata = isJsonObject(value.metadata) ? value.metadata : undefined;
  if (metadata === undefined) {
    report('/metadata', value.metadata === undefined ? 'is required' : 'must be a mapping');
  }
  refuseUnknown(metadata ?? {}, METADATA, '/metadata', report);
  const pattern =
    'must be 1 to 63 letters, digits, dots, underscores and dashes, and begin with a letter or digit';
  const name =
    metadata === undefined ? undefined : text(metadata, 'name', '/metadata', RESOURCE_NAME, pattern, report);
  const description = optionalText(metadata?.description, report);
  const labels = strings(metadata?.labels, 'labels', report);
  const annotations = strings(metadata?.annotations, 'annotations', report);
  if (value.spec === undefined) report('/spec', 'is required');
  const id = kind === undefined || name === undefined ? undefined : resourceId(kind, name);
  if (problems.length > 0) {
    const unread = kind === undefined ? undefined : { kind, metadata: metadata ?? {}, spec: value.spec };
    return { id, header: undefined, unread, problems };
  }
  const about = {
    name: name!,
    ...(description === undefined ? {} : { description }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  return {
    id,
    header: { apiVersion: version!, kind: kind!, metadata: about, spec: value.spec },
    unread: undefined,
    problems,
  };
}

type Report = (pointer: string, message: string) => void;

function refuseUnknown(
  value: Record<string, unknown>,
  known: readonly string[],
  at: string,
  report: Report,
): void {
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    report(`${at}/${pointerSegment(key)}`, `is not known here${didYouMean(key, known)}`);
  }
}

function text(
  value: Record<string, unknown>,
  key: string,
  at: string,
  pattern: string,
  otherwise: string,
  report: Report,
): string | undefined {
  const found = value[key];
  if (typeof found === 'string' && new RegExp(pattern).test(found)) return found;
  report(`${at}/${key}`, found === undefined || found === null ? `is required, and ${otherwise}` : otherwise);
  return undefined;
}

function optionalText(value: unknown, report: Report): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && value.length <= MAX_DESCRIPTION) return value;
  report('/metadata/description', `must be a text of at most ${MAX_DESCRIPTION} characters`);
  return undefined;
}

function strings(value: unknown, key: string, report: Report): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  const at = `/metadata/${key}`;
  if (!isJsonObject(value) || Object.keys(value).length > MAX_ENTRIES) {
    report(at, `must be a mapping of at most ${MAX_ENTRIES} names to texts`);
    return undefined;
  }
  for (const [name, found] of Object.entries(value)) {
    if (typeof found === 'string' && found.length <= MAX_TEXT) continue;
    report(
      `${at}/${pointerSegment(name)}`,
      `must be a text of at most ${MAX_TEXT} characters; quote numbers`,
    );
  }
  return value as Record<string, string>;
}
