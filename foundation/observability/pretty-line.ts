/** A line of the JSON log for a person at a terminal: time, level, message, then the other fields, errors last. */
export function prettyLine(line: string): string {
  const { time, level, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const fields = Object.entries(rest).map(([name, value]) => ` ${name}=${show(value)}`);
  const head = `${clock} ${String(level).toUpperCase().padEnd(5)} ${msg ?? ''}${fields.join('')}`;
  return `${head}${err === undefined ? '' : showError(err)}\n`;
}

function show(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

function showError(error: unknown): string {
  const { stack, message, cause } = (error ?? {}) as { stack?: string; message?: string; cause?: unknown };
  const text = `\n    ${(stack ?? message ?? show(error)).replaceAll('\n', '\n    ')}`;
  return cause === undefined ? text : `${text}\n    caused by:${showError(cause)}`;
}
