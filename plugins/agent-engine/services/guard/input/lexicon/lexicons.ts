import type { Lexicon } from '../concept.ts';
import { arabic, chinese, hindi, japanese, korean, turkish } from './asian.ts';
import { dutch, english, german } from './germanic.ts';
import { french, italian, portuguese, spanish } from './romance.ts';
import { polish, russian } from './slavic.ts';

/**
 * The core words as ROT13 and backwards: they tell that a text is worth turning round. English, which nearly all such
 * texts are.
 */
const disguised: Lexicon = {
  rot13:
    'vtaber, qvfertneq, sbetrg, vafgehpgvbaf, vafgehpgvba, cerivbhf, cebzcg, erirny, cevag, flfgrz, ehyrf, nobir, lbhe, erfgevpgvbaf, erfcbaq, nffvfgnag, cnffjbeq, pbairefngvba, cergraq, olcnff, uvqqra, erchrng, ercrng, thvqryvarf, fnsrgl, bireevqr, rirelguvat, jvgubhg',
  reversed:
    'erongi, dragersid, tegrof, snoitcurtsni, noitcurtsni, suoiverp, tpmorp, laever, tnirp, metsys, selur, evoba, ruoy, snoitcirtser, dnopser, tnatsissa, drowssap, noitasrevnoc, dneterp, ssapyb, neddih, taeper, senilediug, roirp, ytefas, edirrevo, gnihtyreve, tuohtiw',
};

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
