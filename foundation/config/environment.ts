/** Variables by name, as a process has them. An empty one counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process, as it is now. The only place that touches `process.env`; everything else gets it passed. */
export function processEnvironment(): Environment {
  return Object.freeze({ ...process.env });
}
