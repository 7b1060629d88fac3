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
  /** Problems that are told of one file. Default 50. */
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
