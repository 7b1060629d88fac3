import { defineErrors } from '../base/gateway-error.ts';
import type { Logger } from '../observability/logger.ts';
import type { Kind, KindDefinition, Resource, ResourceProblem, ResourceView } from './kind.ts';
import type { LocatedProblem } from './problem.ts';

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

/** What became of one document. */
export interface DocumentReport {
  /** Absent when the document does not say what it declares. */
  readonly kind?: string;
  readonly name?: string;
  /** From 1. */
  readonly line: number;
  /** `waiting`: nothing is wrong with it, but no plugin that runs registers its kind. */
  readonly status: 'live' | 'failed' | 'waiting';
  /** `waiting`, with a kind that is probably a misspelled one. */
  readonly isMisspelled?: boolean;
  /** An earlier version of it is live. */
  readonly servesLastGood: boolean;
  readonly problems: readonly LocatedProblem[];
}

/** What became of one file. */
export interface FileReport {
  /** Relative to the folder; `.` for the folder itself. */
  readonly file: string;
  /** Its documents, and resources that it held when it could last be read. */
  readonly documents: readonly DocumentReport[];
  /** Why it could not be read; the problems of documents are with them. */
  readonly problems: readonly LocatedProblem[];
}

/** The folder and what is live of it. */
export interface ResourcesReport {
  /** Absolute. */
  readonly folder: string;
  readonly exists: boolean;
  /** `polling` while the file system sends no notices: changes are seen within a second. */
  readonly watching: 'notices' | 'polling';
  /** When the folder was last read and found changed, or a reload was asked for. */
  readonly lastReloadAt: Date | undefined;
  readonly files: readonly FileReport[];
}

/** What is wrong with a text. */
export interface Validation {
  readonly valid: boolean;
  readonly errors: readonly ({ readonly line: number } & ResourceProblem)[];
}

/** What a text that is in no file declares. */
export interface ResourceReading {
  /** Absent where there are errors. */
  readonly resource?: Resource;
  readonly errors: Validation['errors'];
  /** Gives problems that are found later their lines. */
  locate(problems: readonly ResourceProblem[]): Validation['errors'];
}

/**
 * The folder of YAML resources, for its administration. It belongs to the deployment: there are no tenants in it. What
 * changes something waits for its turn, 100 callers at most; one more is `resource.busy`.
 */
export interface Resources {
  /** What became of each file. */
  report(): ResourcesReport;
  /** Reads the folder now, and tries again what could not be built. */
  reload(): Promise<ReloadSummary>;
  /**
   * Reads a text that declares one resource of a kind, and is in no file, by the rules of the kind. What it names is
   * left to the caller.
   */
  read(kind: string, yaml: string): ResourceReading;
  /** Checks a text without keeping it. Builds nothing. */
  validate(yaml: string): Validation;
  /** The document of a resource, good or bad; undefined when no file declares it. */
  source(kind: string, name: string): ResourceSource | undefined;
  /**
   * Writes a file of the folder (`<name>.yaml`, no folders below), and resolves when its resources are live. They are
   * built first: what cannot be live is not written, with `resource.invalid`. With `isNew` a file that exists is
   * `resource.exists`. A link or a read-only folder is `resource.not-writable`. The folder is this process's: replicas
   * share it, or each is written.
   */
  write(file: string, yaml: string, options?: FileWriteOptions): Promise<FileReport>;
  /** Deletes a file of the folder, and resolves when its resources are gone. @throws `resource.not-found`. */
  remove(file: string): Promise<void>;
}

/** How a file of the folder is written. */
export interface FileWriteOptions {
  /** Only where there is no such file; default false. */
  readonly isNew?: boolean;
  /**
   * The text of the document that was changed (`ResourceSource`). Where it is not all that the file holds any more,
   * also by another replica: `resource.changed`.
   */
  readonly before?: string;
}

/** One registration of a kind by one generation of a plugin. */
export interface KindRegistration<T = unknown> {
  readonly kind: string;
  readonly plugin: string;
  readonly view: ResourceView<T>;
  /** Ends what is left of it: to be called when its plugin has drained. Resolves when all values are disposed. */
  retire(): Promise<void>;
}

/** Registrations by their kinds. @throws Error naming both plugins when two register one kind. */
export function byKind(registrations: readonly KindRegistration[]): ReadonlyMap<string, KindRegistration> {
  const kinds = new Map<string, KindRegistration>();
  for (const registration of registrations) {
    const { kind, plugin } = registration;
    const other = kinds.get(kind);
    if (other !== undefined) throw new Error(`${other.plugin} and ${plugin} both register the kind ${kind}`);
    kinds.set(kind, registration);
  }
  return kinds;
}

/**
 * Kinds whose resources are built and not yet visible. Exactly one of the two has to be called; reloads wait for it.
 */
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
   * Builds the resources for these registrations, which are all that will be there: those of plugins that stay, and
   * those of plugins that arrive. Bad resources are reported and hinder no other. @throws Error naming both plugins
   * when two register one kind.
   */
  prepare(registrations: readonly KindRegistration[]): Promise<StagedKinds>;
  /** The plugins have had their start: documents that still wait for one are logged, and from now on. */
  started(): void;
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
  /** The file was changed or deleted since it was read. */
  changed: { code: 'resource.changed', kind: 'conflict', title: 'The file has changed meanwhile' },
  /** Too many callers wait to change or reload the folder. */
  busy: { code: 'resource.busy', kind: 'unavailable', title: 'Too many changes of resources are waiting' },
});

/** Bounds of agents.d. What is beyond them is reported, and not loaded. */
export const RESOURCE_LIMITS = {
  /** Bytes of one file. */
  fileBytes: 1024 * 1024,
  /** Bytes of all files together. */
  totalBytes: 64 * 1024 * 1024,
  /** Files in the folder. */
  files: 5_000,
  /** YAML documents in all files. */
  documents: 10_000,
  /** Folders, the top one included. */
  folders: 1_000,
  /** Levels of folders. */
  depth: 16,
  /** Problems that are reported of one file. */
  problems: 50,
  /** Resources that are built at the same time. */
  builds: 16,
};

/** The same with other values. */
export type ResourceLimits = Readonly<typeof RESOURCE_LIMITS>;

/** Times of agents.d, in milliseconds. */
export const RESOURCE_TIMES = {
  /** Quiet after a notice before the folder is read: an editor does several things in one save. */
  quiet: 25,
  /** The longest that notices can put reading off. */
  busy: 200,
  /** A file counts as deleted when it is still gone after this time: editors move it away for a moment. */
  gone: 75,
  /** The folder is read this often without a notice, for file systems that send none. */
  rescan: 10_000,
  /** The same while folders cannot be watched. */
  poll: 1_000,
  /** For building, and for disposing, one value. */
  build: 10_000,
  /** For all builds of one reload; what was not begun by then is tried again later. */
  reload: 60_000,
  /** For holders of a replaced version to release it; then it is disposed anyway. */
  drain: 600_000,
  /** Until a failed build is tried again, although nothing changed; doubles with each failure. */
  retry: { first: 30_000, most: 900_000 },
};

/** The same with other values. */
export type ResourceTimes = Readonly<typeof RESOURCE_TIMES>;
