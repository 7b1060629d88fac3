import { ANONYMOUS_TENANT, OTHER, tenantLabel } from './metric-labels.ts';

/**
 * Decides which tenants get series of their own: the first ones seen, up to a bound; later ones share the label
 * `other`. A series is kept by every scraper for weeks, so an unbounded label would outgrow the monitoring first.
 */
export class TenantLabels {
  readonly #known = new Set<string>([ANONYMOUS_TENANT]);
  readonly #limit: number;
  readonly #onOverflow: () => void;

  constructor(limit: number, onOverflow: () => void) {
    this.#limit = limit;
    this.#onOverflow = onOverflow;
  }

  /** The label for this tenant, now and until the process ends. */
  of(tenantId: string | undefined): string {
    const label = tenantLabel(tenantId);
    if (this.#known.has(label)) return label;
    if (this.#known.size > this.#limit) {
      this.#onOverflow();
      return OTHER;
    }
    this.#known.add(label);
    return label;
  }
}
