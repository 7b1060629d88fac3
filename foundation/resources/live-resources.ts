import type { Clock } from '../base/clock.ts';
import type { Logger } from '../observability/logger.ts';
import { parseSourceFile, type SourceDocument, type SourceFile } from './document.ts';
import type { ResourceProblem } from './kind.ts';
import type { KindSlot } from './kind-slot.ts';
import { missing, plan, type Refusal, soundness } from './plan.ts';
import type { LocatedProblem } from './problem.ts';
import type { ResourceLimits, ResourceReading, ResourceTimes, Validation } from './resources.ts';
import { type StageResult, stage } from './stage.ts';
import type { FailedBuild, LiveEntry, Version, VersionLife } from './version.ts';

/** What live resources are made with. */
interface LiveResourcesParts {
  readonly limits: ResourceLimits;
  readonly times: ResourceTimes;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A new set of live resources, built and not yet visible. */
export interface Staged {
  readonly files: readonly SourceFile[];
  readonly kinds: ReadonlyMap<string, KindSlot>;
  readonly result: StageResult;
}

/** How the live set changed. */
export interface SwapSummary {
  readonly added: number;
  readonly rebuilt: number;
  readonly removed: number;
}

/** What is live: one consistent set, exchanged as a whole in one turn. */
export class LiveResources {
  readonly #parts: LiveResourcesParts;
  readonly #life: VersionLife;
  readonly #stop = new AbortController();
  #entries: ReadonlyMap<string, LiveEntry> = new Map();
  #kinds: ReadonlyMap<string, KindSlot> = new Map();
  #refusals: ReadonlyMap<SourceDocument, Refusal> = new Map();
  #failed: ReadonlyMap<string, FailedBuild> = new Map();
  #generation = 0;

  constructor(parts: LiveResourcesParts) {
    this.#parts = parts;
    this.#life = { times: parts.times, log: parts.log, signal: this.#stop.signal };
  }

  /** By id. */
  get entries(): ReadonlyMap<string, LiveEntry> {
    return this.#entries;
  }

  get kinds(): ReadonlyMap<string, KindSlot> {
    return this.#kinds;
  }

  get refusals(): ReadonlyMap<SourceDocument, Refusal> {
    return this.#refusals;
  }

