import type { Lexicon } from '../concept.ts';
import { disguised } from './disguised.ts';
import { chinese, japanese, korean } from './east-asian.ts';
import { english } from './english.ts';
import { dutch, german } from './germanic.ts';
import { french, italian, portuguese, spanish } from './romance.ts';
import { polish, russian } from './slavic.ts';
import { arabic, hindi, turkish } from './west-and-south-asian.ts';

/** Every language that the check reads. A text may mix them. */
export const LEXICONS: readonly Lexicon[] = [
  english,
  german,
  dutch,
  french,
  spanish,
  portuguese,
  italian,
  russian,
  polish,
  chinese,
  japanese,
  korean,
  arabic,
  hindi,
  turkish,
  disguised,
];
