import type { SharedV4Warning } from '@ai-sdk/provider';
import type { Logger } from 'agent-gateway';
import type { Redact } from '../redact.ts';

/** Callers choose some of the names in warnings: after so many different ones no more are told. */
const MOST_TOLD = 50;

/** A function that logs what a model's provider does not do: each thing once, for as long as the model lives. */
export function createWarningLog(
  log: Pick<Logger, 'warn'>,
  model: string,
  redact: Redact,
): (warnings: readonly SharedV4Warning[]) => void {
  const told = new Set<string>();
  return (warnings) => {
    for (const warning of warnings) {
      const text = redact(textOf(warning));
      if (told.has(text) || told.size >= MOST_TOLD) continue;
      told.add(text);
      log.warn({ model, warning: text }, 'the model provider does not do everything that it is asked');
    }
  };
}

function textOf(warning: SharedV4Warning): string {
  switch (warning.type) {
    case 'unsupported':
    case 'compatibility':
      return `${warning.type}: ${warning.feature}${warning.details === undefined ? '' : ` (${warning.details})`}`;
    case 'deprecated':
      return `deprecated: ${warning.setting} (${warning.message})`;
    default:
      return warning.message;
  }
}
