import { AnyId, Id, searchQuery, Timestamp, Type } from 'agent-gateway';
import { GENE_STATES } from '../rules/gene.ts';
import { type GeneRow, NAME_LENGTH, REASON_LENGTH } from '../store/tables.ts';

/** Genes of one answer. */
export const MAX_GENES = 100;
const DEFAULT_GENES = 20;
const Rate = Type.Number({ minimum: 0, maximum: 1, examples: [0.82] });
const rateOrNull = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], description, examples: [0.12] });

const Enabled = Type.Boolean({ description: 'Whether agents learn and are advised: `EVOLUTION_ENABLED`' });
/** 1 is the minimum; a number above 100 counts as 100. */
const Limit = Type.Integer({
  minimum: 1,
  default: DEFAULT_GENES,
  description: `Above ${MAX_GENES}: ${MAX_GENES}`,
  examples: [DEFAULT_GENES],
});
const MinConfidence = Type.Number({ minimum: 0, maximum: 1, examples: [0.5] });

export const GeneItem = Type.Object({
  id: Id,
  label: Type.String({ examples: ['Use builtin/calculator for tasks about invoice, price'] }),
  agent_name: Type.String({ description: '`*`: any agent; a gene from elsewhere', examples: ['helper'] }),
  strategy: Type.Object({
    component: Type.String({ examples: ['builtin/calculator'] }),
    type: Type.Enum(['prefer', 'avoid']),
  }),
  confidence: Rate,
  use_count: Type.Integer({ description: 'Tasks in which the component was used', examples: [40] }),
  success_count: Type.Integer({
    description: 'Tasks in which its last use succeeded',
    examples: [34],
  }),
  success_rate: Rate,
  state: Type.Enum([...GENE_STATES]),
  source: Type.Enum(['local', 'hub']),
});

