/** An answer, over HTTP or gRPC. */
interface Seen {
  readonly body: unknown;
}

/**
 * What a reading route or method shows to the owner of a record, and whether some of it goes. Its texts count (ids and
 * times are some): numbers, and places in a list, change with what else is kept.
 */
export class RecordView {
  /** Of the route or method: `GET /v1/notes`. */
  readonly name: string;
  readonly #read: () => Promise<Seen | undefined>;
  #texts: ReadonlySet<string>;

  constructor(name: string, body: unknown, read: () => Promise<Seen | undefined>) {
    this.name = name;
    this.#read = read;
    this.#texts = textsOf(body);
  }

  /** Reads again: texts that differ from one read to the next do not count. */
  async settle(): Promise<void> {
    this.#texts = this.#texts.intersection(await this.#look());
  }

  /** Whether a text that was in every read is gone, or `word` has come in. */
  async isChanged(word: string): Promise<boolean> {
    const now = await this.#look();
    return !this.#texts.isSubsetOf(now) || [...now].some((text) => text.includes(word));
  }

  async #look(): Promise<ReadonlySet<string>> {
    const answer = await this.#read();
    return answer === undefined ? this.#texts : textsOf(answer.body);
  }
}

/** The texts in a body, with the names of their members. */
function textsOf(body: unknown, name = ''): ReadonlySet<string> {
  if (typeof body === 'string') return new Set([`${name}=${body}`]);
  if (typeof body !== 'object' || body === null) return new Set();
  const inner = Object.entries(body).flatMap(([member, value]) => [
    ...textsOf(value, Array.isArray(body) ? name : member),
  ]);
  return new Set(inner);
}

/** The first of the owner's views that what a stranger has sent to `name` has changed. */
export async function damageProblems(
  name: string,
  views: readonly RecordView[],
  strangersMarker: string,
): Promise<readonly string[]> {
  for (const view of views) {
    if (await view.isChanged(strangersMarker))
      return [`${name} of one tenant changes what ${view.name} shows to another one`];
  }
  return [];
}
