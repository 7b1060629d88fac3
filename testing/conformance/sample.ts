import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import type { SampleTenant } from './options.ts';

/** The path of a route with its parameters filled in; `marker` stands for those without a known value. */
export function sampleParams(
  route: CompiledRoute,
  known: Readonly<Record<string, string>>,
  marker: string,
): string {
  return route.pattern.replace(/\{(\w+)\*?\}/g, (_, name: string) =>
    encodeURIComponent(known[name] ?? marker),
  );
}

/** A tenant of the suite, with a word of its own. */
export async function sampleTenant(gateway: TestGateway, name: string): Promise<SampleTenant> {
  const marker = `${name}${gateway.gateway.services.ids.bytes(4).toString('hex')}`;
  return { ...(await gateway.makeTenant(name)), marker };
}

/** What one tenant made, and who looks at it. */
export interface World {
  readonly owner: SampleTenant;
  readonly stranger: SampleTenant;
  readonly made: Made;
}

/** A sample with the tenant's own word in it. */
export function marked(sample: unknown, marker: string): unknown {
  return JSON.parse(JSON.stringify(sample).replaceAll('{marker}', marker));
}

/** What clients of the suite choose for a key; letters and digits alone, so that most patterns take it. */
const CHOSEN_KEY = 'conformance1';

/** What is known to belong to the owner. */
export class Made {
  readonly #marks: Set<string>;
  readonly #params: Record<string, string> = {};
  /** Ids by the path of the route that made them: `/v1/notes` gives the `{id}` of `/v1/notes/{id}`. */
  readonly #ids = new Map<string, string>();
  /** Paths for which `seed` has said an id, which stays. */
  readonly #given = new Set<string>();
  /** What a stranger has asked for by its id. */
  readonly #asked = new Set<string>();

  constructor(owner: SampleTenant) {
    this.#marks = new Set([owner.marker]);
  }

  /** What `seed` has made: by names of parameters, or by the path before one. */
  know(params: Readonly<Record<string, string>> = {}): void {
    for (const [name, value] of Object.entries(params)) {
      this.#marks.add(value);
      if (name.startsWith('/')) {
        this.#ids.set(name, value);
        this.#given.add(name);
      } else {
        this.#params[name] = value;
      }
    }
  }

  /** Values that `seed` has made, by the names of parameters. */
  get seeded(): Readonly<Record<string, string>> {
    return this.#params;
  }

  learn(route: CompiledRoute, { status, body }: { readonly status: number; readonly body: unknown }): void {
    if (status >= 300) return;
    const id = idIn(body);
    if (id === undefined) return;
    this.#marks.add(id);
    if (!this.#given.has(route.pattern)) this.#ids.set(route.pattern, id);
  }

  /**
   * The last part of a path that is put to, where nothing has made one: a key that any tenant may choose, so that it
   * belongs to none.
   */
  chooseKey({ pattern }: CompiledRoute): void {
    const [, parent, name] = /^(.*)\/\{(\w+)\*?\}$/.exec(pattern) ?? [];
    if (parent === undefined || name === undefined) return;
    if (this.#ids.has(parent) || name in this.#params) return;
    this.#ids.set(parent, CHOSEN_KEY);
  }

  /** Notes the path for which a stranger asks, and says whether it names what belongs to the owner. */
  ask(path: string): { readonly isForOwners: boolean } {
    const named = [...this.#marks].filter((mark) => path.includes(encodeURIComponent(mark)));
    for (const mark of named) this.#asked.add(mark);
    const where = path.split('?', 1)[0]!;
    return { isForOwners: named.some((mark) => where.includes(encodeURIComponent(mark))) };
  }

  paramsOf({ pattern }: CompiledRoute): Readonly<Record<string, string>> {
    const params = { ...this.#params };
    for (const { 0: part, 1: name, index } of pattern.matchAll(/\/\{(\w+)\*?\}/g)) {
      const id = this.#ids.get(pattern.slice(0, index));
      if (id !== undefined && part !== undefined) params[name!] = id;
    }
    return params;
  }

  /** The id of the first record that was made. */
  get id(): string | undefined {
    return [...this.#ids.values()].find((id) => id !== CHOSEN_KEY);
  }

  occursIn({ body }: { readonly body: unknown }): boolean {
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? null);
    return [...this.#marks].some((mark) => text.includes(mark));
  }

  /**
   * Whether a stranger's answer shows the owner's data; ids that the stranger has named in a request may be repeated.
   */
  isShownIn({ body }: { readonly body: unknown }): boolean {
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? null);
    return [...this.#marks].some((mark) => !this.#asked.has(mark) && text.includes(mark));
  }
}

/** The id of a record, also of one that is wrapped by its noun. */
function idIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const own = (body as { id?: unknown }).id;
  if (typeof own === 'string') return own;
  for (const value of Object.values(body)) {
    const inner = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : undefined;
    if (typeof inner === 'string') return inner;
  }
  return undefined;
}