export const Gene = Type.Object({
  ...GeneItem.properties,
  task_class: Type.String({ examples: ['4be1d61c0a2f'] }),
  component: Type.String({ examples: ['builtin/calculator'] }),
  signal_type: Type.Enum(['tool_success', 'tool_error', 'model_invoke', 'node_done']),
  signals: Type.Record(Type.String(), Type.Integer(), { description: 'Signals by type' }),
  evidence: Type.Object(
    { wins: Type.Number({ examples: [9.1] }), losses: Type.Number({ examples: [1.4] }) },
    { description: 'What the confidence is made of: later uses make earlier ones count less' },
  ),
  validation: Type.Object({
    advised: Type.Integer({ description: 'Tasks that were advised by it, and followed it', examples: [12] }),
    succeeded: Type.Integer({ examples: [11] }),
    decided_by: Type.Enum(['rule', 'operator']),
  }),
  sessions: Type.Integer({ description: 'Sessions in which it succeeded; 2 stands for more', examples: [2] }),
  contributor: Type.Union([Type.String(), Type.Null()]),
  sender_id: Type.Union([Type.String(), Type.Null()], {
    description:
      'Of a gene that was learned here `EVOLUTION_SENDER_ID`; of one from elsewhere its contributor, null where it came without a name',
    examples: ['gateway-local'],
  }),
  version: Type.Integer({ examples: [7] }),
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** A gene that an administrator has decided about. */
export const decidedGene = (state: (typeof GENE_STATES)[number]) =>
  Type.Object({
    ...Gene.properties,
    state: Type.Enum([...GENE_STATES], { examples: [state] }),
    validation: Type.Object({
      ...Gene.properties.validation.properties,
      decided_by: Type.Enum(['rule', 'operator'], { examples: ['operator'] }),
    }),
  });

export const GenesQuery = Type.Object({
  ...searchQuery('label', 'component', 'agent_name'),
  min_confidence: Type.Optional(MinConfidence),
  state: Type.Optional(Type.Enum([...GENE_STATES])),
  limit: Limit,
});
export const Genes = Type.Object({
  enabled: Enabled,
  genes: Type.Array(GeneItem),
  total: Type.Integer({ examples: [1] }),
});

export const Stats = Type.Object({
  enabled: Enabled,
  mode: Type.Enum(['local', 'federated'], {
    description: '`federated`: with a hub',
    examples: ['federated'],
  }),
  sender_id: Type.String({ examples: ['gateway-local'] }),
  min_confidence: Rate,
  max_suggestions: Type.Integer({ examples: [3] }),
  total_genes: Type.Integer({ description: 'Those that are not revoked', examples: [24] }),
  avg_confidence: Rate,
  success_rate: Rate,
  uplift: Type.Object(
    {
      advised: rateOrNull('Share of tasks that succeeded with advice; null: none yet'),
      holdout: rateOrNull('The same without, in the sessions that are left without it'),
      difference: rateOrNull('Of the two, -1 to 1'),
      low: rateOrNull('The difference is above it with 97.5 % certainty'),
      high: rateOrNull('The difference is below it with 97.5 % certainty'),
      n: Type.Integer({ description: 'Tasks compared, of the last 30 days', examples: [1240] }),
      summary: Type.String({
        description: 'The same in words',
        examples: [
          'Advice helps. With advice 81 of 100 tasks succeeded, without it 62 (1240 tasks compared, 95 % interval +11 to +27 of 100).',
        ],
      }),
    },
    { description: 'What advice brings, among tasks for which there was some' },
  ),
});

export const GeneParams = Type.Object({ id: AnyId });
export const Decide = Type.Object(
  {
    reason: Type.Optional(
      Type.String({
        maxLength: REASON_LENGTH,
        pattern: '^[^\\p{Cc}\\p{Cs}]*$',
        patternErrorMessage: 'must not hold control characters',
        examples: ['Wrong since the price list moved'],
      }),
    ),
  },
  { additionalProperties: false },
);

export const Recommend = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      maxLength: 4_000,
      description: 'A task, in words',
      examples: ['Which invoices are overdue?'],
    }),
    agent_name: Type.Optional(
      Type.String({ minLength: 1, maxLength: NAME_LENGTH, description: 'The one agent that is meant' }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, description: `Above ${MAX_GENES}: ${MAX_GENES}`, examples: [3] }),
    ),
    min_confidence: Type.Optional(MinConfidence),
  },
  { additionalProperties: false },
);
const Recommended = Type.Object({
  ...GeneItem.properties,
  state: Type.Enum([...GENE_STATES], { description: 'Always promoted', examples: ['promoted'] }),
});
export const Recommendations = Type.Object({ enabled: Enabled, recommendations: Type.Array(Recommended) });

export const FederatedQuery = Type.Object({
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'What to look for; absent: any gene',
      examples: ['invoice'],
    }),
  ),
  limit: Limit,
});
export const Federated = Type.Object({
  ...Genes.properties,
  imported: Type.Integer({ description: 'Genes that are new here', examples: [0] }),
});

/** A gene in a list. */
export function toItem(gene: GeneRow) {
  const { id, label, confidence, state, source, useCount: use_count, successCount: success_count } = gene;
  const strategy = { component: gene.strategy.component, type: gene.strategy.type };
  return {
    id,
    label,
    agent_name: gene.agentName,
    strategy,
    confidence,
    use_count,
    success_count,
    success_rate: use_count === 0 ? 0 : success_count / use_count,
    state,
    source,
  };
}

/** A gene with its evidence; `ownId` is the id of this deployment. */
export function toGene(gene: GeneRow, ownId: string) {
  const { wins, losses, validation, version, contributor, component, signals } = gene;
  return {
    ...toItem(gene),
    task_class: gene.taskClass,
    component,
    signal_type: gene.signalType,
    signals,
    evidence: { wins, losses },
    validation: {
      advised: validation.advised,
      succeeded: validation.succeeded,
      decided_by: validation.decidedBy,
    },
    sessions: gene.sessions.length,
    contributor,
    sender_id: gene.source === 'local' ? ownId : gene.senderId,
    version,
    created_at: gene.createdAt.toISOString(),
    updated_at: gene.updatedAt.toISOString(),
  };
}
