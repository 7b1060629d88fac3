import type { Clock, Egress } from 'agent-gateway';
import type { ToolSource } from '../../contract.ts';
import { askUser } from './builtin/ask-user.ts';
import { calculator } from './builtin/calculator.ts';
import { currentTime } from './builtin/current-time.ts';
import { httpFetch } from './builtin/http-fetch.ts';

/** The built-in tools that need nothing but the kernel: `calculator`, `current_time`, `http_fetch`, `ask_user`. */
export function builtinTools(parts: {
  readonly clock: Clock;
  readonly egress: Pick<Egress, 'request'>;
}): ToolSource {
  const tools = [calculator, currentTime(parts), httpFetch(parts), askUser];
  return { prefix: 'builtin/', list: () => tools };
}
