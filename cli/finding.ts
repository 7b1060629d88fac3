/** What was found of one part of a deployment. */
export interface Finding {
  /** `variables`, `agents.d`, `database` … */
  readonly part: string;
  /** `skipped`: it could not be checked, because of a problem elsewhere. */
  readonly state: 'ok' | 'wrong' | 'skipped';
  /** When it is ok or skipped, one line; else one for each problem. */
  readonly lines: readonly string[];
}

/** Wrong where there are problems. */
export function finding(part: string, problems: readonly string[], summary: string): Finding {
  return problems.length > 0
    ? { part, state: 'wrong', lines: problems }
    : { part, state: 'ok', lines: [summary] };
}

/** A part that cannot be checked yet. */
export function skipped(part: string): Finding {
  return { part, state: 'skipped', lines: ['not checked, because of what is wrong above'] };
}

/**
 * `ok       database: postgres at 127.0.0.1:5432`; problems below their part. What can hold a value goes through
 * `hide`, which takes credentials out.
 */
export function describe({ part, state, lines }: Finding, hide: (text: string) => string): string {
  const head = `${state.padEnd(8)} ${part}`;
  const shown = lines.map((line) => {
    // What a problem is about stays: `ADMIN_API_KEY: must be …` is a name and no value, although it looks like one. So
    // does the form that is advised at its end (`, write postgres://user:password@…`): a value never stands there
    // without quotes.
    const [, place = '', message = '', form = ''] = /^((?:\S+: )*)(.*?)(, write [^"]*)?$/s.exec(line)!;
    return place + hide(message) + form;
  });
  return state === 'wrong'
    ? `${head}\n${shown.map((line) => `  ${line}\n`).join('')}`
    : `${head}: ${shown.join('')}\n`;
}
