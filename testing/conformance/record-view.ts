import type { Answered } from './caller.ts';

/** What a reading route shows to the owner of a record, and whether that changes. Members that differ from call to call do not count. */
export class RecordView {
  /** Of the route: `GET /v1/notes`. */
  readonly name: string;
  readonly #read: () => Promise<Answered | undefined>;
  #members: ReadonlyMap<string, string>;

  constructor(name: string, body: unknown, read: () => Promise<Answered | undefined>) {
    this.name = name;
    this.#read = read;
    this.#members = membersOf(body);
  }

  /** Looks again, so that what changes by itself is known. */
  async settle(): Promise<void> {
    const now = await this.#look();
    this.#members = new Map([...this.#members].filter(([pointer, value]) => now.get(pointer) === value));
  }

  /** Whether something that stood still is another now, or `word` has come in. */
  async isChanged(word: string): Promise<boolean> {
    const now = await this.#look();
    const isKept = [...this.#members].every(([pointer, value]) => now.get(pointer) === value);
    return !isKept || [...now.values()].some((value) => value.includes(word));
  }

  async #look(): Promise<ReadonlyMap<string, string>> {
    const answer = await this.#read();
    return answer === undefined ? this.#members : membersOf(answer.body);
  }
}

/** The values in a body by their JSON pointers. */
function membersOf(body: unknown, pointer = ''): ReadonlyMap<string, string> {
  if (typeof body !== 'object' || body === null) return new Map([[pointer, JSON.stringify(body)]]);
  return new Map(
    Object.entries(body).flatMap(([name, value]) => [...membersOf(value, `${pointer}/${name}`)]),
  );
}
