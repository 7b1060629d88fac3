import { didYouMean } from '../../foundation/base/nearest-name.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { GATEWAY_POINTS } from '../api/points.ts';
import { ownerOf } from './needed-plugins.ts';
import type { Slot } from './slot.ts';

/**
 * Warns of contributions that no plugin can ever read, since no plugin that was found declares their point. Called when
 * everything has started: a point may belong to a plugin that comes later, so it is no error. Nor is one that is named
 * after a plugin which is switched off: its code was not read.
 */
export function warnOfUnread(slots: readonly Slot[], log: Logger): void {
  const declared = slots.flatMap(({ plugin }) => plugin?.points ?? []);
  const points = new Set([...GATEWAY_POINTS, ...declared].map(({ id }) => id));
  const unread = new Set(slots.filter(({ plugin }) => plugin === undefined).map(({ name }) => name));
  for (const { name: plugin, current } of slots) {
    for (const point of new Set(current?.effects.contributions.map(({ pointId }) => pointId))) {
      if (points.has(point) || unread.has(ownerOf(point))) continue;
      const meant = didYouMean(point, [...points]);
      log.warn({ plugin, point }, `no plugin has the extension point ${point}${meant}`);
    }
  }
}
