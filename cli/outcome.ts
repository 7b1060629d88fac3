/** The result of a command that ends without a signal: its exit code, and what it prints. */
export interface Outcome {
  readonly code: 0 | 1;
  /** For standard output: what was asked for. */
  readonly out: string;
  /** For standard error: what stands in the way. */
  readonly err: string;
}
