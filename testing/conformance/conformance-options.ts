import type { Plugin } from '../../kernel/api/plugin.ts';
import type { TestGateway } from '../start-test-gateway.ts';

/** What the suite cannot find out from the plugin itself; everything has a default. */
export interface ConformanceOptions {
  /** The plugins whose services it needs. */
  readonly with?: readonly Plugin[];
  /** Variables of the gateway and the plugin. */
  readonly env?: Readonly<Record<string, string>>;
  /** The text of gateway.yaml. */
  readonly yaml?: string;
  /** What to send to a route where values made from its schemas do not do: `{ 'POST /v1/notes': { body: { … } } }`. */
  readonly samples?: Readonly<Record<string, RouteSample>>;
  /** Reading routes that show every tenant the same (`GET /v1/models`), or nothing that is stored. */
  readonly shared?: readonly string[];
  /** Makes data of a tenant where no POST route does. What it returns are values of path parameters. */
  seed?(gateway: TestGateway, tenant: SampleTenant): Promise<Readonly<Record<string, string>>>;
}

/** Values for one route; `{marker}` in a text of the body stands for a word of the tenant's own. */
export interface RouteSample {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A tenant of the suite. */
export interface SampleTenant {
  readonly id: string;
  /** Bearer token of a key that may do everything inside the tenant, and nothing outside. */
  readonly token: string;
  /** A word that occurs in what was made for this tenant, and nowhere else. */
  readonly marker: string;
}
