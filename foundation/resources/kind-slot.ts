import { isJsonObject } from '../base/json-object.ts';
import { createValidator, type Validator } from '../base/json-schema.ts';
import { deepFreeze } from '../config/read-config.ts';
import type { Logger } from '../observability/logger.ts';
import type { SourceDocument } from './document.ts';
import { KIND_NAME, RESOURCE_NAME, resourceId } from './header.ts';
import type {
  Kind,
  LiveResource,
  Resource,
  ResourceProblem,
  ResourceReference,
  ResourceView,
} from './kind.ts';
import { closedSchema } from './kind-schema.ts';
import { type LocatedProblem, reasonOf } from './problem.ts';

/** What a slot knows of a version: see `Version`. */
interface SlotVersion {
  readonly step: { readonly resource: Resource };
  readonly value: unknown;
  readonly generation: number;
  pin(): void;
  unpin(): void;
  lease(): () => void;
  dispose(): Promise<void>;
}

interface SlotEntry {
  readonly version: SlotVersion;
  readonly file: string;
}

/**
 * One registration of a kind, by one generation of a plugin. A generation that was replaced keeps what was live when it
 * left, for its calls in flight, until it is emptied.
 */
export class KindSlot {
  readonly definition: Kind;
  readonly log: Logger;
  /** Every version of it that is not disposed yet. */
  readonly versions = new Set<SlotVersion>();
  readonly view: ResourceView;
  readonly #check: Validator;
  readonly #checked = new WeakMap<SourceDocument, CheckedDocument>();
  readonly #listeners = new Set<() => void>();
  #live: ReadonlyMap<string, SlotEntry> = new Map();

  constructor(definition: Kind, log: Logger) {
    this.definition = definition;
    this.log = log;
    this.#check = createValidator(closedSchema(definition.spec), 'spec');
    this.view = this.#createView();
  }

  /** By name. */
  get live(): ReadonlyMap<string, SlotEntry> {
    return this.#live;
  }

  /** Checks a document of this kind, whose header may be bad; the same document is checked once. */
  check(document: SourceDocument, limit: number): CheckedDocument {
    const known = this.#checked.get(document);
    if (known !== undefined) return known;
    const checked = checkDocument(document, this.definition, this.#check, limit);
    this.#checked.set(document, checked);
    return checked;
  }

  /** Exchanges what is live. Returns whether a reader can see a difference. */
  exchange(next: ReadonlyMap<string, SlotEntry>): boolean {
    const old = this.#live;
    this.#live = next;
    for (const { version } of next.values()) version.pin();
    for (const { version } of old.values()) version.unpin();
    return next.size !== old.size || [...next].some(([name, entry]) => !isSame(entry, old.get(name)));
  }

  /** Calls the listeners of the view; what they throw is logged. */
  announce(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (err) {
        this.log.error({ err, kind: this.definition.kind }, 'a listener to changes of resources failed');
      }
    }
  }

  #createView(): ResourceView {
    return {
      get: (name) => this.#live.get(name)?.version.value,
      acquire: (name) => {
        const version = this.#live.get(name)?.version;
        if (version === undefined) return undefined;
        const release = version.lease();
        const { value, generation } = version;
        return { value, generation, release, [Symbol.dispose]: release };
      },
      list: () => {
        const all = [...this.#live].map(([name, { version, file }]): LiveResource => {
          const { value, step, generation } = version;
          return { name, value, resource: step.resource, file, generation };
        });
        return all.sort((one, other) => (one.name < other.name ? -1 : 1));
      },
      onChange: (listener) => {
        // A function of its own, so that one listener can be registered twice and removed once.
        const one = () => listener();
        this.#listeners.add(one);
        return () => void this.#listeners.delete(one);
      },
    };
  }
}

function isSame(one: SlotEntry, other: SlotEntry | undefined): boolean {
  return one.version === other?.version && one.file === other.file;
}

/** A reference with the id of what it leads to. */
export interface CheckedReference extends ResourceReference {
  readonly id: string;
}

/** A document after its kind looked at it: what to build, or why not. */
type CheckedDocument =
  | { readonly resource: Resource; readonly references: readonly CheckedReference[] }
  | { readonly problems: readonly LocatedProblem[] };

/**
 * Checks `spec` by the schema and the kind's rules. A bad header hides no problem of `spec`, and the schema none of the
 * rules that see unread documents; those for sound ones see no other. The kind must be readable. Does not throw.
 */
function checkDocument(
  document: SourceDocument,
  definition: Kind,
  check: Validator,
  limit: number,
): CheckedDocument {
  const { header } = document;
  const { metadata, spec: written } = header ?? document.unread!;
  const spec: unknown = structuredClone(written);
  const refused = (found: readonly ResourceProblem[]) => ({
    problems: [...document.problems, ...document.locate(found.slice(0, limit))].slice(0, limit),
  });
  try {
    const misfits = written === undefined ? [] : check(spec);
    const reported = new Set(misfits.map(({ pointer }) => pointer));
    const unread = isJsonObject(spec)
      ? (definition.checkUnread?.({ metadata: { ...metadata }, spec }) ?? [])
      : [];
    const problems = [...misfits, ...unread.filter(({ pointer }) => !reported.has(pointer))];
    if (header === undefined || misfits.length > 0) return refused(problems);
    const resource: Resource = deepFreeze({ ...header, spec });
    problems.push(...(definition.check?.(resource) ?? []));
    if (problems.length > 0) return refused(problems);
    const references = (definition.references?.(resource) ?? []).map((reference) => {
      return { ...reference, id: resourceId(reference.kind, reference.name) };
    });
    const odd = references.find(({ kind, name }) => !NAME.kind.test(kind) || !NAME.resource.test(name));
    if (odd === undefined) return { resource, references };
    return refused([{ pointer: odd.pointer, message: 'is not the name of a resource' }]);
  } catch (failure) {
    return refused([{ pointer: '', message: `could not be checked: ${reasonOf(failure)}` }]);
  }
}

const NAME = { kind: new RegExp(KIND_NAME), resource: new RegExp(RESOURCE_NAME) };

/** All that is wrong with a document whose header is bad, also with its `spec` where its kind is registered. */
export function problemsOfUnread(
  document: SourceDocument,
  kinds: ReadonlyMap<string, KindSlot>,
  limit: number,
): readonly LocatedProblem[] {
  const slot = document.unread && kinds.get(document.unread.kind);
  const checked = slot?.check(document, limit);
  return checked !== undefined && 'problems' in checked ? checked.problems : document.problems;
}
