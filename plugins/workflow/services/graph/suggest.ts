import { nearestName } from 'agent-gateway';

/** Searches in one check: beyond them nothing is suggested, since a graph may have thousands of names that are wrong. */
const MAX_SEARCHES = 50;

/** Gives ` Did you mean "…"?` for the known name that somebody probably meant, or an empty text. */
export type Suggest = (wrong: string, known: readonly string[]) => string;

/** Makes a `Suggest` for one check, whose work is bounded. */
export function createSuggest(): Suggest {
  let left = MAX_SEARCHES;
  return (wrong, known) => {
    if (left === 0) return '';
    left -= 1;
    const meant = nearestName(wrong, known);
    return meant === undefined ? '' : ` Did you mean ${JSON.stringify(meant)}?`;
  };
}
