import { nearestName } from '../base/nearest-name.ts';
import { buildOrder, wayAround } from './build-order.ts';
import type { SourceDocument, SourceFile } from './document.ts';
import type { ResourceProblem } from './kind.ts';
import { type CheckedReference, type KindSlot, problemsOfUnread } from './kind-slot.ts';
import type { LocatedProblem } from './problem.ts';
import type { LiveEntry, Step, Version } from './version.ts';

/** What a plan is made from. */
interface PlanInput {
  /** What is live now, by id. */
  readonly previous: ReadonlyMap<string, LiveEntry>;
  /** In order of their paths: of two documents that declare one resource, the first counts. */
  readonly files: readonly SourceFile[];
  readonly kinds: ReadonlyMap<string, KindSlot>;
  /** Problems that are reported of one document. */
  readonly limit: number;
  /** What is there in addition to the files, by id; for looking at one file alone. */
  readonly elsewhere?: ReadonlyMap<string, unknown>;
}

/** Why a document does not become live. */
export interface Refusal {
  /** `waiting`: nothing is wrong with it, but its kind is not registered. */
  readonly status: 'failed' | 'waiting';
  /** The kind that was probably meant, where no plugin registers the one that it names. */
  readonly meant?: string | undefined;
  readonly problems: readonly LocatedProblem[];
}

/** What to do for the live resources to be what the files say. */
export interface Plan {
  /** Each after those that it needs. */
  readonly steps: readonly Step[];
  /** Stays as it is, although its document is bad or cannot be read. */
  readonly kept: ReadonlyMap<string, LiveEntry>;
  /** The documents that no step is for. */
  readonly refusals: ReadonlyMap<SourceDocument, Refusal>;
  /** The document that declares a resource, good or bad. */
  readonly declared: ReadonlyMap<string, SourceDocument>;
}

/**
 * Decides what is built from which document, in which order, and what stays. Pure but for the checks that kinds
 * remember.
 */
