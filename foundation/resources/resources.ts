import type { Logger } from '../observability/logger.ts';
import type { Kind, KindDefinition, ResourceView } from './kind.ts';
import type { FileReport, ResourcesReport } from './report.ts';
import type { Validation } from './validate.ts';

/** What came of a reload that was asked for. */
export interface ReloadSummary {
  /** Live resources. */
  readonly loaded: number;
  /** Files in which something is wrong, with what. Their last good versions are live. */
  readonly failed: readonly { readonly file: string; readonly error: string }[];
}

/** The document that declares a resource. */
export interface ResourceSource {
  /** Relative to the folder. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** The document's text, comments included. */
  readonly yaml: string;
  /** False when the file declares others too, which writing the file would remove. */
  readonly isAlone: boolean;
}

/**
 * The folder of YAML resources, for whoever administers it. It belongs to the deployment: there are no tenants in it. What changes
 * something waits for its turn, 100 callers at most; one more is `resource.busy`.
 */
export interface Resources {
  /** What became of each file. */
  report(): ResourcesReport;
  /** Reads the folder now, and tries again what could not be built. */
  reload(): Promise<ReloadSummary>;
  /** Checks a text without keeping it. Builds nothing. */
  validate(yaml: string): Validation;
  /** The document of a resource, good or bad; undefined when no file declares it. */
  source(kind: string, name: string): ResourceSource | undefined;
  /**
   * Writes a file of the folder (`<name>.yaml`, no folders below), and resolves when its resources are live. They are built first: what
   * cannot be live is not written, with `resource.invalid`. With `isNew` a file that exists is `resource.exists`. A link or a
   * read-only folder is `resource.not-writable`. The folder is this process's: replicas share it, or each is written.
   */
  write(file: string, yaml: string, options?: { readonly isNew?: boolean }): Promise<FileReport>;
  /** Deletes a file of the folder, and resolves when its resources are gone. @throws `resource.not-found`. */
  remove(file: string): Promise<void>;
}

/** One registration of a kind by one generation of a plugin. */
export interface KindRegistration<T = unknown> {
  readonly kind: string;
  readonly plugin: string;
  readonly view: ResourceView<T>;
  /** Ends what is left of it: to be called when its plugin has drained. Resolves when all values are disposed. */
  retire(): Promise<void>;
}

/** Kinds whose resources are built and not yet visible. Exactly one of the two has to be called; reloads wait for it. */
export interface StagedKinds {
  /** Makes them live, in this turn. */
  publish(): void;
  /** Ends what was built. */
  discard(): void;
}

/** The resources as the plugin host sees them. */
export interface ResourceHost extends Resources {
  /** Prepares a kind. Nothing is visible before it is published. @throws Error for a kind that contradicts itself. */
  register<T>(
    definition: KindDefinition<never, T> | Kind,
    owner: { readonly plugin: string; readonly log: Logger },
  ): KindRegistration<T>;
  /**
   * Builds the resources for these registrations, which are all that will be there: those of plugins that stay, and those of
   * plugins that arrive. Bad resources are reported and hinder nobody. @throws Error naming both plugins when two register one kind.
   */
  prepare(registrations: readonly KindRegistration[]): Promise<StagedKinds>;
  /** Ends it with all values. A second call does the same. */
  close(): Promise<void>;
}