  /** Is it time to try a failed build again? */
  hasDueRetry(): boolean {
    const now = this.#parts.clock.monotonic();
    return [...this.#failed.values()].some(({ retryAt }) => now >= retryAt);
  }

  /** Builds what the files say. To be published or discarded; one at a time. */
  async stage(
    files: readonly SourceFile[],
    kinds: ReadonlyMap<string, KindSlot>,
    retryAll: boolean,
  ): Promise<Staged> {
    const { limits, clock } = this.#parts;
    const previous = this.#entries;
    const result = await stage({
      plan: plan({ previous, files, kinds, limit: limits.problems }),
      previous,
      isSound: soundness(kinds),
      failed: this.#failed,
      retryAll,
      limits,
      clock,
      life: this.#life,
      nextGeneration: () => ++this.#generation,
    });
    return { files, kinds, result };
  }

  /** Makes a staged set the live one. Kinds that left keep what they had, until they are retired. */
  publish({ kinds, result }: Staged): SwapSummary {
    const before = this.#entries;
    this.#entries = result.next;
    this.#kinds = kinds;
    this.#refusals = result.refusals;
    this.#failed = result.failed;
    const bySlot = Map.groupBy(result.next.values(), ({ version }) => version.step.slot);
    const changed = [...kinds.values()].filter((slot) => {
      const entries = bySlot.get(slot) ?? [];
      return slot.exchange(
        new Map(entries.map((entry) => [entry.version.step.resource.metadata.name, entry])),
      );
    });
    for (const slot of changed) slot.announce();
    return summary(before, result.next);
  }

  /** Ends what was built for a set that is not published. */
  discard({ result }: Staged): void {
    for (const version of result.built) void version.dispose();
  }

  /** Ends all that a registration made; resolves when it has ended. */
  async retire(slot: KindSlot): Promise<void> {
    slot.exchange(new Map());
    // What was built with others before them.
    await Promise.all([...slot.versions].toReversed().map((version) => version.dispose()));
  }

  /** Ends everything, builds under way included. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the gateway stops'));
    const slots = new Set([...this.#entries.values()].map(({ version }) => version.step.slot));
    this.#entries = new Map();
    await Promise.all([...slots].map((slot) => this.retire(slot)));
  }
}

function summary(before: ReadonlyMap<string, LiveEntry>, next: ReadonlyMap<string, LiveEntry>): SwapSummary {
  const versionOf = (id: string): Version | undefined => before.get(id)?.version;
  const fresh = [...next].filter(([id, { version }]) => versionOf(id) !== version);
  const added = fresh.filter(([id]) => !before.has(id)).length;
  const removed = [...before.keys()].filter((id) => !next.has(id)).length;
  return { added, rebuilt: fresh.length - added, removed };
}

/** Where a text stands that is in no file. */
const NOWHERE = 'text';

/**
 * Checks a text as if it were in a file: YAML, header, the kind's schema and rules, and whether what it names is in the
 * text or live. Builds nothing, so that an address that does not answer is not found here. Pure.
 */
export function validateText(text: string, live: LiveResources, limit: number, maxBytes: number): Validation {
  if (Buffer.byteLength(text) > maxBytes) {
    return invalid([{ line: 1, pointer: '', message: `is larger than ${maxBytes} bytes` }]);
  }
  const source = parseSourceFile(NOWHERE, text);
  if (source.documents.length === 0) return invalid([{ line: 1, pointer: '', message: 'holds no resource' }]);
  const { kinds, entries } = live;
  const planned = plan({ previous: new Map(), files: [source], kinds, limit, elsewhere: entries });
  const dangling = planned.steps.flatMap(({ document, references }) => {
    const loose = references.filter(
      ({ id, optional }) => !optional && !planned.declared.has(id) && !entries.has(id),
    );
    return document.locate(
      loose.map((reference) => ({ pointer: reference.pointer, message: missing(reference) })),
    );
  });
  const refused = [...planned.refusals.values()].flatMap(({ problems }) => problems);
  return invalid([...refused, ...dangling].slice(0, limit).map(toError));
}

/** Reads one document of one kind: YAML, header, the kind's schema and rules. Does not look for what it names. Pure. */
export function readResource(
  kind: string,
  text: string,
  live: LiveResources,
  { problems: limit, fileBytes }: Pick<ResourceLimits, 'problems' | 'fileBytes'>,
): ResourceReading {
  const refused = (found: readonly LocatedProblem[]): ResourceReading => {
    const errors = found.slice(0, limit).map(toError);
    return { errors, locate: () => errors };
  };
  const wrong = (message: string, line = 1) => refused([{ file: NOWHERE, line, pointer: '', message }]);
  if (Buffer.byteLength(text) > fileBytes) return wrong(`is larger than ${fileBytes} bytes`);
  const [document, second] = parseSourceFile(NOWHERE, text).documents;
  if (document === undefined) return wrong('holds no resource');
  if (second !== undefined) return wrong('a second document begins here; write one', second.line);
  const slot = live.kinds.get(kind);
  const named = document.header?.kind ?? document.unread?.kind;
  if (named !== undefined && (named !== kind || slot === undefined)) {
    const message = slot === undefined ? `no plugin registers the kind ${kind}` : `must be ${kind} here`;
    return refused([...document.problems, ...document.locate([{ pointer: '/kind', message }])]);
  }
  if (named === undefined || slot === undefined) return refused(document.problems);
  const checked = slot.check(document, limit);
  if ('problems' in checked) return refused(checked.problems);
  const locate = (found: readonly ResourceProblem[]) => document.locate(found).map(toError);
  return { resource: checked.resource, errors: [], locate };
}

export function toError({ line, pointer, message }: LocatedProblem): Validation['errors'][number] {
  return { line: line ?? 1, pointer, message };
}

function invalid(errors: Validation['errors']): Validation {
  return { valid: errors.length === 0, errors };
}
