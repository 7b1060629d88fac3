import type { Clock, Database, Ids } from 'agent-gateway';
import type { Receipts } from '../../../records/contract.ts';
import type { AgentEvent, AgentRunRequest, Guard, Models, ModelUse, RunContext } from '../../contract.ts';
import type { ArgumentCheck } from '../tools/argument-check.ts';
import type { ToolCatalog } from '../tools/tool-catalog.ts';
import type { Emit } from './events.ts';

/** What agents run with. */
export interface LoopParts {
  readonly models: Models;
  readonly toolCatalog: ToolCatalog;
  readonly receipts: Receipts;
  readonly guard: Guard;
  readonly checkArguments: ArgumentCheck;
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What all agents of one turn share. */
export interface Turn {
  /** Its signal is the turn's own: it also ends when the reader of the events leaves. */
  readonly context: RunContext;
  readonly pauses: AgentRunRequest['pauses'];
  readonly emit: Emit<AgentEvent>;
  /** Ends everything of the turn that is under way. */
  readonly stop: (reason: unknown) => void;
  readonly uses: ModelUse[];
  /** Calls of the model so far, sub-agents included, and how many there may be. */
  modelCalls: number;
  readonly maxModelCalls: number;
}
