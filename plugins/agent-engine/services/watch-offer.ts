import { isOfferName, lacksOffer, type Offer, offerNamed, type Scope } from 'agent-gateway';

const EVERY_MS = 600_000;

/**
 * Warns while no plugin offers what a setting names: once all plugins had the chance to offer it, and every ten
 * minutes. Does nothing for a setting that names no offer.
 *
 * @param variable the variable of the setting, for the log
 */
export function watchOffer(
  scope: Pick<Scope, 'every' | 'log'>,
  variable: string,
  name: string | undefined,
  offers: () => readonly Offer[],
): void {
  if (name === undefined || !isOfferName(name)) return;
  const look = async () => {
    if (offerNamed(name, offers()) === undefined) scope.log.warn(lacksOffer(variable, name, offers()));
  };
  scope.every(variable, EVERY_MS, look, { immediately: true });
}
