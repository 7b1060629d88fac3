import type { SkillSummary } from '../../contract.ts';
import type { InstalledSkills } from './installed-skills.ts';
import { termsOf } from './search-terms.ts';
import { createSkillIndex, type IndexedItem, type SkillIndex } from './skill-index.ts';
import type { SkillCatalog } from './skill-text.ts';

/** A skill that was found, and how well it fits: comparable within one search. */
export interface FoundSkill {
  readonly skill: SkillSummary;
  readonly score: number;
}

/** Finds skills of one tenant by what a user says. */
export interface SkillSearch {
  /** How many skills there are to be found. */
  readonly total: number;
  /**
   * The best ones first, those that fit equally well by name, without those that score less than `least`; the last of
   * the texts counts most.
   */
  find(texts: readonly string[], most: number, least?: number): readonly FoundSkill[];
}

/**
 * How much a word in the name, the description or the title counts, compared with one in the body; `said`: in what
 * other skills say of it.
 */
const FIELDS = { name: 4, description: 6, title: 2, said: 4 } as const;
/**
 * Characters of a text that are searched, at its beginning and at its end: users write what they want before or after
 * what they pasted.
 */
const LOOKED_AT = { begin: 1_500, end: 500 } as const;
/** Texts that are searched, the last ones. */
const MAX_TEXTS = 3;
/** The weight of a text, relative to the one after it. */
const EARLIER = 0.5;
/** Characters of the terms of a body, as a manifest keeps them. */
const MAX_KEPT = 1_000;

/** Opens searches over what tenants have; the index of the built-in skills is made once, when it is first asked for. */
export function createSkillSearch(catalog: SkillCatalog): (installed: InstalledSkills) => SkillSearch {
  let shared: SkillIndex<string> | undefined;
  const known = new WeakMap<InstalledSkills, SkillSearch>();

  const sharedIndex = () => {
    shared ??= createSkillIndex(builtinItems(catalog));
    return shared;
  };

  function open({ byName, list }: InstalledSkills): SkillSearch {
    const own = [...byName.values()]
      .filter((skill) => skill.shared === undefined)
      .map(({ entry, summary }) => itemOf({ ...summary, terms: (entry.terms ?? '').split(' ') }));
    let ownIndex: SkillIndex<string> | undefined;
    return {
      total: list.length,
      find(texts, most, least) {
        const query = queryOf(texts);
        if (query.size === 0) return [];
        const found: FoundSkill[] = [];
        const add = (name: string, score: number, isShared: boolean) => {
          const skill = byName.get(name);
          if (skill !== undefined && (skill.shared !== undefined) === isShared) {
            found.push({ skill: skill.summary, score });
          }
        };
        for (const [name, score] of sharedIndex().score(query, least)) add(name, score, true);
        if (own.length > 0) {
          const corpus = catalog.skills.size > 0 ? sharedIndex().corpus : undefined;
          ownIndex ??= createSkillIndex(own, corpus);
          for (const [name, score] of ownIndex.score(query, least)) add(name, score, false);
        }
        found.sort((a, b) => b.score - a.score || (a.skill.name < b.skill.name ? -1 : 1));
        return found.slice(0, most);
      },
    };
  }

  return (installed) => {
    const search = known.get(installed) ?? open(installed);
    known.set(installed, search);
    return search;
  };
}

/** Skills that one search finds, about as much text as a prompt may list. */
const MAX_FOUND = 15;
/** The least share of the best score: skills that fit far worse are left out. */
const LEAST_SHARE = 0.2;

/** What a search for a task finds, best first. Pure. */
export function foundFor(search: SkillSearch, query: string): readonly SkillSummary[] {
  const found = search.find([query], MAX_FOUND);
  const least = LEAST_SHARE * (found[0]?.score ?? 0);
  return found.filter(({ score }) => score >= least).map(({ skill }) => skill);
}

/**
 * The terms of a body as a manifest keeps them, the most frequent first, so that a tenant's own skills are found
 * without reading their texts. Pure.
 */
export function keptTerms(body: string): string {
  const counts = [...countsOf(bodyTerms(body))].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  let kept = '';
  for (const [term] of counts) {
    if (kept.length + term.length + 1 > MAX_KEPT) break;
    kept += kept === '' ? term : ` ${term}`;
  }
  return kept;
}

function builtinItems(catalog: SkillCatalog): readonly IndexedItem<string>[] {
  const all = [...catalog.skills.values()];
  const said = new Map<string, string>();
  for (const { body } of all) {
    for (const [name, text] of saidOfOthers(body)) said.set(name, `${said.get(name) ?? ''} ${text}`);
  }
  return all.map(({ name, description, body }) =>
    itemOf({ name, description, title: titleOf(body), said: said.get(name), terms: bodyTerms(body) }),
  );
}

/** What a skill says others are for: "how much it costs (`set-price`)". People use those words for that skill, too. */
function saidOfOthers(body: string): readonly (readonly [name: string, text: string])[] {
  const prose = NOT_FOR.exec(body)?.[0] ?? '';
  return [...prose.matchAll(/([^(),;:.]+)\(`([a-z0-9-]+)`/g)].map(
    ([, text, name]) => [name!, text!] as const,
  );
}

function itemOf(skill: {
  readonly name: string;
  readonly description: string;
  readonly title?: string | undefined;
  readonly said?: string | undefined;
  readonly terms: readonly string[];
}): IndexedItem<string> {
  const terms = new Map(countsOf(skill.terms.filter((term) => term !== '')));
  const add = (text: string, weight: number) => {
    for (const term of termsOf(text)) terms.set(term, (terms.get(term) ?? 0) + weight);
  };
  add(skill.name, FIELDS.name);
  add(skill.description, FIELDS.description);
  add(skill.title ?? '', FIELDS.title);
  add(skill.said ?? '', FIELDS.said);
  return { item: skill.name, terms };
}

function titleOf(body: string): string | undefined {
  return /^# (.+)$/m.exec(body)?.[1];
}

const NOT_FOR = /^\*\*Not for:\*\*[\s\S]*?(?:\n\n|$)/m;

/**
 * The terms of the prose, without fenced code, which belongs to examples. What a skill says it is not for does not
 * count.
 */
function bodyTerms(body: string): readonly string[] {
  const prose = body.replaceAll(/^```[\s\S]*?^```/gm, '').replace(NOT_FOR, '');
  return termsOf(prose);
}

function queryOf(texts: readonly string[]): ReadonlyMap<string, number> {
  const query = new Map<string, number>();
  let weight = 1;
  for (const text of texts.slice(-MAX_TEXTS).reverse()) {
    for (const term of new Set(termsOf(edgesOf(text)))) query.set(term, (query.get(term) ?? 0) + weight);
    weight *= EARLIER;
  }
  return query;
}

function edgesOf(text: string): string {
  const { begin, end } = LOOKED_AT;
  return text.length <= begin + end ? text : `${text.slice(0, begin)} ${text.slice(-end)}`;
}

function countsOf(terms: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}
