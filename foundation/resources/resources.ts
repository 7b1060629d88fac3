import { defineErrors } from '../base/gateway-error.ts';
import type { Logger } from '../observability/logger.ts';
import type { Kind, KindDefinition, ResourceView } from './kind.ts';
import type { Validation } from './live-resources.ts';
import type { FileReport, ResourcesReport } from './report.ts';

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
 * The folder of YAML resources, for its administration. It belongs to the deployment: there are no tenants in it. What changes
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
   * plugins that arrive. Bad resources are reported and hinder no other. @throws Error naming both plugins when two register one kind.
   */
  prepare(registrations: readonly KindRegistration[]): Promise<StagedKinds>;
  /** Ends it with all values. A second call does the same. */
  close(): Promise<void>;
}

/** What can go wrong with writing files of agents.d through the administration. */
export const ResourceErrors = defineErrors({
  /** Carries `errors` with pointers into the document, each with its `line`. */
  invalid: { code: 'resource.invalid', kind: 'invalid', title: 'The resource is not valid' },
  badFileName: { code: 'resource.bad-file-name', kind: 'invalid', title: 'This is no name for a file' },
  exists: { code: 'resource.exists', kind: 'conflict', title: 'There is such a resource already' },
  notFound: { code: 'resource.not-found', kind: 'not-found', title: 'There is no such resource' },
  /** The folder is read-only, or the file is a link: what wrote it has to change it. */
  notWritable: { code: 'resource.not-writable', kind: 'conflict', title: 'The file cannot be written' },
  /** Too many others wait to change or reload the folder. */
  busy: { code: 'resource.busy', kind: 'unavailable', title: 'Too many changes of resources are waiting' },
});

/** Bounds of agents.d. What is beyond them is reported, and not loaded. */
export interface ResourceLimits {
  /** Bytes of one file. Default 1 MiB. */
  readonly fileBytes: number;
  /** Bytes of all files together. Default 64 MiB. */
  readonly totalBytes: number;
  /** Files in the folder. Default 5,000. */
  readonly files: number;
  /** YAML documents in all files. Default 10,000. */
  readonly documents: number;
  /** Folders, the top one included. Default 1,000. */
  readonly folders: number;
  /** Levels of folders. Default 16. */
  readonly depth: number;
  /** Problems that are reported of one file. Default 50. */
  readonly problems: number;
  /** Resources that are built at the same time. Default 16. */
  readonly builds: number;
}

/** Times of agents.d, in milliseconds. */
export interface ResourceTimes {
  /** Quiet after a notice before the folder is read: an editor does several things in one save. Default 25. */
  readonly quiet: number;
  /** The longest that notices can put reading off. Default 200. */
  readonly busy: number;
  /** A file counts as deleted when it is still gone after this time: editors move it away for a moment. Default 75. */
  readonly gone: number;
  /** The folder is read this often without a notice, for file systems that send none. Default 10,000. */
  readonly rescan: number;
  /** The same while folders cannot be watched. Default 1,000. */
  readonly poll: number;
  /** For building, and for disposing, one value. Default 10,000. */
  readonly build: number;
  /** For all builds of one reload; what was not begun by then is tried again later. Default 60,000. */
  readonly reload: number;
  /** For holders of a replaced version to release it; then it is disposed anyway. Default 600,000. */
  readonly drain: number;
  /** Until a failed build is tried again, although nothing changed; doubles with each failure. Default 30,000 up to 900,000. */
  readonly retry: { readonly first: number; readonly most: number };
}

/** What holds where nothing else is said. */
export const RESOURCE_LIMITS: ResourceLimits = {
  fileBytes: 1024 * 1024,
  totalBytes: 64 * 1024 * 1024,
  files: 5_000,
  documents: 10_000,
  folders: 1_000,
  depth: 16,
  problems: 50,
  builds: 16,
};

/** What holds where nothing else is said. */
export const RESOURCE_TIMES: ResourceTimes = {
  quiet: 25,
  busy: 200,
  gone: 75,
  rescan: 10_000,
  poll: 1_000,
  build: 10_000,
  reload: 60_000,
  drain: 600_000,
  retry: { first: 30_000, most: 900_000 },
};
