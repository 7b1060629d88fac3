import { nearestName } from '../base/nearest-name.ts';
import { buildOrder, wayAround } from './build-order.ts';
import type { SourceDocument, SourceFile } from './document.ts';
import type { Resource, ResourceProblem } from './kind.ts';
import type { CheckedReference, KindSlot, LiveEntry } from './kind-slot.ts';
import type { LocatedProblem } from './problem.ts';
import type { Version } from './version.ts';

/** What a plan is made from. */
interface PlanInput {
  /** What is live now, by id. */
  readonly previous: ReadonlyMap<string, LiveEntry>;
  /** In order of their paths: of two documents that declare one resource, the first counts. */
  readonly files: readonly SourceFile[];
  readonly kinds: ReadonlyMap<string, KindSlot>;
  /** Problems that are reported of one document. */
  readonly limit: number;
  /** What is there beside the files, by id; for looking at a file by itself. */
  readonly elsewhere?: ReadonlyMap<string, unknown>;
}

/** A resource that should be live. */
export interface Step {
  readonly id: string;
  readonly slot: KindSlot;
  readonly document: SourceDocument;
  readonly resource: Resource;
  readonly references: readonly CheckedReference[];
  readonly file: string;
  readonly line: number;
}

/** Why a document does not become live. */
export interface Refusal {
  /** `waiting`: nothing is wrong with it, but its kind is not registered. */
  readonly status: 'failed' | 'waiting';
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

/** Decides what is built from which document, in which order, and what stays. Pure but for the checks that kinds remember. */
export function plan(input: PlanInput): Plan {
  const planner = new Planner(input);
  planner.readDocuments();
  planner.keepWhatStands();
  planner.refuseLooseReferences();
  return planner.inOrder();
}

class Planner {
  readonly #input: PlanInput;
  readonly #isSound: (version: Version) => boolean;
  readonly #steps = new Map<string, Step>();
  readonly #refusals = new Map<SourceDocument, Refusal>();
  readonly #declared = new Map<string, SourceDocument>();
  readonly #kept = new Map<string, LiveEntry>();

  constructor(input: PlanInput) {
    this.#input = input;
    this.#isSound = soundness(input.kinds);
  }

  readDocuments(): void {
    for (const document of this.#input.files.flatMap((file) => file.documents)) {
      const read = this.#read(document);
      if ('slot' in read) this.#steps.set(read.id, read);
      else this.#refusals.set(document, read);
    }
  }

  /** What is live, and whose document is bad or cannot be read, stays. */
  keepWhatStands(): void {
    const { previous, files } = this.#input;
    const mayHold = unreadPlaces(files);
    for (const [id, entry] of previous) {
      const document = this.#declared.get(id);
      if (this.#steps.has(id) || (document === undefined && !mayHold(entry.file))) continue;
      const place = document ?? entry;
      if (this.#isSound(entry.version)) this.#stand(id, entry, place);
      else {
        // Its plugin was replaced: what was good is built anew.
        const again = this.#stepOf(id, entry.version.document);
        if ('slot' in again) this.#steps.set(id, { ...again, file: place.file, line: place.line });
      }
    }
  }

  refuseLooseReferences(): void {
    const { elsewhere } = this.#input;
    const isThere = (id: string) =>
      this.#declared.has(id) || this.#kept.has(id) || this.#steps.has(id) || elsewhere?.has(id);
    for (const step of [...this.#steps.values()]) {
      const absent = step.references.find(({ id, lazy, optional }) => lazy && !optional && !isThere(id));
      if (absent !== undefined) this.#giveUp(step, { pointer: absent.pointer, message: missing(absent) });
    }
  }

  inOrder(): Plan {
    const needs = new Map(
      [...this.#steps.values()].map((step) => [step.id, strongReferences(step).map(({ id }) => id)]),
    );
    const { order, circles } = buildOrder(needs);
    for (const circle of circles) {
      const members = new Set(circle);
      for (const id of circle) {
        const step = this.#steps.get(id)!;
        const way = wayAround(id, members, needs);
        const { pointer } = strongReferences(step).find((reference) => reference.id === way[1])!;
        this.#giveUp(step, { pointer, message: `closes a circle: ${way.join(' → ')}` });
      }
    }
    return {
      steps: order.map((id) => this.#steps.get(id)!),
      kept: this.#kept,
      refusals: this.#refusals,
      declared: this.#declared,
    };
  }

  #read(document: SourceDocument): Step | Refusal {
    const { id } = document;
    const first = id === undefined ? undefined : this.#declared.get(id);
    if (first !== undefined) return refuse(document, duplicate(document, first));
    if (id !== undefined) this.#declared.set(id, document);
    if (document.header === undefined) return { status: 'failed', problems: document.problems };
    return this.#stepOf(id!, document);
  }

  #stepOf(id: string, document: SourceDocument): Step | Refusal {
    const { kinds, limit } = this.#input;
    const { kind } = document.header!;
    const slot = kinds.get(kind);
    if (slot === undefined) {
      const meant = nearestName(kind, [...kinds.keys()]);
      const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
      const message = `waits: no plugin registers the kind ${kind}${hint}`;
      return { ...refuse(document, { pointer: '/kind', message }), status: 'waiting' };
    }
    const checked = slot.check(document, limit);
    if ('problems' in checked) return { status: 'failed', problems: checked.problems };
    return { id, slot, document, ...checked, file: document.file, line: document.line };
  }

  /** Takes a step back: its document is refused, and what was live before it stays. */
  #giveUp(step: Step, problem: ResourceProblem): void {
    const { id, document } = step;
    this.#steps.delete(id);
    if (this.#declared.get(id) === document) this.#refusals.set(document, refuse(document, problem));
    const entry = this.#input.previous.get(id);
    if (entry !== undefined && this.#isSound(entry.version)) this.#stand(id, entry, step);
  }

  #stand(id: string, { version }: LiveEntry, { file, line }: { file: string; line: number }): void {
    this.#kept.set(id, { version, file, line });
  }
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
    const result = slots.has(version.slot) && [...version.dependencies.values()].every(isSound);
    known.set(version, result);
    return result;
  };
  return isSound;
}

/** Whether something in a file could not be read or understood: what the file held before may still be meant. */
function unreadPlaces(files: readonly SourceFile[]): (file: string) => boolean {
  const unread = new Set(
    files
      .filter(
        ({ problems, documents }) => problems.length > 0 || documents.some(({ id }) => id === undefined),
      )
      .map(({ path }) => path),
  );
  return (file) => {
    if (unread.has('.') || unread.has(file)) return true;
    const parts = file.split('/');
    return parts.some((_part, index) => unread.has(parts.slice(0, index).join('/')));
  };
}
