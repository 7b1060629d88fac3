import type { PersonalData } from '../../foundation/protection/personal-data.ts';
import { PersonalDataPoint } from '../../kernel/api/points.ts';
import { type EffectReport, reportEffects } from '../../kernel/host/effects.ts';
import type { Slot } from '../../kernel/host/slot.ts';
import { withGateway } from './gateway-of.ts';
import type { Subject } from './subject.ts';

/** What belongs to one plugin of a gateway, and is not compared by the gateway itself. */
const SINGLE: readonly (readonly [
  what: string,
  of: (slot: Slot, effects: EffectReport) => readonly string[],
])[] = [
  ['the hint', (_, { queues }) => queues],
  ['the job', (_, { jobs }) => jobs],
  ['the extension point', ({ plugin }) => (plugin?.points ?? []).map(({ id }) => id)],
  ['the section of personal data', sectionsOf],
];

/**
 * Starts the plugin in a gateway with all bundled plugins, after them: what it shares with one of them (a route, a
 * kind, a table, a service, a queue) keeps it from starting, or from getting what is its own.
 */
export async function besideCheck(subject: Subject): Promise<readonly string[]> {
  return withGateway(
    subject,
    async ({ gateway }) => {
      const { slots } = gateway.host;
      const own = slots.of(subject.plugin.name);
      return slots.all
        .filter((slot) => slot !== own && slot.current !== undefined)
        .flatMap((other) => shared(other, own));
    },
    'bundled',
  );
}

function shared(other: Slot, own: Slot): readonly string[] {
  const [theirs, ours] = [other, own].map(({ current }) => reportEffects(current!.effects));
  return SINGLE.flatMap(([what, of]) => {
    const taken = new Set(of(other, theirs!));
    return of(own, ours!)
      .filter((id) => taken.has(id))
      .map((id) => `${what} ${id} is claimed by both ${other.name} and ${own.name}`);
  });
}

function sectionsOf({ current }: Slot): readonly string[] {
  return (current?.effects.contributions ?? [])
    .filter(({ pointId }) => pointId === PersonalDataPoint.id)
    .flatMap(({ value }) => (value as PersonalData).sections.map(({ name }) => name));
}
