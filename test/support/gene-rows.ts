import { NO_KNOWLEDGE } from '../../plugins/evolution/rules/gene.ts';
import type { GeneRow } from '../../plugins/evolution/store/tables.ts';

/** A gene to insert, of a tool that works; `more` says what is different. */
export function geneRow(more: Partial<GeneRow> & { readonly id: string }): Omit<GeneRow, 'tenantId'> {
  const now = new Date();
  const component = more.component ?? 'builtin/calculator';
  return {
    label: 'Use it',
    signalType: 'tool_success',
    agentName: 'helper',
    taskClass: 'sums',
    component,
    signals: {},
    strategy: { component, type: 'prefer' },
    validation: NO_KNOWLEDGE.validation,
    confidence: 0.5,
    useCount: 0,
    successCount: 0,
    wins: 0,
    losses: 0,
    sessions: [],
    state: 'candidate',
    source: 'local',
    contributor: null,
    senderId: null,
    contentHash: more.id,
    version: 1,
    createdAt: now,
    updatedAt: now,
    ...more,
  } as Omit<GeneRow, 'tenantId'>;
}
