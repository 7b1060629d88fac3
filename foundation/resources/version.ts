import { within } from '../base/deadline.ts';
import type { Logger } from '../observability/logger.ts';
import type { Resource } from './kind.ts';
import type { KindSlot } from './kind-slot.ts';
import type { SourceDocument } from './source-file.ts';

/** What a version is made of. */
export interface VersionParts {
  /** `<kind>/<name>`. */
  readonly id: string;
  readonly slot: KindSlot;
  /** What it was built from. */
  readonly document: SourceDocument;
  readonly resource: Resource;
  readonly value: unknown;
  /** What it was built with; stays undisposed as long as this. */
  readonly dependencies: ReadonlyMap<string, Version>;
  readonly generation: number;
  readonly life: VersionLife;
}

/** What versions share. */
export interface VersionLife {
  /** Milliseconds that holders of a replaced version get. */
  readonly drain: number;
  /** Milliseconds that a disposal may take. */
  readonly dispose: number;
  readonly log: Logger;
}

/**
 * One build of one resource. Lives as long as it is live itself, something live was built with it, or somebody holds a
 * lease; leases of what is neither live nor needed end with the drain time.
 */
export class Version {
  readonly id: string;
  readonly slot: KindSlot;
  readonly document: SourceDocument;
  readonly resource: Resource;
  readonly value: unknown;
  readonly dependencies: ReadonlyMap<string, Version>;
  readonly generation: number;
  readonly #life: VersionLife;
  #pins = 0;
  #leases = 0;
  #drain: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;

  constructor(parts: VersionParts) {
    this.id = parts.id;
    this.slot = parts.slot;
    this.document = parts.document;
    this.resource = parts.resource;
    this.value = parts.value;
    this.dependencies = parts.dependencies;
    this.generation = parts.generation;
    this.#life = parts.life;
    for (const dependency of this.dependencies.values()) dependency.pin();
    this.slot.versions.add(this);
  }

  /** Keeps it, for as long as it is live or something is built with it. */
  pin(): void {
    this.#pins += 1;
    clearTimeout(this.#drain);
  }

  unpin(): void {
    this.#pins -= 1;
    this.#settle();
  }

  /** Keeps it for one user. The returned function gives it back, once. */
  lease(): () => void {
    this.#leases += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#leases -= 1;
      this.#settle();
    };
  }

  /** Ends it now, whoever holds it. Resolves when it has ended; a second call waits for the first. */
  dispose(): Promise<void> {
    clearTimeout(this.#drain);
    this.#ended ??= this.#end();
    return this.#ended;
  }

  #settle(): void {
    if (this.#ended !== undefined || this.#pins > 0) return;
    if (this.#leases === 0) return void this.dispose();
    clearTimeout(this.#drain);
    this.#drain = setTimeout(() => {
      const { log } = this.#life;
      log.warn(
        { resource: this.id, holders: this.#leases },
        'a replaced resource is still held; it ends now',
      );
      void this.dispose();
    }, this.#life.drain).unref();
  }

  async #end(): Promise<void> {
    // Not in this turn: it may be the one in which live resources are exchanged.
    await Promise.resolve();
    await this.#disposeValue();
    this.slot.versions.delete(this);
    for (const dependency of this.dependencies.values()) dependency.unpin();
  }

  async #disposeValue(): Promise<void> {
    const { definition } = this.slot;
    if (definition.dispose === undefined) return;
    try {
      const ending = (async () => definition.dispose?.(this.value))();
      await within(this.#life.dispose, `the disposal of ${this.id}`, ending);
    } catch (err) {
      this.#life.log.warn({ err, resource: this.id }, 'a replaced resource did not end');
    }
  }
}
