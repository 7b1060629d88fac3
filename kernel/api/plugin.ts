import type { Static, TSchema } from 'typebox';
import type { OnFailure } from '../../foundation/config/gateway-file.ts';
import type { EntityRegistration, Migration, MovedMigration } from '../../foundation/data/database.ts';
import type { JobRef } from '../../foundation/messages/jobs/jobs.ts';
import type { ExtensionPoint, Needed, ServiceRef, ServiceRefs, Wanted } from './refs.ts';
import type { Scope } from './scope.ts';

/** Where the routes of a plugin listen. */
export interface ListenRules {
  /** Name of the `config` field, a `field.address`; without a value they are served on the gateway's address. */
  readonly field: string;
  /** Only routes whose paths begin with it listen there, others on the gateway's address. Default: all routes. */
  readonly below?: string;
  /** Whether an address that cannot be had stops the start of the gateway. Default false: the plugin alone fails. */
  readonly isRequired?: boolean;
  /**
   * In a process in which the plugin `without` does not run, this one is what the process is for. Unless `SVC_HOST` or
   * `SAAS_API_PORT` says where the gateway listens, it then listens on the address of the field and nowhere else, or,
   * where that has no value, on this one.
   */
  readonly alone?: { readonly without: string; readonly host: string; readonly port: number };
}

/** What a plugin is. `plugin.ts` of a plugin folder exports one as its default: a table of contents, no logic. */
export interface PluginDefinition<
  C extends TSchema = TSchema,
  N extends ServiceRefs = ServiceRefs,
  W extends ServiceRefs = ServiceRefs,
> {
  /** Unique, `[a-z][a-z0-9-]*`, the name of the folder. */
  readonly name: string;
  /**
   * Names that the plugin had in earlier versions: its tables and migrations are taken over from them, and the times of
   * its scheduled tasks. Keep the names for as long as a deployment may come from such a version.
   */
  readonly formerly?: readonly string[];
  /** One sentence for the operator. */
  readonly summary: string;
  /** The plugin's own version; default: the gateway's. */
  readonly version?: string;
  /** The range of kernel versions that it works with (`^1.0.0`). */
  readonly kernel: string;
  /** Schema of `plugins.<name>.config` in gateway.yaml, of `field.*`; defaults are filled in, unknown keys refused. */
  readonly config?: C;
  /** Services that must be there: started after their owners, restarted with them, stopped before they leave. */
  readonly needs?: N;
  /** Services that may be absent; when one comes, changes or goes, the plugin is restarted with it. */
  readonly wants?: W;
  /** Services that `setup` provides. */
  readonly offers?: readonly ServiceRef<unknown>[];
  /** Extension points that it reads. */
  readonly points?: readonly ExtensionPoint<unknown>[];
  /** Durable work that it does: `setup` gives each a worker, with `scope.worker`. */
  readonly jobs?: readonly JobRef<unknown>[];
  /** Tables of the plugin. */
  readonly entities?: readonly EntityRegistration[];
  /** Forward migrations of these tables, in order. */
  readonly migrations?: readonly (Migration | MovedMigration)[];
  /** Name of the `config` field (a `field.address`) on which its routes listen; default: the gateway's address. */
  readonly listen?: string | ListenRules;
  /** What its failure at start means for the gateway; default `continue`. `gateway.yaml` overrides it. */
  readonly onFailure?: OnFailure;
  /** Registers everything through `scope`. Nothing is visible before it resolves; if it throws, nothing ever was. */
  setup(
    scope: Scope<C extends TSchema ? Static<C> : unknown>,
    services: Needed<N> & Wanted<W>,
  ): void | Promise<void>;
}

/** A plugin whose types are forgotten: what the host keeps. */
// biome-ignore lint/suspicious/noExplicitAny: the one place where plugins of all configurations meet
export type Plugin = PluginDefinition<any, any, any>;

/** Declares a plugin; its configuration and services are inferred into `setup`. */
export function definePlugin<
  C extends TSchema = TSchema,
  N extends ServiceRefs = Record<never, never>,
  W extends ServiceRefs = Record<never, never>,
>(definition: PluginDefinition<C, N, W>): Plugin {
  return definition;
}
