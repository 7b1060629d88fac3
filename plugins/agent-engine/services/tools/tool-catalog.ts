import {
  type Clock,
  DeadlineError,
  isJsonObject,
  type Logger,
  orAborted,
  recentMap,
  throttledLog,
  throttledLogs,
  within,
} from 'agent-gateway';
import type { SandboxPolicies, Tool, ToolSource } from '../../contract.ts';

/** A tool that an agent wants. */
export interface ToolWish {
  /** A ref as in an agent's YAML. */
  readonly ref: string;
  readonly requiresApproval: boolean;
}

/** A tool as a run offers it. */
export interface OfferedTool {
  /** Unique in the run; `tool.name` unless another tool has that. */
  readonly name: string;
  readonly tool: Tool;
  readonly requiresApproval: boolean;
}

/** What is asked of the catalog. */
interface ToolQuery {
  readonly tenantId: string;
  /**
   * Absent: every tool of the tenant. The tool of a single skill (`skill://`) is offered only if a wish names it:
   * `load_skill` loads all skills.
   */
  readonly wishes?: readonly ToolWish[] | undefined;
  /** Names that are no longer free. */
  readonly taken?: Iterable<string>;
  /** Tools of the run that come from elsewhere: they count, too. Default 0. */
  readonly others?: number;
  readonly signal: AbortSignal;
}

/** What the catalog is made of. */
interface ToolCatalogParts {
  /** The sources that there are now, in the order in which names are given. */
  readonly sources: () => readonly ToolSource[];
  readonly policies: Pick<SandboxPolicies, 'of'>;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds that a source may take; default 5,000. */
  readonly sourceTimeoutMs?: number;
}

/** What the operator should know of a source. */
interface Warning {
  readonly message: string;
  readonly [detail: string]: unknown;
}

/** Tools that one run offers at most: providers refuse more. */
export const MAX_TOOLS = 128;

/** Milliseconds for which a source that was late is waited for when it is asked again. */
const LATE_TIMEOUT_MS = 250;
/** Milliseconds for which its answer is awaited in the background, before it is asked again. */
const LATE_MS = 30_000;
/** Sources of tenants that are known to be late; those of long ago are waited for like any other. */
const MAX_LATE = 1000;

/** All tools of the deployment, by tenant. */
export type ToolCatalog = ReturnType<typeof createToolCatalog>;

/** Makes the catalog. It caches no tools: sources know best how long their lists are valid. */
export function createToolCatalog({
  sources,
  policies,
  log,
  clock,
  sourceTimeoutMs = 5_000,
}: ToolCatalogParts) {
  // Tools are listed before each turn.
  const warnOf = throttledLogs<Warning>(clock, (source, { message, ...detail }, times) =>
    log.warn({ source, ...detail, times }, message),
  );
  // By tenant and source, until when the answer is awaited.
  const late = recentMap<{ until: number }>(MAX_LATE);
  const warnOfMany = throttledLog<object>(clock, (detail, times) =>
    log.warn({ ...detail, times }, `a run has more than ${MAX_TOOLS} tools, so some are not offered`),
  );

  /** Lets the tenant's runs go on without the source until it has answered. */
  function awaitAside(key: string, tools: Promise<readonly Tool[]>): void {
    const miss = { until: clock.monotonic() + LATE_MS };
    late.set(key, miss);
    tools.then(
      () => late.delete(key),
      () => {
        miss.until = Number.NEGATIVE_INFINITY;
      },
    );
  }

  async function listed(source: ToolSource, { tenantId, signal }: ToolQuery): Promise<readonly Tool[]> {
    const key = `${tenantId} ${source.prefix}`;
    const miss = late.get(key);
    try {
      if (miss !== undefined && clock.monotonic() < miss.until)
        throw new Error('The source was late, and has not answered since.');
      // What is awaited in the background outlives the run.
      const tools = source.list(tenantId, miss === undefined ? signal : AbortSignal.timeout(LATE_MS));
      if (!('then' in tools)) return usable(source, tools);
      if (miss !== undefined) awaitAside(key, tools);
      const timeoutMs = miss === undefined ? sourceTimeoutMs : Math.min(LATE_TIMEOUT_MS, sourceTimeoutMs);
      const inTime = within(timeoutMs, 'a list of tools', tools).catch((error: unknown) => {
        if (miss === undefined && error instanceof DeadlineError) awaitAside(key, tools);
        throw error;
      });
      return usable(source, await orAborted(inTime, signal));
    } catch (error) {
      signal.throwIfAborted();
      warnOf(source.prefix, { message: 'tools are left out', err: error, tenant_id: tenantId });
      return [];
    }
  }

  /** The tools that can be offered; the first of the others is logged. */
  function usable(source: ToolSource, tools: readonly Tool[]): readonly Tool[] {
    const flaws = tools.map((tool) => flawOf(tool, source.prefix));
    const first = flaws.findIndex((flaw) => flaw !== undefined);
    if (first < 0) return tools;
    warnOf(source.prefix, { message: `a tool is left out: ${flaws[first]}`, ref: tools[first]?.ref });
    return tools.filter((_, index) => flaws[index] === undefined);
  }

  return {
    /**
     * Which refs stand for no tool now, and the names among which the ones that were meant may be. Servers of MCP are
     * not asked, which could take seconds: it counts that they are there.
     */
    async unknown(
      tenantId: string,
      refs: readonly string[],
    ): Promise<{ readonly missing: readonly string[]; readonly known: readonly string[] }> {
      const all = sources();
      const asked = all.filter((source) => !isMcp(source.prefix) && refs.some((ref) => mayHold(source, ref)));
      // Each source has a deadline of its own.
      const { signal } = new AbortController();
      const lists = await Promise.all(asked.map((source) => listed(source, { tenantId, signal })));
      const known = lists.flat().map(({ ref }) => ref);
      const servers = all.map(({ prefix }) => prefix).filter(isMcp);
      const isKnown = (ref: string) =>
        isMcp(ref) ? servers.some((prefix) => ref.startsWith(prefix)) : known.includes(ref);
      return { missing: refs.filter((ref) => !isKnown(ref)), known };
    },
    /**
     * The tools for a run, `MAX_TOOLS` at most with its others, within the tenant's sandbox policy; `missing` are the
     * refs that stand for no tool now. A source that fails or is slow is left out and logged. Throws the reason of the
     * signal, and what the policies throw: no policy, no tools.
     */
    async offer(
      query: ToolQuery,
    ): Promise<{ readonly tools: readonly OfferedTool[]; readonly missing: readonly string[] }> {
      const { tenantId, wishes, signal, taken, others = 0 } = query;
      const asked = sources().filter((source) =>
        wishes === undefined ? source.prefix !== 'skill://' : wishes.some(({ ref }) => mayHold(source, ref)),
      );
      const [{ allowedTools }, ...lists] = await Promise.all([
        policies.of(tenantId),
        ...asked.map((source) => listed(source, query)),
      ]);
      signal.throwIfAborted();
      const all = firstOfEachRef(lists.flat());
      const wanted = all.filter((tool) => wishes?.some(({ ref }) => matchesRef(tool, ref)) ?? true);
      const allowed = wanted.filter(({ name }) => allowedTools === null || allowedTools.includes(name));
      const chosen = allowed.slice(0, Math.max(0, MAX_TOOLS - others));
      if (chosen.length < allowed.length) warnOfMany({ tenant_id: tenantId, tools: allowed.length });
      const names = uniqueNames(
        chosen.map(({ name }) => name),
        taken,
      );
      return {
        tools: chosen.map((tool, index) => ({
          name: names[index]!,
          tool,
          requiresApproval: wishes?.some((w) => w.requiresApproval && matchesRef(tool, w.ref)) ?? false,
        })),
        missing: (wishes ?? [])
          .map(({ ref }) => ref)
          .filter((ref) => !chosen.some((tool) => matchesRef(tool, ref))),
      };
    },
  };
}

