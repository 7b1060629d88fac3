import type { Logger } from 'agent-gateway';
import type { SandboxPolicies, Tool, ToolSource } from '../../contract.ts';
import { uniqueNames } from './tool-names.ts';
import { matchesRef, mayHold } from './tool-ref.ts';

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

/** Tools for a run. */
export interface ToolOffer {
  readonly tools: readonly OfferedTool[];
  /** Refs that stand for no tool now. */
  readonly missing: readonly string[];
}

/** What is asked of the catalog. */
export interface ToolQuery {
  readonly tenantId: string;
  /** Absent: every tool of the tenant. One tool a skill (`skill://`) is offered only where it is wished for: `load_skill` loads them all. */
  readonly wishes?: readonly ToolWish[] | undefined;
  /** Names that are no longer free. */
  readonly taken?: Iterable<string>;
  readonly signal: AbortSignal;
}

/** All tools of the deployment, by tenant. */
export interface ToolCatalog {
  /**
   * The tools for a run, `MAX_TOOLS` at most, within the tenant's sandbox policy. A source that fails or is slow is left out and
   * logged. Throws the reason of the signal, and what the policies throw: no policy, no tools.
   */
  offer(query: ToolQuery): Promise<ToolOffer>;
}

/** What the catalog is made of. */
export interface ToolCatalogParts {
  /** The sources that there are now, in the order in which names are given. */
  readonly sources: () => readonly ToolSource[];
  readonly policies: Pick<SandboxPolicies, 'of'>;
  readonly log: Logger;
  /** Milliseconds that a source may take; default 5,000. */
  readonly sourceTimeoutMs?: number;
}

/** Tools that one run offers at most: providers refuse more. */
export const MAX_TOOLS = 128;

/** Makes the catalog. It keeps nothing: sources know best how long their lists are good. */
export function createToolCatalog({
  sources,
  policies,
  log,
  sourceTimeoutMs = 5_000,
}: ToolCatalogParts): ToolCatalog {
  async function listed(source: ToolSource, { tenantId, signal }: ToolQuery): Promise<readonly Tool[]> {
    try {
      const tools = source.list(tenantId, signal);
      return Array.isArray(tools) ? tools : await inTime(tools, sourceTimeoutMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ err: error, source: source.prefix, tenant_id: tenantId }, 'tools are left out');
      return [];
    }
  }

  return {
    async offer(query) {
      const { tenantId, wishes, signal, taken } = query;
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
      const chosen = allowed.slice(0, MAX_TOOLS);
      if (chosen.length < allowed.length)
        log.warn(
          { tenant_id: tenantId, tools: allowed.length },
          `only the first ${MAX_TOOLS} tools are offered`,
        );
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

function firstOfEachRef(tools: readonly Tool[]): readonly Tool[] {
  const byRef = new Map<string, Tool>();
  for (const tool of tools) if (!byRef.has(tool.ref)) byRef.set(tool.ref, tool);
  return [...byRef.values()];
}

/** What a promise comes to, unless that takes longer than `ms` or the signal is aborted. */
async function inTime<T>(promise: Promise<T> | T, ms: number, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = () => {};
  const end = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    stop = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
  });
  try {
    return await Promise.race([promise, end]);
  } finally {
    stop();
  }
}
