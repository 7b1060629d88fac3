import type { Clock, Database, Ids, Spans } from 'agent-gateway';
import type { Receipts } from '../../../records/contract.ts';
import type { Guard, Models } from '../../contract.ts';
import type { OpenChatGuards } from '../guard/chat/chat-guards.ts';
import type { ArgumentCheck } from '../tools/argument-check.ts';
import type { ToolCatalog } from '../tools/tool-catalog.ts';
import type { OpenExperience } from './experience.ts';

/** What agents run with. */
export interface LoopParts {
  readonly models: Models;
  readonly toolCatalog: ToolCatalog;
  readonly receipts: Receipts;
  readonly guard: Guard;
  readonly openGuards: OpenChatGuards;
  readonly openExperience: OpenExperience;
  readonly checkArguments: ArgumentCheck;
  readonly database: Pick<Database, 'forTenant'>;
  readonly tracing: Spans;
  readonly clock: Clock;
  readonly ids: Ids;
}