/**
 * Why a tool of a source cannot be offered. One under a foreign prefix would reach agents that were given that other
 * source; one without its texts, which plugins in JavaScript may forget, would have the provider refuse every turn that
 * it is offered in. Pure.
 */
function flawOf(tool: Tool, prefix: string): string | undefined {
  if (typeof tool?.ref !== 'string') return 'it has no ref';
  if (!tool.ref.startsWith(prefix)) return 'its ref does not begin as its source says';
  const { name, description, parameters, invoke } = tool as Readonly<Record<keyof Tool, unknown>>;
  if (typeof name !== 'string') return 'its name is no text';
  if (typeof description !== 'string') return 'its description is no text';
  if (!isJsonObject(parameters)) return 'its parameters are no JSON Schema of an object';
  return typeof invoke === 'function' ? undefined : 'it has no invoke';
}

const isMcp = (ref: string) => ref.startsWith('mcp://');

function firstOfEachRef(tools: readonly Tool[]): readonly Tool[] {
  const byRef = new Map<string, Tool>();
  for (const tool of tools) if (!byRef.has(tool.ref)) byRef.set(tool.ref, tool);
  return [...byRef.values()];
}

/** How a tool is named in YAML; see `TOOL_REF_FORMS`. */
const FORMS = [
  /^builtin\/[A-Za-z0-9_-]{1,64}$/,
  /^mcp:\/\/[A-Za-z0-9._-]{1,64}\/(?:\*|[^\s*]{1,128})$/,
  /^skill:\/\/[A-Za-z0-9._-]{1,64}$/,
  /^plugin\/[A-Za-z0-9._-]{1,64}\/[A-Za-z0-9_-]{1,64}$/,
];

/** True for text that is the name of a tool, or, with a `*` at its end, of all tools of an MCP server. */
export function isToolRef(text: string): boolean {
  return FORMS.some((form) => form.test(text));
}

/** Does the tool have the name, or one that the `*` stands for? */
export function matchesRef(tool: Pick<Tool, 'ref'>, ref: string): boolean {
  return ref.endsWith('/*') ? tool.ref.startsWith(ref.slice(0, -1)) : tool.ref === ref;
}

/** May the source have the tools of the name? */
export function mayHold(source: Pick<ToolSource, 'prefix'>, ref: string): boolean {
  const fixed = ref.endsWith('*') ? ref.slice(0, -1) : ref;
  return fixed.startsWith(source.prefix) || source.prefix.startsWith(fixed);
}

/** Characters of a name at most, and those that providers accept in it. */
const MOST = 64;
const REFUSED = /[^a-zA-Z0-9_-]/g;

/** A text as a name that every provider accepts: what it refuses becomes `_`, and the end of a long one is cut. */
export function toToolName(text: string): string {
  return text.replace(REFUSED, '_').slice(0, MOST) || '_';
}

/**
 * Names for things that a model calls, each different from the others and from those that are taken: the second
 * `search` is `search_2`. The same wishes in the same order give the same names. Pure.
 */
export function uniqueNames(wishes: readonly string[], taken: Iterable<string> = []): readonly string[] {
  const used = new Set(taken);
  const counts = new Map<string, number>();
  return wishes.map((wish) => {
    const base = toToolName(wish);
    let count = counts.get(base) ?? 1;
    let name = base;
    while (used.has(name)) {
      count += 1;
      const suffix = `_${count}`;
      name = base.slice(0, MOST - suffix.length) + suffix;
    }
    counts.set(base, count);
    used.add(name);
    return name;
  });
}
