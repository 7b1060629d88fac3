import { DoubtfulSettingsPoint, type Scope } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import {
  type Agents,
  ExperiencePoint,
  type McpServers,
  type SandboxPolicies,
  TenantAgentsPoint,
  type ToolSource,
  type Tools,
  ToolsPoint,
} from '../../contract.ts';
import { mcpServerKind } from '../mcp/mcp-server.ts';
import { mcpServers, mcpToolSources } from '../mcp/mcp-tools.ts';
import { createArgumentCheck } from '../tools/argument-check.ts';
import { builtinTools } from '../tools/builtin-tools.ts';
import { createToolCatalog } from '../tools/tool-catalog.ts';
import { createAgentCatalog } from './agent-catalog.ts';
import { agentKind } from './agent-resource.ts';
import { createAgents } from './create-agents.ts';
import { createExperience } from './experience.ts';
import type { LoopParts } from './loop-parts.ts';
import { openTools } from './open-tools.ts';

/** Milliseconds between two sweeps for unused connections of MCP servers. */
const MCP_SWEEP_MS = 60_000;

/** What agents work with. */
interface AgentParts extends Pick<LoopParts, 'models' | 'guard' | 'openGuards' | 'receipts'> {
  readonly policies: SandboxPolicies;
  /** Tools in addition to those that need nothing but the kernel. */
  readonly tools: readonly ToolSource[];
}

/** Registers the kinds Agent and McpServer, and opens the agents and all their tools. */
export function openAgents(
  scope: Scope<AgentEngineSettings>,
  parts: AgentParts,
): { readonly agents: Agents; readonly tools: Tools; readonly mcp: McpServers } {
  const { config, log, services } = scope;
  const { clock, ids, database, egress, secrets, tracing, version } = services;
  const definitions = scope.kind(agentKind());
  const servers = scope.kind(
    mcpServerKind({
      stdioAllow: config.mcp_stdio_allow,
      resolveSecret: (reference) => secrets.resolve(reference, 'operator'),
      clock,
      version,
      log,
    }),
  );
  scope.every('mcp-connections', MCP_SWEEP_MS, async () => {
    await Promise.all(servers.list().map(({ value }) => value.sweep()));
  });
  const builtin = builtinTools({ clock, egress });
  const mcpTools = mcpToolSources(servers);
  const contributed = scope.contributions(ToolsPoint);
  const toolCatalog = createToolCatalog({
    sources: () => [builtin, ...parts.tools, ...mcpTools(), ...contributed()],
    policies: parts.policies,
    log,
    clock,
  });
  const { models, guard, openGuards, receipts } = parts;
  const learners = scope.contributions(ExperiencePoint);
  const agents = createAgentCatalog({
    files: definitions,
    sources: scope.contributions(TenantAgentsPoint),
    resources: services.resources,
    toolCatalog,
    models,
  });
  scope.contribute(DoubtfulSettingsPoint, { doubts: agents.doubts });
  const loop = {
    models,
    guard,
    openGuards,
    openExperience: createExperience({ learners, guard, clock, log }),
    receipts,
    toolCatalog,
    agents,
    database,
    tracing,
    clock,
    ids,
    checkArguments: createArgumentCheck(),
  };
  return {
    agents: createAgents(loop),
    tools: openTools({ ...loop, agents: definitions }),
    mcp: mcpServers(servers),
  };
}
