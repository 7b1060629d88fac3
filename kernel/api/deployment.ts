import type { Family } from '../../foundation/data/family.ts';
import type { Readiness } from '../../foundation/observability/readiness.ts';

/** A plugin of the deployment, as far as its administration shows it in short. */
export interface PluginStatus {
  readonly name: string;
  readonly version: string;
  readonly enabled: boolean;
  readonly state: string;
  /** Why it is in this state. */
  readonly reason: string;
}

/** This process and what runs in it. It belongs to the deployment: what it says is for operators. */
export interface Deployment {
  /** The family of its database, also where a rehearsal of its start uses another one. */
  readonly databaseFamily: Family;
  /** Milliseconds since the start. */
  uptime(): number;
  /** The plugins that were found, also those that do not run. */
  plugins(): readonly PluginStatus[];
  /** Asks the database and the probes, which have deadlines. */
  readiness(): Promise<Readiness>;
  /** All metrics in the text format of Prometheus, whose media type is `contentType`. */
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
  /**
   * Calls `listener` with every line of this process's log from now on: JSON with a line break, credentials taken out.
   * The listener must be quick and must not log; one that throws gets no more lines. Returns a function that ends this.
   */
  followLog(listener: (line: string) => void): () => void;
}
