import { REDACTED, redactLine } from './redact-text.ts';

const MIN_SECRET = 8;
/** Every line is searched for each of them. */
const MAX_SECRETS = 256;

/** The secrets that no log line may hold, some known from the start, others since they were read. */
export class HiddenTexts {
  /** As JSON writes them, the latest used last. */
  readonly #written = new Set<string>();

  constructor(secrets: readonly string[]) {
    for (const secret of secrets) this.add(secret);
  }

  /** Shorter than 8 characters: ignored. Of more than 256 the one that was not added for the longest time is given up. */
  add(secret: string): void {
    if (secret.length < MIN_SECRET) return;
    const written = JSON.stringify(secret).slice(1, -1);
    this.#written.delete(written);
    this.#written.add(written);
    if (this.#written.size <= MAX_SECRETS) return;
    for (const oldest of this.#written) {
      this.#written.delete(oldest);
      return;
    }
  }

  /** Removes them, and credentials of known form, from a line. */
  hideIn = (line: string): string => {
    let text = line;
    for (const secret of this.#written) if (text.includes(secret)) text = text.replaceAll(secret, REDACTED);
    return redactLine(text);
  };
}
