import { featuresOf } from './features.ts';
import type { TaskClasses } from './task-classes.ts';

/** Words of a class that name it. */
const WORDS = 3;

/**
 * A readable label of a class: those of its words that are in the gateway's list of common words, the most
 * characteristic first. Names and rare words are not in the list, so that a label reveals no user's text. A class that
 * was named keeps its name. Pure.
 */
export function labelOf(taskClass: string, classes: TaskClasses): string {
  const found: { readonly word: string; readonly weight: number }[] = [];
  for (const [word, { taskClass: of, weight }] of classes) {
    const known = of === taskClass ? vocabulary().get(word) : undefined;
    if (known !== undefined) found.push({ word: known, weight });
  }
  found.sort((one, other) => one.weight - other.weight || (one.word < other.word ? -1 : 1));
  const words = found.slice(0, WORDS).map(({ word }) => word);
  return words.length === 0 ? `tasks of class ${taskClass}` : `tasks about ${words.join(', ')}`;
}

let known: ReadonlyMap<number, string> | undefined;

/** The common words by their hash. Of two with the same hash the first in the list. */
function vocabulary(): ReadonlyMap<number, string> {
  known ??= new Map(
    COMMON_WORDS.trim()
      .split(/\s+/)
      .toReversed()
      .flatMap((word) => featuresOf(word).map((hash) => [hash, word] as const)),
  );
  return known;
}

const COMMON_WORDS = `
  account address agreement airport alert analysis answer api appointment approval archive article audit backup balance bank benefit bill billing
  board book booking branch brief budget bug build building business calculation calendar call campaign candidate capacity car card case cash
  catalog category chart chat check checklist city claim class clause client cloud code comment commit company compare comparison complaint
  compliance configuration confirmation contact content contract conversion copy cost country coupon course credit crm currency customer
  cycle dashboard data database date day deadline debt decision delay delete delivery demand department deploy deployment deposit description design
  device diagram difference discount discussion dispute distance doctor document dollar domain draft driver duration duty email employee
  energy english error estimate euro event exam example exception exchange expense experiment export family feature fee feedback file finance fix
  flight food forecast form format formula fraud fund german grade grammar graph group growth guide health help history holiday home hospital hotel
  hour image import incident income index industry infrastructure instruction insurance interest interview inventory investment invoice issue item job
  journey keyword kitchen language latency law lead lease leave lecture legal lesson letter level license limit link list literature loan log login
  logistics loss machine mail maintenance manager map market marketing math measure medicine meeting member memory menu merge message metric migration
  minute mistake model module money month mortgage movie music name negotiation network news newsletter note notice number offer office order
  outage overdue owner package page paper paragraph parcel partner password patch patient pay payment payroll pension performance permission person
  phone photo picture pipeline plan planning plot policy population post pound presentation price pricing printer privacy problem process product
  production profile profit program project proof proposal purchase quality quarter query question quiz quote rain rate rating receipt recipe
  recommendation record recruiting reference refund region register regulation release reminder rent repair repeat report request research reservation
  resource restart restaurant result resume return revenue review risk roadmap role rollback room route rule salary sale sample schedule school
  science score script search security sentence server service session setting share shipment shipping shop signature site skill slide slot snow
  software solution source specification speech spelling spreadsheet sql staff staging standard statement statistics status stock storage store
  story strategy student subject subscription success summary supplier supply support survey system table target task tax teacher team technology
  template test text theory thesis ticket time title token tool topic tour traffic train training transaction transfer translate translation travel
  treatment trend trial trip tutorial unit university unpaid update upgrade usage user vacation validation value vehicle vendor version video visa
  visit voucher wage warehouse warning warranty weather web website week weekend wind word work workflow workshop year
`;