export function plan({ previous, files, kinds, limit, elsewhere }: PlanInput): Plan {
  const isSound = soundness(kinds);
  const steps = new Map<string, Step>();
  const refusals = new Map<SourceDocument, Refusal>();
  const declared = new Map<string, SourceDocument>();
  const kept = new Map<string, LiveEntry>();

  function readDocuments(): void {
    for (const document of files.flatMap((file) => file.documents)) {
      const seen = read(document);
      if ('slot' in seen) steps.set(seen.id, seen);
      else refusals.set(document, seen);
    }
  }

  /** What is live, and whose document is bad or cannot be read, stays. */
  function keepWhatStands(): void {
    const mayHold = unreadPlaces(files);
    for (const [id, entry] of previous) {
      const document = declared.get(id);
      if (steps.has(id) || (document === undefined && !mayHold(entry.file))) continue;
      const place = document ?? entry;
      if (isSound(entry.version)) stand(id, entry, place);
      else {
        // Its plugin was replaced: what was good is built again.
        const again = stepOf(id, entry.version.step.document);
        if ('slot' in again) steps.set(id, { ...again, file: place.file, line: place.line });
      }
    }
  }

  function refuseLooseReferences(): void {
    const isThere = (id: string) => declared.has(id) || kept.has(id) || steps.has(id) || elsewhere?.has(id);
    for (const step of [...steps.values()]) {
      const absent = step.references.find(({ id, lazy, optional }) => lazy && !optional && !isThere(id));
      if (absent !== undefined) giveUp(step, { pointer: absent.pointer, message: missing(absent) });
    }
  }

  function inOrder(): readonly Step[] {
    const needs = new Map(
      [...steps.values()].map((step) => [step.id, strongReferences(step).map(({ id }) => id)]),
    );
    const { order, circles } = buildOrder(needs);
    for (const circle of circles) {
      const members = new Set(circle);
      for (const id of circle) {
        const step = steps.get(id)!;
        const way = wayAround(id, members, needs);
        const { pointer } = strongReferences(step).find((reference) => reference.id === way[1])!;
        giveUp(step, { pointer, message: `closes a circle: ${way.join(' → ')}` });
      }
    }
    return order.map((id) => steps.get(id)!);
  }

  function read(document: SourceDocument): Step | Refusal {
    const { id } = document;
    const first = id === undefined ? undefined : declared.get(id);
    if (first !== undefined) return refuse(document, duplicate(document, first));
    if (id !== undefined) declared.set(id, document);
    if (document.header === undefined)
      return { status: 'failed', problems: problemsOfUnread(document, kinds, limit) };
    return stepOf(id!, document);
  }

  function stepOf(id: string, document: SourceDocument): Step | Refusal {
    const { kind } = document.header!;
    const slot = kinds.get(kind);
    if (slot === undefined) {
      const meant = nearestName(kind, [...kinds.keys()]);
      const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
      const message = `waits: no plugin registers the kind ${kind}${hint}`;
      return { ...refuse(document, { pointer: '/kind', message }), status: 'waiting', meant };
    }
    const checked = slot.check(document, limit);
    if ('problems' in checked) return { status: 'failed', problems: checked.problems };
    return { id, slot, document, ...checked, file: document.file, line: document.line };
  }

  /** Takes a step back: its document is refused, and what was live before it stays. */
  function giveUp(step: Step, problem: ResourceProblem): void {
    const { id, document } = step;
    steps.delete(id);
    if (declared.get(id) === document) refusals.set(document, refuse(document, problem));
    const entry = previous.get(id);
    if (entry !== undefined && isSound(entry.version)) stand(id, entry, step);
  }

  function stand(id: string, { version }: LiveEntry, { file, line }: { file: string; line: number }): void {
    kept.set(id, { version, file, line });
  }

  readDocuments();
  keepWhatStands();
  refuseLooseReferences();
  return { steps: inOrder(), kept, refusals, declared };
}

/** The references whose targets are built first. */
export function strongReferences(step: Step): readonly CheckedReference[] {
  return step.references.filter(({ lazy }) => !lazy);
}

/** What is wrong with a reference to what no file declares. */
export function missing({ kind, name }: CheckedReference): string {
  return `there is no ${kind} with the name ${name}`;
}

function refuse(document: SourceDocument, problem: ResourceProblem): Refusal {
  return { status: 'failed', problems: document.locate([problem]) };
}

function duplicate(document: SourceDocument, first: SourceDocument): ResourceProblem {
  const id = document.id!.replace('/', ' ');
  const message =
    first.file === document.file
      ? `${id} is declared in line ${first.line} already; this one does not count`
      : `${id} is declared in ${first.file}:${first.line} already; this one, in ${document.file}, does not count`;
  return { pointer: '/metadata/name', message };
}

/** Is everything that a version needs still of plugins that run? */
export function soundness(kinds: ReadonlyMap<string, KindSlot>): (version: Version) => boolean {
  const slots = new Set(kinds.values());
  const known = new Map<Version, boolean>();
  const isSound = (version: Version): boolean => {
    const before = known.get(version);
    if (before !== undefined) return before;
    const result = slots.has(version.step.slot) && [...version.dependencies.values()].every(isSound);
    known.set(version, result);
    return result;
  };
  return isSound;
}

/** Whether something in a file could not be read or understood: what the file held before may still be meant. */
function unreadPlaces(files: readonly SourceFile[]): (file: string) => boolean {
  const isUnread = ({ problems, documents }: SourceFile) =>
    problems.length > 0 || documents.some(({ id }) => id === undefined);
  const unread = new Set(files.filter(isUnread).map(({ path }) => path));
  return (file) => {
    if (unread.has('.') || unread.has(file)) return true;
    const parts = file.split('/');
    return parts.some((_part, index) => unread.has(parts.slice(0, index).join('/')));
  };
}
