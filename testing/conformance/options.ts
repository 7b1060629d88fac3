import type { Plugin } from '../../kernel/api/plugin.ts';
import type { TestGateway } from '../start-test-gateway.ts';

/** What the suite cannot find out from the plugin itself; everything has a default. */
export interface ConformanceOptions {
  /**
   * Where its code lies, so that findings have file and line: `import.meta.dirname` of `conformance.ts`.
   * `npm run check-plugin` knows it.
   */
  readonly folder?: string;
  /**
   * The plugins whose services it needs or wants. Default: those of the bundled ones that offer what it needs, with
   * what they need themselves; what it wants is not there.
   */
  readonly with?: readonly Plugin[];
  /** Variables of the gateway and the plugin. */
  readonly env?: Readonly<Record<string, string>>;
  /** The text of gateway.yaml. */
  readonly yaml?: string;
  /**
   * On what it is checked: `sqlite`, or the URL of a server (`postgres://…`, `mysql://…`) whose role may create
   * databases; on each of several. Every gateway of the suite has a database of its own, which is dropped afterwards.
   * Default: `sqlite`.
   */
  readonly databases?: readonly string[];
  /**
   * What to send to a route, where values made from its schemas do not do, by its name:
   * `{ 'POST /v1/notes': { body: { … } } }`; of a gRPC method `svc.notes.v1.NotesService/GetNote`, with `body` as its
   * request.
   */
  readonly samples?: Readonly<Record<string, RouteSample>>;
  /**
   * Reading routes and gRPC methods, by their names, that show every tenant the same (`GET /v1/models`), or nothing
   * that is stored.
   */
  readonly shared?: readonly string[];
  /**
   * Milliseconds in which a call has to be answered, or to send its first message, and has 5,000 at most to end when
   * its caller has left. Default 10,000.
   */
  readonly deadline?: number;
  /** Milliseconds that the set-up may take. Default 30,000, as in a gateway. */
  readonly setupTimeout?: number;
  /**
   * Makes data of a tenant where no POST or PUT route does. What it returns are values of parameters of paths and
   * queries that belong to the tenant, by their names (`id`), or, where a name means several things, by the path before
   * them (`/v1/notes` for the `{id}` of `/v1/notes/{id}`). `gateway.folder` holds `agents.d`, for resources that its
   * routes need.
   */
  seed?(gateway: TestGateway, tenant: SampleTenant): Promise<Readonly<Record<string, string>>>;
}

/** Values for one route; `{marker}` in a text of any of them stands for a word of the tenant's own. */
export interface RouteSample {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as it is. */
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
