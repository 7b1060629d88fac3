/** What users of a simulated agent ask for: one kind of task in many words. */
export interface TaskKind {
  readonly name: string;
  readonly templates: readonly string[];
  readonly objects: readonly string[];
}

const POLITE = ['', '', '', 'Please ', 'Could you ', 'Hi, ', 'Hello! I need your help: ', 'Quick question: '];
const AFTER = ['', '', '', ' Thanks!', ' It is for my manager.', ' I need it today.', ' Keep it short.'];

export const KINDS: readonly TaskKind[] = [
  {
    name: 'currency',
    templates: [
      'convert {n} {o} to dollars',
      'what is the exchange rate of {o} today',
      'how many dollars are {n} {o}',
      'exchange {n} {o} into pounds and tell me the rate',
      'give me the price of {n} {o} in another currency',
    ],
    objects: ['euro', 'yen', 'francs', 'crowns', 'rupees', 'pesos', 'rand', 'won'],
  },
  {
    name: 'invoice',
    templates: [
      'find the invoice of the customer {o}',
      'which invoices of {o} are overdue',
      'has {o} paid invoice {n}',
      'send a payment reminder to {o} for the open invoice',
      'list all unpaid invoices for {o} since {n}',
    ],
    objects: ['Miller Ltd', 'Acme', 'Garcia and Sons', 'Northwind', 'Globex', 'Initech', 'Umbrella', 'Hooli'],
  },
  {
    name: 'weather',
    templates: [
      'what will the weather be in {o} tomorrow',
      'is it going to rain in {o} this weekend',
      'weather forecast for {o} for the next {n} days',
      'how warm is it in {o} now, do I need a coat for the rain',
      'will there be snow or wind in {o} on day {n}, check the forecast',
    ],
    objects: ['Berlin', 'Lisbon', 'Oslo', 'Nairobi', 'Lima', 'Kyoto', 'Denver', 'Perth'],
  },
  {
    name: 'translate',
    templates: [
      'translate this sentence into {o}: "we are looking forward to your visit"',
      'how do you say "the train is late" in {o}',
      'I need a translation of the following paragraph to {o}',
      'translate the text below from English to {o} and keep the tone',
      'is this {o} translation of the sentence correct',
    ],
    objects: ['French', 'Polish', 'Korean', 'Swahili', 'Finnish', 'Greek', 'Italian', 'Turkish'],
  },
  {
    name: 'deploy',
    templates: [
      'deploy version {n} of the service {o} to production',
      'roll back the last deployment of {o}',
      'why did the deployment of {o} fail in the pipeline',
      'restart the service {o} after the release {n}',
      'release {o} to staging and run the smoke tests of the pipeline',
    ],
    objects: ['billing', 'search', 'checkout', 'gateway', 'mailer', 'catalog', 'auth', 'reports'],
  },
  {
    name: 'meeting',
    templates: [
      'schedule a meeting with {o} next week',
      'find a free slot in the calendar of {o} for {n} minutes',
      'move my meeting with {o} to the afternoon',
      'invite {o} to the calendar event on day {n}',
      'cancel the appointment with {o} and propose another slot',
    ],
    objects: ['Anna', 'Boris', 'Chen', 'Dolores', 'Emeka', 'Fatima', 'Gustav', 'Hana'],
  },
];

/** One task of a kind. `random` gives numbers from 0 up to 1. */
export function taskText({ templates, objects }: TaskKind, random: () => number): string {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const body = pick(templates)
    .replace('{o}', pick(objects))
    .replace('{n}', String(Math.ceil(random() * 900)));
  return `${pick(POLITE)}${body}.${pick(AFTER)}`;
}
