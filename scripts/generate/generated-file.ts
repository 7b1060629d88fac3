/** A file, or a part of one, that is made from the code. */
export interface GeneratedFile {
  /** Relative to the repository. */
  readonly path: string;
  /**
   * The whole text of the file; `current` is what it holds now, empty when it does not exist. Equal code gives equal
   * text.
   */
  render(current: string): string;
}
