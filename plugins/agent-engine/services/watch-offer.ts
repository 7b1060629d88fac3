import { isOfferName, lacksOffer, type Offer, offerNamed, type Scope } from 'agent-gateway';

const EVERY_MS = 600_000;

/**
 * Warns while no plugin offers what a setting names: from the moment at which all plugins had their chance, and every ten minutes. Does nothing for a
 * setting that names no offer.
 *
 * @param variable the setting's, for the text
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
