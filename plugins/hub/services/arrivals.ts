import type { DeliveryStore } from '../store/deliveries.ts';
import type { SubscriptionStore } from '../store/subscriptions.ts';
import type { DeliveryRow } from '../store/tables.ts';

/** Deliveries in one statement. */
const TOGETHER = 128;

interface Arrival {
  readonly delivery: DeliveryRow;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Makes the function that removes a completed delivery from its queue, and counts it for its subscription. Deliveries
 * that complete while others are being stored are stored together, so that one event for many subscribers takes few
 * statements. It resolves when the delivery is stored.
 */
export function createArrivals(parts: {
  readonly deliveries: Pick<DeliveryStore, 'done'>;
  readonly subscriptions: Pick<SubscriptionStore, 'noteDelivered'>;
  readonly now: () => Date;
}): (delivery: DeliveryRow) => Promise<void> {
  const { deliveries, subscriptions, now } = parts;
  let waiting: Arrival[] = [];
  let isGoing = false;

  async function store(): Promise<void> {
    while (waiting.length > 0) {
      const together = waiting.slice(0, TOGETHER);
      waiting = waiting.slice(TOGETHER);
      const rows = together.map(({ delivery }) => delivery);
      try {
        await subscriptions.noteDelivered(
          [...new Set(rows.map(({ subscriptionId }) => subscriptionId))],
          now(),
        );
        await deliveries.done(rows);
        for (const { resolve } of together) resolve();
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
    isGoing = false;
  }

  return (delivery) =>
    new Promise((resolve, reject) => {
      waiting.push({ delivery, resolve, reject });
      if (isGoing) return;
      isGoing = true;
      // Deliveries that complete in the same turn of the event loop are stored together.
      setImmediate(store);
    });
}
