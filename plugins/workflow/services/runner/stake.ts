import type { RunnerCore } from './runner-core.ts';

/** The places that one run holds for steps which are not begun yet. What is given back goes to those who wait. */
export class Stake {
  readonly #core: RunnerCore;
  readonly #tenantId: string;
  /** Taken before it is known what they are for. */
  #granted = 0;
  /** For steps that a commit claims of which it is not known whether it is stored. */
  #kept = 0;

  constructor(core: RunnerCore, tenantId: string) {
    this.#core = core;
    this.#tenantId = tenantId;
  }

  get hasKept(): boolean {
    return this.#kept > 0;
  }

  /** Steps that may be claimed now: those that have a place already, and what the tenant may take. */
  get room(): number {
    const { places, waiting } = this.#core;
    return this.#granted + places.roomFor(this.#tenantId, waiting.tenants());
  }

  /** Places were taken for the run. */
  grant(count: number): void {
    this.#granted += count;
  }

  /** As many steps are claimed as have places already. */
  hold(count: number): void {
    this.#kept += count;
  }

  /** Has a place for each of so many claimed steps, and gives back what was granted beyond. */
  keep(claimed: number): void {
    this.#core.places.take(this.#tenantId, Math.max(0, claimed - this.#granted));
    this.#granted = Math.max(0, this.#granted - claimed);
    this.#kept += claimed;
    this.giveBackGranted();
  }

  /** Of so many steps that turned out to be claimed, those without a place take one that is free, while there is one. */
  takeFor(claimed: number): void {
    const more = Math.min(Math.max(0, claimed - this.#kept), this.#core.places.free);
    this.#core.places.take(this.#tenantId, more);
    this.#kept += more;
  }

  /** Hands one of the kept places to a step that begins; false when there is none. */
  spend(): boolean {
    if (this.#kept === 0) return false;
    this.#kept -= 1;
    return true;
  }

  giveBackGranted(): void {
    const count = this.#granted;
    this.#granted = 0;
    this.#giveBack(count);
  }

  giveBackKept(): void {
    const count = this.#kept;
    this.#kept = 0;
    this.#giveBack(count);
  }

  #giveBack(count: number): void {
    if (count === 0) return;
    this.#core.places.giveBack(this.#tenantId, count);
    this.#core.placesFreed();
  }
}
